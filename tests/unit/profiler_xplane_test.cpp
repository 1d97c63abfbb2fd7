// Traces of JAX: the host's threads with the steps that a program marks, the streams of a GPU.
#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_writer.hpp>

#include "profiler/analysis/iterations.h"
#include "tests/unit/foreign_traces.h"

namespace gs {
namespace {

using protozero::pbf_writer;

/// One plane of an XSpace: names are numbered as they are first used.
class PlaneMaker {
  public:
    using Stats = std::map<std::string, std::string>;
    struct Event {
        std::string name;
        std::uint64_t offset_ps = 0, duration_ps = 0;
        Stats stats = {};
        std::int64_t step = -1;
        std::uint64_t correlation = 0;
    };
    explicit PlaneMaker(const std::string& name) { pbf_writer(bytes_).add_string(2, name); }

    PlaneMaker& line(std::int64_t id, const std::string& name, std::int64_t begin_ns,
                     const std::vector<Event>& events) {
        pbf_writer plane(bytes_);
        pbf_writer line(plane, 3);
        line.add_int64(1, id);
        line.add_string(2, name);
        line.add_int64(3, begin_ns);
        for (const Event& e : events) {
            pbf_writer event(line, 4);
            event.add_int64(1, number(e.name, events_));
            event.add_int64(2, static_cast<std::int64_t>(e.offset_ps));
            event.add_int64(3, static_cast<std::int64_t>(e.duration_ps));
            for (const auto& [key, text] : e.stats) {
                pbf_writer stat(event, 4);
                stat.add_int64(1, number(key, stats_));
                stat.add_uint64(7, static_cast<std::uint64_t>(number(text, stats_)));
            }
            const auto add = [&](const char* key, std::int64_t value) {
                pbf_writer stat(event, 4);
                stat.add_int64(1, number(key, stats_));
                stat.add_int64(4, value);
            };
            if (e.step >= 0) add("step_num", e.step);
            if (e.correlation > 0) add("correlation_id", static_cast<std::int64_t>(e.correlation));
        }
        return *this;
    }
    PlaneMaker& value(const std::string& key, std::uint64_t number_of_it) {
        pbf_writer plane(bytes_);
        pbf_writer stat(plane, 6);
        stat.add_int64(1, number(key, stats_));
        stat.add_uint64(3, number_of_it);
        return *this;
    }
    /// The plane as a field of the space.
    std::string bytes() const {
        std::string plane = bytes_, out;
        for (const auto& [field, names] : {std::pair{4, &events_}, {5, &stats_}})
            for (const auto& [name, id] : *names) {
                pbf_writer writer(plane);
                pbf_writer entry(writer, static_cast<std::uint32_t>(field));
                entry.add_int64(1, id);
                pbf_writer metadata(entry, 2);
                metadata.add_int64(1, id);
                metadata.add_string(2, name);
            }
        pbf_writer(out).add_message(1, plane);
        return out;
    }

    const std::string& raw() const { return bytes_; }

  private:
    using Names = std::map<std::string, std::int64_t>;
    static std::int64_t number(const std::string& name, Names& names) {
        return names.try_emplace(name, static_cast<std::int64_t>(names.size()) + 1).first->second;
    }
    std::string bytes_;
    Names events_, stats_;
};

constexpr std::uint64_t kMsPs = 1'000'000'000;

/// Eight steps of 10 ms, each with a kernel of 4 ms and a copy of 1 ms.
std::string jax_trace() {
    std::vector<PlaneMaker::Event> host, stream;
    for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t t = 20 * kMsPs + i * 10 * kMsPs;
        host.push_back({"resnet50", t, 9 * kMsPs, {}, static_cast<std::int64_t>(i + 3)});
        host.push_back({"PjitFunction(train_step)", t + kMsPs, 2 * kMsPs});
        host.push_back({"cuLaunchKernel", t + 2 * kMsPs - 10'000'000, 5'000'000, {}, -1, i + 100});
        stream.push_back({"loop_add_fusion",
                          t + 2 * kMsPs,
                          4 * kMsPs,
                          {{"kernel_details",
                            "regs:32 static_shared:128 dynamic_shared:64 grid:40,2,1 "
                            "block:256,1,1 occ_pct:100"},
                           {"hlo_module", "jit_train_step"}},
                          -1,
                          i + 100});
        stream.push_back(
            {"MemcpyH2D",
             t + 7 * kMsPs,
             kMsPs,
             {{"memcpy_details", "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}}});
    }
    std::string space =
        PlaneMaker("/host:metadata").value("process_id", 321).bytes() +
        PlaneMaker("/host:CPU").line(1453451848900802052, "python", 6010, host).bytes() +
        PlaneMaker("/device:GPU:1")
            .line(14, "Stream #14(Compute,MemcpyH2D)", 6010, stream)
            .line(2, "Steps", 6010, {{"3", 20 * kMsPs, 8 * kMsPs}})
            .bytes() +
        PlaneMaker("Task Environment").value("profile_start_time", 1'700'000'000ull << 30).bytes();
    pbf_writer(space).add_string(4, "node7");
    return space;
}

class Jax : public test::ForeignTraces {};

TEST_F(Jax, StepsKernelsAndCopiesComeIn) {
    TraceStore store;
    const ImportSummary summary = read(jax_trace(), store, "vm.xplane.pb");
    EXPECT_EQ(summary.format, "XSpace");
    EXPECT_EQ(summary.spans, 16u);
    EXPECT_EQ(summary.work, 16u);
    EXPECT_EQ(summary.calls, 8u);
    EXPECT_EQ(summary.lost, 0u);
    ASSERT_EQ(store.processes().size(), 1u);
    EXPECT_EQ(store.processes()[0].pid, 321u);
    EXPECT_EQ(store.processes()[0].name, "XLA on node7");
    const Iterations steps = find_iterations(store, 0);
    ASSERT_EQ(steps.items.size(), 8u) << steps.how;
    EXPECT_EQ(steps.items.front().number, 3u);  // whatever the program calls its steps
    EXPECT_NEAR(steps.items.front().milliseconds(), 9, 1e-9);
}

TEST_F(Jax, KernelsHaveTheirLaunchAndCopiesTheirBytes) {
    TraceStore store;
    read(jax_trace(), store, "vm.xplane.pb");
    std::size_t kernels = 0, copies = 0;
    for (const TraceTrack& track : store.tracks()) {
        if (track.kind != TrackKind::gpu_stream) continue;
        EXPECT_EQ(track.device, 1u);
        for (const auto& row : track.works)
            for (const GpuWork& work : row.view())
                if (work.kind == GpuWorkKind::copy) {
                    ++copies;
                    EXPECT_EQ(work.bytes, 4096u);
                    EXPECT_EQ(work.source, MemoryType::pinned);
                    EXPECT_EQ(work.target, MemoryType::device);
                } else {
                    ++kernels;
                    EXPECT_EQ(work.grid[0] * work.grid[1] * work.block[0], 40u * 2 * 256);
                    EXPECT_EQ(work.registers, 32u);
                    EXPECT_EQ(work.static_shared + work.dynamic_shared, 192u);
                }
    }
    EXPECT_EQ(kernels, 8u);
    EXPECT_EQ(copies, 8u);
}

TEST_F(Jax, LinesBeyondWhatAStoreCanHaveAreSkipped) {
    PlaneMaker plane("/host:CPU");
    std::string lines;
    for (int i = 0; i < 66'000; ++i) pbf_writer(lines).add_message(3, std::string());
    std::string space;
    pbf_writer(space).add_message(1, plane.raw() + lines);
    TraceStore store;
    const ImportSummary summary = read(space + jax_trace(), store, "many.xplane.pb");
    EXPECT_NE(note_with(summary, "too many threads"), "");
}

TEST_F(Jax, TpusAreNamedAsWhatIsNotRead) {
    TraceStore store;
    const ImportSummary summary =
        read(jax_trace() +
                 PlaneMaker("/device:TPU:0").line(1, "XLA Ops", 0, {{"fusion", 0, kMsPs}}).bytes(),
             store, "tpu.xplane.pb");
    EXPECT_NE(note_with(summary, "1 lines of TPUs, which are not read"), "");
    EXPECT_EQ(summary.lost, 1u);
}

TEST_F(Jax, TimesBeforeTheRecordingAndSince1970AreOnOneClock) {
    constexpr std::int64_t kStart = 1'790'000'000'000'000'000;
    const auto line = [](std::int64_t begin_ns) {
        return PlaneMaker("/host:CPU").line(5, "t", begin_ns, {{"a", 0, kMsPs}}).bytes();
    };
    TraceStore store;
    read(line(7000) + line(kStart - 3000) +
             PlaneMaker("Task Environment")
                 .value("profile_start_time", static_cast<std::uint64_t>(kStart))
                 .bytes(),
         store, "two.xplane.pb");
    std::vector<std::int64_t> begins;
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            for (const TraceSpan& span : row.view()) begins.push_back(span.begin_ns);
    ASSERT_EQ(begins.size(), 2u);
    EXPECT_EQ(std::abs(begins[0] - begins[1]), 10'000);
}

TEST_F(Jax, DamagedFilesGiveWhatIsWhole) {
    const std::string whole = jax_trace();
    TraceStore store;
    const ImportSummary summary = read(whole.substr(0, whole.size() - 60), store, "a.xplane.pb");
    EXPECT_TRUE(summary.cut);
    EXPECT_EQ(summary.spans, 16u);
    hammer_reader(whole);
}

}  // namespace
}  // namespace gs
