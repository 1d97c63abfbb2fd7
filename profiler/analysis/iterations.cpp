#include "profiler/analysis/iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "profiler/analysis/kernel_loop.h"
#include "profiler/analysis/pauses.h"

namespace gs {
namespace {

constexpr std::int64_t kLateNs = 10'000'000'000;  ///< ranges that come later are not looked for
constexpr std::size_t kFarthest = 4096;  ///< ranges of a row, searched for the rest of a turn
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kWarmUp = 4;       ///< times its turns make another loop the program's
constexpr std::size_t kMostAtOnce = 8192;  ///< of a live loop that is found late

/// Of two threads that do the same the one it takes more time on.
bool better(const IterationRow& a, const IterationRow& b) {
    const int order = rather(a, b);
    return order != 0 ? order > 0 : a.total_ns > b.total_ns;
}

using Rows = std::span<const SlidingArray<TraceSpan>>;

Rows rows_at(const TraceStore& store, const IterationRow& at) {
    const auto& rows = store.tracks()[at.track].rows;
    if (at.row >= rows.size()) return {};
    return Rows(rows).subspan(at.row, at.nests ? 1 : rows.size() - at.row);
}

/// The best of the rows that bear names of iterations and still hold something.
std::optional<IterationRow> named_row(const TraceStore& store, std::uint32_t process) {
    const auto known = store.frames().iteration_rows(process);
    std::vector<IterationRow> rows(known.begin(), known.end());
    std::erase_if(rows, [&](const IterationRow& row) {
        const Rows held = rows_at(store, row);
        return std::all_of(held.begin(), held.end(), [](const auto& r) { return r.empty(); });
    });
    std::sort(rows.begin(), rows.end(), [](const IterationRow& a, const IterationRow& b) {
        return std::tie(a.rank, a.track, a.row) < std::tie(b.rank, b.track, b.row);
    });
    std::optional<IterationRow> best;
    for (const IterationRow& row : rows)
        if (!best || better(row, *best)) best = row;
    return best;
}

/// Those that end in (after, until].
std::span<const TraceSpan> ending_in(std::span<const TraceSpan> row, std::int64_t after,
                                     std::int64_t until) {
    const auto ends_after = [](std::int64_t t, const TraceSpan& s) { return t < s.end_ns; };
    const auto first = std::upper_bound(row.begin(), row.end(), after, ends_after);
    return {first, std::upper_bound(first, row.end(), until, ends_after)};
}

/// The members of a turn that have been seen.
class Turn {
  public:
    Turn(const TraceStore& store, const FoundLoop& loop) : store_(store), loop_(loop) {}
    /// False: this member was seen before, or it is the marker.
    bool take(const TraceSpan& span) {
        const std::uint64_t key = store_.names().numbers().key(span.name);
        if (key == loop_.marker) return false;
        const auto& members = loop_.members;
        if (std::find(members.begin(), members.end(), key) == members.end()) return true;
        if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return false;
        seen_.push_back(key);
        begin_ns_ = std::min(begin_ns_, span.begin_ns);
        end_ns_ = std::max(end_ns_, span.end_ns);
        return true;
    }
    bool complete() const { return seen_.size() + 1 == loop_.members.size(); }
    bool is_marker(const TraceSpan& span) const {
        return store_.names().numbers().key(span.name) == loop_.marker;
    }
    std::int64_t begin_ns() const { return begin_ns_; }
    std::int64_t end_ns() const { return end_ns_; }

  private:
    const TraceStore& store_;
    const FoundLoop& loop_;
    std::vector<std::uint64_t> seen_;
    std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// When the turn began that ends with row[marker]; none: not all of it is there.
std::optional<std::int64_t> begin_of_turn(const TraceStore& store, const FoundLoop& loop,
                                          std::span<const TraceSpan> row, std::size_t marker) {
    Turn turn(store, loop);
    for (std::size_t n = 0; n < std::min(marker, kFarthest) && !turn.complete(); ++n)
        if (!turn.take(row[marker - 1 - n])) break;
    return turn.complete() ? std::optional(turn.begin_ns()) : std::nullopt;
}

/// When the turn was over that began with the newest marker; none: it was not.
std::optional<std::int64_t> end_of_turn(const TraceStore& store, const FoundLoop& loop,
                                        std::span<const TraceSpan> row) {
    Turn turn(store, loop);
    std::size_t newest = row.size();
    for (std::size_t n = 0; n < std::min(row.size(), kFarthest) && newest == row.size(); ++n)
        if (turn.is_marker(row[row.size() - 1 - n])) newest = row.size() - 1 - n;
    for (std::size_t i = newest + 1; i < row.size() && !turn.complete(); ++i)
        if (!turn.take(row[i])) break;
    const bool over = turn.complete() && loop.members.size() > 1;
    return over ? std::optional(turn.end_ns()) : std::nullopt;
}

}  // namespace

struct IterationFollower::Look {
    const TraceStore& store;
    std::uint32_t process;
    std::int64_t until_ns;
    bool complete;
    bool over = complete;  ///< the loop is

    bool is_full(const Iterations& out) const {
        return !complete && out.items.size() >= kMostAtOnce;
    }
};

IterationFollower::Cursor& IterationFollower::cursor(const std::string& loop) {
    return cursors_.try_emplace(loop, Cursor{from_ns_, 0, false, 0}).first->second;
}

void IterationFollower::add_until(const Look& look, const Intervals& unknown,
                                  std::int64_t boundary_ns, Cursor& at, Iterations& out) const {
    if (boundary_ns > look.until_ns || boundary_ns < from_ns_) return;
    const Interval step{at.boundary_ns, boundary_ns};
    if (at.has_boundary && step.length() > 0 && length_within(unknown, step) == 0)
        out.items.push_back({at.next_number++, step.begin, step.end});
    at.has_boundary = true;
    at.boundary_ns = boundary_ns;
}

void IterationFollower::take_named(const Look& look, const IterationRow& row, Iterations& out) {
    const NameBook& names = look.store.names();
    Cursor& at = cursor(fmt::format("{}", row.rank));
    std::vector<const TraceSpan*> spans;
    for (const auto& each : rows_at(look.store, row))
        for (const TraceSpan& span : ending_in(each.view(), at.read_ns, look.until_ns))
            if (names.iteration_rank(span.name) == row.rank) spans.push_back(&span);
    std::sort(spans.begin(), spans.end(),
              [](const TraceSpan* a, const TraceSpan* b) { return a->begin_ns < b->begin_ns; });
    out.track = row.track;
    for (const TraceSpan* span : spans) {
        if (at.has_boundary && span->begin_ns < at.boundary_ns)
            continue;  // start/end ranges may overlap
        const auto number = iteration_number(names, *span);
        out.items.push_back({number.value_or(at.next_number++), span->begin_ns, span->end_ns});
        at.has_boundary = true;
        at.boundary_ns = at.read_ns = span->end_ns;
    }
    at.read_ns = std::max(at.read_ns, look.until_ns - kLateNs);
    if (spans.empty()) return;
    out.name = name_stem(look.store.name(spans.front()->name));
    out.how = fmt::format("ranges called '{}'", out.name);
}

/// One after the other: none continues once the next has begun.
void IterationFollower::take_loops(const Look& look, FoundLoops loops, Iterations& out) {
    if (loops.now) loops.before.push_back(std::move(*loops.now));
    const std::vector<FoundLoop>& all = loops.before;
    for (std::size_t i = 0; i < all.size(); ++i) {
        Look part = look;
        if (i + 1 < all.size()) part.until_ns = std::min(look.until_ns, all[i + 1].first_ns);
        part.over = part.over || i + 1 < all.size();
        if (!take_loop(part, all[i], out)) break;
    }
    std::int64_t end_ns = from_ns_;
    std::erase_if(out.items, [&](const Iteration& i) {
        const bool overlaps = i.begin_ns < end_ns;
        if (!overlaps) end_ns = i.end_ns;
        return overlaps;
    });
}

/// False: more of it than comes at once is left.
bool IterationFollower::take_loop(const Look& look, const FoundLoop& loop, Iterations& out) {
    const auto& rows = look.store.tracks()[loop.track].rows;
    if (loop.row >= rows.size()) return true;
    const auto row = rows[loop.row].view();
    const TrackFacts& on = look.store.tracks()[loop.track];
    Cursor& at = cursor(fmt::format("{}/{}/{}", loop.name, on.tid, loop.row));
    if (at.boundary_ns < look.store.timeline().kept_from_ns()) at.has_boundary = false;
    const std::int64_t since = at.has_boundary ? at.boundary_ns : at.read_ns;
    const Intervals unknown = unknown_of(look.store, look.process, Unrecorded::ranges, since);
    for (const TraceSpan& span : ending_in(row, at.read_ns, look.until_ns)) {
        if (look.store.names().numbers().key(span.name) != loop.marker) continue;
        if (look.is_full(out)) break;
        if (loop.ends_turn && !at.has_boundary) {
            const auto begin =
                begin_of_turn(look.store, loop, row, static_cast<std::size_t>(&span - row.data()));
            at.has_boundary = begin && *begin >= from_ns_;
            at.boundary_ns = begin.value_or(0);
        }
        add_until(look, unknown, loop.ends_turn ? span.end_ns : span.begin_ns, at, out);
        at.read_ns = span.end_ns;
    }
    const bool full = look.is_full(out);
    if (look.over && !full) {
        if (!loop.ends_turn && at.has_boundary)
            if (const auto end = end_of_turn(look.store, loop, row))
                add_until(look, unknown, *end, at, out);
        at.has_boundary = false;  // should it continue, then after a rest
    }
    if (!full) at.read_ns = std::max(at.read_ns, look.until_ns - kLateNs);
    out.track = loop.track;
    out.name = loop.name;
    out.kind = loop.kind;
    out.how = fmt::format("inferred: {} '{}' recurs",
                          loop.kind == LoopKind::requests ? "request" : "range", loop.name);
    return !full;
}

/// A live process is searched less and less often while no kernel recurs, and again when the one
/// that did no longer comes.
void IterationFollower::take_kernels(const Look& look, Iterations& out) {
    constexpr std::int64_t kLongestPauseNs = 60 * kSecondNs;
    if (!look.complete && look.store.frames().loops().may_find_soon(look.process, look.until_ns))
        return;
    if (look.complete) {
        if (kernel_.empty()) kernel_ = kernel_of_loop(look.store, look.process, from_ns_);
    } else if (look.until_ns >= next_search_ns_) {
        search_pause_ns_ = std::clamp(2 * search_pause_ns_, kSecondNs, kLongestPauseNs);
        next_search_ns_ = look.until_ns + search_pause_ns_;
        kernel_ = kernel_of_loop(look.store, look.process,
                                 std::max(from_ns_, look.until_ns - kLongestPauseNs));
    }
    if (kernel_.empty()) return;
    Cursor& at = cursor(kernel_);
    const std::int64_t since = at.has_boundary ? at.boundary_ns : at.read_ns;
    const Intervals unknown = unknown_of(look.store, look.process, Unrecorded::gpu, since);
    for (const std::int64_t t :
         begins_of(look.store, look.process, kernel_, at.read_ns, look.until_ns)) {
        add_until(look, unknown, t, at, out);
        at.read_ns = t + 1;
    }
    at.read_ns = std::max(at.read_ns, look.until_ns - kLateNs);
    if (!out.items.empty()) {
        if (!look.complete) next_search_ns_ = look.until_ns + kLongestPauseNs;
        from_ns_ = out.items.back().end_ns;  // of another loop only what comes after
    }
    out.name = kernel_;
    out.how = fmt::format("inferred: kernel '{}' recurs", out.name);
}

Iterations IterationFollower::take(const TraceStore& store, std::uint32_t process,
                                   std::int64_t until_ns, bool complete) {
    const Look look{store, process, until_ns, complete};
    Iterations out{.process = process};
    const auto named = named_row(store, process);
    const auto is_enough = [&](const Iterations& some) {
        const bool enough = by_ranges_ || !complete || some.items.size() > 1;
        by_ranges_ = by_ranges_ || (enough && !some.items.empty());
        return enough;
    };
    const LoopFinder& loops = store.frames().loops();
    FoundLoops found = complete ? loops.find(process) : loops.settled(process);
    Iterations inferred{.process = process, .inferred = true};
    bool warmed_up = false;
    if (named && named->is_sure()) {
        take_named(look, *named, out);
        warmed_up = found.now && found.now->turns >= kWarmUp * named->count;
        if (!warmed_up && is_enough(out)) return out;
        from_ns_ = std::max(from_ns_, cursor(fmt::format("{}", named->rank)).boundary_ns);
    }
    take_loops(look, std::move(found), inferred);
    if (!inferred.name.empty() && (!complete || !inferred.items.empty())) {
        if (warmed_up)
            inferred.items.insert(inferred.items.begin(), out.items.begin(), out.items.end());
        by_ranges_ = by_ranges_ || !inferred.items.empty();
        return inferred;
    }
    if (named && named->recurs && !named->is_sure()) {
        take_named(look, *named, out);
        if (is_enough(out)) return out;
    }
    if (by_ranges_) return out;
    take_kernels(look, inferred);
    // A single range of a telling name is better than nothing, and worse than something that
    // recurs.
    if (inferred.items.empty() && named && out.items.empty()) take_named(look, *named, out);
    return inferred.items.empty() ? out : inferred;
}

Iterations find_iterations(const TraceStore& store, std::uint32_t process, std::int64_t from_ns) {
    return IterationFollower(from_ns).take(store, process, std::numeric_limits<std::int64_t>::max(),
                                           true);
}

}  // namespace gs
