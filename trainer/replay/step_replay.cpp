#include "trainer/replay/step_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "trainer/adam/mip_filter.h"
#include "trainer/density/nudge.h"

namespace gs {
namespace {

constexpr int kTablePlanes = kMaxPlanes + 3;  // gradients, mean2d, radius

/// Gradients of all rows, as backward makes them.
class GradientTable final : public GradientSink {
  public:
    /// Of a model that is drawn filtered, gradients are of what it stores.
    explicit GradientTable(const StepInputs& in)
        : in_(in), blocks_(in.model.blocks()), masks_(blocks_) {
        values_.resize(blocks_ * kTablePlanes * kBlock, 0.0f);
        masks_.fill(0);
    }
    void take(const BlockGradients& g) override {
        if (in_.filter.empty()) return keep(g);
        alignas(64) float planes[kGeometryPlanes * kBlock];
        for (int p = 0; p < kGeometryPlanes; ++p)
            std::copy_n(in_.model.plane(p) + g.block * kBlock, kBlock,
                        planes + static_cast<std::size_t>(p) * kBlock);
        BlockGradients stored = g;
        filter_block_vjp(planes, in_.filter.data() + g.block * kBlock, stored);
        keep(stored);
    }
    void keep(const BlockGradients& g) {
        masks_[g.block] = g.mask;
        float* to = at(g.block, 0);
        std::copy_n(&g.planes[0][0], kMaxPlanes * kBlock, to);
        std::copy_n(&g.mean2d[0][0], 2 * kBlock, to + kMaxPlanes * kBlock);
        std::copy_n(g.radius_px, kBlock, to + (kMaxPlanes + 2) * kBlock);
    }
    /// As it was taken, for block `as` of another model. False: nothing of it was visible.
    bool give(std::size_t block, std::size_t as, BlockGradients& g) const {
        const float* from = at(block, 0);
        g.block = as;
        g.mask = masks_[block];
        std::copy_n(from, kMaxPlanes * kBlock, &g.planes[0][0]);
        std::copy_n(from + kMaxPlanes * kBlock, 2 * kBlock, &g.mean2d[0][0]);
        std::copy_n(from + (kMaxPlanes + 2) * kBlock, kBlock, g.radius_px);
        return g.mask != 0;
    }
    /// Planes of StepOutputs::gradients of these rows.
    Buffer<float> of_rows(std::span<const std::uint32_t> rows) const {
        Buffer<float> out(rows.size() * static_cast<std::size_t>(kStepGradientPlanes));
        for (int p = 0; p < kStepGradientPlanes; ++p) {
            const int from = p < kShRest ? p : kMaxPlanes + p - kShRest;
            for (std::size_t i = 0; i < rows.size(); ++i)
                out[static_cast<std::size_t>(p) * rows.size() + i] =
                    at(rows[i] / kBlock, from)[rows[i] % kBlock];
        }
        return out;
    }
    std::uint64_t hash() const { return hash_array(values_.span()); }

  private:
    float* at(std::size_t block, int plane) {
        return values_.data() + (block * kTablePlanes + static_cast<std::size_t>(plane)) * kBlock;
    }
    const float* at(std::size_t block, int plane) const {
        return values_.data() + (block * kTablePlanes + static_cast<std::size_t>(plane)) * kBlock;
    }
    const StepInputs& in_;
    std::size_t blocks_;
    Buffer<float> values_;  // [block][plane][16]
    Buffer<std::uint32_t> masks_;
};

void step_optimizer(const StepInputs& in, const GradientTable& table, bool sound,
                    StepOutputs& out) {
    const Span span(Stage::adam);
    RunArrays run = in.before;
    GaussianModel& model = run.model;
    LazyAdam adam(model, run.adam);
    adam.begin_step(model, in.rates, plane_count(in.options.sh_degree));
    // As the run does it: loops flush denormals.
    parallel_for(sound ? in.sample.size() : 0, 16, [&](std::size_t i) {
        BlockGradients gradients;
        if (table.give(in.sample[i], i, gradients))
            adam.apply(model, gradients, locked_lanes(in.before.identity.tags, i));
    });
    adam.end_step();
    if (sound && in.nudge.on()) nudge(model, adam, in.before.identity, in.nudge);
    out.values = std::move(model.values);
    out.moments = std::move(run.adam.moments);
}

/// How far off another backend may be, as ComparisonRow::l2().
constexpr std::array<double, kStepStageNames.size()> kTolerances{
    1e-5,
    3e-2,  // the root of the share of places that may differ: one in 1,000
    1e-4, 1e-5, 1e-3, 3e-3, 1e-3};

constexpr const char* kSplatNames[kSplatPlanes] = {"x px",    "y px",         "conic a", "conic b",
                                                   "conic c", "log2 opacity", "red",     "green",
                                                   "blue",    "depth"};

const char* name_of_plane(int plane) {
    constexpr const char* kNames[] = {
        "mean x", "mean y", "mean z", "log scale x",   "log scale y", "log scale z", "quat w",
        "quat x", "quat y", "quat z", "opacity logit", "sh0 red",     "sh0 green",   "sh0 blue"};
    return plane < kShRest ? kNames[plane] : "higher SH";
}

/// How far, px, rounding may move a Gaussian near the camera's plane, a picture's side or more
/// outside the picture; 0 for others. Its depth is the difference of numbers as large as the
/// distances of it and of the camera from the world's origin, and its place in the picture is
/// divided by the depth, so it would outweigh all others in the sum.
double lost_in_depth(const StepInputs& in, int plane, std::size_t row, double depth, double place) {
    const double side = plane == kSplatX ? in.camera.width : in.camera.height;
    if (place > -side && place < 2 * side) return 0;
    constexpr double kLarge = 16;     // times depth; below, rounding is within the tolerance
    constexpr double kRoundings = 8;  // of the products and sums that depth is made of
    const Vec3f mean = in.model.mean(row);
    const Vec3d camera = in.camera.position();
    const double far = std::sqrt(static_cast<double>(dot(mean, mean))) +
                       std::sqrt(dot(camera, camera)),
                 times = far / std::max(std::abs(depth), 1e-30);
    constexpr double kRounding = std::numeric_limits<float>::epsilon();
    return times > kLarge
               ? kRoundings * kRounding * times *
                     (std::abs(place) + in.camera.fx + in.camera.width + in.camera.height)
               : 0;
}

/// Gaussians that both saw are compared; the others count as far off.
void compare_projection(const StepInputs& in, const FrameProbe& was, const FrameProbe& now,
                        ComparisonRow& out) {
    const auto same_place = [&](int p, std::size_t i, std::size_t k) {
        const double a = was.splat(p, i), b = now.splat(p, k);
        return out.measure == Measure::l2 && p <= kSplatY &&
               std::abs(a - b) <= lost_in_depth(in, p, was.rows[i], was.splat(kSplatDepth, i), a);
    };
    for (std::size_t i = 0, k = 0; i < was.visible() || k < now.visible();) {
        const std::size_t a = i < was.visible() ? was.rows[i] : in.model.count,
                          b = k < now.visible() ? now.rows[k] : in.model.count;
        for (int p = 0; a == b && p < kSplatPlanes; ++p)
            out.add(was.splat(p, i), same_place(p, i, k) ? was.splat(p, i) : now.splat(p, k), [&] {
                return fmt::format("Gaussian {}, {}", in.row_of_run(a), kSplatNames[p]);
            });
        if (a != b)
            out.add(a < b ? 1 : 0, a < b ? 0 : 1, [&] {
                return fmt::format("Gaussian {}, visible", in.row_of_run(std::min(a, b)));
            });
        i += a <= b ? 1 : 0;
        k += b <= a ? 1 : 0;
    }
}

/// Of each tile the places of its list that name another Gaussian, and how much longer it is.
void compare_lists(const StepInputs& in, const FrameProbe& was, const FrameProbe& now,
                   ComparisonRow& out) {
    if (was.tile_begin.size() != now.tile_begin.size())
        return out.add_lengths(was.tile_begin.size(), now.tile_begin.size(), "tiles");
    const int across = (in.camera.width + kTileSize - 1) / kTileSize;
    for (std::size_t tile = 0; tile + 1 < was.tile_begin.size(); ++tile) {
        const std::uint32_t a = was.tile_begin[tile], b = now.tile_begin[tile],
                            a_size = was.tile_begin[tile + 1] - a,
                            b_size = now.tile_begin[tile + 1] - b;
        for (std::uint32_t i = 0; i < std::max(a_size, b_size); ++i) {
            const std::uint32_t kNone = ~0u, row_a = i < a_size ? was.row_from_isect[a + i] : kNone,
                                row_b = i < b_size ? now.row_from_isect[b + i] : kNone;
            // 1 for each place: relative is the root of the share of places that differ.
            out.add(1, row_a == row_b ? 1 : 0, [&] {
                const auto text = [&](std::uint32_t row) {
                    return row == kNone ? std::string("none")
                                        : fmt::format("{}", in.row_of_run(row));
                };
                return fmt::format("tile {},{}, place {}: Gaussian {} / {}; same",
                                   static_cast<int>(tile) % across, static_cast<int>(tile) / across,
                                   i, text(row_a), text(row_b));
            });
        }
    }
}

void compare_pictures(const ImageF& was, const ImageF& now, const char* of, ComparisonRow& out) {
    out.add_all(was.values, now.values, [&](std::size_t i) {
        const std::size_t pixel = i % was.pixels(), width = static_cast<std::size_t>(was.width);
        return fmt::format("pixel {},{}, {} {}", pixel % width, pixel / width, of,
                           i / was.pixels());
    });
}

void compare_gradients(const StepInputs& in, const StepOutputs& was, const StepOutputs& now,
                       ComparisonRow& out) {
    const std::size_t n = was.lists.visible();
    out.add_all(was.gradients, now.gradients, [&](std::size_t i) {
        const int p = static_cast<int>(i / n);
        return fmt::format("Gaussian {}, {}", in.row_of_run(was.lists.rows[i % n]),
                           p == kGradientMeanX   ? "projected x"
                           : p == kGradientMeanY ? "projected y"
                                                 : name_of_plane(p));
    });
    if (out.differ > 0 || was.gradients_hash == now.gradients_hash) return;
    out.differ = 1;
    out.first = "bits of higher SH bases";
}

void compare_optimizer(const StepInputs& in, const StepOutputs& was, const StepOutputs& now,
                       ComparisonRow& out) {
    const std::size_t rows = in.before.model.capacity;
    const auto row_at = [&](std::size_t row) {
        return std::uint64_t{in.blocks[in.sample[row / kBlock]]} * kBlock + row % kBlock;
    };
    out.add_all(was.values, now.values, [&](std::size_t i) {
        return fmt::format("Gaussian {}, {}", row_at(i % rows),
                           name_of_plane(static_cast<int>(i / rows)));
    });
    const auto planes = static_cast<std::size_t>(in.before.model.planes());
    out.add_all(was.moments, now.moments, [&](std::size_t i) {
        const std::size_t plane = i / (2 * kBlock) % planes;
        return fmt::format("Gaussian {}, moment {} of {}",
                           row_at(i / (2 * kBlock * planes) * kBlock + i % kBlock),
                           i / kBlock % 2 + 1, name_of_plane(static_cast<int>(plane)));
    });
}

}  // namespace

StepOutputs run_step(const StepInputs& in, Rasterizer& rasterizer) {
    StepOutputs out;
    Buffer<BlockBounds> bounds;
    GaussianModel drawn = in.model;
    filter_model(drawn, in.filter.span());
    compute_bounds(drawn, bounds);
    const auto source = rasterizer.source_of(drawn, bounds.span());
    const auto state = rasterizer.make_state();
    RenderResult picture;
    rasterizer.forward(*source, in.camera, in.options, *state, picture);
    CHECK(rasterizer.probe(*state, out.lists),
          "{} does not report its stages: it draws the frame in groups of tiles",
          rasterizer.name());
    out.counters = picture.counters;
    PixelGradients upstream;
    ImageF shown;
    if (in.look) apply_look(*in.look, picture.color, &in.photo, shown);
    {
        const Span span(Stage::loss);
        out.terms = photo_loss(in.look ? shown : picture.color, in.photo, in.mask, in.lambda_dssim,
                               &upstream.color);
    }
    if (in.look && std::isfinite(out.terms.loss))
        (void)apply_look_vjp(*in.look, picture.color, in.photo, in.mask, shown, 0.0f,
                             upstream.color);
    GradientTable table(in);
    const bool sound = std::isfinite(out.terms.loss);
    if (sound)
        rasterizer.backward(*source, in.camera, in.options, *state, picture, upstream, table);
    out.gradients = table.of_rows(std::as_const(out.lists.rows).span());
    out.gradients_hash = table.hash();
    step_optimizer(in, table, sound, out);
    out.color = std::move(picture.color);
    out.alpha = std::move(picture.alpha);
    out.color_gradient = std::move(upstream.color);
    return out;
}

std::vector<ComparisonRow> compare_steps(const StepInputs& in, const StepOutputs& was,
                                         const StepOutputs& now, bool same_bits) {
    std::vector<ComparisonRow> out(kStepStageNames.size());
    for (ComparisonRow& row : out) row.nan_is_nan = true;
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i].stage = kStepStageNames[i];
        out[i].limit = same_bits ? 0 : kTolerances[i];
        out[i].measure = same_bits ? Measure::bits : Measure::l2;
    }
    auto row = out.begin();
    compare_projection(in, was.lists, now.lists, *row++);
    compare_lists(in, was.lists, now.lists, *row++);
    compare_pictures(was.color, now.color, "channel", *row);
    compare_pictures(was.alpha, now.alpha, "alpha", *row++);
    constexpr std::pair<const char*, double LossTerms::*> kTerms[] = {
        {"loss", &LossTerms::loss},
        {"L1", &LossTerms::l1},
        {"mean square", &LossTerms::mse},
        {"SSIM", &LossTerms::ssim}};
    for (const auto& [name, term] : kTerms)
        row->add(was.terms.*term, now.terms.*term, [of = name] { return std::string(of); });
    ++row;
    compare_pictures(was.color_gradient, now.color_gradient, "channel", *row++);
    compare_gradients(in, was, now, *row++);
    compare_optimizer(in, was, now, *row);
    return out;
}

}  // namespace gs
