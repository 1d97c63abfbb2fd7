#include "profiler/inject/conditions.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/record/abi.h"

namespace gs::inject {
namespace {

/// A file of /proc, its beginning. False: it cannot be read.
template <std::size_t kBytes>
bool read_beginning(const char* path, char (&text)[kBytes]) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t got = ::read(fd, text, kBytes - 1);
    ::close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/// The number after `key` ("\nSeccomp:"); `otherwise` where there is none.
long number_after(const char* text, const char* key, long otherwise) {
    const char* found = std::strstr(text, key);
    return found != nullptr ? std::strtol(found + std::strlen(key), nullptr, 10) : otherwise;
}

// ---- seccomp ----

/// The filters in force; -1: unknown. Kernels before 5.9 do not count them.
long filters_of(const char* status_path) {
    char text[4096];
    if (!read_beginning(status_path, text)) return -1;
    const long mode = number_after(text, "\nSeccomp:", -1);
    return mode <= 0 ? mode : number_after(text, "\nSeccomp_filters:", 1);
}

/// A container's filter answers with errors, and its first process has it as well. What comes on
/// top is the program's, or that of what started it, and may end the process instead. Reading files
/// is what the loader has done just now in order to load this library.
bool has_filter_of_its_own() {
    long own = filters_of("/proc/thread-self/status");
    if (own < 0) own = ::prctl(PR_GET_SECCOMP) > 0 ? 1 : 0;
    if (own == 0) return false;
    const long first = filters_of("/proc/1/status");
    return own > 1 || first < own;
}

// ---- limits ----

/// Of address space, so that what is taken here (80 MiB: the ring, a stack, a heap of the thread)
/// cannot be what the program is short of.
constexpr std::uint64_t kPlenty = std::uint64_t{2} << 30;
/// What start_recording() makes at least.
constexpr std::size_t kLeastRing = std::size_t{1} << 20;

bool is_limited(int resource, rlim_t& bytes) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return false;
    bytes = limit.rlim_cur;
    return bytes != RLIM_INFINITY;
}

bool memory_is_scarce() {
    rlim_t space = 0, data = 0;
    const bool space_limited = is_limited(RLIMIT_AS, space),
               data_limited = is_limited(RLIMIT_DATA, data);
    if (!space_limited && !data_limited) return false;
    // In pages: all, resident, shared, code, 0, data.
    std::uint64_t used[6] = {};
    char text[256];
    if (!read_beginning("/proc/self/statm", text)) return true;
    char* at = text;
    for (std::uint64_t& pages : used) pages = std::strtoull(at, &at, 10);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto is_short = [&](rlim_t limit, std::uint64_t pages) {
        return limit < pages * page + kPlenty;
    };
    return (space_limited && is_short(space, used[0])) || (data_limited && is_short(data, used[5]));
}

}  // namespace

// A loader that was started by hand with the program as its argument has no base either, but then
// the program's headers name one.
bool is_static_program() noexcept {
    if (::getauxval(AT_BASE) != 0) return false;
    const auto* header = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
    const unsigned long count = header != nullptr ? ::getauxval(AT_PHNUM) : 0;
    for (unsigned long i = 0; i < count; ++i)
        if (header[i].p_type == PT_INTERP) return false;
    return true;
}

const char* obstacle_to_starting() noexcept {
    const char* allowed = ::secure_getenv("GAUSSCOPE_SECCOMP");
    if (has_filter_of_its_own() && (allowed == nullptr || std::strcmp(allowed, "1") != 0))
        return "";
    if (memory_is_scarce())
        return "its memory is limited (ulimit -v or -d) and less than 2 GiB is left; recording "
               "might use memory that the program needs";
    if (most_ring_bytes() < kLeastRing)
        return "the size of its files is limited (ulimit -f) to less than 1 MiB";
    return nullptr;
}

std::size_t most_ring_bytes() noexcept {
    rlim_t most = 0;
    return is_limited(RLIMIT_FSIZE, most) ? std::min<rlim_t>(most, abi::kHardCap) : abi::kHardCap;
}

}  // namespace gs::inject
