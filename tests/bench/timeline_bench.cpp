// What the timeline and the panels beside it cost a frame, against the number of events: CPU time
// of the thread that draws, from ImGui::NewFrame() to Render(), without the GPU's part; what else
// the machine does counts little. timeline_bench [MOST]: 10 k to MOST (10 M) events.
#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "panels/timeline/timeline_panel.h"
#include "panels/trace/find_panel.h"
#include "panels/trace/flame_panel.h"
#include "panels/trace/statistics_panel.h"
#include "panels/workspace.h"
#include "tests/panels/fake_trainer.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

constexpr int kFrames = 60;

double thread_ms() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Times {
    double median = 0, most = 0;
};
Times of(std::vector<double> frames) {
    std::sort(frames.begin(), frames.end());
    return {frames[frames.size() / 2], frames.back()};
}

class Bench {
  public:
    explicit Bench(std::size_t spans)
        : store_([] { return TraceStoreOptions{.max_spans = 40'000'000}; }()) {
        fill_many(store_, spans, 5'000'000'000'000);
        TraceEntry entry{.id = 2, .name = "many", .store = &store_};
        snapshot_.traces = {entry};
        snapshot_.shown_trace = 2;
    }
    void run() {
        TimelinePanel timeline(view_);
        const auto draw = alone(timeline);
        const double first = one_frame(draw);
        while (timeline.busy()) one_frame(draw);
        const Times all = frames(draw, [](int) {});
        const std::int64_t begin = store_.begin_ns(), length = store_.end_ns() - begin;
        timeline.axis.zoom_to(begin + length / 2,
                              begin + length / 2 + std::min<std::int64_t>(length / 3, 2'000'000));
        const Times close = frames(draw, [](int) {});
        timeline.axis.zoom_to(begin, begin + length / 2);
        const Times moving =
            frames(draw, [&](int i) { timeline.axis.begin_ns = begin + i * (length / 200); });
        StatisticsPanel statistics(view_);
        FindPanel find(view_);
        FlamePanel flame(view_);
        view_.find = "range 7*";
        const Search a = search(statistics), b = search(find), c = search(flame);
        fmt::print(
            "| {} | {:.1f} | {:.2f} / {:.2f} | {:.2f} / {:.2f} | {:.2f} / {:.2f} | {:.0f}, {:.1f} "
            "| {:.0f}, {:.1f} | {:.0f}, {:.1f} |\n",
            store_.span_count(), first, all.median, all.most, close.median, close.most,
            moving.median, moving.most, a.all_ms, a.longest_ms, b.all_ms, b.longest_ms, c.all_ms,
            c.longest_ms);
        std::fflush(stdout);
    }

  private:
    struct Search {
        double all_ms = 0, longest_ms = 0;
    };
    template <class Panel>
    std::function<void()> alone(Panel& panel) {
        return [this, &panel] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
            ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
            panel.draw(snapshot_, commands_);
            ImGui::End();
        };
    }
    double one_frame(const std::function<void()>& draw) {
        const double begin = thread_ms();
        ui_.frame(draw);
        return thread_ms() - begin;
    }
    Times frames(const std::function<void()>& draw, const std::function<void(int)>& before) {
        for (int i = 0; i < 3; ++i) one_frame(draw);
        std::vector<double> out;
        for (int i = 0; i < kFrames; ++i) {
            before(i);
            out.push_back(one_frame(draw));
        }
        return of(std::move(out));
    }
    /// Until it is complete: time in frames, and the longest of them.
    template <class Panel>
    Search search(Panel& panel) {
        const auto draw = alone(panel);
        Search out;
        do {
            const double ms = one_frame(draw);
            out.all_ms += ms;
            out.longest_ms = std::max(out.longest_ms, ms);
            if (ms < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } while (panel.busy());
        return out;
    }

    Headless ui_{1920, 1080};
    TraceStore store_;
    Snapshot snapshot_;
    Commands commands_;
    TraceView view_;
};

}  // namespace
}  // namespace gs::test

int main(int count, char** words) {
    const double most = count > 1 ? std::atof(words[1]) : 1e7;
    fmt::print("milliseconds of CPU time a frame at 1920 x 1080, median / longest of {} frames\n\n",
               gs::test::kFrames);
    fmt::print(
        "| events | first frame | all in view | 2 ms in view | panning through half | statistics: "
        "all, longest frame | find: all, longest frame | flame graph: all, longest frame "
        "|\n|---|---|---|---|---|---|---|---|\n");
    for (double spans = 1e4; spans <= most * 1.001; spans *= 10)
        gs::test::Bench(static_cast<std::size_t>(spans)).run();
    return 0;
}
