// Scenarios of nvtx_program.cpp that iterate until the test says stop, and how all scenarios talk
// to the test. NVTX's functions are the includer's.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace loop_program {

using Arguments = std::vector<std::string>;

/// Says "ready" and waits for the test.
inline void meet() {
    std::printf("ready\n");
    std::fflush(stdout);
    for (char c = 0; ::read(0, &c, 1) == 1 && c != '\n';) {
    }
}

/// Works on a thread of its own until the test says stop.
template <class Work>
inline void until_stopped(const Work& work) {
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        while (!stop) work();
    });
    meet();
    stop = true;
    worker.join();
    meet();
}

inline void rest(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// iterations [RANGES PER_SECOND]: one a millisecond with 200 ranges, unless both are given.
inline void iterations(const Arguments& a) {
    const int ranges = a.size() < 3 ? 200 : std::stoi(a[1]);
    const double step_ns = a.size() < 3 ? 0 : 1e9 / std::stod(a[2]);
    auto due = std::chrono::steady_clock::now();
    until_stopped([&] {
        due += std::chrono::nanoseconds(static_cast<long>(step_ns));
        nvtxRangePushA("iteration");
        for (int i = 0; i < ranges; ++i) {
            nvtxRangePushA("stage");
            if (i + 1 == ranges) std::this_thread::sleep_until(due);
            nvtxRangePop();
        }
        nvtxRangePop();
        if (step_ns == 0) rest(1);
    });
}

/// Nearly all the time is inside an iteration, so that whatever changes, changes there.
inline void long_iterations(const Arguments&) {
    until_stopped([] {
        nvtxRangePushA("iteration");
        nvtxRangePushA("stage");
        rest(5);
        nvtxRangePop();
        rest(1);
        nvtxRangePop();
    });
}

/// Iterates until a line comes, then stays in range ARGUMENT of an iteration until the next one,
/// and continues.
inline void hangs(const Arguments& arguments) {
    std::atomic<int> lines{0};
    std::thread listener([&] {
        for (char c = 0; lines < 3 && ::read(0, &c, 1) == 1;) lines += c == '\n' ? 1 : 0;
        lines = 3;
    });
    while (lines < 3) {
        nvtxRangePushA("iteration");
        nvtxRangePushA(arguments.at(1).c_str());
        do rest(5);
        while (lines == 1);
        nvtxRangePop();
        nvtxRangePop();
    }
    listener.join();
}

}  // namespace loop_program
