// A program whose call stacks are known: seven tenths of its work in heavy_work(), three in
// light_work(), both called by work(); then rest() waits. stack_program SECONDS_OF_CPU
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

volatile std::uint64_t sink = 1;

[[gnu::noinline]] void slice() {
    std::uint64_t x = sink;
    for (int i = 0; i < 20000; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

double cpu_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

// Something after each call, so that it is no jump.
[[gnu::noinline]] void heavy_work() {
    slice();
    sink = sink + 1;
}
[[gnu::noinline]] void light_work() {
    slice();
    sink = sink + 2;
}
// Ten slices in an order that has no period a clock could fall in step with.
[[gnu::noinline]] void work() {
    int heavy = 7, left = 10;
    for (; left > 0; --left) {
        if (static_cast<int>(sink % static_cast<std::uint64_t>(left)) < heavy) {
            --heavy;
            heavy_work();
        } else {
            light_work();
        }
    }
}
[[gnu::noinline]] void rest() {
    ::usleep(500'000);
    sink = sink + 3;
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    while (cpu_seconds() < seconds) work();
    rest();
    return 0;
}
