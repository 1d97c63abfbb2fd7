// A fork that comes while the other threads of the process sleep. An address sanitizer keeps its
// allocator's locks over a fork as they are: a child made while another thread allocates waits for
// one of them for ever.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gs::test {

/// How often the process's other threads have gone to sleep, all together; -1: one of them is
/// awake.
inline long sleeps_of_others() {
    DIR* tasks = ::opendir("/proc/self/task");
    long sleeps = 0;
    while (const dirent* task = tasks != nullptr && sleeps >= 0 ? ::readdir(tasks) : nullptr) {
        if (task->d_name[0] == '.' || std::atoi(task->d_name) == ::gettid()) continue;
        char path[64], line[128];
        std::snprintf(path, sizeof path, "/proc/self/task/%.16s/status", task->d_name);
        std::FILE* file = std::fopen(path, "r");
        while (file != nullptr && sleeps >= 0 && std::fgets(line, sizeof line, file) != nullptr) {
            long own = 0;
            if (std::sscanf(line, "voluntary_ctxt_switches: %ld", &own) == 1) sleeps += own;
            if (std::strncmp(line, "State:", 6) == 0 && std::strchr(line, '(')[1] != 's')
                sleeps = -1;
        }
        if (file != nullptr) std::fclose(file);
    }
    if (tasks != nullptr) ::closedir(tasks);
    return sleeps;
}

/// fork(), after two seconds or somewhat more at the latest.
inline pid_t fork_at_rest() {
    for (int look = 0; look < 2000; ++look) {
        const long before = sleeps_of_others();
        if (before >= 0 && sleeps_of_others() == before) break;
        ::usleep(1000);
    }
    return ::fork();
}

}  // namespace gs::test
