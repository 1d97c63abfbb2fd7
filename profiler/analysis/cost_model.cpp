#include "profiler/analysis/cost_model.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

// Bytes of records, as raster/*/frame.h and the trainer lay them out.
constexpr double kFloat = 4, kSplat = 48, kIsectRow = 48, kGeometry = 44, kMeans = 12, kPhoto = 3,
                 kColor = 12;
constexpr double kWarp = 32;  // lanes
constexpr double kCoverageCuda = 32, kCoverageCpu = 8;
// Operations per item, counted in the formulas (a multiply-add is one); what a compiler adds is not
// the formula's.
constexpr double kProjectOps = 195, kProjectBackwardOps = 750, kAdamOps = 6;  // Adam: per parameter
constexpr double kLossOps = 528;  // 8 windows x 22 taps x 3 channels
constexpr double kBlendEvaluatedCuda = 14, kBlendBlendedCuda = 8, kBackwardCuda = 45;
constexpr double kBlendCpu = 21, kBackwardCpu = 55;
constexpr double kSharedPerPair =
    12;  // a warp reads 48 bytes of a splat in three 128-byte turns for 32 pairs

/// Derived sizes of a frame.
struct Sizes {
    double bases, planes, sh_bytes, moments, key, tile_passes;
    explicit Sizes(const FrameWork& f)
        : bases((f.sh_degree + 1.0) * (f.sh_degree + 1.0)),
          planes(11 + 3 * bases),
          sh_bytes(12 * bases),
          moments(f.training ? 8 * planes + kFloat : 0),
          key(f.tiles <= 65535 ? 2 : 4),
          tile_passes(std::ceil(std::max(1.0, std::ceil(std::log2(f.tiles + 1))) / 8)) {}
};

/// A count that may be missing: 0 then, and the work says so.
double counted(double value, StageWork& w) {
    if (std::isfinite(value)) return value;
    w.counted = false;
    return 0;
}

StageWork project_work(const FrameWork& f, const Sizes& s) {
    StageWork w;
    const double kept =
        f.cuda ? kSplat + kCoverageCuda + 3 * kFloat : kSplat + kCoverageCpu + 2 * kFloat;
    // CUDA stops at the means of what is out of view; the CPU reads blocks of 16 whole.
    const double read = f.cuda ? f.candidates * kMeans + f.visible * (kGeometry - kMeans)
                               : f.candidates * kGeometry;
    w.bytes = read + f.visible * (s.sh_bytes + s.moments + kept);
    w.operations = f.candidates * 6 + f.visible * (kProjectOps + 3 * s.bases);
    w.launches = 1;
    return w;
}

StageWork sort_work(const FrameWork& f, const Sizes& s) {
    StageWork w;
    if (f.cuda) {
        // Depth: keys and slots made, one histogram, four passes over key and value. Tiles: the
        // same with short keys.
        w.bytes = f.visible * (kFloat + 8 + kFloat + 4 * 16) +
                  f.isects * (s.key + s.tile_passes * 2 * (s.key + kFloat));
        w.launches = 2 + 6 + 2 + s.tile_passes;
    } else {
        w.bytes = f.visible *
                  (kFloat + 8 +
                   3 * (kFloat + 16));  // 11-bit digits: three passes, each counts, then moves
        w.launches = 1 + 3 * 2;
    }
    return w;
}

StageWork emit_work(const FrameWork& f, const Sizes& s) {
    StageWork w;
    if (f.cuda) {
        w.bytes = f.visible * (2 * kFloat + 2 * kFloat + kCoverageCuda + kFloat) +
                  f.isects * (s.key + kFloat + (f.gradients ? kFloat : 0));
        w.launches = 3;
    } else {
        w.bytes = f.visible * 2 * (kCoverageCpu + 2 * kFloat) +
                  f.isects * (f.gradients ? 2 : 1) * kFloat + f.tiles * 2 * kFloat;
        w.launches = 2;
    }
    return w;
}

StageWork ranges_work(const FrameWork& f, const Sizes& s) {
    StageWork w;
    if (!f.cuda) return w;  // the CPU's emit leaves them behind
    w.bytes = f.isects * (s.key + (f.gradients ? 3 * kFloat : 0)) + f.tiles * 2 * kFloat;
    w.launches = 2;
    return w;
}

StageWork blend_work(const FrameWork& f) {
    StageWork w;
    // A GPU's warp pays for all its lanes when one of them does: what warps did, where that is
    // known.
    const bool warps = f.cuda && std::isfinite(f.near) && std::isfinite(f.open);
    const double evaluated = warps ? f.near * kWarp : counted(f.evaluated, w),
                 blended = warps ? f.open * kWarp : counted(f.blended, w);
    const double kept = f.gradients ? (f.cuda ? 1 : 4) : 0;  // bytes of mask per isect
    w.bytes = f.visible * kSplat + f.isects * (kFloat + kept) +
              f.pixels *
                  (kColor + kFloat + (f.depth ? kFloat : 0) + (f.cuda && f.gradients ? kFloat : 0));
    w.launches = 1;
    if (f.cuda) {
        w.operations = evaluated * kBlendEvaluatedCuda + blended * kBlendBlendedCuda;
        w.special = blended;
        w.shared_bytes = evaluated * kSharedPerPair;
    } else {
        w.operations = evaluated * kBlendCpu;
        w.pairs = evaluated;
    }
    return w;
}

StageWork blend_backward_work(const FrameWork& f) {
    StageWork w;
    const double blended = f.cuda && std::isfinite(f.live_sub_tiles) ? f.live_sub_tiles * kWarp
                                                                     : counted(f.blended, w);
    w.bytes = f.visible * kSplat + f.isects * (kFloat + (f.cuda ? 1 : 4) + kIsectRow) +
              f.pixels * (2 * kColor + kFloat + (f.depth ? 2 * kFloat : 0));
    w.operations = blended * (f.cuda ? kBackwardCuda : kBackwardCpu);
    w.special = f.cuda ? 2 * blended : 0;
    w.launches = 1;
    return w;
}

StageWork project_backward_work(const FrameWork& f, const Sizes& s) {
    StageWork w{.bytes = f.isects * kIsectRow + f.visible * (s.planes + 2) * kFloat};
    if (!f.training) w.bytes += f.visible * (s.planes + 3) * kFloat;  // gradients written out
    w.operations = f.visible * kProjectBackwardOps;
    w.launches = 1;
    return w;
}

StageWork adam_work(const FrameWork& f, const Sizes& s) {
    StageWork w;
    if (!f.training) return w;
    // Moments read and written, parameters written (their reading counts for the backward they are
    // fused with).
    w.bytes = f.visible * (s.planes * 5 * kFloat + 2 * kFloat + 6 * kFloat);
    w.operations = f.visible * s.planes * kAdamOps;
    return w;
}

/// The stage that does `stage`'s work where that is not measured by itself; itself: none does.
Stage stands_in(Stage stage) {
    switch (stage) {
        case Stage::cull:
            return Stage::project;
        case Stage::ranges:
            return Stage::emit;
        case Stage::emit:
            return Stage::sort;
        case Stage::adam:
            return Stage::project_backward;
        case Stage::project_backward:
            return Stage::adam;
        default:
            return stage;
    }
}

void set_floor(StageFloor& f, const Ceilings& c) {
    const StageWork& w = f.work;
    const double interval =
        std::isfinite(c.launch_interval_seconds) ? c.launch_interval_seconds : c.launch_seconds;
    const std::pair<CostLimit, double> seconds[] = {
        {CostLimit::memory, w.bytes / c.copy_bytes},
        {CostLimit::arithmetic, w.operations / c.lane_operations},
        {CostLimit::special, w.special / c.special_operations},
        {CostLimit::shared_memory, w.shared_bytes / c.shared_bytes},
        {CostLimit::pairs, w.pairs / c.blend_pairs},
        {CostLimit::launch, w.launches * interval},
    };
    double most = 0;
    for (const auto& [limit, time] : seconds) {
        if (!(time > most)) continue;
        most = time;
        f.limit = limit;
    }
    if (most > 0) f.floor_ms = most * 1e3;
}

}  // namespace

const char* name_of(CostLimit limit) {
    switch (limit) {
        case CostLimit::memory:
            return "memory";
        case CostLimit::arithmetic:
            return "arithmetic";
        case CostLimit::special:
            return "special functions";
        case CostLimit::shared_memory:
            return "shared memory";
        case CostLimit::pairs:
            return "blending";
        case CostLimit::launch:
            return "launch";
        case CostLimit::none:
            break;
    }
    return "-";
}

StageWork& StageWork::operator+=(const StageWork& more) {
    bytes += more.bytes;
    operations += more.operations;
    special += more.special;
    shared_bytes += more.shared_bytes;
    pairs += more.pairs;
    launches += more.launches;
    counted = counted && more.counted;
    return *this;
}

StageWork stage_work(const FrameWork& f, Stage stage) {
    const Sizes s(f);
    StageWork w;
    switch (stage) {
        case Stage::cull:
            if (!(f.candidates < f.gaussians)) return w;  // without bounds nothing is read
            w.bytes = f.gaussians;                        // a sphere of 16 bytes for 16 Gaussians
            w.operations = f.gaussians / 16 * 15;
            w.launches = f.cuda ? 0 : 1;  // CUDA culls in the projection's kernel
            return w;
        case Stage::project:
            return project_work(f, s);
        case Stage::sort:
            return sort_work(f, s);
        case Stage::emit:
            return emit_work(f, s);
        case Stage::ranges:
            return ranges_work(f, s);
        case Stage::blend:
            return blend_work(f);
        case Stage::loss:
            w.bytes = f.pixels * (kPhoto + 2 * kColor);
            w.operations = f.pixels * kLossOps;
            w.launches = 1;
            return w;
        case Stage::blend_backward:
            return blend_backward_work(f);
        case Stage::project_backward:
            return project_backward_work(f, s);
        case Stage::adam:
            return adam_work(f, s);
        default:
            return w;
    }
}

std::vector<StageFloor> stage_floors(const FrameWork& frame, const Ceilings& ceilings,
                                     std::span<const Stage> measured) {
    std::vector<StageFloor> out;
    for (const Stage stage : measured)
        out.push_back({stage, {}, StageFloor{}.floor_ms, CostLimit::none});
    const auto row = [&](Stage stage) { return std::ranges::find(out, stage, &StageFloor::stage); };
    for (const Stage stage :
         {Stage::cull, Stage::project, Stage::sort, Stage::emit, Stage::ranges, Stage::blend,
          Stage::loss, Stage::blend_backward, Stage::project_backward, Stage::adam}) {
        // Adam is fused with projection's backward, on both backends; its own span holds the tables
        // only.
        auto to = stage == Stage::adam ? out.end() : row(stage);
        if (to == out.end()) to = row(stands_in(stage));
        if (to == out.end()) to = row(stands_in(stands_in(stage)));
        if (to != out.end()) to->work += stage_work(frame, stage);
    }
    for (StageFloor& f : out) set_floor(f, ceilings);
    return out;
}

}  // namespace gs
