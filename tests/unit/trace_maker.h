// Makes traces for the tests of analysis and insights: ranges, CUDA calls and GPU work by time, and
// a training loop in the shape of PyTorch's that keeps its GPU busy and gives no rule a reason, to
// be changed where a test wants one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profiler/store/store.h"

namespace gs::test {

/// The batch of one process. Times are microseconds.
class TraceMaker {
  public:
    explicit TraceMaker(std::uint32_t pid = 77, std::string name = "python") {
        batch.pid = pid;
        batch.source = pid;
        batch.process_name = std::move(name);
        batch.read_ns = 1;
        batch.written = 1;
    }

    std::uint32_t name(const std::string& text) {
        const auto [place, added] =
            names_.try_emplace(text, static_cast<std::uint32_t>(names_.size() + 1));
        if (added) batch.names.push_back({.name = place->second, .text = text, .domain = domain});
        return place->second;
    }
    /// The track of a host thread.
    std::uint32_t thread(std::uint32_t tid, const std::string& called = {}) {
        const auto [place, added] =
            threads_.try_emplace(tid, static_cast<std::uint32_t>(threads_.size()));
        if (added)
            batch.tracks.push_back(
                {place->second, batch.pid, tid, called, false, TrackKind::thread});
        return place->second;
    }
    /// Ranges of a thread in order of their ends.
    void range(std::uint32_t tid, const std::string& text, double begin, double end, int depth = 0,
               long payload = -1) {
        SpanEvent e{.begin_ns = ns(begin),
                    .end_ns = ns(end),
                    .track = thread(tid),
                    .name = name(text),
                    .depth = static_cast<std::uint8_t>(depth),
                    .has_payload = payload >= 0};
        e.payload = payload >= 0 ? static_cast<std::uint64_t>(payload) : 0;
        batch.spans.push_back(e);
    }
    void call(std::uint32_t tid, const std::string& text, double begin, double end,
              std::uint64_t correlation = 0) {
        batch.api_calls.push_back({ns(begin), ns(end), correlation, tid, name(text), 0, false});
    }
    GpuWorkEvent& kernel(const std::string& text, double begin, double end,
                         std::uint64_t correlation = 0) {
        GpuWorkEvent e{.begin_ns = ns(begin),
                       .end_ns = ns(end),
                       .correlation = correlation,
                       .name = name(text),
                       .stream = 7};
        e.grid[0] = 8448;  // 8 waves of full occupancy on the device below
        e.grid[1] = e.grid[2] = 1;
        e.block[0] = 256;
        e.block[1] = e.block[2] = 1;
        e.registers = 32;
        batch.gpu_work.push_back(e);
        return batch.gpu_work.back();
    }
    GpuWorkEvent& copy(double begin, double end, std::uint64_t bytes, MemoryType from,
                       MemoryType to, std::uint64_t correlation = 0) {
        GpuWorkEvent e{
            .begin_ns = ns(begin),
            .end_ns = ns(end),
            .correlation = correlation,
            .name = name(to == MemoryType::device ? "copy host to device" : "copy device to host"),
            .stream = 9,
            .kind = GpuWorkKind::copy};
        e.bytes = bytes;
        e.source = from;
        e.target = to;
        batch.gpu_work.push_back(e);
        return batch.gpu_work.back();
    }
    void counter(const std::string& text, double at, double value) {
        batch.counters.push_back({ns(at), value, thread(1), name(text)});
    }
    void instant(const std::string& text, double at) {
        batch.instants.push_back({ns(at), 0, thread(1), name(text)});
    }
    void overhead(std::uint32_t tid, OverheadType kind, double begin, double end) {
        batch.overheads.push_back({ns(begin), ns(end), tid, kind});
    }
    /// An H200's limits.
    void device() {
        batch.devices.push_back({.name = "NVIDIA H200",
                                 .compute_major = 9,
                                 .multiprocessors = 132,
                                 .warps_per_multiprocessor = 64,
                                 .blocks_per_multiprocessor = 32,
                                 .registers_per_multiprocessor = 65536,
                                 .shared_per_multiprocessor = 233472,
                                 .shared_per_block = 49152,
                                 .clock_khz = 1'980'000});
    }
    void into(TraceStore& store) {
        for (const SpanEvent& s : batch.spans) batch.read_ns = std::max(batch.read_ns, s.end_ns);
        store.ingest(batch);
    }
    TraceStore store() {
        TraceStore out;
        into(out);
        return out;
    }

    static std::int64_t ns(double us) {
        return static_cast<std::int64_t>(us * 1000 + 0.5) + 1'000'000'000;
    }
    std::string domain;  ///< of new names
    TraceBatch batch;

  private:
    std::map<std::string, std::uint32_t> names_;
    std::map<std::uint32_t, std::uint32_t> threads_;
};

/// A kernel of an iteration: when the host launches it and when the GPU does it, from the
/// iteration's begin.
struct LoopKernel {
    std::string name;
    double launch = 0, begin = 0, end = 0;
};
/// The loop: `edit` changes an iteration's kernels, `more` adds to it; times of both are
/// microseconds, t is when the iteration begins.
struct Loop {
    int iterations = 20;
    double period = 10'000;
    double launch_us = 5;
    std::string range = "iteration";
    std::function<void(int i, std::vector<LoopKernel>&)> edit;
    std::function<void(TraceMaker&, int i, double t)> more;
    std::function<void(GpuWorkEvent&)> shape;
};
inline constexpr std::uint32_t kMainThread = 1, kAutogradThread = 2;

/// 40 kernels of Inria's trainer that fill 10 ms, queued 0 to 6 ms ahead of the GPU.
inline std::vector<LoopKernel> usual_kernels() {
    std::vector<LoopKernel> out;
    const auto add = [&](const char* name, int count) {
        for (int k = 0; k < count; ++k) {
            const auto i = static_cast<double>(out.size());
            out.push_back({name, 10 + 100 * i, 20 + 250 * i, 20 + 250 * i + 249});
        }
    };
    add("preprocessCUDA", 4);
    add("duplicateWithKeys", 3);
    add("cub::DeviceRadixSortOnesweepKernel", 5);
    add("identifyTileRanges", 1);
    add("renderCUDA<3u>", 10);
    add("renderCUDA(float3 const*)", 15);
    add("multi_tensor_apply_kernel", 2);
    return out;
}

inline TraceMaker make_loop(const Loop& loop, TraceMaker maker = TraceMaker{}) {
    maker.device();
    maker.thread(kMainThread, "python");
    std::uint64_t correlation = 0;
    for (int i = 0; i < loop.iterations; ++i) {
        const double t = loop.period * i;
        std::vector<LoopKernel> kernels = usual_kernels();
        if (loop.edit) loop.edit(i, kernels);
        for (const LoopKernel& k : kernels) {
            ++correlation;
            maker.call(kMainThread, "cudaLaunchKernel", t + k.launch, t + k.launch + loop.launch_us,
                       correlation);
            GpuWorkEvent& work = maker.kernel(k.name, t + k.begin, t + k.end, correlation);
            if (loop.shape) loop.shape(work);
        }
        if (loop.more) loop.more(maker, i, t);
        maker.range(kMainThread, loop.range, t, t + loop.period - 1, 0, i);
    }
    return maker;
}

inline TraceStore store_of(const Loop& loop) { return make_loop(loop).store(); }

}  // namespace gs::test
