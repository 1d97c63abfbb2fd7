#include "profiler/insights/subject.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "profiler/analysis/pauses.h"
#include "profiler/store/statistics.h"

namespace gs::insights {
namespace {

constexpr std::size_t kWarmUp =
    3;  ///< as TraceStoreOptions::warm_up: compilers, caches and pools settle
constexpr std::size_t kEnoughToDrop = 2 * kWarmUp + 1;
/// GPUs need about this between two dependent kernels even when both were queued long before (1 to
/// 2 us are commonly measured with CUDA graphs): shorter gaps have no cause in the program.
constexpr std::int64_t kLeastGap = 1'500;
/// R2: gaps up to here are what launching takes (profiling.md: 5 to 20 us of CPU time for a
/// launch).
constexpr std::int64_t kLaunchGap = 20'000;
/// Two clocks are compared: calls on the host's, work on the GPU's.
constexpr std::int64_t kClockTolerance = 5'000;

bool contains_word(std::string_view name, std::string_view word) {
    for (std::size_t at = name.find(word); at != std::string_view::npos;
         at = name.find(word, at + 1)) {
        const bool starts = at == 0 || !std::isalpha(static_cast<unsigned char>(name[at - 1]));
        const std::size_t end = at + word.size();
        if (starts && (end == name.size() || !std::isalpha(static_cast<unsigned char>(name[end]))))
            return true;
    }
    return false;
}

/// Ranges in which a program gets its next batch: words, as they are written in PyTorch's and other
/// loaders.
bool gets_data(std::string_view name) {
    const std::string lower = lower_case(name.substr(0, 64));
    if (lower.find("dataloader") != std::string::npos ||
        lower.find("data_loader") != std::string::npos)
        return true;
    for (const char* word :
         {"data", "load", "loader", "decode", "fetch", "next", "collate", "batch_to_device"})
        if (contains_word(lower, word)) return true;
    return false;
}

struct Overlaps {
    std::int64_t allocator = 0, copy = 0;
    const Call *wait = nullptr, *allocates = nullptr, *copies = nullptr;
};

/// The calls under way during a gap; `active` are those that may still be.
Overlaps overlaps_of(const Interval& gap, const std::vector<const Call*>& active) {
    Overlaps out;
    for (const Call* call : active) {
        const TraceSpan& s = *call->span;
        const std::int64_t shared = std::min(gap.end, s.end_ns) - std::max(gap.begin, s.begin_ns);
        // The host sat in the call when the GPU ran dry.
        const bool at_begin =
            s.begin_ns <= gap.begin + kClockTolerance && s.end_ns >= gap.begin - kClockTolerance;
        if (call->waits && at_begin && s.begin_ns < gap.end) out.wait = call;
        if (shared <= 0) continue;
        if (call->kind == ApiKind::allocate || call->kind == ApiKind::release) {
            out.allocator += shared;
            out.allocates = call;
        } else if (call->kind == ApiKind::copy || call->kind == ApiKind::fill) {
            out.copy += shared;
            out.copies = call;
        }
    }
    return out;
}

}  // namespace

bool loads_code(std::string_view overhead) {
    for (const OverheadType type :
         {OverheadType::compiler, OverheadType::module_load, OverheadType::function_load})
        if (overhead == name_of(type)) return true;
    return false;
}

const char* text_of(GapCause cause) {
    constexpr std::array<const char*, kGapCauses> kNames{
        "after the host waited for the GPU",
        "while the host got data",
        "while the driver compiled or loaded code",
        "while memory was allocated or freed",
        "while the host was in a copy",
        "between kernels that were launched one by one",
        "while the host did something else",
        "before work that waited for other work",
        "for reasons that were not recorded"};
    return kNames[static_cast<std::size_t>(cause)];
}

Subject::Subject(const TraceStore& from, std::uint32_t of, const InsightOptions& with,
                 RankLoads& ranks)
    : store(from), options(with), loads(ranks), process(of) {
    choose_iterations();
    if (iterations.items.empty()) return;
    whole = {iterations.items.front().begin_ns, iterations.items.back().end_ns};
    for (const Iteration& i : iterations.items) append(in_iterations, {i.begin_ns, i.end_ns});
    breakdowns = break_down(store, iterations);
    activity = activity_of(store, process, whole.begin, whole.end);
    machine = machine_use(store, process, whole.begin, whole.end, iterations.track);
    gather_stages();
    gather_works();
    gather_calls();
    gather_data();
    communication = communication_in(store, iterations);
    if (activity.has_gpu) classify_gaps();
}

void Subject::choose_iterations() {
    iterations = find_iterations(store, process, options.begin_ns);
    keep_whole(store, iterations);
    auto& items = iterations.items;
    const bool from_start = options.begin_ns <= store.begin_ns();
    if (from_start && items.size() >= kEnoughToDrop)
        items.erase(items.begin(), items.begin() + kWarmUp);
    std::erase_if(items, [&](const Iteration& i) {
        return i.begin_ns < options.begin_ns || i.end_ns > options.end_ns;
    });
    if (items.size() > options.max_iterations)
        items.erase(items.begin(),
                    items.end() - static_cast<std::ptrdiff_t>(options.max_iterations));
    std::vector<double> ms;
    for (const Iteration& i : items) ms.push_back(i.milliseconds());
    std::ranges::sort(ms);
    iteration_ms = percentile(ms, 50);
    mean_ms = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
}

void Subject::gather_stages() {
    for (const Breakdown& b : breakdowns)
        for (std::size_t s = 0; s < kStageCount; ++s) {
            gpu_ms[s] += b.gpu_ms[s] / count();
            cpu_ms[s] += b.cpu_self_ms[s] / count();
        }
    // Where a GPU draws, the host's ranges of these stages only launch.
    on_gpu = gpu_ms[static_cast<std::size_t>(Stage::blend)] > 0 ||
             gpu_ms[static_cast<std::size_t>(Stage::blend_backward)] > 0;
}

void Subject::gather_works() {
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.process != process || track.kind != TrackKind::gpu_stream) continue;
        // Of our own stage timer, rows are stages within stages; CUPTI's records are work in every
        // row.
        const std::size_t rows =
            track.described() ? track.rows.size() : std::min<std::size_t>(1, track.rows.size());
        for (std::uint32_t r = 0; r < rows; ++r) {
            const auto row = track.rows[r].view();
            const auto details =
                r < track.works.size() ? track.works[r].view() : std::span<const GpuWork>();
            for (const TraceSpan& span : spans_within(row, whole.begin, whole.end)) {
                const auto i = static_cast<std::size_t>(&span - row.data());
                works.push_back({&span, i < details.size() ? &details[i] : nullptr, t, r});
            }
        }
    }
    std::ranges::sort(
        works, [](const Work& a, const Work& b) { return a.span->begin_ns < b.span->begin_ns; });
}

void Subject::gather_calls() {
    ApiKinds kind_of(store);
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.process != process || track.kind != TrackKind::api) continue;
        bool launches = false;
        const std::size_t first = calls.size();
        for_each_call(track, whole.begin, whole.end, [&](std::size_t row, const TraceSpan& span) {
            const ApiKind kind = kind_of(span.name);
            launches = launches || kind == ApiKind::launch || kind == ApiKind::graph_launch;
            const bool may_wait =
                kind == ApiKind::copy || kind == ApiKind::fill || kind == ApiKind::release;
            const bool waits =
                kind == ApiKind::synchronize ||
                (may_wait && store.name(span.name).find("Async") == std::string_view::npos);
            calls.push_back({&span, t, static_cast<std::uint32_t>(row), kind, waits});
        });
        // A thread that feeds no GPU may wait for one as long as it likes.
        if (!launches)
            for (std::size_t i = first; i < calls.size(); ++i) calls[i].waits = false;
    }
    std::ranges::sort(
        calls, [](const Call& a, const Call& b) { return a.span->begin_ns < b.span->begin_ns; });
}

// Data is being waited for in ranges of such a name on the iterations' own thread, and between two
// iterations while another thread is inside such a range.
void Subject::gather_data() {
    std::vector<std::int8_t> known;
    const auto is_data = [&](std::uint32_t name) {
        if (name >= known.size()) known.resize(name + std::size_t{64}, -1);
        if (known[name] < 0) {
            const Stage stage = store.names().stage(name);
            known[name] =
                stage == Stage::decode_photo || stage == Stage::load || gets_data(store.name(name))
                    ? 1
                    : 0;
        }
        return known[name] == 1;
    };
    std::vector<Intervals> own, others;
    for (std::uint32_t t = 0; t < store.tracks().size(); ++t) {
        const TraceTrack& track = store.tracks()[t];
        if (track.process != process ||
            (track.kind != TrackKind::thread && track.kind != TrackKind::overlapping))
            continue;
        for (const auto& row : track.rows) {
            Intervals found;
            for (const TraceSpan& s : spans_within(row.view(), whole.begin, whole.end))
                if (is_data(s.name))
                    append(found,
                           {std::max(whole.begin, s.begin_ns), std::min(whole.end, s.end_ns)});
            if (!found.empty()) (t == iterations.track ? own : others).push_back(std::move(found));
        }
    }
    data = union_of(std::move(own));
    const Intervals between =
        intersection_of(gaps_of(in_iterations, whole), union_of(std::move(others)));
    data_inferred = length_of(between) > length_of(data);
    data = union_of(data, between);
}

void Subject::classify_gaps() {
    Intervals driver;
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.kind != TrackKind::overhead) continue;
        for (const auto& row : track.rows) {
            Intervals found;
            for (const TraceSpan& s : spans_within(row.view(), whole.begin, whole.end))
                if (loads_code(store.name(s.name))) append(found, {s.begin_ns, s.end_ns});
            driver = union_of(driver, found);
        }
    }
    std::vector<const Call*> active;
    std::size_t next_call = 0, next_work = 0;
    for (const Interval& at : intersection_of(gaps_of(activity.busy, whole), activity.watched)) {
        if (at.length() < kLeastGap) continue;
        std::erase_if(active,
                      [&](const Call* c) { return c->span->end_ns < at.begin - kClockTolerance; });
        while (next_call < calls.size() && calls[next_call].span->begin_ns < at.end) {
            const Call& call = calls[next_call++];
            if (call.span->end_ns >= at.begin - kClockTolerance) active.push_back(&call);
        }
        while (next_work < works.size() && works[next_work].span->begin_ns < at.end) ++next_work;
        gaps.push_back(
            explained(at, next_work < works.size() ? &works[next_work] : nullptr, active, driver));
    }
}

// The most particular cause first: a loader that waits shows as host time, and as a wait before it.
Gap Subject::explained(const Interval& at, const Work* next, const std::vector<const Call*>& active,
                       const Intervals& driver) const {
    Gap gap{at, GapCause::unknown, nullptr, next};
    const std::int64_t half = at.length() / 2;
    const Overlaps overlaps = overlaps_of(at, active);
    const TraceSpan* launch =
        next ? store.timeline().launching_span(next->track, next->row, *next->span).span : nullptr;
    if (length_within(driver, at) > half) {
        gap.cause = GapCause::driver;
    } else if (length_within(data, at) > half) {
        gap.cause = GapCause::data;
    } else if (overlaps.allocator > half) {
        gap.cause = GapCause::allocator;
        gap.call = overlaps.allocates;
    } else if (overlaps.wait != nullptr) {
        const ApiKind kind = overlaps.wait->kind;
        gap.cause = kind == ApiKind::release ? GapCause::allocator : GapCause::sync;
        gap.call = overlaps.wait;
    } else if (overlaps.copy > half) {
        gap.cause = GapCause::copy;
        gap.call = overlaps.copies;
    } else if (launch != nullptr && launch->begin_ns < at.begin - kClockTolerance) {
        gap.cause = GapCause::waiting;
    } else if (at.length() <= kLaunchGap) {
        gap.cause = GapCause::launch;
    } else if (launch != nullptr) {
        gap.cause = GapCause::host;
    }
    return gap;
}

double Subject::gap_ms(GapCause cause) const {
    std::int64_t sum = 0;
    for (const Gap& gap : gaps)
        if (gap.cause == cause) sum += gap.at.length();
    return per_iteration(sum);
}

std::string Subject::iteration_at(std::int64_t t) const {
    const auto& items = iterations.items;
    const auto after = std::ranges::upper_bound(items, t, {}, &Iteration::end_ns);
    if (after == items.end()) return "the last iteration";
    return fmt::format("iteration {}", after->number);
}

std::string Subject::caller_of(const Call& call) const {
    const std::uint32_t thread =
        store.timeline().threads().find(process, store.tracks()[call.track].tid, TrackKind::thread);
    const auto range = innermost_at(store, thread, call.span->begin_ns);
    return range.span == nullptr ? std::string() : std::string(store.name(range.span->name));
}

Evidence Subject::evidence(const Work& work, std::string text) const {
    return {work.track, work.row, work.span->begin_ns, work.span->end_ns, std::move(text)};
}
Evidence Subject::evidence(const Call& call, std::string text) const {
    return {call.track, call.row, call.span->begin_ns, call.span->end_ns, std::move(text)};
}

Insight insight(const Subject& subject, std::string title, double recoverable_ms,
                Confidence confidence) {
    return {.title = std::move(title),
            .process = subject.process,
            .recoverable_ms = recoverable_ms,
            .share = subject.share(recoverable_ms),
            .confidence = subject.iterations.inferred ? Confidence::inferred : confidence};
}

}  // namespace gs::insights
