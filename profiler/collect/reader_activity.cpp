// TraceReader's other half: what CUPTI recorded in a process (activity lanes), its GPUs, and how
// the service does in it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "profiler/collect/reader.h"

namespace gs {
namespace {

/// Records wait this long, and this many of them, for a snapshot that relates CUPTI's clock to
/// ours.
constexpr std::int64_t kLongestWaitNs = 1'000'000'000;
constexpr std::size_t kMostWaiting = 65536;

template <class T>
T detail_of(const abi::ActivityRecord& record) {
    return std::bit_cast<T>(record.detail);
}
GpuWorkKind work_kind(abi::ActivityKind kind) {
    return kind == abi::ActivityKind::kernel ? GpuWorkKind::kernel
           : kind == abi::ActivityKind::copy ? GpuWorkKind::copy
           : kind == abi::ActivityKind::fill ? GpuWorkKind::fill
                                             : GpuWorkKind::graph;
}

GpuWorkEvent gpu_work_of(const abi::ActivityRecord& r, std::int64_t begin, std::int64_t end,
                         std::uint32_t name) {
    GpuWorkEvent work{.begin_ns = begin,
                      .end_ns = end,
                      .correlation = r.correlation,
                      .name = name,
                      .device = r.device,
                      .stream = r.stream,
                      .kind = work_kind(static_cast<abi::ActivityKind>(r.kind)),
                      .asynchronous = (r.flags & abi::kAsynchronous) != 0};
    if (work.kind == GpuWorkKind::copy || work.kind == GpuWorkKind::fill) {
        const auto d = detail_of<abi::CopyDetail>(r);
        work.bytes = d.bytes;
        work.source = enumerator<MemoryType>(d.source);
        work.target = enumerator<MemoryType>(d.target);
        work.context = d.context;
        work.graph = d.graph;
    } else {
        const auto d = detail_of<abi::KernelDetail>(r);
        std::copy_n(std::to_array<std::uint32_t>({d.grid_x, d.grid_y, d.grid_z}).begin(), 3,
                    work.grid);
        std::copy_n(std::to_array<std::uint32_t>({d.block_x, d.block_y, d.block_z}).begin(), 3,
                    work.block);
        work.registers = d.registers;
        work.static_shared = d.static_shared;
        work.dynamic_shared = d.dynamic_shared;
        work.local_per_thread = d.local_per_thread;
        work.graph = d.graph;
        work.context = d.context;
        work.asynchronous = true;
    }
    return work;
}

std::string uuid_text(const std::uint8_t (&uuid)[16]) {
    std::string out = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        out += fmt::format("{:02x}", uuid[i]);
    }
    return out;
}

}  // namespace

void TraceReader::take_activities(TraceBatch& out) {
    if (activities_.empty()) return;
    if (!clocks_.knows_cupti()) {
        if (waiting_since_ns_ == 0) waiting_since_ns_ = out.read_ns;
        if (out.read_ns - waiting_since_ns_ < kLongestWaitNs && activities_.size() < kMostWaiting)
            return;
    }
    read_devices(out);
    for (const abi::ActivityRecord& record : activities_) take_activity(record, out);
    activities_.clear();
    waiting_since_ns_ = 0;
}

void TraceReader::take_activity(const abi::ActivityRecord& r, TraceBatch& out) {
    const std::int64_t begin = clocks_.ns_from_cupti(r.begin), end = clocks_.ns_from_cupti(r.end);
    const auto kind = static_cast<abi::ActivityKind>(r.kind);
    const bool moment = kind == abi::ActivityKind::memory;
    if (begin < 0 || begin > latest_time(out) ||
        (!moment && (r.end < r.begin || end < begin || end > latest_time(out)))) {
        ++loss_.malformed;
        return;
    }
    switch (kind) {
        case abi::ActivityKind::kernel:
        case abi::ActivityKind::copy:
        case abi::ActivityKind::fill:
        case abi::ActivityKind::graph:
            out.gpu_work.push_back(gpu_work_of(r, begin, end, known(r.name, out)));
            return;
        case abi::ActivityKind::api:
            out.api_calls.push_back({begin, end, r.correlation, r.stream, known(r.name, out),
                                     detail_of<abi::ApiDetail>(r).result,
                                     (r.flags & abi::kDriverApi) != 0});
            return;
        case abi::ActivityKind::synchronization: {
            const auto d = detail_of<abi::SyncDetail>(r);
            out.syncs.push_back(
                {begin, end, r.correlation, d.context, r.stream, enumerator<SyncType>(d.type)});
            return;
        }
        case abi::ActivityKind::overhead:
            out.overheads.push_back(
                {begin, end, r.stream,
                 enumerator<OverheadType>(detail_of<abi::OverheadDetail>(r).type)});
            return;
        case abi::ActivityKind::memory: {
            const auto d = detail_of<abi::MemoryDetail>(r);
            out.memory.push_back({begin, d.bytes, d.address, r.correlation, r.device,
                                  enumerator<MemoryType>(d.type), (r.flags & abi::kReleases) != 0});
            return;
        }
        default:
            ++loss_.malformed;
    }
}

void TraceReader::read_devices(TraceBatch& out) {
    if (layout_.version < (1u << 16 | 2)) return;  // before 1.2 these bytes meant nothing
    for (std::uint32_t i = 0; i < abi::kGpuSlots; ++i) {
        if ((devices_told_ >> i & 1) != 0) continue;
        abi::GpuDevice d;
        memory_.copy(devices_offset(layout_) + i * sizeof d, &d, sizeof d);
        const std::uint32_t name = known(d.name, out);
        if (name == 0) continue;
        devices_told_ |= 1u << i;
        GpuDeviceEvent event{.device = i,
                             .name = names_[name - 1].text,
                             .uuid = uuid_text(d.uuid),
                             .compute_major = d.compute_major,
                             .compute_minor = d.compute_minor};
        event.multiprocessors =
            static_cast<int>(std::min<std::uint32_t>(d.multiprocessors, 1u << 16));
        event.warps_per_multiprocessor = d.warps_per_multiprocessor;
        event.blocks_per_multiprocessor = d.blocks_per_multiprocessor;
        event.registers_per_multiprocessor = d.registers_per_multiprocessor;
        event.shared_per_multiprocessor = d.shared_per_multiprocessor;
        event.shared_per_block = d.shared_per_block;
        event.l2_bytes = d.l2_bytes;
        event.clock_khz = static_cast<int>(std::min<std::uint32_t>(d.clock_khz, 1u << 30));
        event.memory_clock_khz =
            static_cast<int>(std::min<std::uint32_t>(d.memory_clock_khz, 1u << 30));
        event.memory_bus_bits =
            static_cast<int>(std::min<std::uint32_t>(d.memory_bus_bits, 1u << 20));
        event.memory_bytes = d.memory_bytes;
        out.devices.push_back(std::move(event));
    }
}

// A process nobody serves leaves these words at zero.
void TraceReader::read_service(const abi::RingHeader& now, TraceBatch& out) {
    if (now.cupti_state == 0 && now.cupti_reason == 0 && now.service_cpu_ns == 0 &&
        now.budget_ppm == 0 && now.duty_ppm == 0)
        return;
    constexpr double kMillionth = 1e-6;
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
    ServiceStatus s;
    if (now.cupti_state <= static_cast<std::uint32_t>(abi::CuptiState::paused))
        s.cupti = static_cast<abi::CuptiState>(now.cupti_state);
    if (const std::uint32_t reason = known(now.cupti_reason, out); reason != 0)
        s.cupti_reason = names_[reason - 1].text;
    s.cupti_dropped = now.cupti_dropped;
    s.budget_skipped = now.budget_skipped;
    s.lost_descriptors = now.lost_descriptors;
    s.unmatched_ends = now.unmatched_ends;
    s.service_cpu_ns = static_cast<std::int64_t>(std::min(now.service_cpu_ns, kLimit));
    s.slow_path_ns = clocks_.ticks().length_ns(now.service_ticks);
    s.budget = std::min(now.budget_ppm * kMillionth, 1.0);
    s.duty =
        now.duty_ppm == 0 && now.budget_ppm == 0 ? 1.0 : std::min(now.duty_ppm * kMillionth, 1.0);
    s.armed = now.armed != 0;
    s.gpu_complete_ns = static_cast<std::int64_t>(std::min(now.cupti_complete_ns, kLimit));
    s.heartbeat_ns = static_cast<std::int64_t>(std::min(now.heartbeat_ns, kLimit));
    out.service = std::move(s);
}

}  // namespace gs
