// Training processes made up for tests of trace files, and what a store holds in words, by which
// two are compared.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "profiler/analysis/timeline_facts.h"
#include "profiler/store/process_labels.h"

namespace gs::test {

inline constexpr std::int64_t kUs = 1000;

inline GpuWorkEvent kernel(std::int64_t begin, std::int64_t end, std::uint64_t correlation,
                           std::uint32_t name, std::uint32_t stream) {
    GpuWorkEvent w{.begin_ns = begin,
                   .end_ns = end,
                   .correlation = correlation,
                   .name = name,
                   .device = 1,
                   .context = 3,
                   .stream = stream};
    w.grid[0] = static_cast<std::uint32_t>(100 + correlation);
    w.grid[1] = 2;
    w.grid[2] = 1;
    w.block[0] = 256;
    w.block[1] = w.block[2] = 1;
    w.registers = 40;
    w.static_shared = 1024;
    w.dynamic_shared = 2048;
    w.local_per_thread = 16;
    return w;
}

/// A training process of `steps` iterations, all its times from `origin`.
inline TraceBatch process(std::uint32_t pid, int rank, std::int64_t origin, int steps = 5) {
    TraceBatch b{.source = pid,
                 .pid = pid,
                 .process_name = fmt::format("trainer {}", rank),
                 .read_ns = origin + 1'000'000 * kUs,
                 .realtime_offset_ns = 1'700'000'000'000'000'000};
    b.labels = {"node7",  "4711", "pod-a", "team", "n7", rank, rank, 2, "python train.py --fast",
                "garden", "abc",  {}};
    b.names = {{1, "iteration"},
               {2, "forward", "gsplat"},
               {3, "cudaLaunchKernel"},
               {4, "renderCUDA(float)"},
               {5, "adam_kernel"},
               {6, "cuLaunchKernel"},
               {7, "load \"x\""},
               {8, "cudaMemcpyAsync"},
               {9, "cudaStreamSynchronize"},
               {10, "loss"},
               {11, "slow", "gsplat", 0, 4},
               {12, "loading a module"}};
    b.tracks = {{0, pid, pid, "main"}, {1, pid, pid + 1, "autograd"}};
    GpuDeviceEvent d{.device = 1,
                     .name = "H200",
                     .uuid = "GPU-0011",
                     .compute_major = 9,
                     .multiprocessors = 132,
                     .warps_per_multiprocessor = 64,
                     .blocks_per_multiprocessor = 32,
                     .registers_per_multiprocessor = 65536,
                     .shared_per_multiprocessor = 233'472,
                     .shared_per_block = 232'448,
                     .memory_bytes = 150'000'000'000};
    b.devices = {d};
    b.pauses = {{origin + 300 * kUs, origin + 350 * kUs, true, false},
                {origin + 350 * kUs, origin + 2000 * kUs, true, true}};
    std::uint64_t c = 10;
    for (int i = 0; i < steps; ++i) {
        const std::int64_t t = origin + i * 1000 * kUs;
        const auto step = static_cast<std::uint64_t>(i);
        SpanEvent forward{
            t + 10 * kUs, t + 400 * kUs, std::bit_cast<std::uint64_t>(0.5 + i), 0, 2, 1, true};
        forward.payload_kind = PayloadKind::real;
        forward.category = 4;
        b.spans.push_back(forward);
        b.spans.push_back({t, t + 900 * kUs, step, 0, 1, 0, true});
        b.async_spans.push_back({t + 5 * kUs, t + 1500 * kUs, 0, 0, 7, false});
        b.api_calls.push_back({t + 20 * kUs, t + 30 * kUs, ++c, pid, 3});
        b.api_calls.push_back({t + 22 * kUs, t + 29 * kUs, c, pid, 6, 0, true});
        b.gpu_work.push_back(kernel(t + 40 * kUs, t + 90 * kUs, c, 4, 7));
        b.api_calls.push_back({t + 500 * kUs, t + 510 * kUs, ++c, pid + 1, 3});
        b.gpu_work.push_back(kernel(t + 520 * kUs, t + 540 * kUs, c, 5, 7));
        b.gpu_work.push_back(kernel(t + 525 * kUs, t + 560 * kUs, c, 5, 7));  // nodes overlap
        b.gpu_work.back().graph = 8;
        b.api_calls.push_back({t + 600 * kUs, t + 620 * kUs, ++c, pid, 8, 11});
        GpuWorkEvent copy = kernel(t + 630 * kUs, t + 640 * kUs, c, 0, 13);
        copy = {copy.begin_ns, copy.end_ns, 0, 0, c, 4096, 0, 1, 3, 13};
        copy.kind = GpuWorkKind::copy;
        copy.source = MemoryType::pageable;
        copy.target = MemoryType::device;
        copy.asynchronous = false;
        b.gpu_work.push_back(copy);
        b.api_calls.push_back({t + 700 * kUs, t + 800 * kUs, ++c, pid, 9});
        b.syncs.push_back({t + 701 * kUs, t + 799 * kUs, c, 3, 7, SyncType::stream});
        b.memory.push_back({t + 3, 1 << 20, 0x7000, 0, 1, MemoryType::device, i % 2 == 1});
        b.overheads.push_back({t + 850 * kUs, t + 860 * kUs, pid, OverheadType::module_load});
        b.counters.push_back({t, 0.25 * i, 0, 10});
    }
    return b;
}

/// Everything a store knows that a file should carry, as sorted lines. `whole`: also what only our
/// Perfetto files hold.
inline std::vector<std::string> words_of(const TraceStore& s, bool whole,
                                         std::uint32_t only = kAnyProcess) {
    std::vector<std::string> out;
    const std::int64_t zero = s.sources().realtime_offset_ns();
    for (std::uint32_t p = 0; p < s.processes().size(); ++p) {
        if (only != kAnyProcess && p != only) continue;
        const TraceProcess& process = s.processes()[p];
        const std::string who = process.name + "/" + std::to_string(process.pid) + " ";
        for (const std::string& label : label_texts(process.labels)) out.push_back(who + label);
        if (whole) out.push_back(who + "command " + process.labels.command);
        for (const GpuDeviceEvent& d : process.devices)
            if (whole)
                out.push_back(who + fmt::format("GPU {} {} {} {} {} {} {}", d.device, d.name,
                                                d.uuid, d.compute_major, d.multiprocessors,
                                                d.blocks_per_multiprocessor, d.memory_bytes));
        for (const SyncEvent& e : process.syncs.view())
            out.push_back(who + fmt::format("sync {} {} {} {} {}", e.begin_ns + zero,
                                            e.end_ns + zero, e.correlation, e.stream,
                                            static_cast<int>(e.type)));
        for (const MemoryEvent& e : process.memory.view())
            if (whole)
                out.push_back(who + fmt::format("memory {} {} {} {}", e.time_ns + zero, e.bytes,
                                                e.address, e.released));
        for (const PauseEvent& e : process.pauses.view())
            if (whole)
                out.push_back(who + fmt::format("pause {} {} {} {}", e.begin_ns + zero,
                                                e.end_ns + zero, e.ranges, e.gpu));
        for (const CounterSeries& c : s.counters())
            for (const CounterPoint& point : c.points.view())
                if (c.process == p)
                    out.push_back(who + fmt::format("{} {} {}", s.name(c.name),
                                                    point.time_ns + zero, point.value));
    }
    for (std::size_t t = 0; t < s.tracks().size(); ++t) {
        const TraceTrack& track = s.tracks()[t];
        if (only != kAnyProcess && track.process != only) continue;
        const TraceProcess& process = s.processes()[track.process];
        const std::string who =
            fmt::format("{}/{} {} {} row ", process.name, process.pid, track.name, track.tid);
        for (std::size_t r = 0; r < track.rows.size(); ++r)
            for (const TraceSpan& span : track.rows[r].view()) {
                std::string line =
                    who + fmt::format("{}: {} {}..{} [{}]", r, s.name(span.name),
                                      span.begin_ns + zero, span.end_ns + zero, payload_text(span));
                line += s.names().domain(span.name);
                if (whole) line += s.names().category(span.name, span.category);
                if (const GpuWork* w = s.tracks()[t].work_of(r, span)) {
                    line +=
                        fmt::format(" {} {} {} {} {} {} {} {} {} {} {} {}", track.device,
                                    track.context, w->bytes, w->correlation, w->grid[0],
                                    w->block[0], w->registers, w->static_shared, w->dynamic_shared,
                                    w->graph, static_cast<int>(w->source), w->asynchronous);
                    const auto by = s.timeline().launching_span(t, r, span);
                    const auto in = range_of(s, t, r, span);
                    line += " by ";
                    line += by.span == nullptr ? "nobody" : s.name(by.span->name);
                    line += in.span == nullptr ? " nowhere"
                                               : " in " + std::string(s.name(in.span->name));
                    line += in.inferred ? "?" : "";
                }
                out.push_back(line);
            }
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace gs::test
