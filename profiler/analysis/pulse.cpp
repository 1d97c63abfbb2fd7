#include "profiler/analysis/pulse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/record/process.h"
#include "profiler/analysis/pauses.h"
#include "profiler/store/statistics.h"

namespace gs {
namespace {

constexpr std::size_t kLeastIterations = 3, kRemembered = 64;

bool tells_of_gpu(const TraceProcess& process) {
    return !process.service || process.service->cupti == abi::CuptiState::recording ||
           process.service->cupti == abi::CuptiState::paused;
}

/// "0-6, 9".
std::string numbers_text(const std::vector<int>& sorted) {
    std::string out;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t last = i;
        while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
        out += fmt::format("{}{}", out.empty() ? "" : ", ", sorted[i]);
        if (last > i) out += fmt::format("-{}", sorted[last]);
        i = last + 1;
    }
    return out;
}

std::vector<int> missing_of(const std::vector<RankPlace>& ranks, int world_size) {
    std::vector<bool> here(static_cast<std::size_t>(std::clamp(world_size, 0, 1 << 20)));
    for (const RankPlace& r : ranks)
        if (r.rank < world_size) here[static_cast<std::size_t>(r.rank)] = true;
    std::vector<int> out;
    for (std::size_t i = 0; i < here.size(); ++i)
        if (!here[i]) out.push_back(static_cast<int>(i));
    return out;
}

}  // namespace

void Pulse::take(const TraceStore& store, const Iterations& ended, std::int64_t gpu_worked_ns) {
    sign_ns_ = std::max(sign_ns_, gpu_worked_ns);
    // What merely recurs, and what serves requests, may rest as long as it likes.
    if (ended.items.empty() || ended.kind != LoopKind::loop) return;
    for (const Iteration& i : ended.items) seconds_.push_back(i.milliseconds() * 1e-3);
    while (seconds_.size() > kRemembered) seconds_.pop_front();
    sign_ns_ = std::max(sign_ns_, ended.items.back().end_ns);
    by_gpu_ = ended.track == kNoTrack;
    tid_ = by_gpu_ ? 0 : store.tracks()[ended.track].tid;
}

bool Pulse::is_of_interest(const TraceStore& store, const OpenSpan& open,
                           std::uint32_t process) const {
    if (open.track >= store.tracks().size()) return false;
    const TraceTrack& track = store.tracks()[open.track];
    return track.process == process && (tid_ == 0 || track.tid == tid_);
}

std::vector<std::string> Pulse::inside(const TraceStore& store, std::uint32_t process) const {
    std::vector<const OpenSpan*> open;
    for (const OpenSpan& span : store.sources().open_spans())
        if (is_of_interest(store, span, process)) open.push_back(&span);
    // Of several threads the one that has been inside for longest.
    const auto oldest = std::min_element(
        open.begin(), open.end(), [](auto* a, auto* b) { return a->begin_ns < b->begin_ns; });
    std::vector<std::string> out;
    if (oldest == open.end()) return out;
    const std::uint32_t track = (*oldest)->track;
    std::erase_if(open, [&](auto* span) { return span->track != track; });
    std::sort(open.begin(), open.end(), [](auto* a, auto* b) { return a->depth < b->depth; });
    for (const OpenSpan* span : open) out.emplace_back(store.name(span->name));
    return out;
}

std::int64_t Pulse::last_sign_ns(const TraceStore& store, std::uint32_t process) const {
    std::int64_t out = sign_ns_;
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.tid != tid_ || track.kind != TrackKind::thread)
            continue;
        for (const auto& row : track.rows)
            if (const auto spans = row.view(); !spans.empty())
                out = std::max(out, spans.back().end_ns);
    }
    // What was not recorded may have been an iteration.
    const Intervals pauses =
        pauses_of(store, process, by_gpu_ ? Unrecorded::gpu : Unrecorded::ranges, out);
    return pauses.empty() ? out : std::max(out, pauses.back().end);
}

std::optional<Stall> Pulse::stall(const TraceStore& store, std::uint32_t process,
                                  std::int64_t now_ns, const StallOptions& options) const {
    const TraceProcess& of = store.processes()[process];
    if (seconds_.size() < kLeastIterations || of.ended || (of.service && !of.service->armed) ||
        (by_gpu_ && !tells_of_gpu(of)))
        return {};
    // Of a process in a container that cannot be looked into nothing is known but that it is there.
    const char state = of.visible_pid != 0 ? process_stat(of.visible_pid).state : '?';
    if (state == 0 || state == 'Z' || state == 'X') return {};
    const double automatic = std::max(
        options.least_s, options.times_median * median_of({seconds_.begin(), seconds_.end()}));
    // Kernels arrive when all that ran with them has ended; ranges at once.
    constexpr double kGpuIsLate_s = 60;
    const double after_s =
        (options.after_s > 0 ? options.after_s : automatic) + (by_gpu_ ? kGpuIsLate_s : 0);
    const std::int64_t since_ns = last_sign_ns(store, process);
    if (static_cast<double>(now_ns - since_ns) * 1e-9 < after_s) return {};
    return Stall{since_ns, inside(store, process), state == 'T' || state == 't'};
}

std::string describe_ranks(std::vector<RankPlace> ranks, int world_size) {
    std::sort(ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
    std::map<std::string, std::vector<int>> by_place;
    for (const RankPlace& r : ranks) by_place[r.place].push_back(r.rank);
    std::vector<std::pair<std::string, std::vector<int>>> groups(by_place.begin(), by_place.end());
    std::stable_sort(groups.begin(), groups.end(),
                     [](auto& a, auto& b) { return a.second.size() > b.second.size(); });
    std::string out;
    for (const auto& [place, numbers] : groups) {
        const bool one = numbers.size() == 1;
        const std::string verb = !out.empty() ? "" : one ? " is" : " are";
        out +=
            fmt::format("{}{}{} {}", out.empty() ? (one ? "rank " : "ranks ") : ", ",
                        numbers_text(numbers), verb, place.empty() ? "in no range" : "in " + place);
    }
    const std::vector<int> missing = missing_of(ranks, world_size);
    if (!missing.empty()) out += fmt::format("; {} not seen here", numbers_text(missing));
    return out;
}

}  // namespace gs
