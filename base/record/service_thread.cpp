#include "base/record/service_thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace gs::service {

// A small stack first: it takes address space, but the program's thread-local storage may need
// more.
bool start_service_thread(pthread_t& thread, void* (*work)(void*)) noexcept {
    constexpr std::size_t kStack = 1u << 20;
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t small;
    bool started = false;
    if (::pthread_attr_init(&small) == 0) {
        started = ::pthread_attr_setstacksize(&small, kStack) == 0 &&
                  ::pthread_create(&thread, &small, work, nullptr) == 0;
        ::pthread_attr_destroy(&small);
    }
    started = started || ::pthread_create(&thread, nullptr, work, nullptr) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void lower_own_priority() noexcept {
    const auto self = static_cast<id_t>(::syscall(SYS_gettid));
    ::setpriority(PRIO_PROCESS, self, std::max(::getpriority(PRIO_PROCESS, self), 5));
}

timespec after(std::uint64_t ns) noexcept {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += static_cast<time_t>(ns / 1'000'000'000);
    return until;
}

}  // namespace gs::service
