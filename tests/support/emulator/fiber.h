// A stack that execution can be switched to. Block (block.h) runs CUDA threads on these. One host
// thread only: a fiber is always resumed on the thread it began on.
#pragma once

#include <cstddef>

namespace gs::emulator {

/// One switchable context: a fiber's, or the host thread's own while fibers run.
struct Context {
    void* stack_pointer = nullptr;
    void* stack_bottom = nullptr;  ///< for the address sanitizer
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;
    void* portable = nullptr;      ///< where there is no switch of our own: a ucontext_t
    class Fiber* owner = nullptr;  ///< null: the host thread's
};

/// Leaves `from` (the running one) and continues in `to`. Returns when something switches to
/// `from`.
void switch_context(Context& from, Context& to);

class Fiber {
  public:
    /// `entry` never returns; it is run, with `argument`, at the first switch after reset().
    Fiber(std::size_t index, void (*entry)(void*), void* argument);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    /// Forgets what it was doing.
    void reset();
    Context context;
    unsigned lane = 0;  ///< thread of the block that it runs

  private:
    friend void fiber_begin();
    void unguard_frames();
    void (*entry_)(void*);
    void* argument_;
    std::size_t index_;
    void* mapping_;
    [[maybe_unused]] void* first_ = nullptr;  ///< the ucontext_t it begins with
};

}  // namespace gs::emulator
