// The thread on which CUPTI and the driver are called. They use descriptors that the program has
// opened, and the endpoint's thread leaves the program's table (base/record/descriptors.h). A
// thread has its creator's table, so the program's own starts it; without CUDA it only waits.
#pragma once

#include <cstdint>

namespace gs::inject::cupti_thread {

/// On a thread of the program, before the endpoint's exists.
void start() noexcept;
/// Runs `work(context)` there and waits for it. False: the system refused the thread; nothing has
/// run. From one thread at a time (the endpoint's).
bool run(void (*work)(void* context), void* context) noexcept;
template <class Work>
bool run(Work work) noexcept {
    return run([](void* context) { (*static_cast<Work*>(context))(); }, &work);
}

bool is_running() noexcept;
/// Processor time it has used.
std::uint64_t cpu_ns() noexcept;

/// In the child of a fork: it is the parent's.
void forget_in_child() noexcept;

}  // namespace gs::inject::cupti_thread
