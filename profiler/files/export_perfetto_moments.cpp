#include "profiler/files/export_perfetto_moments.h"

#include <algorithm>

#include "profiler/files/perfetto_writer.h"

namespace gs::perfetto {
namespace {

/// Waits, memory, GPUs and pauses of a process: instants with all their numbers, on tracks the
/// import knows.
class MomentWriter {
  public:
    MomentWriter(PacketSink& sink, const TraceStore& store, std::uint32_t& sequence,
                 const PerfettoOptions& options)
        : sink_(sink), store_(store), sequence_(sequence), options_(options) {}

    void write(std::uint32_t process) {
        const TraceProcess& of = store_.processes()[process];
        waits(process, of.syncs.view());
        memory(process, of.memory.view());
        pauses(process, of.pauses.view());
        gpus(process, of.devices);
    }

  private:
    void waits(std::uint32_t process, std::span<const SyncEvent> events) {
        track(
            process, 1, kSyncTrack, events, [](const SyncEvent& e) { return e.begin_ns; },
            [](Sequence& out, std::uint64_t uuid, const SyncEvent& e) {
                const Annotation a[] = {
                    {"length_ns", static_cast<std::uint64_t>(e.end_ns - e.begin_ns)},
                    {"correlation", e.correlation},
                    {"context", e.context},
                    {"stream", e.stream},
                    {"type", static_cast<std::uint64_t>(e.type)}};
                out.moment(uuid, e.begin_ns, "wait", a);
            });
    }
    void memory(std::uint32_t process, std::span<const MemoryEvent> events) {
        track(
            process, 2, kMemoryTrack, events, [](const MemoryEvent& e) { return e.time_ns; },
            [](Sequence& out, std::uint64_t uuid, const MemoryEvent& e) {
                const Annotation a[] = {{"bytes", e.bytes},
                                        {"address", e.address},
                                        {"correlation", e.correlation},
                                        {"device", e.device},
                                        {"type", static_cast<std::uint64_t>(e.type)}};
                out.moment(uuid, e.time_ns, e.released ? "release" : "allocate", a);
            });
    }
    void pauses(std::uint32_t process, std::span<const PauseEvent> events) {
        const auto shown_from = [&](const PauseEvent& e) {
            return std::clamp(options_.begin_ns, e.begin_ns, e.end_ns);
        };
        track(process, 4, kPauseTrack, events, shown_from,
              [&](Sequence& out, std::uint64_t uuid, const PauseEvent& e) {
                  const std::int64_t from = shown_from(e);
                  const Annotation a[] = {
                      {"length_ns", static_cast<std::uint64_t>(e.end_ns - from)},
                      {"ranges", e.ranges ? 1u : 0u},
                      {"gpu", e.gpu ? 1u : 0u}};
                  out.moment(uuid, from, "held back by the budget", a);
              });
    }
    void gpus(std::uint32_t process, std::span<const GpuDeviceEvent> devices) {
        const std::int64_t begin =
            std::clamp(store_.begin_ns(), options_.begin_ns, options_.end_ns);
        track(
            process, 3, kGpusTrack, devices, [&](const GpuDeviceEvent&) { return begin; },
            [&](Sequence& out, std::uint64_t uuid, const GpuDeviceEvent& d) {
                const auto whole = [](int v) { return static_cast<std::uint64_t>(v); };
                const Annotation a[] = {
                    {"device", d.device},
                    {"uuid", 0, PayloadKind::whole, d.uuid},
                    {"compute_major", whole(d.compute_major)},
                    {"compute_minor", whole(d.compute_minor)},
                    {"multiprocessors", whole(d.multiprocessors)},
                    {"warps_per_multiprocessor", d.warps_per_multiprocessor},
                    {"blocks_per_multiprocessor", d.blocks_per_multiprocessor},
                    {"registers_per_multiprocessor", d.registers_per_multiprocessor},
                    {"shared_per_multiprocessor", d.shared_per_multiprocessor},
                    {"shared_per_block", d.shared_per_block},
                    {"l2_bytes", d.l2_bytes},
                    {"clock_khz", whole(d.clock_khz)},
                    {"memory_clock_khz", whole(d.memory_clock_khz)},
                    {"memory_bus_bits", whole(d.memory_bus_bits)},
                    {"memory_bytes", d.memory_bytes}};
                out.moment(uuid, begin, d.name, a);
            });
    }
    template <class T, class Time, class Write>
    void track(std::uint32_t process, std::uint64_t which, const char* name,
               std::span<const T> events, Time time, Write write) {
        std::vector<const T*> in_order;
        for (const T& e : events)
            if (options_.contains(time(e))) in_order.push_back(&e);
        if (in_order.empty()) return;
        std::stable_sort(in_order.begin(), in_order.end(),
                         [&](const T* a, const T* b) { return time(*a) < time(*b); });
        const std::uint64_t uuid = hash64(process_uuid(process) + which) | 1;
        write_track(sink_, uuid, [&](pbf_writer& t) {
            t.add_string(2, name);
            t.add_uint64(5, process_uuid(process));
            t.add_string(14, name);
        });
        Sequence out(sink_, store_, sequence_++, false);
        for (const T* e : in_order) write(out, uuid, *e);
    }

    PacketSink& sink_;
    const TraceStore& store_;
    std::uint32_t& sequence_;
    const PerfettoOptions& options_;
};

}  // namespace

void write_moments(PacketSink& sink, const TraceStore& store, std::uint32_t process,
                   std::uint32_t& sequence, const PerfettoOptions& options) {
    MomentWriter(sink, store, sequence, options).write(process);
}

}  // namespace gs::perfetto
