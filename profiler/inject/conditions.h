// Whether the library may start in this process without changing what the program does. Asked
// before anything else, once.
#pragma once

#include <cstddef>

namespace gs::inject {

/// The program has no dynamic loader: it is linked statically and has opened a shared object all
/// the same. Then the C library that this library was linked to is a second one beside the
/// program's own, in which threads cannot be started. Calls nothing that needs that library to be
/// whole.
bool is_static_program() noexcept;

/// Why recording might change the program: an own seccomp filter may end it for a system call that
/// it does not make itself, a limited address space may be too small for both. Null: nothing is in
/// the way. Empty: not even that may be said from in here; `record` finds the filter from outside.
const char* obstacle_to_starting() noexcept;

/// A ring is a file in memory: no larger than files may be (ulimit -f).
std::size_t most_ring_bytes() noexcept;

}  // namespace gs::inject
