#include "renderer/raster/sky.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "renderer/math/sky.h"
#include "renderer/raster/view_setup.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr std::size_t kRowsAtOnce = 8;

Vec3f to_float(Vec3d v) {
    return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}

/// Directions of a row and what they show.
class SkyRow {
  public:
    explicit SkyRow(int width) : width_(static_cast<std::size_t>(width)), values_(6 * width_) {}
    float* direction(std::size_t axis) { return values_.data() + axis * width_; }
    float* color(std::size_t channel) { return direction(3 + channel); }
    void look(const PixelDirections& directions, int y) {
        directions.row(y, {direction(0), direction(1), direction(2)});
    }
    bool seen(std::size_t x) const {
        return values_[x] != 0 || values_[width_ + x] != 0 || values_[2 * width_ + x] != 0;
    }
    /// Before it is cut off at 0.
    void fill_colors(const Sky& sky) {
        const float *dx = direction(0), *dy = direction(1), *dz = direction(2);
        float *red = color(0), *green = color(1), *blue = color(2);
        for (std::size_t x = 0; x < width_; ++x) {
            float basis[16], sum[3];
            math::sh_basis<float>(sky.degree, {dx[x], dy[x], dz[x]}, basis);
            math::sky_color(sky.degree, sky.sh.data(), basis, sum);
            red[x] = sum[0];
            green[x] = sum[1];
            blue[x] = sum[2];
        }
    }

  private:
    std::size_t width_;
    std::vector<float> values_;
};

}  // namespace

void PixelDirections::follow(const Camera& camera) {
    camera_ = camera;
    straight_ = draws_as_pinhole(camera);
    if (straight_ || camera.rolling()) return;
    if (!in_lens_.empty() && same_lens(lens_of_, camera)) return;
    lens_of_ = camera;
    Camera resting = camera;
    resting.rotation = Camera().rotation;
    const CameraPixels pixels(resting);
    const auto width = static_cast<std::size_t>(camera.width);
    const std::size_t count = width * static_cast<std::size_t>(camera.height);
    in_lens_.resize_discard(3 * count);
    parallel_for(count, 4096, [&](std::size_t i) {
        const CameraRay ray = pixels.ray_of(static_cast<double>(i % width) + 0.5,
                                            static_cast<double>(i / width) + 0.5);
        const Vec3f d = ray.valid ? to_float(ray.direction) : Vec3f{};
        in_lens_[i] = d.x;
        in_lens_[count + i] = d.y;
        in_lens_[2 * count + i] = d.z;
    });
}

void PixelDirections::row(int y, float* const (&out)[3]) const {
    const auto width = static_cast<std::size_t>(camera_.width);
    const auto put = [&](std::size_t x, Vec3f d) {
        out[0][x] = d.x;
        out[1][x] = d.y;
        out[2][x] = d.z;
    };
    if (!straight_ && camera_.rolling()) {
        const CameraPixels pixels(camera_);
        for (std::size_t x = 0; x < width; ++x) {
            const CameraRay ray = pixels.ray_of(static_cast<double>(x) + 0.5, y + 0.5);
            put(x, ray.valid ? to_float(ray.direction) : Vec3f{});
        }
        return;
    }
    const math::Pinhole<float> pinhole = pinhole_of(camera_);  // where it is bent, for its rotation
    if (straight_) {
        for (std::size_t x = 0; x < width; ++x)
            put(x, math::direction_seen(
                       pinhole, Vec2f{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f}));
        return;
    }
    const Mat3f turn = transpose(pinhole.rotation);
    const std::size_t count = width * static_cast<std::size_t>(camera_.height);
    const float* from = in_lens_.data() + static_cast<std::size_t>(y) * width;
    for (std::size_t x = 0; x < width; ++x)
        put(x, turn * Vec3f{from[x], from[count + x], from[2 * count + x]});
}

void draw_sky(const Sky& sky, const Camera& camera, Vec3f background, PixelRows rows,
              PixelDirections& directions, RenderResult& result) {
    const auto width = static_cast<std::size_t>(result.width);
    const float under[3] = {background.x, background.y, background.z};
    directions.follow(camera);
    parallel_for((rows.count + kRowsAtOnce - 1) / kRowsAtOnce, 1, [&](std::size_t band) {
        SkyRow row(result.width);
        const std::size_t begin = rows.first + band * kRowsAtOnce,
                          end = std::min(rows.first + rows.count, begin + kRowsAtOnce);
        for (std::size_t y = begin; y < end; ++y) {
            row.look(directions, static_cast<int>(y));
            row.fill_colors(sky);
            const float* alpha = result.alpha.plane(0) + y * width;
            for (std::size_t c = 0; c < 3; ++c) {
                const float* sky_color = row.color(c);
                float* to = result.color.plane(static_cast<int>(c)) + y * width;
                for (std::size_t x = 0; x < width; ++x) {
                    const float behind = row.seen(x) ? std::max(sky_color[x], 0.0f) : under[c];
                    to[x] += (1.0f - alpha[x]) * (behind - under[c]);
                }
            }
        }
    });
}

SkyGradient sky_gradient(const Sky& sky, const PixelDirections& directions, const ImageF& alpha,
                         const ImageF& v_color) {
    const auto width = static_cast<std::size_t>(alpha.width);
    const std::size_t bases = static_cast<std::size_t>(sh_bases(sky.degree)),
                      bands =
                          (static_cast<std::size_t>(alpha.height) + kRowsAtOnce - 1) / kRowsAtOnce;
    std::vector<SkyGradient> parts(bands, SkyGradient{});
    parallel_for(bands, 1, [&](std::size_t band) {
        SkyRow row(alpha.width);
        const int begin = static_cast<int>(band * kRowsAtOnce),
                  end = std::min(alpha.height, begin + static_cast<int>(kRowsAtOnce));
        for (int y = begin; y < end; ++y) {
            row.look(directions, y);
            row.fill_colors(sky);
            const std::size_t at = static_cast<std::size_t>(y) * width;
            std::array<float, Sky::kNumbers> sums{};
            for (std::size_t x = 0; x < width; ++x) {
                if (!row.seen(x)) continue;
                float basis[16], v[3];
                math::sh_basis<float>(
                    sky.degree, {row.direction(0)[x], row.direction(1)[x], row.direction(2)[x]},
                    basis);
                const float through = 1.0f - alpha.plane(0)[at + x];
                for (std::size_t c = 0; c < 3; ++c)
                    v[c] = row.color(c)[x] > 0
                               ? through * v_color.plane(static_cast<int>(c))[at + x]
                               : 0.0f;
                for (std::size_t k = 0; k < bases; ++k)
                    for (std::size_t c = 0; c < 3; ++c) sums[3 * k + c] += basis[k] * v[c];
            }
            for (std::size_t i = 0; i < sums.size(); ++i)
                parts[band][i] += static_cast<double>(sums[i]);
        }
    });
    SkyGradient out{};
    for (const SkyGradient& part : parts)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += part[i];
    return out;
}

}  // namespace gs
