// A small recorded process for the tests of `serve`: iterations on one thread, each with a range
// and a kernel.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "profiler/serve/metrics.h"
#include "profiler/serve/watch.h"
#include "profiler/store/store.h"

namespace gs::test {

inline constexpr std::int64_t kMs = 1'000'000;

/// Batches of one process; times are milliseconds. Names: 1 "iteration", 2 "load", 3 "renderCUDA".
struct RecordedProcess {
    std::uint32_t pid = 4242, visible_pid = 0;  ///< 0: the same
    std::uint64_t source = 7, written = 0, step = 0, kernels = 0;

    TraceBatch batch(std::int64_t now_ms) {
        TraceBatch b{.source = source,
                     .pid = pid,
                     .visible_pid = visible_pid != 0 ? visible_pid : pid,
                     .process_name = "train.py",
                     .read_ns = now_ms * kMs};
        b.labels.rank = 3;
        b.labels.job = "job\"1\\";
        b.names = {{1, "iteration"}, {2, "load"}, {3, "renderCUDA"}};
        b.tracks = {{0, pid, pid, "main", false}};
        b.service.emplace();
        b.service->armed = true;
        b.service->heartbeat_ns = b.read_ns;
        b.written = written;
        return b;
    }
    /// An iteration of `ms` from `begin`: the host loads for a quarter of it, a kernel runs for
    /// half of it.
    void iterate(TraceBatch& b, std::int64_t begin, std::int64_t ms) {
        const std::int64_t quarter = ms * kMs / 4, at = begin * kMs;
        b.spans.push_back({at, at + quarter, 0, 0, 2, 1, false});
        b.spans.push_back({at, at + ms * kMs, ++step, 0, 1, 0, true});
        GpuWorkEvent work{.begin_ns = at + quarter,
                          .end_ns = at + 3 * quarter,
                          .correlation = ++kernels,
                          .name = 3,
                          .stream = 7};
        work.grid[0] = 100;
        work.block[0] = 256;
        b.gpu_work.push_back(work);
        written += 3;
        b.written = written;
    }
};

/// What a daemon has of its processes, and makes of it.
struct Served {
    void look(std::int64_t now_ms) {
        metrics.update(store, watch.look(store, now_ms * kMs), now_ms * kMs);
    }
    std::string text() const { return metrics.tell({}).open_metrics(); }
    TraceStore store;
    serve::Watch watch;
    serve::Metrics metrics;
};
struct ServedMetrics : ::testing::Test, Served {
    RecordedProcess process;
};

/// "name{labels}" -> value, of a whole exposition.
inline std::map<std::string, double> samples_of(const std::string& text) {
    std::map<std::string, double> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        const auto space = line.rfind(' ');
        EXPECT_TRUE(out.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
            << line;
    }
    return out;
}

}  // namespace gs::test
