// What the tests of the trace panels share: a session and two foreign traces in a snapshot, frames
// until nothing is worked out any more, and sums the plain way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "panels/workspace.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/fake_trainer.h"
#include "tests/panels/headless.h"

namespace gs::test {

class Traces : public testing::Test {
  protected:
    Traces() : table(fake_table()), commands(table) {
        const TraceStoreOptions options{.max_spans = 1'000'000};
        own = TraceStore(options);
        fill_store(own, 20, 5'000'000'000'000);
        fill_trainer(trainer, {});
        fill_trainer(slower, {.iterations = 36, .slower = 1.3});
        snapshot = fake_snapshot(own);
        add_traces();
    }
    void add_traces() {
        const auto entry = [&](std::uint64_t id, const char* name, const TraceStore* store) {
            TraceEntry e{.id = id, .name = name, .store = store};
            e.live = e.own = id == 1;
            snapshot.traces.push_back(e);
        };
        entry(1, "this session", &own);
        entry(2, "before.pftrace", &trainer);
        entry(3, "after.pftrace", &slower);
        snapshot.shown_trace = 2;
    }
    template <class Panel>
    std::function<void()> alone(Panel& panel) {
        return [this, &panel] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
            ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
            panel.draw(snapshot, commands);
            ImGui::End();
        };
    }
    /// Frames until nothing is being worked out any more.
    template <class Panel>
    void settle(Panel& panel, const std::function<void()>& draw) {
        for (int i = 0; i < 3; ++i) ui.frame(draw);
        for (int i = 0; i < 4000 && panel.busy(); ++i) {
            ui.frame(draw);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_FALSE(panel.busy());
        ui.frame(draw);
    }
    std::uint32_t track_called(const TraceStore& store, const char* name,
                               TrackKind kind = TrackKind::thread) const {
        for (std::uint32_t i = 0; i < store.tracks().size(); ++i)
            if (store.tracks()[i].name == name && store.tracks()[i].kind == kind) return i;
        return kNoTrack;
    }
    std::uint32_t stream_of(const TraceStore& store, std::uint32_t stream) const {
        for (std::uint32_t i = 0; i < store.tracks().size(); ++i)
            if (store.tracks()[i].kind == TrackKind::gpu_stream &&
                store.tracks()[i].stream == stream)
                return i;
        return kNoTrack;
    }

    Headless ui{1280, 800};
    TraceStore own, trainer, slower;
    std::vector<CommandInfo> table;
    Commands commands;
    Snapshot snapshot;
    TraceView view;
};

/// Total, count, shortest and longest per name of one kind of tracks, the plain way.
struct Plain {
    std::int64_t total = 0, least = std::numeric_limits<std::int64_t>::max(), most = 0;
    std::uint64_t count = 0;
};
inline std::map<std::string, Plain> plain_sums(const TraceStore& store, TimeRange range, bool gpu) {
    std::map<std::string, Plain> out;
    for (const TraceTrack& track : store.tracks()) {
        if (gpu ? track.kind != TrackKind::gpu_stream
                : track.kind != TrackKind::thread && track.kind != TrackKind::overlapping)
            continue;
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view()) {
                const std::int64_t inside =
                    std::min(span.end_ns, range.end_ns) - std::max(span.begin_ns, range.begin_ns);
                if (inside <= 0) continue;
                Plain& p = out[std::string(store.name(span.name))];
                p.total += inside;
                ++p.count;
                p.least = std::min(p.least, span.length_ns());
                p.most = std::max(p.most, span.length_ns());
            }
    }
    return out;
}

}  // namespace gs::test
