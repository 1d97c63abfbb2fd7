#include "profiler/analysis/span_summary.h"

#include <algorithm>

#include "base/text.h"
#include "profiler/store/statistics.h"

namespace gs {
namespace {

bool same_letter(char a, char b) { return lower_case(a) == lower_case(b); }

std::uint32_t key_of(const Hit& hit, HitGroup group) {
    switch (group) {
        case HitGroup::name:
            return hit.name;
        case HitGroup::thread:
            return hit.track;
        case HitGroup::parent:
            return hit.parent;
        case HitGroup::stage:
            break;
    }
    return static_cast<std::uint32_t>(hit.stage);
}

/// `hits` are in descending order, so are those of a group: its median is in its middle.
std::vector<HitFigures::Group> group_hits(const std::vector<Hit>& hits, HitGroup by) {
    std::unordered_map<std::uint32_t, std::vector<double>> lengths;
    for (const Hit& hit : hits)
        lengths[key_of(hit, by)].push_back(static_cast<double>(hit.length_ns));
    std::vector<HitFigures::Group> groups;
    for (auto& [key, values] : lengths) {
        std::reverse(values.begin(), values.end());
        HitFigures::Group group{key, values.size(), 0, percentile(values, 50), values.back()};
        for (const double value : values) group.total_ns += value;
        groups.push_back(group);
    }
    std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
        return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.key < b.key;
    });
    return groups;
}

}  // namespace

Stage stage_of(const TraceStore& store, const TraceTrack& track, std::uint32_t name) {
    return track.kind == TrackKind::gpu_stream ? store.names().gpu_stage(name)
                                               : store.names().stage(name);
}

bool pattern_fits(std::string_view pattern, std::string_view text) {
    while (!pattern.empty()) {
        const std::size_t star = pattern.find('*');
        const std::string_view part = pattern.substr(0, star);
        const auto found =
            std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter);
        if (found == text.end() && !part.empty()) return false;
        text.remove_prefix(static_cast<std::size_t>(found - text.begin()) + part.size());
        pattern.remove_prefix(star == pattern.npos ? pattern.size() : star + 1);
    }
    return true;
}

bool NameTable::advance(const TraceStore& store, double budget_ms) {
    const auto enter = [&](WalkedSpan& span, const WalkedSpan*) {
        const TraceTrack& track = store.tracks()[span.track];
        const GpuWork* work = store.tracks()[span.track].work_of(span.row, *span.kept);
        const auto key = std::uint64_t{span.span.name} << 8 |
                         static_cast<std::uint64_t>(track.kind) << 4 |
                         (work ? static_cast<std::uint64_t>(work->kind) + 1 : 0);
        const auto [found, added] = row_of_.try_emplace(key, rows_.size());
        span.value = found->second;
        const std::int64_t length = span.span.length_ns();
        if (added) {
            NameFigures& row = rows_.emplace_back();
            row.name = span.span.name;
            row.stage = stage_of(store, track, span.span.name);
            row.kind = track.kind;
            row.min_ns = row.max_ns = length;
            if (work) row.work = work->kind;
        }
        NameFigures& row = rows_[found->second];
        ++row.count;
        row.total_ns += span.inside_ns;
        row.min_ns = std::min(row.min_ns, length);
        row.max_ns = std::max(row.max_ns, length);
        if (work) row.bytes += work->bytes;
    };
    return walk_for(walk_, store, budget_ms, enter,
                    [&](const WalkedSpan& span, const WalkedSpan* parent) {
                        rows_[span.value].self_ns += span.self_ns();
                        if (!parent) outer_ns_ += span.inside_ns;
                    });
}

std::vector<NameFigures> totals_by_name(const TraceStore& store) {
    NameTable table(store, kAllTime, {});
    while (!table.advance(store, 1000)) continue;
    std::vector<NameFigures> out = table.rows();
    std::sort(out.begin(), out.end(), [](const NameFigures& a, const NameFigures& b) {
        return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    return out;
}

HitFigures figures_of(std::vector<Hit> hits) {
    HitFigures out;
    std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
        return a.length_ns != b.length_ns ? a.length_ns > b.length_ns : a.begin_ns < b.begin_ns;
    });
    std::vector<double> ascending;
    ascending.reserve(hits.size());
    for (auto hit = hits.rbegin(); hit != hits.rend(); ++hit) {
        ascending.push_back(static_cast<double>(hit->length_ns));
        out.total_ns += ascending.back();
    }
    out.mean_ns = hits.empty() ? 0 : out.total_ns / static_cast<double>(hits.size());
    for (std::size_t i = 0; i < kHitPercents.size(); ++i)
        out.percentiles[i] = percentile(ascending, kHitPercents[i]);
    for (std::size_t i = 0; i < out.groups.size(); ++i)
        out.groups[i] = group_hits(hits, static_cast<HitGroup>(i));
    out.longest_first = std::move(hits);
    return out;
}

bool SpanSearch::matches(const TraceStore& store, std::uint32_t name) {
    if (known_.size() <= name) known_.resize(store.names().size(), 0);
    if (known_.size() <= name) return false;
    if (known_[name] == 0) known_[name] = pattern_fits(pattern_, store.name(name)) ? 2 : 1;
    return known_[name] == 2;
}

bool SpanSearch::advance(const TraceStore& store, double budget_ms) {
    if (!running_) return true;
    if (!walk_.done()) {
        const auto enter = [&](const WalkedSpan& span, const WalkedSpan* parent) {
            if (!matches(store, span.span.name) || ++found_ > kMostHits) return;
            hits_.push_back({span.span.begin_ns, span.span.length_ns(), span.track, span.span.name,
                             parent ? parent->span.name : ~0u, static_cast<std::uint16_t>(span.row),
                             stage_of(store, store.tracks()[span.track], span.span.name)});
        };
        if (!walk_for(walk_, store, budget_ms, enter, [](const WalkedSpan&, const WalkedSpan*) {}))
            return false;
        auto hits = std::make_shared<std::vector<Hit>>(std::move(hits_));
        sorting_ = std::make_unique<Task<HitFigures>>(
            "find", "sorting", [hits](const Progress&) { return figures_of(std::move(*hits)); });
    }
    auto sorted = sorting_->take();
    if (!sorted) return false;
    if (*sorted) figures_ = std::move(**sorted);
    sorting_.reset();
    running_ = false;
    return true;
}

}  // namespace gs
