// Rules of Gaussian splatting: R16 sorting, R17 uneven tiles, R18 backward blending, R19 too many
// intersections, R21 density control. Stages come from our own spans, or from kernels by the stage
// map; on the CPU as on the GPU.

#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md; those of our own are marked.
constexpr double kSortShare = 0.30;         // R16, of the forward pass
constexpr double kLongestOverMean = 8;      // R17
constexpr double kBackwardOverForward = 3;  // R18
constexpr double kIsectsPerGaussian = 8;    // R19
constexpr double kGrowthOverGaussians =
    1.2;                      // R19, ours: intersections grew by this much more than Gaussians
constexpr double kSpike = 3;  // R21, times the median

constexpr std::array kForward{Stage::cull, Stage::project, Stage::emit,
                              Stage::sort, Stage::ranges,  Stage::blend};
constexpr const char* kNoStages =
    "no splatting stages were found: neither their ranges nor kernels in the stage map";

double forward_ms(const Subject& s) {
    double sum = 0;
    for (const Stage stage : kForward) sum += s.stage_ms(stage);
    return sum;
}

/// The longest spans of a stage, as evidence.
std::vector<Evidence> stage_evidence(const Subject& s, Stage stage) {
    std::vector<Work> found;
    for (std::uint32_t t = 0; t < s.store.tracks().size(); ++t) {
        const TraceTrack& track = s.store.tracks()[t];
        const bool gpu = track.kind == TrackKind::gpu_stream;
        if (track.process != s.process || (s.on_gpu ? !gpu : t != s.iterations.track)) continue;
        for (std::uint32_t r = 0; r < track.rows.size(); ++r)
            for (const TraceSpan& span :
                 spans_within(track.rows[r].view(), s.whole.begin, s.whole.end))
                if ((gpu ? s.store.names().gpu_stage(span.name)
                         : s.store.names().stage(span.name)) == stage)
                    found.push_back({&span, nullptr, t, r});
    }
    std::vector<Evidence> out;
    for (const Work* w : longest_of(found))
        out.push_back(s.evidence(*w, fmt::format("{}, {:.3f} ms, {}", s.store.name(w->span->name),
                                                 static_cast<double>(w->span->length_ns()) * 1e-6,
                                                 s.iteration_at(w->span->begin_ns))));
    return out;
}

/// Stages whose kernels the stage map guessed from their names are inferred; our own spans are
/// measured.
Confidence stage_confidence(const Subject& s) {
    return s.on_gpu && std::any_of(s.works.begin(), s.works.end(),
                                   [](const Work& w) { return w.detail != nullptr; })
               ? Confidence::inferred
               : Confidence::measured;
}

}  // namespace

Answer sort_dominated(const Subject& s) {
    const double forward = forward_ms(s), sort = s.stage_ms(Stage::sort);
    if (!(forward > 0) || !(s.stage_ms(Stage::blend) > 0)) return cannot_tell(kNoStages);
    if (!(sort > kSortShare * forward)) return {};
    // Down to the share that sorting has where it is in order: x of a forward pass whose rest stays
    // as it is.
    const double gain = sort - (forward - sort) * kSortShare / (1 - kSortShare);
    if (s.share(gain) < kGainShare) return {};
    Insight i =
        insight(s, fmt::format("Sorting takes {:.0f} % of the forward pass", 100 * sort / forward),
                gain, stage_confidence(s));
    i.text = fmt::format("Sort and scan: {:.2f} ms of {:.2f} ms per iteration.", sort, forward);
    i.advice =
        "Sort less: exact tile coverage instead of 3-sigma squares, culling by opacity and frustum "
        "before keys are made. Sort cheaper: by depth once, for visible Gaussians, then stably by "
        "tile only; only as many key bits as the tiles need; 16-bit depth.";
    i.evidence = stage_evidence(s, Stage::sort);
    return {{std::move(i)}, {}};
}

namespace {

/// A counter of our trainer's over the iterations, in order; empty: not recorded.
std::vector<double> counted(const Subject& s, std::string_view name) {
    std::vector<double> out;
    for (const CounterSeries& series : s.store.counters())
        if (series.process == s.process && s.store.name(series.name) == name)
            for (const CounterPoint& p : series.points.view())
                if (s.inside(p.time_ns)) out.push_back(p.value);
    return out;
}

double mean(std::span<const double> values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
}

}  // namespace

Answer uneven_tiles(const Subject& s) {
    const std::vector<double> longest = counted(s, "longest tile list"),
                              average = counted(s, "mean tile list"),
                              isects = counted(s, "intersections");
    if (longest.empty() || average.empty() || isects.empty())
        return cannot_tell(
            "needs the lengths of the tiles' lists (gausscope's own trainer records them)");
    if (!s.on_gpu) return cannot_tell("for GPUs only: on the CPU, idle threads take other tiles");
    const double ratio = mean(longest) / mean(average);
    if (!(ratio > kLongestOverMean)) return {};
    // A tile's list is one block's work. Blocks in flight at once: those of 256 threads that a
    // device's warps allow. They need the mean of the lists each, and at worst the longest begins
    // when the others are done.
    constexpr double kWarpsPerTile = 8;
    double slots = 0;
    for (const GpuDeviceEvent& d : s.traced().devices)
        slots = std::max(slots, d.multiprocessors * d.warps_per_multiprocessor / kWarpsPerTile);
    const double even = slots > 0 ? mean(isects) / slots : std::numeric_limits<double>::quiet_NaN();
    const double blending = s.stage_ms(Stage::blend) + s.stage_ms(Stage::blend_backward);
    const double gain = blending * std::max(0.0, mean(longest) - even) / (mean(longest) + even);
    Insight i = insight(
        s, fmt::format("The longest tile has {:.0f} times the Gaussians of the mean one", ratio),
        gain, Confidence::inferred);
    i.text = fmt::format(
        "{:.0f} in the longest list, {:.0f} in the mean one; blending and its backward take {:.2f} "
        "ms.",
        mean(longest), mean(average), blending);
    i.advice =
        "Split long lists over several blocks (buckets of 32 per block), start the longest tiles "
        "first, use smaller tiles, or prune and split the Gaussians that cover these tiles.";
    i.evidence = stage_evidence(s, Stage::blend);
    return {{std::move(i)}, {}};
}

Answer backward_blending(const Subject& s) {
    const double forward = s.stage_ms(Stage::blend), backward = s.stage_ms(Stage::blend_backward);
    if (!(forward > 0)) return cannot_tell(kNoStages);
    if (!(backward > 0)) return cannot_tell("no backward pass of the blending was seen");
    if (!(backward > kBackwardOverForward * forward)) return {};
    const double gain =
        backward - kBackwardOverForward * forward;  // down to the ratio that is in order
    if (s.share(gain) < kGainShare) return {};
    Insight i = insight(s,
                        fmt::format("Blending backwards takes {:.1f} times as long as forwards",
                                    backward / forward),
                        gain, stage_confidence(s));
    i.text =
        fmt::format("{:.2f} ms backwards, {:.2f} ms forwards per iteration.", backward, forward);
    i.advice =
        "Mostly atomics: add gradients up in the warp or the block before they go to memory, one "
        "thread per Gaussian and bucket instead of per pixel, keep the forward pass's contribution "
        "masks to skip what did not blend.";
    i.evidence = stage_evidence(s, Stage::blend_backward);
    return {{std::move(i)}, {}};
}

namespace {

/// Threads of the kernels of a stage, per iteration in order of time: what foreign trainers show of
/// their counts.
std::vector<double> threads_of(const Subject& s, Stage stage) {
    std::vector<double> out;
    for (const Work& w : s.works)
        if (w.detail && w.detail->kind == GpuWorkKind::kernel &&
            s.store.names().gpu_stage(w.span->name) == stage)
            out.push_back(static_cast<double>(w.detail->grid[0]) * w.detail->grid[1] *
                          w.detail->grid[2] * w.detail->block[0] * w.detail->block[1] *
                          w.detail->block[2]);
    return out;
}

struct Counts {
    std::vector<double> isects, gaussians;
    const char* of = "visible Gaussian";
    bool inferred = false;
};

Counts counts_of(const Subject& s) {
    Counts out{counted(s, "intersections"), counted(s, "visible Gaussians")};
    if (!out.isects.empty() && !out.gaussians.empty()) return out;
    // One thread per intersection finds the tiles' ranges, one per Gaussian projects: Inria's,
    // gsplat's, Faster-GS's.
    return {threads_of(s, Stage::ranges), threads_of(s, Stage::project), "Gaussian", true};
}

/// Mean of the last third over that of the first.
double growth(const std::vector<double>& values) {
    const std::size_t third = values.size() / 3;
    if (third == 0) return 1;
    const std::span<const double> all(values);
    return mean(all.last(third)) / mean(all.first(third));
}

}  // namespace

Answer many_isects(const Subject& s) {
    const Counts c = counts_of(s);
    if (c.isects.empty() || c.gaussians.empty())
        return cannot_tell(
            "needs the number of intersections: counters of gausscope's own trainer, or the grids "
            "of kernels in the stage map");
    const double ratio = mean(c.isects) / mean(c.gaussians),
                 grown = growth(c.isects) / growth(c.gaussians);
    if (!(ratio > kIsectsPerGaussian) && !(grown > kGrowthOverGaussians)) return {};
    // Emitting, sorting and blending take time in proportion to the list: down to the ratio that is
    // in order, or to that of the first third.
    double ms = 0;
    for (const Stage stage :
         {Stage::emit, Stage::sort, Stage::ranges, Stage::blend, Stage::blend_backward})
        ms += s.stage_ms(stage);
    const double keep =
        std::min(kIsectsPerGaussian / ratio, grown > kGrowthOverGaussians ? 1 / grown : 1.0);
    Insight i = insight(s, fmt::format("A {} falls into {:.1f} tiles", c.of, ratio),
                        ms * (1 - std::min(1.0, keep)), Confidence::inferred);
    i.text = fmt::format(
        "{:.0f} intersections of {:.0f} Gaussians{}; stages that depend on them take {:.2f} ms per "
        "iteration.",
        mean(c.isects), mean(c.gaussians), c.inferred ? " (by the grids of the kernels)" : "", ms);
    if (grown > kGrowthOverGaussians)
        i.text += fmt::format(" Intersections grew {:.2f} times as much as Gaussians.", grown);
    i.advice =
        "Use exact, opacity-aware tile bounds instead of 3-sigma squares; prune Gaussians that are "
        "large on the screen; set a lower limit of the scale; watch for needles after "
        "densification.";
    i.evidence = stage_evidence(s, Stage::emit);
    if (i.evidence.empty()) i.evidence = stage_evidence(s, Stage::blend);
    return {{std::move(i)}, {}};
}

namespace {

bool controls_density(std::string_view name) {
    for (const char* word :
         {"densif", "prune", "relocat", "density", "opacity_reset", "reset_opacity", "add_new_gs"})
        if (name.find(word) != std::string_view::npos) return true;
    return false;
}

/// Density control is in this iteration: our stage, a kernel of it, or a range of such a name.
bool controls_density(const Subject& s, std::size_t iteration) {
    const Breakdown& b = s.breakdowns[iteration];
    const auto density = static_cast<std::size_t>(Stage::density);
    if (b.cpu_self_ms[density] > 0 || b.gpu_ms[density] > 0) return true;
    if (s.iterations.track >= s.store.tracks().size()) return false;
    const Iteration& item = s.iterations.items[iteration];
    for (const auto& row : s.store.tracks()[s.iterations.track].rows)
        for (const TraceSpan& span : spans_within(row.view(), item.begin_ns, item.end_ns))
            if (controls_density(s.store.name(span.name))) return true;
    return false;
}

}  // namespace

Answer density_spikes(const Subject& s) {
    double over = 0;
    std::vector<std::size_t> spikes;
    bool seen = false;
    for (std::size_t i = 0; i < s.breakdowns.size(); ++i) {
        const double ms = s.iterations.items[i].milliseconds();
        const bool spike = ms > kSpike * s.iteration_ms;
        if (seen && !spike) continue;
        if (!controls_density(s, i)) continue;
        seen = true;
        if (!spike) continue;
        over +=
            ms - s.iteration_ms;  // what they take beyond an ordinary iteration, spread over all
        spikes.push_back(i);
    }
    if (!seen) return cannot_tell("no density control was seen in these iterations");
    if (spikes.empty()) return {};
    Insight found = insight(
        s,
        fmt::format("{} iterations with density control take more than {:.0f} times the median",
                    spikes.size(), kSpike),
        over / s.count(), Confidence::measured);
    std::size_t allocations = 0;
    for (const Call& c : s.calls)
        if (c.kind == ApiKind::allocate || c.kind == ApiKind::release)
            for (const std::size_t i : spikes)
                allocations += s.iterations.items[i].begin_ns <= c.span->begin_ns &&
                               c.span->begin_ns < s.iterations.items[i].end_ns;
    found.text = fmt::format("They take {:.1f} ms longer in all", over);
    found.text += allocations > 0
                      ? fmt::format("; {} allocations and releases are in them.", allocations)
                      : ".";
    found.advice =
        "Size buffers by high-water mark and use a free list instead of new tensors and torch.cat; "
        "run on the GPU without reading counts back; run less often, or for some Gaussians at a "
        "time.";
    std::sort(spikes.begin(), spikes.end(), [&](std::size_t a, std::size_t b) {
        return s.iterations.items[a].milliseconds() > s.iterations.items[b].milliseconds();
    });
    if (spikes.size() > kMostEvidence) spikes.resize(kMostEvidence);
    for (const std::size_t i : spikes) {
        const Iteration& item = s.iterations.items[i];
        found.evidence.push_back(
            {s.iterations.track, 0, item.begin_ns, item.end_ns,
             fmt::format("iteration {}, {:.2f} ms", item.number, item.milliseconds())});
    }
    return {{std::move(found)}, {}};
}

}  // namespace gs::insights
