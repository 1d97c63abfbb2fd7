// The switch saves what the calling convention asks a callee to save and nothing more; signal masks
// and the floating-point environment are left alone, which is what makes it cheap.
#include "tests/support/emulator/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <exception>
#include <mutex>
#include <new>
#include <vector>

#include "tests/support/emulator/sanitizer.h"

namespace gs::emulator {
namespace {

constexpr std::size_t kGuardPage = 4096;
constexpr std::size_t kStackBytes = kAddressSanitizer ? 512 * 1024 : 128 * 1024;

thread_local Fiber* beginning = nullptr;  ///< whose context was switched to last
thread_local Context* left = nullptr;     ///< context that was switched away from last

/// Stacks without a fiber. Blocks come and go with every launch, and the kernel takes longer to map
/// a stack than a thread to run on it.
class Stacks {
  public:
    static Stacks& all() {
        static Stacks* const stacks = new Stacks;  // threads may end after what is static
        return *stacks;
    }
    void* take() {
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                void* const stack = free_.back();
                free_.pop_back();
                return stack;
            }
        }
        void* const stack = mmap(nullptr, kStackBytes + kGuardPage, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED) throw std::bad_alloc();
        mprotect(stack, kGuardPage, PROT_NONE);  // a kernel that overruns its stack stops here
        unguard(static_cast<char*>(stack) + kGuardPage, kStackBytes);
        return stack;
    }
    void give_back(void* stack) {
        const std::lock_guard lock(mutex_);
        if (free_.size() < kMost)
            free_.push_back(stack);
        else
            munmap(stack, kStackBytes + kGuardPage);
    }

  private:
    static constexpr std::size_t kMost = 8192;
    std::mutex mutex_;
    std::vector<void*> free_;
};

/// First thing after a switch: notifies the sanitizer, which returns the place of the stack that
/// was left (the host thread's own is not known otherwise).
void arrived([[maybe_unused]] void* fake_stack) {
#ifdef GS_EMULATOR_ASAN
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    Context* const before = left;
    __sanitizer_finish_switch_fiber(fake_stack, &bottom, &bytes);
    if (before->stack_bottom == nullptr) {
        before->stack_bottom = const_cast<void*>(bottom);
        before->stack_bytes = bytes;
    }
#endif
}

}  // namespace

#if defined(__x86_64__)
extern "C" void gs_emulator_switch(void** save_stack_pointer, void* load_stack_pointer);
asm(R"(
.text
.globl gs_emulator_switch
.hidden gs_emulator_switch
.type gs_emulator_switch, @function
gs_emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size gs_emulator_switch, .-gs_emulator_switch
)");
#endif

/// First code on a new stack.
void fiber_begin() {
    Fiber* const fiber = beginning;
    arrived(nullptr);
    fiber->entry_(fiber->argument_);
    std::terminate();
}

void switch_context(Context& from, Context& to) {
    left = &from;
    beginning = to.owner;
#ifdef GS_EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
#if defined(__x86_64__)
    gs_emulator_switch(&from.stack_pointer, to.stack_pointer);
#else
    ucontext_t here;
    from.portable = &here;
    swapcontext(&here, static_cast<ucontext_t*>(to.portable));
#endif
    arrived(from.fake_stack);
}

Fiber::Fiber(std::size_t index, void (*entry)(void*), void* argument)
    : entry_(entry), argument_(argument), index_(index), mapping_(Stacks::all().take()) {
    context.stack_bottom = static_cast<char*>(mapping_) + kGuardPage;
    context.stack_bytes = kStackBytes;
#if defined(__x86_64__)
    context.stack_pointer = static_cast<char*>(context.stack_bottom) + kStackBytes;
#endif
    context.owner = this;
    reset();
}

Fiber::~Fiber() {
    unguard_frames();
#if !defined(__x86_64__)
    delete static_cast<ucontext_t*>(first_);
#endif
    Stacks::all().give_back(mapping_);
}

/// Of functions that it will not return from: they reach from where it stands to the top.
void Fiber::unguard_frames() {
    char* const bottom = static_cast<char*>(context.stack_bottom);
    char* const at =
        context.stack_pointer != nullptr ? static_cast<char*>(context.stack_pointer) : bottom;
    unguard(at, static_cast<std::size_t>(bottom + context.stack_bytes - at));
}

void Fiber::reset() {
    unguard_frames();
    context.fake_stack = nullptr;
    // Stack tops at different distances from a page's end, or all of a block's fibers would compete
    // for the same few sets of the first-level cache.
    const std::size_t shift = index_ % 16 * 256;
    char* const top = static_cast<char*>(context.stack_bottom) + context.stack_bytes - shift;
#if defined(__x86_64__)
    void** slot = reinterpret_cast<void**>(top);
    *--slot = nullptr;                                // where a caller's return address would be
    *--slot = reinterpret_cast<void*>(&fiber_begin);  // what `ret` of the switch goes to
    for (int saved = 0; saved < 6; ++saved) *--slot = nullptr;
    context.stack_pointer = slot;
#else
    delete static_cast<ucontext_t*>(first_);
    auto* const fresh = new ucontext_t;
    getcontext(fresh);
    fresh->uc_stack.ss_sp = context.stack_bottom;
    fresh->uc_stack.ss_size = context.stack_bytes - shift;
    fresh->uc_link = nullptr;
    makecontext(fresh, &fiber_begin, 0);
    context.portable = first_ = fresh;
#endif
}

}  // namespace gs::emulator
