#include "profiler/files/free_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace gs {
namespace {

/// The number a file of one word holds; none when it holds none ("max").
std::optional<std::uint64_t> number_in_file(const char* path) {
    std::uint64_t value = 0;
    std::ifstream file(path);
    return file >> value ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> available() {
    std::ifstream file("/proc/meminfo");
    std::string word;
    std::uint64_t kibibytes = 0;
    while (file >> word)
        if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    return std::nullopt;
}

std::optional<std::uint64_t> left_in_container() {
    const auto most = number_in_file("/sys/fs/cgroup/memory.max"),
               used = number_in_file("/sys/fs/cgroup/memory.current");
    if (!most || !used) return std::nullopt;
    return *most - std::min(*most, *used);
}

std::optional<std::uint64_t> left_in_process() {
    struct rlimit limit {};
    const auto pages = number_in_file("/proc/self/statm");  // of address space
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !pages)
        return std::nullopt;
    const std::uint64_t used = *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

}  // namespace

std::uint64_t free_memory(std::uint64_t most) {
    std::uint64_t out = most != 0 ? most : std::numeric_limits<std::uint64_t>::max();
    for (const auto& limit : {available(), left_in_container(), left_in_process()})
        if (limit) out = std::min(out, *limit);
    return out;
}

}  // namespace gs
