#include "profiler/analysis/collectives.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "profiler/analysis/activity.h"

namespace gs {
namespace {

struct Operation {
    std::string_view key, name;
    bool together = false;
    bool prefix = false;  ///< "all_gather_into_tensor" is one, "reduce_loss" is not
};
constexpr Operation kOperations[] = {
    {"allreduce", "all_reduce", true, true},
    {"allgather", "all_gather", true, true},
    {"reducescatter", "reduce_scatter", true, true},
    {"alltoall", "all_to_all", true, true},
    {"barrier", "barrier", true},
    {"broadcast", "broadcast"},
    {"reduce", "reduce"},
    {"gather", "gather"},
    {"scatter", "scatter"},
    {"sendrecv", "send_recv"},
    {"send", "send"},
    {"recv", "recv"},
};

/// What a name means for this.
struct Meaning {
    const Operation* operation = nullptr;  ///< null: no collective
    bool kernel = false, enqueues = false, of_hook = false;
};

const Operation* operation_called(std::string_view word) {
    std::string key = lower_case(std::string(word));
    std::erase(key, '_');
    for (const Operation& o : kOperations)
        if (o.prefix ? key.starts_with(o.key) : key == o.key) return &o;
    return nullptr;
}

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "ncclAllReduce", "gloo:all_reduce",
/// "all_gather_into_tensor".
Meaning meaning_of(std::string_view name, std::string_view domain) {
    Meaning out;
    out.enqueues = only_enqueues(name, domain);
    out.of_hook = domain == "PyTorch";
    if (name == "DistributedDataParallel.wait") name = "all_reduce";  // what it waits for
    for (const std::string_view start : {"ncclDevKernel_", "ncclKernel_"})
        if (name.starts_with(start)) {
            out.kernel = true;
            const std::string_view rest = name.substr(start.size());
            out.operation = operation_called(rest.substr(0, rest.find_first_of("_(<")));
            return out;
        }
    name = name.substr(name.find_last_of(":.") + 1);  // npos + 1: all of it
    if (name.starts_with("nccl")) name.remove_prefix(4);
    out.operation = operation_called(name);
    return out;
}

/// What names mean, each looked at once.
class CollectiveNames {
  public:
    explicit CollectiveNames(const NameBook& names) : names_(names) {}
    const Meaning& operator[](std::uint32_t name) {
        const auto [place, added] = known_.try_emplace(name);
        if (added) place->second = meaning_of(names_.text(name), names_.domain(name));
        return place->second;
    }

  private:
    const NameBook& names_;
    std::unordered_map<std::uint32_t, Meaning> known_;
};

std::uint64_t communicator_of(const TraceStore& store, const FoundSpan& range) {
    for (const TraceValue& v : store.values().of(range.track, range.span->begin_ns, range.row))
        if (lower_case(std::string(store.name(v.name))).find("communicator") != std::string::npos)
            return v.value;
    return 0;
}

/// The collective that `range` describes.
void take_range(const TraceStore& store, const FoundSpan& range, Collective& out) {
    if (range.span->has_payload && range.span->payload_kind == PayloadKind::whole && out.bytes == 0)
        out.bytes = range.span->payload;
    out.communicator = communicator_of(store, range);
}

/// Whether a process had kernels of collectives: then their ranges tell nothing of the time.
std::vector<bool> with_kernels(const TraceStore& store, CollectiveNames& meanings,
                               std::uint32_t only, TimeRange within) {
    std::vector<bool> out(store.processes().size());
    for (const TraceTrack& track : store.tracks()) {
        if (track.kind != TrackKind::gpu_stream || out[track.process]) continue;
        if (only != kAnyProcess && track.process != only) continue;
        for (const auto& row : track.rows)
            for (const TraceSpan& span : spans_within(row.view(), within.begin_ns, within.end_ns))
                if (meanings[span.name].kernel && meanings[span.name].operation != nullptr)
                    out[track.process] = true;
    }
    return out;
}

/// The hook's range of a call that waits has that wait inside.
bool waits_inside(const TraceStore& store, const TraceTrack& on, std::size_t row,
                  const TraceSpan& span) {
    if (row + 1 >= on.rows.size()) return false;
    const auto inner = spans_within(on.rows[row + 1].view(), span.begin_ns, span.end_ns);
    return std::ranges::any_of(
        inner, [&](const TraceSpan& s) { return store.name(s.name) == "Work.wait"; });
}

}  // namespace

bool only_enqueues(std::string_view name, std::string_view domain) {
    return name.starts_with("nccl") || name.starts_with("c10d::") || domain == "NCCL";
}

std::vector<std::vector<Collective>> collectives(const TraceStore& store, std::uint32_t only,
                                                 TimeRange within) {
    CollectiveNames meanings(store.names());
    const std::vector<bool> on_gpu = with_kernels(store, meanings, only, within);
    std::vector<std::vector<Collective>> out(store.processes().size());
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        const bool gpu = track.kind == TrackKind::gpu_stream;
        const bool ranges = track.kind == TrackKind::thread || track.kind == TrackKind::overlapping;
        if (gpu != on_gpu[track.process] || (!gpu && !ranges)) continue;
        if (only != kAnyProcess && track.process != only) continue;
        for (std::size_t row = 0; row < track.rows.size(); ++row)
            for (const TraceSpan& span :
                 spans_within(track.rows[row].view(), within.begin_ns, within.end_ns)) {
                const Meaning& m = meanings[span.name];
                if (m.operation == nullptr || m.kernel != gpu) continue;
                Collective c{.begin_ns = span.begin_ns,
                             .end_ns = span.end_ns,
                             .name = span.name,
                             .track = t,
                             .operation = m.operation->name,
                             .on_gpu = gpu};
                c.enqueues =
                    !gpu && (m.enqueues || (m.of_hook && !waits_inside(store, track, row, span)));
                c.together = m.operation->together && !c.enqueues;
                FoundSpan range{&span, t, row};
                if (gpu) {
                    const GpuWork* const work = store.tracks()[t].work_of(row, span);
                    c.bytes = work != nullptr ? work->bytes : 0;
                    range = range_of(store, t, row, span);
                    if (range.span != nullptr && meanings[range.span->name].operation == nullptr)
                        range = {};
                }
                if (range.span != nullptr) take_range(store, range, c);
                out[track.process].push_back(c);
            }
    }
    for (auto& of_process : out) std::ranges::sort(of_process, {}, &Collective::end_ns);
    return out;
}

}  // namespace gs
