#include "app/verify/frame_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "app/verify/gradient_store.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/inspect/inspect.h"
#include "renderer/math/sh.h"
#include "renderer/raster/frame_probe.h"
#include "renderer/reference/loss.h"
#include "trainer/loss/loss.h"

namespace gs {
namespace {

constexpr double kProjectionLimit = 2e-3, kShapeLimit = 1e-2, kLossLimit = 1e-5,
                 kLossGradientLimit = 1e-3, kDepthLimit = 1e-4;
constexpr double kCorner = 1e-6;                // of colours: nearer ones count as equal
constexpr double kLog2Of = 1.4426950408889634;  // log2(e)

/// The picture that both draw, and the compared parts.
class FrameCheck {
  public:
    FrameCheck(const FrameToCheck& frame, Rasterizer& rasterizer)
        : frame_(frame),
          rasterizer_(rasterizer),
          options_(frame.options),
          oracle_(oracle_options(frame.options, frame.model.sky)),
          scene_(frame.model),
          source_(rasterizer.source_of(frame.model)),
          state_(rasterizer.make_state()) {
        options_.counters = options_.gradients = options_.depth = true;
        options_.median_depth = false;
        if (frame.camera.orthographic()) options_.gradients = false;
        region_ = {std::clamp(frame.region.x0, 0, frame.camera.width),
                   std::clamp(frame.region.y0, 0, frame.camera.height),
                   std::clamp(frame.region.x1, 0, frame.camera.width),
                   std::clamp(frame.region.y1, 0, frame.camera.height)};
    }

    Result<VerifyReport> run(const Progress& progress) {
        rasterizer_.forward(*source_, frame_.camera, options_, *state_, drawn_);
        bool wanted = true;
        const Progress watched = [&](std::string_view what, std::size_t done, std::size_t total) {
            if (progress && !progress(what, done, total)) wanted = false;
            return wanted;
        };
        truth_ = reference::render(scene_, frame_.camera, oracle_, region_, watched);
        if (!wanted) return fail(ErrorKind::cancelled, "", "was cancelled");
        describe();
        if (options_.gradients) compare_projection();
        compare_lists();
        compare_picture();
        if (frame_.photo != nullptr) compare_loss();
        if (frame_.gradients && options_.gradients) compare_gradients();
        return std::move(report_);
    }

  private:
    std::size_t pixels() const { return truth_.pixels(); }
    /// Calls f(pixel) for those that rounding cannot flip.
    template <class F>
    void each_sound_pixel(F&& f) const {
        for (int y = region_.y0; y < region_.y1; ++y)
            for (int x = region_.x0; x < region_.x1; ++x) {
                const auto pixel =
                    static_cast<std::size_t>(y) * static_cast<std::size_t>(truth_.width) +
                    static_cast<std::size_t>(x);
                if (truth_.fragile[pixel] == 0) f(pixel);
            }
    }
    std::string name_of_pixel(std::size_t pixel) const {
        const auto width = static_cast<std::size_t>(truth_.width);
        return fmt::format("pixel {},{}", pixel % width, pixel / width);
    }
    double color_apart(std::size_t pixel) const {
        double out = 0;
        for (std::size_t c = 0; c < 3; ++c)
            out = std::max(out,
                           std::abs(static_cast<double>(drawn_.color.values[c * pixels() + pixel]) -
                                    truth_.color[3 * pixel + c]));
        return out;
    }
    bool in_region(const reference::Projected& p) const {
        return p.visible && p.x0 < region_.x1 && p.x1 > region_.x0 && p.y0 < region_.y1 &&
               p.y1 > region_.y0;
    }

    void describe();
    void compare_projection();
    void compare_lists();
    void compare_picture();
    void compare_loss();
    void compare_gradients();
    void make_upstream();
    bool color_at_clamp(std::size_t gaussian) const;

    const FrameToCheck& frame_;
    Rasterizer& rasterizer_;
    RenderOptions options_;
    reference::Options oracle_;
    reference::Parameters scene_;
    std::unique_ptr<ParameterSource> source_;
    std::unique_ptr<ForwardState> state_;
    reference::Region region_;
    RenderResult drawn_;
    reference::Picture truth_;
    PixelGradients upstream_;  // zero at fragile pixels and outside the region
    reference::PictureGradient true_upstream_;
    VerifyReport report_;
};

void FrameCheck::describe() {
    report_.camera = frame_.camera;
    report_.width = truth_.width;
    report_.height = truth_.height;
    report_.x0 = region_.x0;
    report_.y0 = region_.y0;
    report_.x1 = region_.x1;
    report_.y1 = region_.y1;
    report_.gaussians = frame_.model.count;
    const auto area = static_cast<std::uint64_t>(region_.x1 - region_.x0) *
                      static_cast<std::uint64_t>(region_.y1 - region_.y0);
    each_sound_pixel([&](std::size_t) { ++report_.pixels; });
    report_.fragile = area - report_.pixels;
}

/// Of every Gaussian that both project into the region.
void FrameCheck::compare_projection() {
    FrameProbe probe;
    if (!rasterizer_.probe(*state_, probe)) return;
    ComparisonRow centre{"centre", kProjectionLimit, Measure::largest, "px", "projection"},
        shape{"shape", kShapeLimit, Measure::largest, "relative", "projection"},
        color{"colour", kColorLimit, Measure::largest, "", "projection"},
        depth{"depth", kColorLimit, Measure::largest, "relative", "projection"};
    for (std::size_t i = 0; i < probe.visible(); ++i) {
        const reference::Projected& p = truth_.projected[probe.rows[i]];
        if (!in_region(p)) continue;
        const auto where = [&] { return fmt::format("Gaussian {}", probe.rows[i]); };
        const auto of = [&](int plane) { return static_cast<double>(probe.splat(plane, i)); };
        const auto add = [&](ComparisonRow& row, double truth, double drawn, double size) {
            row.add(truth / size, drawn / size, where);
        };
        add(centre, 0, std::hypot(of(kSplatX) - p.mean.x, of(kSplatY) - p.mean.y),
            std::max(1.0, std::max(p.radius_x, p.radius_y) / 100.0));
        const double a = 0.5 * kLog2Of * p.conic.xx, b = kLog2Of * p.conic.xy,
                     c = 0.5 * kLog2Of * p.conic.yy, wide = std::max({a, c, 1e-12});
        add(shape, a, of(kSplatA), wide);
        add(shape, b, of(kSplatB), 2 * wide);
        add(shape, c, of(kSplatC), wide);
        const double bright = std::max({1.0, p.color.x, p.color.y, p.color.z});
        add(color, p.color.x, of(kSplatRed), bright);
        add(color, p.color.y, of(kSplatGreen), bright);
        add(color, p.color.z, of(kSplatBlue), bright);
        add(depth, p.depth, of(kSplatDepth), std::max(p.depth, 1e-12));
    }
    for (ComparisonRow* row : {&centre, &shape, &color, &depth})
        report_.rows.push_back(std::move(*row));
    ComparisonRow order{"order by depth", 0, Measure::largest, "places", "lists"};
    std::vector<float> depth_of(frame_.model.count);
    for (std::size_t i = 0; i < probe.visible(); ++i)
        depth_of[probe.rows[i]] = probe.splat(kSplatDepth, i);
    for (std::size_t tile = 0; tile + 1 < probe.tile_begin.size(); ++tile)
        for (std::uint32_t k = probe.tile_begin[tile] + 1; k < probe.tile_begin[tile + 1]; ++k) {
            const float front = depth_of[probe.row_from_isect[k - 1]],
                        behind = depth_of[probe.row_from_isect[k]];
            order.add(0, front <= behind ? 0 : 1, [&] {
                return fmt::format("tile {},{}", static_cast<int>(tile) % drawn_.tiles_x,
                                   static_cast<int>(tile) / drawn_.tiles_x);
            });
        }
    report_.rows.push_back(std::move(order));
}

/// A Gaussian that a list lacks, or has too much, shows as a pixel with another count.
void FrameCheck::compare_lists() {
    ComparisonRow blended{"count per pixel", 0, Measure::largest, "Gaussians", "lists"};
    each_sound_pixel([&](std::size_t pixel) {
        blended.add(truth_.contributors[pixel], drawn_.contributors[pixel],
                    [&] { return name_of_pixel(pixel); });
    });
    report_.rows.push_back(std::move(blended));
}

void FrameCheck::compare_picture() {
    ComparisonRow color{"colour", kColorLimit, Measure::largest, "", "picture"},
        alpha{"opacity", kColorLimit, Measure::largest, "", "picture"},
        depth{"depth", kDepthLimit, Measure::of_largest, "relative", "picture"};
    each_sound_pixel([&](std::size_t pixel) {
        const auto where = [&] { return name_of_pixel(pixel); };
        for (std::size_t c = 0; c < 3; ++c)
            color.add(truth_.color[3 * pixel + c], drawn_.color.values[c * pixels() + pixel],
                      where);
        alpha.add(truth_.alpha[pixel], drawn_.alpha.values[pixel], where);
        depth.add(truth_.depth[pixel], drawn_.depth.values[pixel], where);
    });
    for (ComparisonRow* row : {&color, &alpha, &depth}) report_.rows.push_back(std::move(*row));

    const int width = region_.x1 - region_.x0, height = region_.y1 - region_.y0;
    auto map = std::make_shared<Image8>(Image8{width, height, 4, {}});
    map->bytes.resize(map->pixels() * 4, 255);
    report_.range = 2 * kColorLimit;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const auto pixel =
                static_cast<std::size_t>(y + region_.y0) * static_cast<std::size_t>(truth_.width) +
                static_cast<std::size_t>(x + region_.x0);
            const bool fragile = truth_.fragile[pixel] != 0;
            const double share = std::min(color_apart(pixel) / report_.range, 1.0);
            const auto grey = static_cast<std::uint8_t>(std::lround(255 * (fragile ? 0.2 : share)));
            std::uint8_t* to = map->bytes.data() +
                               4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                    static_cast<std::size_t>(x));
            to[0] = to[1] = grey;
            to[2] = fragile ? 160 : grey;
            to[3] = static_cast<std::uint8_t>(fragile ? 90 : 110 + grey * 145 / 255);
        }
    report_.difference = std::move(map);
}

/// The region of both pictures as a picture of its own: the loss is a mean over it.
void FrameCheck::compare_loss() {
    const int width = region_.x1 - region_.x0, height = region_.y1 - region_.y0;
    if (width <= 0 || height <= 0) return;
    ImageF picture(width, height, 3), gradient;
    Image8 photo{width, height, 3, {}};
    reference::Image true_picture{width, height, 3, {}}, true_photo = true_picture;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c) {
                const float value = drawn_.color.at(c, x + region_.x0, y + region_.y0);
                const std::uint8_t byte = frame_.photo->at(x + region_.x0, y + region_.y0)[c];
                picture.at(c, x, y) = value;
                photo.bytes.push_back(byte);
                true_picture.values.push_back(value);
                true_photo.values.push_back(byte / 255.0);
            }
    const LossTerms terms = photo_loss(picture, photo, {}, frame_.lambda_dssim, &gradient);
    const reference::LossResult truth =
        reference::loss_l1_dssim(true_picture, true_photo, frame_.lambda_dssim);
    ComparisonRow loss{"value", kLossLimit, Measure::of_largest, "relative", "loss"},
        slope{"d loss / d colour", kLossGradientLimit, Measure::of_largest, "of the largest",
              "loss"};
    loss.add(truth.value, terms.loss);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c) {
                const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                     static_cast<std::size_t>(x)) +
                                static_cast<std::size_t>(c);
                // L1 has a corner where both are equal, and bytes as floats are not those as
                // doubles.
                if (std::abs(true_picture.values[at] - true_photo.values[at]) < kCorner) continue;
                slope.add(truth.gradient[at], gradient.at(c, x, y), [&] {
                    return fmt::format("pixel {},{}", x + region_.x0, y + region_.y0);
                });
            }
    report_.rows.push_back(std::move(loss));
    report_.rows.push_back(std::move(slope));
}

/// A smooth gradient of the picture, zero at fragile pixels and outside the region.
void FrameCheck::make_upstream() {
    upstream_.color.resize(truth_.width, truth_.height, 3);
    upstream_.color.values.fill(0.0f);
    true_upstream_.color.assign(3 * pixels(), 0);
    each_sound_pixel([&](std::size_t pixel) {
        for (std::size_t c = 0; c < 3; ++c) {
            const double x = static_cast<double>(pixel) * 0.013 + static_cast<double>(c);
            const auto value = static_cast<float>(std::sin(x) * 1e-2);
            upstream_.color.values[c * pixels() + pixel] = value;
            true_upstream_.color[3 * pixel + c] = value;
        }
    });
}

/// A colour within rounding of its clamp at zero: float and double may rightly disagree on whether
/// it has a gradient.
bool FrameCheck::color_at_clamp(std::size_t i) const {
    const int degree = std::min(options_.sh_degree, frame_.model.sh_degree);
    double basis[16];
    const Vec3d ray =
        Vec3d{scene_.at(kMeans, i), scene_.at(kMeans + 1, i), scene_.at(kMeans + 2, i)} -
        frame_.camera.position();
    math::sh_basis(degree, math::normalize(ray), basis);
    for (int c = 0; c < 3; ++c) {
        double color = 0.5;
        for (int k = 0; k < sh_bases(degree); ++k) color += basis[k] * scene_.sh(k, c, i);
        if (std::abs(color) < 1e-5) return true;
    }
    return false;
}

void FrameCheck::compare_gradients() {
    make_upstream();
    GradientStore store(frame_.model);
    rasterizer_.backward(*source_, frame_.camera, options_, *state_, drawn_, upstream_, store);
    const reference::Parameters truth =
        reference::render_backward(scene_, frame_.camera, oracle_, truth_, true_upstream_)
            .parameters;
    ComparisonRow row{"all parameters", kGradientLimit, Measure::l2, "relative", "gradients"};
    for (std::size_t i = 0; i < truth.count; ++i) {
        if (color_at_clamp(i)) continue;
        for (int p = 0; p < truth.planes(); ++p)
            row.add(truth.at(p, i), store.gradients.at(p, i),
                    [i] { return fmt::format("Gaussian {}", i); });
    }
    report_.rows.push_back(std::move(row));
}

}  // namespace

Result<VerifyReport> check_frame(const FrameToCheck& frame, Rasterizer& rasterizer,
                                 const Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    GS_TRY(VerifyReport report, FrameCheck(frame, rasterizer).run(progress));
    report.seconds = seconds_since(begin);
    return report;
}

}  // namespace gs
