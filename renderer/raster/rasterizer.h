// Rasterizer: a camera and Gaussians in, a picture and its maps out; then gradients of the picture
// in, gradients of the Gaussians out. One interface, one implementation per backend (raster/cpu,
// raster/cuda). The trainer and the session use it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/vec.h"
#include "renderer/device/device_picture.h"
#include "renderer/math/lens_numbers.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/clip_box.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/gaussian_tint.h"
#include "renderer/scene/image.h"

namespace gs {

struct FrameProbe;  // renderer/raster/frame_probe.h
class Exchange;     // base/exchange.h

inline constexpr int kTileSize = 16;  ///< pixels
/// The median depth is where the transmittance falls below this.
inline constexpr float kMedianTransmittance = 0.5f;

/// Constants that differ between trainers (references: table "Constants for interoperability" in
/// docs/rendering.md).
enum class Compatibility {
    tight,   ///< ours: exact opacity-aware extents, alpha <= 0.99, stop excludes the crossing
             ///< Gaussian (next T <= 1e-4), near 0.01
    gsplat,  ///< as gsplat: the same picture rules, box extents of 3.33 sigma
    inria,   ///< as the 3DGS paper's rasterizer: 3 sigma squares, near 0.2, stop when next T < 1e-4
};
struct RasterRules {
    float near_plane;         ///< Gaussians with depth <= this are dropped, world units
    float alpha_max;          ///< alpha is clamped to this
    float alpha_min;          ///< smaller alpha is skipped
    float transmittance_min;  ///< a pixel ends before the Gaussian that would bring T to this or
                              ///< below
    bool stop_at_equal;       ///< true: "<=", false: "<"
    float extent_sigma;  ///< 0 = opacity-aware exact extent, else this many standard deviations of
                         ///< the larger axis
    bool square_extent;  ///< extent is a square around the larger axis (Inria) instead of a box per
                         ///< axis
    bool exact_tiles;    ///< only tiles that the ellipse touches, instead of all tiles of its box
};
RasterRules rules_of(Compatibility compatibility);
const char* name_of(Compatibility compatibility);
Result<Compatibility> compatibility_from_name(std::string_view name);

/// What the viewer may trade for speed.
enum class Precision {
    exact,  ///< single precision throughout, the same picture on every backend up to rounding
    fast,   ///< CUDA, without gradients: half precision where a picture hardly shows it
};

/// How a Gaussian becomes an ellipse in the picture.
enum class ProjectionMethod {
    ewa,  ///< by the lens's Jacobian at its mean (Zwicker et al. 2001)
    ut,   ///< by seven points through the whole camera: the unscented transform
          ///< (math/unscented.h). Of parallel rays both are the same, and this draws as ewa.
};
const char* name_of(ProjectionMethod projection);
Result<ProjectionMethod> projection_from_name(std::string_view name);

struct RenderOptions {
    Vec3f background{0, 0, 0};
    ProjectionMethod projection = ProjectionMethod::ewa;
    Precision precision = Precision::exact;
    bool sky = true;    ///< the model's, where it has one, in place of the background
    int sh_degree = 3;  ///< bases above this are ignored; limited by the model's own degree
    float scale_modifier =
        1.0f;  ///< multiplies every standard deviation (viewer only; gradients assume 1)
    bool antialiased = false;     ///< opacity * sqrt(max(det(cov) / det(cov + blur), 0.005^2))
    float blur = 0.3f;            ///< added to the diagonal of the 2D covariance, px^2
    float near_plane = 0.0f;      ///< overrides the profile's when > 0
    std::optional<ClipBox> clip;  ///< only means inside draw (viewer only)
    /// Other colours, or none, for single Gaussians (viewer only); null: each as it is.
    std::shared_ptr<const GaussianTint> tint;
    Compatibility compatibility = Compatibility::tight;
    bool depth = true;          ///< fill RenderResult::depth
    bool median_depth = false;  ///< fill RenderResult::median_depth; only together with `depth`
    bool gradients = true;      ///< keep what backward() needs; false is a little faster
    bool motion = false;        ///< backward() fills BlockGradients::motion
    /// backward() fills BlockGradients::intrinsics (the CPU's; on CUDA training alone has them).
    /// Only by EWA, through a lens with distortion_numbers() or a pinhole, with a global shutter.
    bool intrinsics = false;
    bool absolute = false;  ///< backward() fills BlockGradients::mean2d without signs
    bool counters =
        false;  ///< fill contributors, evaluated_pairs (isects_per_tile is always there)
    /// With `counters`: also fill RenderCounters::warps. On the CPU that takes longer than drawing.
    bool warps = false;
    /// Measure what blending costs, forward (RenderResult::costs) and backward
    /// (ForwardState::backward_costs()). Slower, the same picture to the bit; only together with
    /// `counters` and without `depth`.
    bool costs = false;
    /// (Gaussian, tile) pairs listed at once; a frame with more is drawn in groups of tiles, to the
    /// same bits. 0: as many as the backend can and memory holds.
    std::uint64_t most_pairs = 0;
};

/// What warps of 32 pixels (8 x 4) spend on blending, which pairs do not tell: a warp pays for all
/// its lanes when one of them blends. The CUDA kernels do this work; the CPU backend counts what
/// they would do, from the same lists, so that a GPU's time can be predicted without one. Work
/// items (at most 1,024 isects of a tile) are counted as they are drawn: each as if nothing lay
/// before it.
struct WarpWork {
    std::uint64_t batches = 0;         ///< up to 256 isects brought into shared memory by a block
    std::uint64_t group_tests = 0;     ///< (32 isects, warp): tested against the warp's rectangle
    std::uint64_t near = 0;            ///< (isect, warp) that passed: exponents for 32 lanes
    std::uint64_t open = 0;            ///< of these, with a pixel that blended or ended
    std::uint64_t live_isects = 0;     ///< isects with any open warp: what backward lists
    std::uint64_t live_sub_tiles = 0;  ///< (live isect, open warp): what backward walks
};

/// Counts of one frame, for the cost model (N, V, I, E, B of docs/rendering.md).
struct RenderCounters {
    std::uint64_t gaussians = 0;   ///< N
    std::uint64_t candidates = 0;  ///< in blocks that passed the cull
    std::uint64_t visible = 0;     ///< V
    std::uint64_t isects = 0;      ///< I
    std::uint64_t list_pairs =
        0;  ///< (Gaussian, pixel) pairs in the tile lists up to where each tile ended
    std::uint64_t evaluated_pairs =
        0;  ///< E: pairs whose exponent was computed; 0 unless options.counters
    std::uint64_t blended_pairs = 0;  ///< B: pairs that changed a pixel; 0 unless options.counters
    int longest_tile = 0;             ///< isects of the fullest tile
    WarpWork warps;                   ///< with options.warps
};

/// What blending forward, or backward, costs by tile and by Gaussian.
struct BlendCosts {
    /// [tiles_y][tiles_x] nanoseconds that were spent on the tile: of one thread on the CPU, of the
    /// thread blocks that share it on CUDA, added up. Tiles are drawn many at a time, so the sum is
    /// more than the stage took.
    Buffer<float> tile_ns;
    Buffer<std::uint32_t> tile_evaluated;  ///< [tiles_y][tiles_x] pairs whose exponent was computed
    Buffer<std::uint32_t> tile_blended;    ///< [tiles_y][tiles_x] of these, what changed a pixel
    /// By row: pairs that the Gaussian made others evaluate, and those of them it was blended in
    /// (on CUDA, in tiles of over 1024 isects, as if nothing lay before each thousand). Backward
    /// leaves `blended` empty.
    Buffer<std::uint32_t> evaluated, blended;
    bool empty() const { return tile_ns.empty(); }
    std::size_t bytes() const {
        return tile_ns.capacity_bytes() + tile_evaluated.capacity_bytes() +
               tile_blended.capacity_bytes() + evaluated.capacity_bytes() +
               blended.capacity_bytes();
    }
};

struct RenderResult {
    int width = 0, height = 0;
    ImageF color;  ///< 3 planes, sky or background blended in
    ImageF alpha;  ///< 1 plane, 1 - transmittance
    ImageF depth;  ///< 1 plane, sum of weight * depth (divide by alpha for the expected depth)
    ImageF median_depth;  ///< 1 plane, depth of the Gaussian behind which less than half of the
                          ///< light gets through (T < 0.5); 0 where that is none
    Buffer<std::uint16_t> contributors;  ///< [height][width] Gaussians blended into the pixel
    int tiles_x = 0, tiles_y = 0;
    Buffer<std::uint32_t> isects_per_tile;  ///< [tiles_y][tiles_x]
    Buffer<std::uint32_t> pairs_per_tile;   ///< [tiles_y][tiles_x] evaluated pairs
    BlendCosts costs;                       ///< with options.costs
    BlendCosts backward_costs;              ///< of backward() with it, where its caller puts them
    RenderCounters counters;
};

/// d loss / d picture, in the layout of RenderResult. Empty alpha or depth means zero.
struct PixelGradients {
    ImageF color;  ///< 3 planes
    ImageF alpha;
    ImageF depth;
};

/// The parameters of 16 consecutive Gaussians: plane p of the block starts at planes + p * stride.
struct BlockView {
    const float* planes;
    std::size_t stride;
};

/// A sphere that holds everything a block of 16 Gaussians can draw (up to 3.4 standard deviations).
struct BlockBounds {
    float x = 0, y = 0, z = 0, radius = 0;  ///< radius = infinity: always drawn
};

/// Where projection reads parameters. The plain source is the model itself; the trainer's also
/// applies, on the fly, the optimizer steps that a Gaussian slept through. Called from many threads
/// at once, for different blocks.
class ParameterSource {
  public:
    virtual ~ParameterSource() = default;
    virtual std::size_t count() const = 0;
    virtual int sh_degree() const = 0;
    /// Planes 0..10 of block `block`; `scratch` holds 11 * 16 floats.
    virtual BlockView geometry(std::size_t block, float* scratch) = 0;
    /// Planes kSh0 .. as planes 0..; `scratch` holds 48 * 16 floats.
    virtual BlockView sh(std::size_t block, float* scratch) = 0;
    /// One per block, or empty when not known (nothing is culled by block then).
    virtual std::span<const BlockBounds> bounds() const = 0;
    /// Null: there is none.
    virtual const Sky* sky() const { return nullptr; }
};
/// What is to be drawn behind the Gaussians; null: the background.
inline const Sky* sky_to_draw(const ParameterSource& source, const RenderOptions& options) {
    return options.sky ? source.sky() : nullptr;
}

/// The model as it is.
class ModelSource final : public ParameterSource {
  public:
    explicit ModelSource(const GaussianModel& model, std::span<const BlockBounds> bounds = {})
        : model_(model), bounds_(bounds) {}
    std::size_t count() const override { return model_.count; }
    int sh_degree() const override { return model_.sh_degree; }
    BlockView geometry(std::size_t block, float*) override {
        return {model_.values.data() + block * kBlock, model_.capacity};
    }
    BlockView sh(std::size_t block, float*) override {
        return {model_.plane(kSh0) + block * kBlock, model_.capacity};
    }
    std::span<const BlockBounds> bounds() const override { return bounds_; }
    const Sky* sky() const override { return model_.sky.empty() ? nullptr : &model_.sky; }

  private:
    const GaussianModel& model_;
    std::span<const BlockBounds> bounds_;
};
/// Bounds for a model at rest.
void compute_bounds(const GaussianModel& model, Buffer<BlockBounds>& out);

/// Gradients of 16 consecutive Gaussians; lanes not in `mask` were not visible and hold zeros.
struct BlockGradients {
    std::size_t block = 0;
    std::uint32_t mask = 0;                        ///< bit i: Gaussian 16 * block + i was visible
    alignas(64) float planes[kMaxPlanes][kBlock];  ///< by Plane number; unused SH planes are zero
    /// d loss / d projected mean, per pixel; with options.absolute the sum over pixels of |what
    /// each of them gives|, x and y apart: where pixels pull apart it is not small.
    alignas(64) float mean2d[2][kBlock];
    alignas(64) float radius_px[kBlock];  ///< extent on the picture in pixels
    /// With options.motion: what these Gaussians add to SceneMotion, turn x y z, then move x y z.
    float motion[6];
    /// With options.intrinsics: what they add to d loss / d the lens's numbers.
    float intrinsics[math::kLensNumbers];
};
/// d loss / d a small rigid motion of all Gaussians as one sees it from the camera: turned by
/// `turn` (radians, world axes) about the camera's position without a change of colour, then moved
/// by `move` (world units). A motion of the camera is its opposite, through every lens.
struct SceneMotion {
    Vec3d turn, move;
};
/// Takes the gradients as they are made, block by block, in no particular order, from many threads
/// (each block once).
class GradientSink {
  public:
    virtual ~GradientSink() = default;
    virtual void take(const BlockGradients& gradients) = 0;
};

/// What backward needs from forward. Made by the rasterizer that uses it; keeps its memory between
/// frames.
class ForwardState {
  public:
    virtual ~ForwardState() = default;
    virtual std::size_t bytes() const = 0;
    /// If a frame's arrays come from one reservation: the most of it that was ever in use.
    /// Otherwise 0: unknown.
    virtual std::size_t high_water() const { return 0; }
    /// Of the last backward(), if it had options.costs; else empty.
    virtual const BlendCosts& backward_costs() const;
};

class Rasterizer {
  public:
    virtual ~Rasterizer() = default;
    virtual std::string name() const = 0;  ///< "CPU (AVX-512, 2 threads)"
    virtual std::unique_ptr<ForwardState> make_state() const = 0;
    /// `model` as this backend reads it fastest: as it is on the CPU, a copy in device memory
    /// elsewhere. The model must outlive the source and stay unchanged. `bounds` as
    /// ParameterSource::bounds().
    virtual std::unique_ptr<ParameterSource> source_of(const GaussianModel& model,
                                                       std::span<const BlockBounds> bounds = {}) {
        return std::make_unique<ModelSource>(model, bounds);
    }
    /// Draws. `camera` must be valid. Poison parameters (NaN, Inf,
    /// degenerate) draw nothing.
    virtual void forward(ParameterSource& source, const Camera& camera,
                         const RenderOptions& options, ForwardState& state,
                         RenderResult& result) = 0;
    /// Draws for the screen only: the colours as RGBA8 where they are, in device memory. Of
    /// `result` only size and counters are filled. Null when this backend draws in host memory, or
    /// when all pictures of its pool are on loan: forward() then. A picture that is given out is
    /// complete: what did not fit has been drawn again.
    virtual std::shared_ptr<const DevicePicture> forward_for_display(ParameterSource&,
                                                                     const Camera&,
                                                                     const RenderOptions&,
                                                                     ForwardState&,
                                                                     RenderResult& /*result*/) {
        return nullptr;
    }
    /// Gradients of the last forward() on `state`, with the same source, camera (not orthographic)
    /// and options, model unchanged since.
    virtual void backward(ParameterSource& source, const Camera& camera,
                          const RenderOptions& options, ForwardState& state,
                          const RenderResult& result, const PixelGradients& gradients,
                          GradientSink& sink) = 0;
    /// What the last forward() on `state` consisted of, drawn with `gradients` on. False: this
    /// rasterizer does not tell.
    virtual bool probe(const ForwardState& /*state*/, FrameProbe& /*out*/) const { return false; }
};

std::unique_ptr<Rasterizer> make_cpu_rasterizer();
/// Of several ranks, which call forward() and backward() together, each with its own Gaussians and
/// otherwise the same arguments, and draw a part of the picture each. The head gets all of it, and
/// gives the gradients of all of it; what others give is not read. Every rank's sink gets its own
/// Gaussians', and its tint is of these. Costs and warps are not to be had. `ranks`: lives longer.
std::unique_ptr<Rasterizer> make_rank_rasterizer(Exchange& ranks);
/// The instruction set that run-time dispatch chose: "AVX-512", "AVX2", "SSE2" ...
std::string cpu_instruction_set();
/// All that this machine can run, best first.
std::vector<std::string> cpu_instruction_sets();
/// Uses that one from now on (empty: the best). False when this machine cannot. Not while anything
/// is being drawn.
bool choose_cpu_instruction_set(std::string_view name);

}  // namespace gs
