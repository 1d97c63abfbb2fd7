#include "profiler/files/perfetto_passes.h"

#include "base/rng.h"
#include "profiler/analysis/counterpart.h"

namespace gs::perfetto {
namespace {

/// Of an arrow that ends at a span: another than those that begin there.
std::uint64_t arrow_to(std::uint64_t flow) { return hash64(flow) | 1; }

}  // namespace

std::uint64_t flow_id(std::uint64_t track, std::size_t row, std::int64_t begin_ns) {
    return hash64(hash64(static_cast<std::uint64_t>(begin_ns)) ^ (track << 8 | row)) | 1;
}

PassArrows::PassArrows(const TraceStore& store, const PerfettoOptions& options) {
    const ForwardRanges forward(store);
    if (forward.empty()) return;
    for (std::size_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.kind != TrackKind::thread) continue;
        for (std::size_t row = 0; row < track.rows.size(); ++row)
            for (const TraceSpan& span : track.rows[row].view()) {
                if (!options.covers(span) || pass_of(store, span) != Pass::backward) continue;
                const FoundSpan by = forward.of(track.process, span);
                if (by.span == nullptr || !options.covers(*by.span)) continue;
                const std::uint64_t end = flow_id(t, row, span.begin_ns);
                ends_.insert(end);
                from_[flow_id(by.track, by.row, by.span->begin_ns)].push_back(arrow_to(end));
            }
    }
}

std::span<const std::uint64_t> PassArrows::from(std::uint64_t flow) const {
    const auto found = from_.find(flow);
    return found == from_.end() ? std::span<const std::uint64_t>() : found->second;
}

std::uint64_t PassArrows::to(std::uint64_t flow) const {
    return ends_.contains(flow) ? arrow_to(flow) : 0;
}

}  // namespace gs::perfetto
