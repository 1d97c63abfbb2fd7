#include "profiler/store/loop_finder.h"

#include <algorithm>
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

/// Loops of the hook's names above all others.
bool is_of_hook(const FoundLoop& loop) { return loop.standing >= 4; }

bool has_member(const FoundLoop& loop, std::uint64_t key) {
    return std::find(loop.members.begin(), loop.members.end(), key) != loop.members.end();
}

}  // namespace

LoopFinder::Lane* LoopFinder::lane(const TrackFacts& on, std::uint32_t track, std::size_t row) {
    if (track < lanes_.size() && lanes_[track][row] != nullptr) return lanes_[track][row];
    if (lanes_.size() <= track) lanes_.resize(track + std::size_t{1});
    if (processes_.size() <= on.process) processes_.resize(on.process + std::size_t{1});
    auto& lanes = processes_[on.process].lanes;
    if (lanes.size() >= kMostLanes) {  // many short threads: what found nothing leaves
        const auto cost = [](const auto& l) {
            return std::make_tuple(l->found.has_value(), l->main, l->lane.ranges());
        };
        const auto least = std::min_element(lanes.begin(), lanes.end(),
                                            [&](auto& a, auto& b) { return cost(a) < cost(b); });
        lanes_[(*least)->track][(*least)->row] = nullptr;
        lanes.erase(least);
    }
    auto& added = lanes.emplace_back(std::make_unique<Lane>());
    added->track = track;
    added->row = row;
    added->main = on.tid == on.pid;
    return lanes_[track][row] = added.get();
}

void LoopFinder::take(const NameBook& names, const TrackFacts& on, std::uint32_t track,
                      const TraceSpan& span, std::size_t row) {
    if (row >= kRows) return;
    Lane& at = *lane(on, track, row);
    Process& process = processes_[on.process];
    if (!at.lane.take(names, span, process.choice.settled)) return;
    at.found = at.lane.judge();
    Found found;
    for (const auto& l : process.lanes) found.push_back(l->found);
    choose(process, found, process.choice);
}

const LoopFinder::Lane* LoopFinder::lane_of(const Process& process, std::uint32_t track,
                                            std::size_t row) {
    for (const auto& l : process.lanes)
        if (l->track == track && l->row == row) return l.get();
    return nullptr;
}

const LoopLane::Tally* LoopFinder::marker_of(const Process& process, const FoundLoop& loop) {
    const Lane* const on = lane_of(process, loop.track, loop.row);
    return on == nullptr ? nullptr : on->lane.find(loop.marker);
}

/// Each turn is in a range of its own of the row above, and those have no order: requests.
bool LoopFinder::is_in_requests(const Process& process, const Found& found, const FoundLoop& loop) {
    if (loop.row == 0 || loop.is_training()) return false;
    for (std::size_t i = 0; i < process.lanes.size(); ++i) {
        const Lane& up = *process.lanes[i];
        if (up.track != loop.track || up.row + 1 != loop.row) continue;
        const std::uint64_t turns = marker_of(process, loop)->count;
        const std::uint64_t slack = 2 + turns / 50;
        const auto& outer = up.lane.tallies();
        const bool one_round_each = std::any_of(outer.begin(), outer.end(), [&](const auto& t) {
            return t.count <= turns + slack && turns <= t.count + slack;
        });
        return up.lane.ranges() >= 32 && !found[i] && 2 * up.lane.ranges() > turns &&
               !one_round_each;
    }
    return false;
}

/// Of two loops; of one thread `a` is on the outer row.
FoundLoop LoopFinder::better(const Process& process, FoundLoop a, FoundLoop b) {
    const Lane &on_a = *lane_of(process, a.track, a.row), &on_b = *lane_of(process, b.track, b.row);
    if (a.track != b.track) {
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

std::optional<FoundLoop> LoopFinder::best_of(const Process& process, const Found& found) {
    std::optional<FoundLoop> best;
    for (std::size_t row = 0; row < kRows; ++row)
        for (std::size_t i = 0; i < process.lanes.size(); ++i) {
            const Lane& on = *process.lanes[i];
            if (on.row != row || !found[i]) continue;
            FoundLoop loop = *found[i];
            loop.track = on.track;
            loop.row = row;
            if (marker_of(process, loop) == nullptr || is_in_requests(process, found, loop))
                continue;
            best = best ? better(process, std::move(*best), std::move(loop)) : std::move(loop);
        }
    return best;
}

void LoopFinder::replace(const Process& process, Choice& choice, std::optional<FoundLoop> by) {
    choice.rival.reset();
    auto& [now, before] = choice.loops;
    if (now && by) {
        // Another loop that began when this one had ended comes after it.
        const LoopLane::Tally* const old = marker_of(process, *now);
        constexpr std::size_t kMostBefore = 16;
        if (old != nullptr && marker_of(process, *by)->first_ns > old->last_ns &&
            before.size() < kMostBefore)
            before.push_back(std::move(*now));
    }
    now = std::move(by);
    choice.since = choice.looks;
    choice.settled = false;
}

/// Nothing speaks against the present choice. Of the same loop the newest figures are taken.
bool LoopFinder::stays(const Process& process, Choice& choice,
                       const std::optional<FoundLoop>& best) {
    FoundLoop& now = *choice.loops.now;
    const Lane* const on = lane_of(process, now.track, now.row);
    const LoopLane::Tally* const marker = marker_of(process, now);
    const bool alive = marker != nullptr && on->lane.is_live(*marker);
    const bool same_row = best && best->track == now.track && best->row == now.row;
    if (same_row && (best->marker == now.marker ||
                     (has_member(*best, now.marker) && best->standing <= now.standing))) {
        now.confidence = best->confidence;
        now.kind = best->kind;
        now.members = best->members;
        return true;
    }
    // A training loop that rests, as during an evaluation.
    if (marker != nullptr && !alive && now.is_training() &&
        (!best || best->standing < now.standing))
        return true;
    // It continues: the evaluation's turns are remembered, and are faster.
    return alive && same_row && best->standing < now.standing &&
           on->lane.pace(*marker_of(process, *best)) >= on->lane.pace(*marker);
}

void LoopFinder::choose(const Process& process, const Found& found, Choice& choice) {
    ++choice.looks;
    std::optional<FoundLoop> best = best_of(process, found);
    if (!choice.loops.now) {
        if (best) replace(process, choice, std::move(best));
        return;
    }
    if (stays(process, choice, best)) {
        choice.rival.reset();
    } else {
        const std::uint64_t rival = best ? best->marker : 0;
        choice.rival_looks = choice.rival == rival ? choice.rival_looks + 1 : 1;
        choice.rival = rival;
        if (choice.rival_looks >= kLooks) {
            replace(process, choice, std::move(best));
            if (!choice.loops.now) return;
            choice.since -= kLooks;  // that it took to be chosen
        }
    }
    const FoundLoop& now = *choice.loops.now;
    const LoopLane::Tally* const marker = marker_of(process, now);
    choice.settled =
        choice.settled ||
        (choice.looks - choice.since >= kLooks && marker != nullptr &&
         (now.is_training() || marker->count >= kLeastPlainTurns) && is_told(process, now));
}

/// Sure enough. A loader's own turns are not the program's while its first thread does more.
bool LoopFinder::is_told(const Process& process, const FoundLoop& loop) {
    if (loop.confidence < kLeastConfidence) return false;
    const Lane* const on = lane_of(process, loop.track, loop.row);
    const LoopLane::Tally* const marker = marker_of(process, loop);
    if (marker == nullptr) return false;
    if (loop.standing != 1 || loop.kind != LoopKind::recurring || on->main) return true;
    return std::none_of(process.lanes.begin(), process.lanes.end(),
                        [&](const auto& l) { return l->main && l->lane.ranges() > marker->count; });
}

FoundLoops LoopFinder::find(std::uint32_t index) const {
    if (index >= processes_.size()) return {};
    const Process& process = processes_[index];
    if (process.lanes.empty()) return process.choice.loops;  // an excerpt's
    constexpr std::uint64_t kFew = 200;  // ranges after which every loop has been looked for
    Found found;
    for (const auto& l : process.lanes)
        found.push_back((!l->found || l->lane.ranges() < kFew) && l->lane.ranges() >= kLeastRanges
                            ? l->lane.judge()
                            : l->found);
    Choice choice = process.choice;
    choose(process, found, choice);
    auto& now = choice.loops.now;
    if (now && !is_told(process, *now)) now.reset();
    return std::move(choice.loops);
}

const FoundLoop* LoopFinder::settled(std::uint32_t process) const {
    if (process >= processes_.size() || !processes_[process].choice.settled) return nullptr;
    const auto& now = processes_[process].choice.loops.now;
    return now ? &*now : nullptr;
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
        for (auto& l : process.lanes) l->track = to.track(l->track);
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
