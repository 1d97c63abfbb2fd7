// Starting a thread of ours in a program that is not ours, and waiting for it.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace gs::service {

/// Runs `work` on a new thread in which all signals are blocked: they are for the program's own
/// threads to handle. False: the system refuses.
bool start_service_thread(pthread_t& thread, void* (*work)(void*)) noexcept;

/// Of the calling thread alone (Linux): it must not take a core from what it watches. Not to the
/// lowest: a process ends when its last thread has, and at nice 19 that takes a second on a busy
/// machine (nice 5: 50 ms; 18 runnable threads on two cores).
void lower_own_priority() noexcept;

/// CLOCK_REALTIME in `ns` from now, whole seconds: what POSIX waits until.
timespec after(std::uint64_t ns) noexcept;

}  // namespace gs::service
