#include "profiler/store/loop_finder.h"

#include <algorithm>
#include <list>
#include <tuple>
#include <utility>

namespace gs {
namespace {

constexpr std::size_t kMostLanes = 192;  ///< of a process
constexpr int kLooks = 3;                ///< in a row that another choice needs, or the first one
constexpr std::uint64_t kLeastPlainTurns = 16;  ///< turns before a loop without words counts
constexpr double kLeastConfidence = 0.4;
constexpr double kMostMicro = 16;  ///< turns in an outer range that is the iteration all the same
constexpr std::uint64_t kLeastRanges = 4;
/// Ranges that began less ago do not say yet that there is no loop; a lane silent for less is live.
constexpr std::int64_t kEarlyNs = 10'000'000'000;

/// Loops of the hook's names above all others.
bool is_of_hook(const FoundLoop& loop) { return loop.standing >= 4; }

/// It began after the other's last turn, which has not continued for several of its turns.
bool follows(const LoopLane::Tally& next, const LoopLane::Tally& other) {
    const std::int64_t all = other.last_ns - other.first_ns;
    const auto gaps = std::max<std::int64_t>(static_cast<std::int64_t>(other.count) - 1, 1);
    return next.first_ns > other.last_ns && next.last_ns - other.last_ns > 4 * all / gaps;
}

bool has_member(const FoundLoop& loop, std::uint64_t key) {
    return std::find(loop.members.begin(), loop.members.end(), key) != loop.members.end();
}

}  // namespace

/// Many short threads: of what found nothing the lane that is silent for longest leaves.
bool LoopFinder::make_space(std::vector<std::unique_ptr<Lane>>& lanes, std::int64_t now_ns,
                            bool must) {
    if (lanes.size() < kMostLanes) return true;
    const auto cost = [](const auto& l) {
        return std::make_tuple(l->found.has_value(), l->main, l->newest_ns);
    };
    const auto least = std::min_element(lanes.begin(), lanes.end(),
                                        [&](auto& a, auto& b) { return cost(a) < cost(b); });
    if (!must && now_ns - (*least)->newest_ns < kEarlyNs) return false;
    lanes_[(*least)->track][(*least)->row] = nullptr;
    lanes.erase(least);
    return true;
}

LoopFinder::Lane* LoopFinder::lane(const TrackFacts& on, std::uint32_t track, std::size_t row,
                                   std::int64_t now_ns) {
    if (track < lanes_.size() && lanes_[track][row] != nullptr) return lanes_[track][row];
    if (lanes_.size() <= track) lanes_.resize(track + std::size_t{1});
    if (processes_.size() <= on.process) processes_.resize(on.process + std::size_t{1});
    auto& lanes = processes_[on.process].lanes;
    const bool main = on.tid == on.pid;
    if (!make_space(lanes, now_ns, main)) return nullptr;
    auto& added = lanes.emplace_back(std::make_unique<Lane>());
    added->track = track;
    added->row = row;
    added->main = main;
    return lanes_[track][row] = added.get();
}

void LoopFinder::take(const NameBook& names, const TrackFacts& on, std::uint32_t track,
                      const TraceSpan& span, std::size_t row) {
    if (row >= kRows) return;
    Lane* const at = lane(on, track, row, span.end_ns);
    if (at == nullptr) return;
    Process& process = processes_[on.process];
    if (process.ranges++ == 0) process.first_ns = span.begin_ns;
    at->newest_ns = process.newest_ns = span.end_ns;
    const Choice& choice = process.choice;
    if (!at->lane.take(names, span, choice.settled && !choice.rival)) return;
    at->found = judge(*at);
    Found found;
    for (const auto& l : process.lanes)
        if (l->found) found.push_back(&*l->found);
    choose(process, found, at, process.choice);
}

std::optional<FoundLoop> LoopFinder::judge(const Lane& lane) {
    std::optional<FoundLoop> out = lane.lane.judge();
    if (out) out->track = lane.track;
    if (out) out->row = lane.row;
    return out;
}

const LoopFinder::Lane* LoopFinder::lane_of(const FoundLoop& loop) const {
    return loop.track < lanes_.size() ? lanes_[loop.track][loop.row] : nullptr;
}

const LoopLane::Tally* LoopFinder::marker_of(const FoundLoop& loop) const {
    const Lane* const on = lane_of(loop);
    return on == nullptr ? nullptr : on->lane.find(loop.marker);
}

/// Each turn is in a range of its own of the row above, and those have no order: requests.
bool LoopFinder::is_in_requests(const Found& found, const FoundLoop& loop) const {
    if (loop.row == 0 || loop.is_training()) return false;
    const Lane* const up = lanes_[loop.track][loop.row - 1];
    if (up == nullptr || std::any_of(found.begin(), found.end(), [&](const FoundLoop* other) {
            return other->track == up->track && other->row == up->row;
        }))
        return false;
    const std::uint64_t turns = marker_of(loop)->count;
    const std::uint64_t slack = 2 + turns / 50;
    const auto& outer = up->lane.tallies();
    return up->lane.ranges() >= 32 && 2 * up->lane.ranges() > turns &&
           std::none_of(outer.begin(), outer.end(), [&](const auto& t) {
               return t.count <= turns + slack && turns <= t.count + slack;
           });
}

/// Of two loops; of one thread `a` is on the outer row.
FoundLoop LoopFinder::better(FoundLoop a, const FoundLoop& b) const {
    const Lane &on_a = *lane_of(a), &on_b = *lane_of(b);
    if (a.track != b.track) {
        // One thread continues where another one left off.
        if (b.standing >= a.standing && follows(*marker_of(b), *marker_of(a))) return b;
        if (a.standing >= b.standing && follows(*marker_of(a), *marker_of(b))) return a;
        const auto rank = [](const FoundLoop& f, const Lane& on) {
            return std::make_tuple(f.standing, on.main, f.members.size() > 1, on.lane.busy_ns());
        };
        return rank(a, on_a) >= rank(b, on_b) ? a : b;
    }
    const LoopLane::Tally& outer = *on_a.lane.find(a.marker);
    const auto of_a = static_cast<double>(outer.count);
    const auto of_b = static_cast<double>(on_b.lane.find(b.marker)->count);
    const bool micro = of_b <= kMostMicro * of_a;
    if (outer.has(kSideWord)) return b;
    if (is_of_hook(b) && !is_of_hook(a) && !(a.members.size() == 1 && of_b > 1.5 * of_a && micro))
        return b;
    if (b.updates && of_b > 1.5 * of_a) return b;
    if (!micro && a.members.size() == 1) return b;
    a.standing = std::max(a.standing, b.standing);
    if (a.kind == LoopKind::recurring) a.kind = b.kind;
    return a;
}

std::optional<FoundLoop> LoopFinder::best_of(const Found& found) const {
    std::optional<FoundLoop> best;
    for (std::size_t row = 0; row < kRows; ++row)
        for (const FoundLoop* loop : found) {
            if (loop->row != row || marker_of(*loop) == nullptr || is_in_requests(found, *loop))
                continue;
            best = best ? better(std::move(*best), *loop) : *loop;
        }
    return best;
}

void LoopFinder::replace(Choice& choice, std::optional<FoundLoop> by) const {
    choice.rival.reset();
    auto& [now, before] = choice.loops;
    if (now && by) {
        // Another loop that began when this one had ended comes after it.
        const LoopLane::Tally* const old = marker_of(*now);
        constexpr std::size_t kMostBefore = 16;
        if (old != nullptr && by->first_ns > old->last_ns && before.size() < kMostBefore)
            before.push_back(std::move(*now));
    }
    now = std::move(by);
    choice.since = choice.looks;
    choice.settled = false;
}

namespace {

/// The newest figures of the same loop. What is counted stays as it is once it is counted.
void renew(FoundLoop& now, const FoundLoop& best, bool settled) {
    now.confidence = best.confidence;
    if (best.marker == now.marker) now.turns = best.turns;
    now.kind = best.kind;
    if (settled) return;
    now.members = best.members;
    now.updates = best.updates;
    if (best.marker != now.marker) return;
    now.ends_turn = best.ends_turn;
    now.standing = best.standing;
}

}  // namespace

/// Nothing speaks against the present choice.
bool LoopFinder::stays(Choice& choice, const FoundLoop* best) const {
    FoundLoop& now = *choice.loops.now;
    const bool same_row = best && best->track == now.track && best->row == now.row;
    if (same_row && best->marker != now.marker && best->marker == now.bare) {
        now.marker = best->marker;  // its digits count now
        now.members = best->members;
    }
    const Lane* const on = lane_of(now);
    const LoopLane::Tally* const marker = marker_of(now);
    if (same_row && (best->marker == now.marker ||
                     (has_member(*best, now.marker) && best->standing <= now.standing))) {
        renew(now, *best, choice.settled);
        return true;
    }
    const bool is_worse = !best || best->standing < now.standing;
    const bool is_over = marker != nullptr && !is_worse && best->track != now.track &&
                         follows(*marker_of(*best), *marker);
    const bool alive = marker != nullptr && !is_over && on->lane.is_live(*marker);
    // Another thread that does the same.
    if (alive && best && best->marker == now.marker && best->standing <= now.standing) return true;
    // A training loop that rests, as during an evaluation.
    if (marker != nullptr && !alive && now.is_training() && is_worse) return true;
    // It continues: the evaluation's turns are remembered, and are faster.
    return alive && same_row && is_worse &&
           on->lane.pace(*marker_of(*best)) >= on->lane.pace(*marker);
}

/// Looks of lanes that show neither of both say nothing about them.
void LoopFinder::choose(const Process& process, const Found& found, const Lane* looks,
                        Choice& choice) const {
    std::optional<FoundLoop> best = best_of(found);
    auto& now = choice.loops.now;
    if (looks != nullptr && !(now && lane_of(*now) == looks) && !(best && lane_of(*best) == looks))
        return;
    ++choice.looks;
    if (!now) {
        if (best) replace(choice, std::move(best));
        return;
    }
    if (stays(choice, best ? &*best : nullptr)) {
        choice.rival.reset();
    } else {
        const std::uint64_t rival = best ? best->marker : 0;
        choice.rival_looks = choice.rival == rival ? choice.rival_looks + 1 : 1;
        choice.rival = rival;
        if (choice.rival_looks >= kLooks) {
            replace(choice, std::move(best));
            if (!now) return;
            choice.since -= kLooks;  // that it took to be chosen
        }
    }
    const LoopLane::Tally* const marker = marker_of(*now);
    choice.settled =
        choice.settled ||
        (choice.looks - choice.since >= kLooks && marker != nullptr &&
         (now->is_training() || marker->count >= kLeastPlainTurns) && may_be_told(process, *now));
}

/// Sure enough. A loader's own turns are not the program's while its first thread does more.
bool LoopFinder::may_be_told(const Process& process, const FoundLoop& loop) const {
    if (loop.confidence < kLeastConfidence) return false;
    const Lane* const on = lane_of(loop);
    if (on == nullptr) return true;  // of a process that has ended
    const LoopLane::Tally* const marker = marker_of(loop);
    if (marker == nullptr) return false;
    if (loop.standing != 1 || loop.kind != LoopKind::recurring || on->main) return true;
    return std::none_of(process.lanes.begin(), process.lanes.end(),
                        [&](const auto& l) { return l->main && l->lane.ranges() > marker->count; });
}

FoundLoops LoopFinder::find(std::uint32_t index) const {
    if (index >= processes_.size()) return {};
    const Process& process = processes_[index];
    if (process.lanes.empty()) return process.choice.loops;  // it has ended
    constexpr std::uint64_t kFew = 200;  // ranges after which every loop has been looked for
    std::list<FoundLoop> judged;
    Found found;
    for (const auto& l : process.lanes) {
        if ((!l->found || l->lane.ranges() < kFew) && l->lane.ranges() >= kLeastRanges) {
            std::optional<FoundLoop> again = judge(*l);
            if (again) found.push_back(&judged.emplace_back(std::move(*again)));
        } else if (l->found) {
            found.push_back(&*l->found);
        }
    }
    Choice choice = process.choice;
    choose(process, found, nullptr, choice);
    auto& now = choice.loops.now;
    if (now && !may_be_told(process, *now)) now.reset();
    return std::move(choice.loops);
}

FoundLoops LoopFinder::settled(std::uint32_t process) const {
    if (process >= processes_.size() || !processes_[process].choice.settled) return {};
    return processes_[process].choice.loops;
}

bool LoopFinder::may_find_soon(std::uint32_t index, std::int64_t now_ns) const {
    if (index >= processes_.size() || processes_[index].lanes.empty()) return false;
    constexpr std::uint64_t kFew = 256;
    constexpr double kSilentGaps = 16;  // usual gaps after which no more are expected
    const Process& p = processes_[index];
    const std::int64_t since = p.newest_ns - p.first_ns;
    const double gap = static_cast<double>(since) / static_cast<double>(p.ranges);
    return (p.ranges < kFew || since < kEarlyNs) &&
           static_cast<double>(now_ns - p.newest_ns) <
               std::max(static_cast<double>(kEarlyNs), kSilentGaps * gap);
}

void LoopFinder::end(std::uint32_t index) {
    if (index >= processes_.size() || processes_[index].lanes.empty()) return;
    FoundLoops loops = find(index);
    forget(index);
    processes_[index].choice.loops = std::move(loops);
}

void LoopFinder::forget(std::uint32_t index) {
    if (index >= processes_.size()) return;
    for (const auto& l : processes_[index].lanes) lanes_[l->track][l->row] = nullptr;
    processes_[index] = {};
}

void LoopFinder::renumber(const Renumbering& to) {
    keep_those(processes_, to.process);
    lanes_.clear();
    for (Process& process : processes_) {
        auto& [now, before] = process.choice.loops;
        if (now && (now->track = to.track(now->track)) == kNoTrack) process.choice = {};
        for (FoundLoop& loop : before) loop.track = to.track(loop.track);
        std::erase_if(before, [](const FoundLoop& loop) { return loop.track == kNoTrack; });
        for (auto& l : process.lanes) {
            l->track = to.track(l->track);
            if (l->found) l->found->track = l->track;
        }
        std::erase_if(process.lanes, [](const auto& l) { return l->track == kNoTrack; });
        for (const auto& l : process.lanes) {
            if (lanes_.size() <= l->track) lanes_.resize(l->track + std::size_t{1});
            lanes_[l->track][l->row] = l.get();
        }
    }
}

LoopFinder LoopFinder::excerpt() const {
    LoopFinder out;
    for (std::uint32_t p = 0; p < processes_.size(); ++p)
        out.processes_.emplace_back().choice.loops = find(p);
    return out;
}

std::size_t LoopFinder::bytes() const {
    std::size_t total = lanes_.capacity() * sizeof(lanes_[0]);
    for (const Process& process : processes_)
        for (const auto& l : process.lanes) total += sizeof(Lane) + l->lane.bytes();
    return total;
}

}  // namespace gs
