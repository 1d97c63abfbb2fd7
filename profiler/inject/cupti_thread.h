// The thread on which CUPTI and the driver are called. They use descriptors that the program has
// opened, and the endpoint's thread has left the program's table (base/record/descriptors.h). It
// starts with the first call, so a program without CUDA has none.
#pragma once

#include <cstdint>

namespace gs::inject::cupti_thread {

/// Runs `work(context)` there and waits for it. False: the system refuses the thread; nothing has
/// run. From one thread at a time (the endpoint's).
bool run(void (*work)(void* context), void* context) noexcept;
template <class Work>
bool run(Work work) noexcept {
    return run([](void* context) { (*static_cast<Work*>(context))(); }, &work);
}

/// Processor time it has used.
std::uint64_t cpu_ns() noexcept;

/// In the child of a fork: it is the parent's.
void forget_in_child() noexcept;

}  // namespace gs::inject::cupti_thread
