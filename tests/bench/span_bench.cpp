// Prints what a Span costs next to the two clock reads inside it. Fails (exit 3) when asked to hold
// the budget: span_bench --gate.
#include <fmt/format.h>

#include <cstring>

#include "profiler/store/overhead.h"

int main(int argc, char** argv) {
    const gs::SpanOverhead cost = gs::measure_span_overhead(1'000'000);
    if (!cost.recorded) {
        fmt::print(stderr, "no ring could be made on this system: nothing to measure\n");
        return 1;
    }
    fmt::print("clock            {}\n",
               cost.ticks_are_counter ? "the CPU's counter" : "CLOCK_MONOTONIC");
    fmt::print("two clock reads  {:7.2f} ns\n", cost.timer_pair_ns);
    fmt::print("span             {:7.2f} ns   {:.2f} x two clock reads (budget 2)\n", cost.span_ns,
               cost.ratio());
    fmt::print("span, disarmed   {:7.2f} ns   (budget 1)\n", cost.disarmed_ns);
    const bool gate = argc > 1 && std::strcmp(argv[1], "--gate") == 0;
    return gate && (cost.ratio() > 2 || cost.disarmed_ns > 1) ? 3 : 0;
}
