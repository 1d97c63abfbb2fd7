// Samples of call stacks as who takes them hands them over: every batch brings the frames and
// stacks its samples stand on, by their place in the batch. SampleBook keeps each once.
#pragma once

#include <cstdint>
#include <string>

namespace gs {

enum class FrameKind : std::uint8_t {
    native,   ///< a function of machine code
    python,   ///< a Python function; CPython's own evaluation function is not listed with it
    blocked,  ///< the kernel function a thread waits in: the innermost frame, not code of the
              ///< process
};
/// A place in a program. Unknown texts are empty, unknown numbers 0.
struct FrameEvent {
    std::string function;
    std::string file;    ///< the source
    std::string module;  ///< the program or library it is in
    std::uint32_t line = 0;
    FrameKind kind = FrameKind::native;
};
inline constexpr std::uint32_t kNoStack = ~0u;
/// A frame and what called it: `parent` lies before it in the same list, kNoStack: nothing did.
struct StackEvent {
    std::uint32_t parent = kNoStack, frame = 0;
};
/// What a sampled thread is called.
struct ThreadNameEvent {
    std::uint32_t tid = 0;
    std::string name;
};
/// What a thread was in at one moment, standing for `weight_ns` of its time.
struct SampleEvent {
    std::int64_t time_ns = 0, weight_ns = 0;
    std::uint32_t tid = 0, stack = 0;
    bool blocked = false;  ///< it waited; else it was on a CPU
};

}  // namespace gs
