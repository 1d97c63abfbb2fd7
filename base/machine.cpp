#include "base/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace gs {

std::uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t total = 0, resident = 0;
    if (!(file >> total >> resident)) return 0;
    return resident * static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
}

std::uint64_t peak_resident_bytes() {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0) return 0;
    // The kernel updates it now and then only.
    return std::max(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024, resident_bytes());
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::uint64_t available_machine_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    std::uint64_t bytes = pages > 0 && page > 0
                              ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                              : 0;
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        std::uint64_t limit = 0;
        if (file >> limit && limit > 0) bytes = bytes > 0 ? std::min(bytes, limit) : limit;
    }
    return bytes;
}

std::uint64_t free_machine_bytes() {
    const auto value_in = [](const char* path, std::string_view wanted) -> std::uint64_t {
        std::ifstream file(path);
        std::string name, rest;
        std::uint64_t value = 0;
        while (file >> name >> value && std::getline(file, rest))
            if (name == wanted) return value;
        return 0;
    };
    const std::uint64_t free = 1024 * (value_in("/proc/meminfo", "MemAvailable:") +
                                       value_in("/proc/meminfo", "SwapFree:"));
    std::uint64_t limit = 0, used = 0;
    std::ifstream most("/sys/fs/cgroup/memory.max"), now("/sys/fs/cgroup/memory.current");
    if (!(most >> limit) || !(now >> used)) return free;
    // Cached files are given up when memory is wanted.
    const std::uint64_t kept =
        used - std::min(used, value_in("/sys/fs/cgroup/memory.stat", "file"));
    return std::min(free, limit - std::min(limit, kept));
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("model name", 0) != 0) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

}  // namespace gs
