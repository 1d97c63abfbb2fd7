#include "trainer/step_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "trainer/mip_filter.h"
#include "trainer/nudge.h"

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

/// Two arrays beside each other, of which the first that differs is remembered.
class Beside {
  public:
    explicit Beside(StepStage stage) { out_.stage = stage; }

    /// `name` says what place `i` is: asked once, for the first that differs.
    template <class Name>
    void add(double was, double now, bool same_bits, Name&& name) {
        ++out_.values;
        if (same_bits) {
            if (std::isfinite(was)) norm_ += was * was;
            return;
        }
        double apart = std::abs(was - now);
        if (!std::isfinite(apart)) apart = std::numeric_limits<double>::infinity();
        if (std::isfinite(was)) norm_ += was * was;
        squares_ += apart * apart;
        out_.worst = std::max(out_.worst, apart);
        if (out_.differ++ == 0) out_.where = fmt::format("{}: {:.9g} / {:.9g}", name(), was, now);
    }
    template <class Name>
    void floats(std::span<const float> was, std::span<const float> now, Name&& name) {
        if (was.size() != now.size()) return lists(was.size(), now.size(), "numbers");
        for (std::size_t i = 0; i < was.size(); ++i)
            add(was[i], now[i],
                std::bit_cast<std::uint32_t>(was[i]) == std::bit_cast<std::uint32_t>(now[i]),
                [&] { return name(i); });
    }
    void numbers(double was, double now, const char* name) {
        add(was, now, std::bit_cast<std::uint64_t>(was) == std::bit_cast<std::uint64_t>(now),
            [&] { return std::string(name); });
    }
    /// They are not even of one length.
    void lists(std::size_t was, std::size_t now, const char* what) {
        ++out_.values;
        out_.worst = squares_ = std::numeric_limits<double>::infinity();
        if (out_.differ++ == 0) out_.where = fmt::format("{} {} / {}", what, was, now);
    }
    StageComparison result() {
        out_.relative = norm_ > 0 ? std::sqrt(squares_ / norm_) : std::sqrt(squares_);
        return std::move(out_);
    }

  private:
    StageComparison out_;
    double norm_ = 0, squares_ = 0;
};

constexpr const char* kSplatNames[kSplatPlanes] = {"x px",    "y px",         "conic a", "conic b",
                                                   "conic c", "log2 opacity", "red",     "green",
                                                   "blue",    "depth"};

const char* name_of_plane(int plane) {
    constexpr const char* kNames[] = {
        "mean x", "mean y", "mean z", "log scale x",   "log scale y", "log scale z", "quat w",
        "quat x", "quat y", "quat z", "opacity logit", "sh0 red",     "sh0 green",   "sh0 blue"};
    return plane < kShRest ? kNames[plane] : "higher SH";
}

/// Gaussians that both saw are compared; the others count as far off.
StageComparison compare_projection(const StepInputs& in, const FrameProbe& was,
                                   const FrameProbe& now) {
    Beside out(StepStage::project);
    for (std::size_t i = 0, k = 0; i < was.visible() || k < now.visible();) {
        const std::size_t a = i < was.visible() ? was.rows[i] : in.model.count,
                          b = k < now.visible() ? now.rows[k] : in.model.count;
        for (int p = 0; a == b && p < kSplatPlanes; ++p)
            out.add(
                was.splat(p, i), now.splat(p, k),
                std::bit_cast<std::uint32_t>(was.splat(p, i)) ==
                    std::bit_cast<std::uint32_t>(now.splat(p, k)),
                [&] { return fmt::format("Gaussian {}, {}", in.row_of_run(a), kSplatNames[p]); });
        if (a != b)
            out.add(a < b ? 1 : 0, a < b ? 0 : 1, false, [&] {
                return fmt::format("Gaussian {}, visible", in.row_of_run(std::min(a, b)));
            });
        i += a <= b ? 1 : 0;
        k += b <= a ? 1 : 0;
    }
    return out.result();
}

/// Of each tile the places of its list that name another Gaussian, and how much longer it is.
StageComparison compare_lists(const StepInputs& in, const FrameProbe& was, const FrameProbe& now) {
    Beside out(StepStage::lists);
    if (was.tile_begin.size() != now.tile_begin.size()) {
        out.lists(was.tile_begin.size(), now.tile_begin.size(), "tiles");
        return out.result();
    }
    const int across = (in.camera.width + kTileSize - 1) / kTileSize;
    for (std::size_t tile = 0; tile + 1 < was.tile_begin.size(); ++tile) {
        const std::uint32_t a = was.tile_begin[tile], b = now.tile_begin[tile],
                            a_size = was.tile_begin[tile + 1] - a,
                            b_size = now.tile_begin[tile + 1] - b;
        for (std::uint32_t i = 0; i < std::max(a_size, b_size); ++i) {
            const std::uint32_t kNone = ~0u, row_a = i < a_size ? was.row_from_isect[a + i] : kNone,
                                row_b = i < b_size ? now.row_from_isect[b + i] : kNone;
            // 1 for each place: relative is the root of the share of places that differ.
            out.add(1, row_a == row_b ? 1 : 0, row_a == row_b, [&] {
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
    return out.result();
}

StageComparison compare_pictures(StepStage stage, const ImageF& was, const ImageF& now,
                                 const ImageF* was_alpha = nullptr,
                                 const ImageF* now_alpha = nullptr) {
    Beside out(stage);
    const auto named = [&](const char* of) {
        return [&was, of](std::size_t i) {
            const std::size_t pixel = i % was.pixels();
            return fmt::format("pixel {},{}, {} {}", pixel % static_cast<std::size_t>(was.width),
                               pixel / static_cast<std::size_t>(was.width), of, i / was.pixels());
        };
    };
    out.floats(was.values.span(), now.values.span(), named("channel"));
    if (was_alpha) out.floats(was_alpha->values.span(), now_alpha->values.span(), named("alpha"));
    return out.result();
}

StageComparison compare_gradients(const StepInputs& in, const StepOutputs& was,
                                  const StepOutputs& now) {
    Beside out(StepStage::backward);
    const std::size_t n = was.lists.visible();
    out.floats(was.gradients.span(), now.gradients.span(), [&](std::size_t i) {
        const int p = static_cast<int>(i / n);
        return fmt::format("Gaussian {}, {}", in.row_of_run(was.lists.rows[i % n]),
                           p == kGradientMeanX   ? "projected x"
                           : p == kGradientMeanY ? "projected y"
                                                 : name_of_plane(p));
    });
    StageComparison result = out.result();
    if (result.differ == 0 && was.gradients_hash != now.gradients_hash) {
        result.differ = 1;
        result.where = "bits of higher SH bases";
    }
    return result;
}

StageComparison compare_optimizer(const StepInputs& in, const StepOutputs& was,
                                  const StepOutputs& now) {
    Beside out(StepStage::adam);
    const std::size_t rows = in.before.model.capacity;
    const auto row_at = [&](std::size_t row) {
        return std::uint64_t{in.blocks[in.sample[row / kBlock]]} * kBlock + row % kBlock;
    };
    out.floats(was.values.span(), now.values.span(), [&](std::size_t i) {
        return fmt::format("Gaussian {}, {}", row_at(i % rows),
                           name_of_plane(static_cast<int>(i / rows)));
    });
    const auto planes = static_cast<std::size_t>(in.before.model.planes());
    out.floats(was.moments.span(), now.moments.span(), [&](std::size_t i) {
        const std::size_t plane = i / (2 * kBlock) % planes;
        return fmt::format("Gaussian {}, moment {} of {}",
                           row_at(i / (2 * kBlock * planes) * kBlock + i % kBlock),
                           i / kBlock % 2 + 1, name_of_plane(static_cast<int>(plane)));
    });
    return out.result();
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
    CHECK(rasterizer.probe(*state, out.lists), "{} does not report its stages", rasterizer.name());
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

std::vector<StageComparison> compare_steps(const StepInputs& in, const StepOutputs& was,
                                           const StepOutputs& now) {
    std::vector<StageComparison> out;
    out.push_back(compare_projection(in, was.lists, now.lists));
    out.push_back(compare_lists(in, was.lists, now.lists));
    out.push_back(compare_pictures(StepStage::blend, was.color, now.color, &was.alpha, &now.alpha));
    Beside loss(StepStage::loss);
    loss.numbers(was.terms.loss, now.terms.loss, "loss");
    loss.numbers(was.terms.l1, now.terms.l1, "L1");
    loss.numbers(was.terms.mse, now.terms.mse, "mean square");
    loss.numbers(was.terms.ssim, now.terms.ssim, "SSIM");
    out.push_back(loss.result());
    out.push_back(
        compare_pictures(StepStage::loss_backward, was.color_gradient, now.color_gradient));
    out.push_back(compare_gradients(in, was, now));
    out.push_back(compare_optimizer(in, was, now));
    return out;
}

double step_tolerance(StepStage stage) {
    switch (stage) {
        case StepStage::project:
            return 1e-5;
        case StepStage::lists:
            return 3e-2;  // the root of the share of places that may differ: one in 1,000
        case StepStage::blend:
            return 1e-4;
        case StepStage::loss:
            return 1e-5;
        case StepStage::loss_backward:
            return 1e-3;
        case StepStage::backward:
            return 3e-3;
        case StepStage::adam:
            return 1e-3;
    }
    return 0;
}

}  // namespace gs
