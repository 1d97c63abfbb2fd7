// The cost model: from the counts of a frame to the bytes and operations each stage cannot do
// without, and from the ceilings of the machine to the least time that takes. Counts are measured,
// bytes and operations follow from the layouts of our own records (raster/cuda/frame.h,
// raster/cpu/frame.h); a stage's time over its floor says what is left to gain. Used by bench and
// by the studio's roofline; formulas: docs/profiling.md, "The limit of the machine".
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "base/ceilings.h"
#include "base/record/stage.h"

namespace gs {

/// Counts of one frame or training step: the letters of docs/rendering.md. NaN: not counted.
struct FrameWork {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    bool cuda = false;            ///< which backend's records and passes
    double gaussians = 0;         ///< N
    double candidates = 0;        ///< in blocks that passed the cull
    double visible = 0;           ///< V
    double isects = 0;            ///< I
    double evaluated = kUnknown;  ///< E: pairs whose exponent was computed
    double blended = kUnknown;    ///< B: pairs that changed a pixel
    /// What warps of 32 pixels do, as WarpWork of renderer/raster/rasterizer.h says.
    double batches = kUnknown, group_tests = kUnknown, near = kUnknown, open = kUnknown,
           live_isects = kUnknown, live_sub_tiles = kUnknown;
    double pixels = 0, tiles = 0;
    int sh_degree = 3;
    bool gradients = true;  ///< forward keeps what backward needs, and backward runs
    bool training = false;  ///< projection reads moments, backward ends in Adam
    bool depth = false;
};

enum class CostLimit { none, memory, arithmetic, special, shared_memory, pairs, launch };
/// "memory", "arithmetic", "special functions", "shared memory", "blending", "launch"; "-" for
/// none.
const char* name_of(CostLimit limit);

/// What a stage cannot do without. Operations are of lanes: a fused multiply-add on one value
/// counts one.
struct StageWork {
    double bytes = 0, operations = 0, special = 0, shared_bytes = 0, pairs = 0, launches = 0;
    bool counted = true;  ///< false: a count it needs was not there; what could be said without is
    StageWork& operator+=(const StageWork& more);
};

struct StageFloor {
    Stage stage = Stage::other;
    StageWork work;
    double floor_ms =
        std::numeric_limits<double>::quiet_NaN();  ///< NaN: no ceiling is known that applies
    CostLimit limit = CostLimit::none;
};

/// What a stage took against the least this machine needs for it, of one sample of the scope.
struct StageCost {
    StageFloor floor;
    double measured_ms = std::numeric_limits<double>::quiet_NaN();  ///< NaN: not measured
    double ratio() const { return measured_ms / floor.floor_ms; }
};

StageWork stage_work(const FrameWork& frame, Stage stage);

/// Floors of the `measured` stages, in their order. Work whose stage is not among them counts for
/// the stage that does it: culling for projection, ranges for emit, emit for sort. Adam is done in
/// projection's backward, on both backends.
std::vector<StageFloor> stage_floors(const FrameWork& frame, const Ceilings& ceilings,
                                     std::span<const Stage> measured);

}  // namespace gs
