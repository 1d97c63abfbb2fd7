#include "profiler/files/export_perfetto_gpu.h"

#include <fmt/format.h>

#include <array>

#include "base/rng.h"
#include "profiler/analysis/occupancy.h"

namespace gs::perfetto {
namespace {

enum RenderStage : std::uint32_t {
    kEventId = 1,
    kDuration = 2,
    kContext = 5,
    kExtraData = 6,
    kGpuId = 11,
    kQueueIid = 13,
    kStageIid = 14,
    kKernelIid = 19,
    kEventNameIid = 20,
    kLaunch = 21
};
constexpr std::array<const char*, 4> kKindNames{"Kernel", "Memcpy", "Memset", "Graph"};
constexpr std::uint64_t kCompute = 2;
constexpr std::uint64_t kFirstQueue = 16;  ///< iids of queues come after those of the kinds of work

void write_dimensions(pbf_writer& e, std::uint32_t field, std::uint64_t x, std::uint64_t y,
                      std::uint64_t z) {
    pbf_writer d(e, field);
    d.add_uint64(1, x);
    d.add_uint64(2, y);
    d.add_uint64(3, z);
}

/// One argument of a launch: a whole number, or a share that only doubles hold.
struct Argument {
    const char* name;
    double value;
    bool whole = true;
};

std::vector<Argument> arguments_of(const GpuWork& work, const GpuDeviceEvent* device) {
    const auto threads = static_cast<double>(work.block[0]) * work.block[1] * work.block[2];
    std::vector<Argument> out{
        {"registers_per_thread", static_cast<double>(work.registers)},
        {"shared_mem_static", static_cast<double>(work.static_shared)},
        {"shared_mem_dynamic", static_cast<double>(work.dynamic_shared)},
        {"local_mem_per_thread", static_cast<double>(work.local_per_thread)},
        {"thread_count", threads * work.grid[0] * work.grid[1] * work.grid[2]}};
    if (device == nullptr) return out;
    const Occupancy occupancy = occupancy_of(shape_of(work), *device);
    if (occupancy.share <= 0) return out;
    out.push_back({"waves_per_multiprocessor", occupancy.waves, false});
    out.push_back({"sm__maximum_warps_per_active_cycle_pct", occupancy.share * 100, false});
    return out;
}

class StageWriter {
  public:
    StageWriter(Sequence& out, const TraceStore& store, std::size_t track, std::uint32_t pid)
        : out_(out), store_(store), track_index_(track), track_(store.tracks()[track]), pid_(pid) {
        const TraceProcess& process = store.processes()[track_.process];
        for (const GpuDeviceEvent& d : process.devices)
            if (d.device == track_.device) device_ = &d;
        context_ = (std::uint64_t{track_.process} << 32 | track_.context) + 1;
        queue_ = kFirstQueue + track;
    }

    void write(std::size_t row, std::size_t index, const TraceSpan& span) {
        const GpuWork& work = store_.tracks()[track_index_].works[row].view()[index];
        const auto kind = static_cast<std::uint64_t>(work.kind);
        declare(kind, span, work);
        const std::uint64_t name = out_.intern_name(span.name);
        const std::vector<Argument> arguments = work.kind == GpuWorkKind::kernel
                                                    ? arguments_of(work, device_)
                                                    : std::vector<Argument>{};
        for (const Argument& a : arguments)
            out_.intern_text(kArgNames, argument_iid(a.name), a.name);
        out_.packet(span.begin_ns, kRenderStage, [&](pbf_writer& e) {
            e.add_uint64(kEventId, render_stage_id(track_index_, row, index));
            e.add_uint64(kDuration, static_cast<std::uint64_t>(span.length_ns()));
            e.add_uint64(kContext, context_);
            write_extra(e, work);
            e.add_uint64(kGpuId, track_.device);
            e.add_uint64(kQueueIid, queue_);
            e.add_uint64(kStageIid, kind + 1);
            if (work.kind == GpuWorkKind::kernel) e.add_uint64(kKernelIid, name);
            e.add_uint64(kEventNameIid, name);
            if (work.kind == GpuWorkKind::kernel) write_launch(e, work, arguments);
        });
    }

  private:
    std::uint64_t argument_iid(std::string_view name) {
        const auto found = std::find(arguments_.begin(), arguments_.end(), name);
        if (found != arguments_.end())
            return static_cast<std::uint64_t>(found - arguments_.begin()) + 1;
        arguments_.emplace_back(name);
        return arguments_.size();
    }
    void declare(std::uint64_t kind, const TraceSpan& span, const GpuWork& work) {
        out_.intern(kGpuSpecifications, kind + 1, [&](pbf_writer& s) {
            s.add_string(2, kKindNames[kind]);
            s.add_uint64(4, kCompute);
        });
        out_.intern(kGpuSpecifications, queue_, [&](pbf_writer& s) {
            s.add_string(2, fmt::format("stream {}", track_.stream));
            s.add_string(3, track_.name);
            s.add_uint64(4, kCompute);
        });
        out_.intern(kContexts, context_, [&](pbf_writer& c) {
            c.add_uint64(2, pid_);
            c.add_uint64(3, kCuda);
        });
        if (work.kind != GpuWorkKind::kernel) return;
        out_.intern(kKernels, span.name + std::uint64_t{1}, [&](pbf_writer& k) {
            k.add_string(3, store_.name(span.name));
            if (device_ != nullptr)
                k.add_string(
                    4, fmt::format("sm_{}{}", device_->compute_major, device_->compute_minor));
        });
    }
    void write_extra(pbf_writer& e, const GpuWork& work) const {
        const auto extra = [&](const char* name, std::string_view value) {
            pbf_writer x(e, kExtraData);
            x.add_string(1, name);
            x.add_string(2, value);
        };
        extra("device", std::to_string(track_.device));
        extra("context", std::to_string(track_.context));
        extra("stream", std::to_string(track_.stream));
        if (work.correlation != 0) extra("correlation", std::to_string(work.correlation));
        if (work.graph != 0) extra("graph", std::to_string(work.graph));
        if (work.bytes != 0) extra("bytes", std::to_string(work.bytes));
        if (work.queued_ns != 0) extra("queued_ns", std::to_string(work.queued_ns));
        if (work.submitted_ns != 0) extra("submitted_ns", std::to_string(work.submitted_ns));
        if (work.kind != GpuWorkKind::copy && work.kind != GpuWorkKind::fill) return;
        if (work.source != MemoryType::unknown) extra("source", name_of(work.source));
        if (work.target != MemoryType::unknown) extra("target", name_of(work.target));
        extra("asynchronous", work.asynchronous ? "1" : "0");
    }
    void write_launch(pbf_writer& e, const GpuWork& work, const std::vector<Argument>& arguments) {
        pbf_writer l(e, kLaunch);
        write_dimensions(l, 1, work.grid[0], work.grid[1], work.grid[2]);
        write_dimensions(l, 2, work.block[0], work.block[1], work.block[2]);
        for (const Argument& a : arguments) {
            pbf_writer x(l, 3);
            x.add_uint64(1, argument_iid(a.name));
            if (a.whole)
                x.add_uint64(4, static_cast<std::uint64_t>(a.value));
            else
                x.add_double(5, a.value);
        }
    }

    Sequence& out_;
    const TraceStore& store_;
    std::size_t track_index_;
    const TraceTrack& track_;
    std::uint32_t pid_;
    const GpuDeviceEvent* device_ = nullptr;
    std::uint64_t context_ = 0, queue_ = 0;
    std::vector<std::string> arguments_;
};

}  // namespace

std::size_t SpanKeyHash::operator()(const SpanKey& key) const {
    return hash64(hash64(static_cast<std::uint64_t>(key.begin_ns)) ^
                  (std::uint64_t{key.track} << 8 | key.row));
}

std::uint64_t render_stage_id(std::size_t track, std::size_t row, std::size_t index) {
    return (std::uint64_t{track} + 1) << 40 | std::uint64_t{row} << 34 | index;
}

Submissions submissions_of(const TraceStore& store, const PerfettoOptions& options) {
    Submissions out;
    for (std::size_t t = 0; t < store.tracks().size(); ++t)
        for (std::size_t r = 0; r < store.tracks()[t].works.size(); ++r) {
            const auto row = store.tracks()[t].rows[r].view();
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (!options.covers(row[i])) continue;
                const auto by = store.timeline().launching_span(t, r, row[i]);
                if (by.span == nullptr) continue;
                const SpanKey key{by.track, static_cast<std::uint32_t>(by.row), by.span->begin_ns};
                out[key].push_back(render_stage_id(t, r, i));
            }
        }
    return out;
}

std::uint64_t write_render_stages(Sequence& out, const TraceStore& store, std::size_t track,
                                  const PerfettoOptions& options, std::uint32_t pid) {
    const auto& rows = store.tracks()[track].rows;
    StageWriter writer(out, store, track, pid);
    std::vector<std::size_t> next(rows.size());
    std::uint64_t count = 0;
    for (;;) {
        std::size_t earliest = rows.size();
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (next[r] < rows[r].size() &&
                (earliest == rows.size() ||
                 rows[r].view()[next[r]].begin_ns < rows[earliest].view()[next[earliest]].begin_ns))
                earliest = r;
        if (earliest == rows.size()) return count;
        const std::size_t index = next[earliest]++;
        const TraceSpan& span = rows[earliest].view()[index];
        if (!options.covers(span)) continue;
        writer.write(earliest, index, span);
        ++count;
    }
}

void write_gpus(PacketSink& sink, const TraceStore& store) {
    std::vector<const GpuDeviceEvent*> devices;
    for (const TraceProcess& process : store.processes())
        for (const GpuDeviceEvent& d : process.devices) {
            const auto same = [&](const GpuDeviceEvent* other) {
                return other->uuid == d.uuid && other->device == d.device && other->name == d.name;
            };
            if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(&d);
        }
    if (devices.empty()) return;
    sink.packet([&](pbf_writer& p) {
        p.add_uint64(kSequence, 1);
        pbf_writer info(p, kGpuInfo);
        for (const GpuDeviceEvent* d : devices) {
            pbf_writer g(info, 1);
            g.add_string(1, d->name);
            g.add_string(2, "NVIDIA");
            g.add_string(4, fmt::format("sm_{}{}", d->compute_major, d->compute_minor));
            g.add_string(5, d->uuid);
        }
    });
}

}  // namespace gs::perfetto
