// Parallel loops on the CPU. Work is split by index alone, never by thread, so results do not
// depend on the thread count.
#pragma once

#include <cstddef>
#include <type_traits>

namespace gs {

/// At most `count` threads for every parallel loop from now on; 0 means all cores. Returns what is
/// in force.
int set_thread_count(int count);
int thread_count();

namespace detail {
void parallel_for_erased(std::size_t n, std::size_t grain, void* context,
                         void (*body)(void*, std::size_t, std::size_t));
}

/// Calls f(begin, end) for consecutive ranges of at most `grain` indices that cover [0, n). Ranges
/// start at multiples of grain.
template <class F>
void parallel_ranges(std::size_t n, std::size_t grain, F&& f) {
    using Body = std::remove_reference_t<F>;
    detail::parallel_for_erased(n, grain, const_cast<void*>(static_cast<const void*>(&f)),
                                [](void* context, std::size_t begin, std::size_t end) {
                                    (*static_cast<Body*>(context))(begin, end);
                                });
}

/// Calls f(i) for every i in [0, n), `grain` consecutive ones per task. Exceptions reach the
/// caller.
template <class F>
void parallel_for(std::size_t n, std::size_t grain, F&& f) {
    parallel_ranges(n, grain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) f(i);
    });
}

}  // namespace gs
