#include "profiler/analysis/iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/pauses.h"

namespace gs {
namespace {

constexpr std::size_t kLeastRecurring =
    4;                                 ///< of what is inferred: fewer say nothing about regularity
constexpr double kRegularShare = 0.8;  ///< of the periods must lie within [1/2, 2] of their median
constexpr std::size_t kOuterRows = 3;  ///< of a thread, searched for what recurs
constexpr double kSameCount = 0.03;    ///< kernels whose counts differ by less are of one loop

/// A row that bears names of iterations, with those of its spans that are kept.
struct Candidate {
    IterationRow at;
    std::vector<const TraceSpan*> spans;
    std::int64_t total_ns = 0;
};

Candidate candidate(const TraceStore& store, const IterationRow& at) {
    Candidate out{at, {}, 0};
    const auto& rows = store.tracks()[at.track].rows;
    const std::size_t stop = at.nests ? std::min(at.row + 1, rows.size()) : rows.size();
    for (std::size_t r = at.row; r < stop; ++r)
        for (const TraceSpan& span : rows[r].view())
            if (store.names().iteration_rank(span.name) == at.rank) {
                out.spans.push_back(&span);
                out.total_ns += span.length_ns();
            }
    out.at.recurs = out.spans.size() > 1;
    return out;
}

/// Of two threads that do the same the one it takes more time on.
bool better(const Candidate& a, const Candidate& b) {
    const int order = rather(a.at, b.at);
    return order != 0 ? order > 0 : a.total_ns > b.total_ns;
}

Iterations from_names(const TraceStore& store, std::uint32_t process) {
    Iterations out;
    out.process = process;
    const auto known = store.frames().iteration_rows(process);
    std::vector<IterationRow> rows(known.begin(), known.end());
    std::sort(rows.begin(), rows.end(), [](const IterationRow& a, const IterationRow& b) {
        return std::tie(a.rank, a.track, a.row) < std::tie(b.rank, b.track, b.row);
    });
    Candidate best;
    for (const IterationRow& row : rows)
        if (Candidate found = candidate(store, row);
            !found.spans.empty() && (best.spans.empty() || better(found, best)))
            best = std::move(found);
    if (best.spans.empty()) return out;
    std::sort(best.spans.begin(), best.spans.end(),
              [](const TraceSpan* a, const TraceSpan* b) { return a->begin_ns < b->begin_ns; });
    out.track = best.at.track;
    for (const TraceSpan* span : best.spans) {
        if (!out.items.empty() && span->begin_ns < out.items.back().end_ns)
            continue;  // start/end ranges may overlap
        const auto number = iteration_number(store.names(), *span);
        out.items.push_back({number.value_or(out.items.size()), span->begin_ns, span->end_ns});
    }
    const std::string_view text = store.name(best.spans.front()->name);
    const std::size_t end = text.find_first_of("0123456789#[(:=");
    out.name = text.substr(0, end == 0 ? std::string_view::npos : end);
    while (!out.name.empty() && out.name.back() == ' ') out.name.pop_back();
    out.how = fmt::format("ranges called '{}'", out.name);
    return out;
}

/// From each begin to the next. Not across a pause of the recording: begins in it are not known.
std::vector<Interval> steps_between(const std::vector<std::int64_t>& begins,
                                    const Intervals& pauses) {
    std::vector<Interval> out;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i)
        if (const Interval step{begins[i], begins[i + 1]}; length_within(pauses, step) == 0)
            out.push_back(step);
    return out;
}

bool recurs_regularly(const std::vector<std::int64_t>& begins, const Intervals& pauses) {
    const std::vector<Interval> steps = steps_between(begins, pauses);
    if (steps.size() + 1 < kLeastRecurring) return false;
    std::vector<std::int64_t> periods(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) periods[i] = steps[i].length();
    auto middle = periods.begin() + static_cast<std::ptrdiff_t>(periods.size() / 2);
    std::nth_element(periods.begin(), middle, periods.end());
    const std::int64_t median = *middle;
    const auto regular = std::count_if(periods.begin(), periods.end(), [&](std::int64_t p) {
        return 2 * p >= median && p <= 2 * median;
    });
    return median > 0 &&
           static_cast<double>(regular) >= kRegularShare * static_cast<double>(periods.size());
}

using BeginsByName = std::unordered_map<std::uint32_t, std::vector<std::int64_t>>;

/// The name that marks the loop: of the regular ones, that of the count which most of them share,
/// the first in time.
std::optional<std::uint32_t> loop_marker(BeginsByName& by_name, const Intervals& pauses) {
    std::vector<std::uint32_t> regular;
    for (auto& [name, begins] : by_name) {
        std::sort(begins.begin(), begins.end());
        if (recurs_regularly(begins, pauses)) regular.push_back(name);
    }
    std::optional<std::uint32_t> best;
    std::tuple<std::size_t, std::size_t, std::int64_t> best_score{0, 0, 0};
    for (const std::uint32_t name : regular) {
        const std::size_t count = by_name[name].size();
        const auto slack = std::max<std::size_t>(
            1, static_cast<std::size_t>(kSameCount * static_cast<double>(count)));
        const auto alike = static_cast<std::size_t>(
            std::count_if(regular.begin(), regular.end(), [&](std::uint32_t n) {
                const std::size_t other = by_name[n].size();
                return std::max(other, count) - std::min(other, count) <= slack;
            }));
        // Among equals the rarer one: what comes twice in each iteration shares its count with
        // fewer.
        const std::tuple score{alike, ~count, -by_name[name].front()};
        if (!best || best_score < score) {
            best_score = score;
            best = name;
        }
    }
    return best;
}

void items_between(Iterations& out, const std::vector<std::int64_t>& begins,
                   const Intervals& pauses) {
    for (const Interval& step : steps_between(begins, pauses))
        if (step.length() > 0) out.items.push_back({out.items.size(), step.begin, step.end});
}

/// The uppermost row of a thread in which something recurs: a range around the whole program hides
/// the loop in it.
Iterations from_rows(const TraceStore& store, std::uint32_t track_index, const Intervals& pauses) {
    Iterations out;
    const TraceTrack& track = store.tracks()[track_index];
    for (std::size_t r = 0; r < std::min(kOuterRows, track.rows.size()); ++r) {
        BeginsByName by_name;
        for (const TraceSpan& span : track.rows[r].view())
            by_name[span.name].push_back(span.begin_ns);
        const auto marker = loop_marker(by_name, pauses);
        if (!marker) continue;
        items_between(out, by_name[*marker], pauses);
        out.name = store.name(*marker);
        out.how = fmt::format("inferred: range '{}' recurs", out.name);
        break;
    }
    return out;
}

Iterations from_thread(const TraceStore& store, std::uint32_t process) {
    Iterations out;
    const Intervals pauses = pauses_of(store, process, Unrecorded::ranges);
    std::int64_t most = 0;
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.process != process || track.kind != TrackKind::thread || track.rows.empty())
            continue;
        std::int64_t total = 0;
        for (const TraceSpan& span : track.rows[0].view()) total += span.length_ns();
        if (total <= most) continue;
        Iterations found = from_rows(store, t, pauses);
        if (found.items.empty()) continue;
        most = total;
        out = std::move(found);
        out.track = t;
    }
    out.process = process;
    out.inferred = true;
    return out;
}

Iterations from_kernels(const TraceStore& store, std::uint32_t process) {
    Iterations out;
    out.process = process;
    out.inferred = true;
    BeginsByName by_name;
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.kind != TrackKind::gpu_stream || track.rows.empty())
            continue;
        const auto spans = track.rows[0].view();
        const auto works = track.described() ? track.works[0].view() : std::span<const GpuWork>();
        for (std::size_t i = 0; i < spans.size(); ++i)
            if (i >= works.size() || works[i].kind == GpuWorkKind::kernel ||
                works[i].kind == GpuWorkKind::graph)
                by_name[spans[i].name].push_back(spans[i].begin_ns);
    }
    const Intervals pauses = pauses_of(store, process, Unrecorded::gpu);
    const auto marker = loop_marker(by_name, pauses);
    if (!marker) return out;
    items_between(out, by_name[*marker], pauses);
    out.name = store.name(*marker);
    out.how = fmt::format("inferred: kernel '{}' recurs", out.name);
    return out;
}

}  // namespace

Iterations find_iterations(const TraceStore& store, std::uint32_t process) {
    Iterations named = from_names(store, process);
    if (named.items.size() > 1) return named;
    // A single range of a telling name is better than nothing, and worse than something that
    // recurs.
    Iterations inferred = from_thread(store, process);
    if (inferred.items.empty()) inferred = from_kernels(store, process);
    return inferred.items.empty() ? named : inferred;
}

}  // namespace gs
