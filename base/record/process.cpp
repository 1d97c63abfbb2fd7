#include "base/record/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gs::detail {
namespace {

/// Whether the first line that begins with "flags" has both words.
[[maybe_unused]] bool file_contains_flags(const char* path, const char* first, const char* second) {
    static char text[16384];
    if (read_small(path, text, sizeof text) == 0) return false;
    char* line = std::strstr(text, "\nflags");
    if (line == nullptr) return false;
    line[1 + std::strcspn(line + 1, "\n")] = '\0';
    return std::strstr(line, first) != nullptr && std::strstr(line, second) != nullptr;
}

/// The file the process runs, without its folder. The system's own name for a process is its main
/// thread's, and programs rename that one. False if it is unknown.
bool program_name(char* out, std::size_t capacity) {
    char path[4096];
    const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path - 1);
    if (bytes <= 0) return false;
    path[bytes] = '\0';
    const char* slash = std::strrchr(path, '/');
    const char* name = slash != nullptr ? slash + 1 : path;
    const std::size_t length = ::strnlen(name, capacity - 1);
    std::memcpy(out, name, length);
    out[length] = '\0';
    return true;
}

}  // namespace

std::size_t read_small(const char* path, char* out, std::size_t capacity) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    std::size_t bytes = 0;
    while (bytes < capacity - 1) {
        const ssize_t n = ::read(fd, out + bytes, capacity - 1 - bytes);
        if (n <= 0) break;
        bytes += static_cast<std::size_t>(n);
    }
    ::close(fd);
    out[bytes] = '\0';
    return bytes;
}

bool has_invariant_counter() {
#if defined(__x86_64__)
    return file_contains_flags("/proc/cpuinfo", " constant_tsc", " nonstop_tsc");
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

void describe_process(abi::RingHeader& h) {
    char text[1024];
    h.pid = static_cast<std::uint32_t>(::getpid());
    if (!program_name(h.process_name, sizeof h.process_name) &&
        read_small("/proc/self/comm", text, sizeof h.process_name) > 0) {
        text[std::strcspn(text, "\n")] = '\0';
        std::memcpy(h.process_name, text, std::strlen(text) + 1);
    }
    h.process_start = process_stat(0).start;
    const std::size_t n = read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    std::size_t digits = 0;
    for (std::size_t i = 0; i < n && digits < 32; ++i) {
        const char c = text[i];
        const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value < 0) continue;
        h.boot_id[digits / 2] = static_cast<std::uint8_t>(h.boot_id[digits / 2] << 4 | value);
        ++digits;
    }
}

}  // namespace gs::detail

namespace gs {

ProcessStat process_stat(std::uint32_t pid) noexcept {
    char path[40] = "/proc/self/stat", text[1024];
    if (pid != 0) std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (detail::read_small(path, text, sizeof text) == 0) return {};
    // The fields from the third on follow the command in parentheses, which may itself hold spaces
    // and parentheses.
    const char* rest = std::strrchr(text, ')');
    ProcessStat out;
    unsigned long long start = 0;
    if (rest == nullptr ||
        std::sscanf(
            rest + 1,
            " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
            &out.state, &out.parent, &start) != 3)
        return {};
    out.start = start;
    return out;
}

bool only_these_threads_are_left(unsigned threads) noexcept {
    struct stat tasks {};
    // Two links are the folder's own; the first thread counts until the process ends.
    if (::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 2 + 1 + threads) return false;
    // A thread that has ended runs no file, though this one does. Opening its /proc/.../stat would
    // tell the same, at the risk of a number that the program takes meanwhile.
    char none[1];
    return ::readlink("/proc/self/exe", none, sizeof none) < 0 && errno == ENOENT &&
           ::readlink("/proc/thread-self/exe", none, sizeof none) > 0;
}

}  // namespace gs
