// A daemon's months in a minute: hundreds of short processes go through the store, the watch and
// the metrics as `serve` puts them together. Memory, as the allocator counts it, stays what it is,
// and whoever lives has series.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <string>

#include "churn_process.h"
#include "profiler/serve/metrics.h"
#include "profiler/serve/triggers.h"
#include "tests/support/emulator/sanitizer.h"

namespace gs::serve {
namespace {

using test::ChurnProcess;
using test::kSecondNs;

std::size_t allocated() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }
/// Sanitizers count no memory, and look at every access.
constexpr std::int64_t kSeconds = emulator::kAddressSanitizer ? 40 : 320;

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
}

/// What `serve` does, less its threads.
struct Serving {
    TraceStore store{{.max_spans = 1'000'000'000, .max_bytes = 4 << 20}};
    Watch watch;
    Metrics metrics;
    Triggers triggers;
    std::string text;

    void look(std::int64_t now_ns) {
        store.retire(now_ns);
        const std::vector<News> news = watch.look(store, now_ns);
        metrics.update(store, news, now_ns);
        triggers.look(store, news, now_ns);
        text = metrics.tell({}).open_metrics();
    }
};

// Every second two processes begin that live for three, beside one that lives on.
TEST(Churn, MemoryIsFlatAndTheLivingHaveSeries) {
    Serving serving;
    ChurnProcess lives(1'000'000, 100);
    std::deque<ChurnProcess> living;
    std::size_t early = 0, late = 0;
    for (std::int64_t second = 1; second <= kSeconds; ++second) {
        for (std::uint32_t i = 0; i < 2; ++i)
            living.emplace_back(static_cast<std::uint32_t>(2 * second) + i, 100);
        const bool full = living.size() == 6;
        for (std::size_t i = 0; i < living.size(); ++i)
            serving.store.ingest(living[i].second(second * kSecondNs, full && i < 2));
        serving.store.ingest(lives.second(second * kSecondNs));
        if (full) living.erase(living.begin(), living.begin() + 2);
        serving.look((second + 1) * kSecondNs);
        living.push_back(lives);
        if (second % 5 == 0) {
            for (const ChurnProcess& process : living)
                ASSERT_EQ(count_of(serving.text, "pid=\"" + std::to_string(process.pid()) + "\""),
                          1u)
                    << second;
            ASSERT_GE(count_of(serving.text, "gausscope_counter{"), 14u * living.size());
        }
        living.pop_back();
        ASSERT_LE(count_of(serving.text, "gausscope_records_total{"), 256u);
        // From the time when metrics of ended processes reach their limit.
        if (second > 150 && second <= 230) early = std::max(early, allocated());
        if (second > 240) late = std::max(late, allocated());
    }
    EXPECT_LE(static_cast<double>(late), 1.05 * static_cast<double>(early));
    EXPECT_LT(serving.store.processes().size(), 100u);
    EXPECT_TRUE(early > 0 || emulator::kAddressSanitizer);
    RecordProperty("early_bytes", static_cast<int>(early));
}

}  // namespace
}  // namespace gs::serve
