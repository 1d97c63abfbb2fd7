#include "trainer/adam/mip_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/math/mip_filter.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr std::size_t kRowsAtOnce = 512;
constexpr float kMargin = 0.15f;         // of the picture, on each side
constexpr float kFilterVariance = 0.2f;  // px^2, as published
constexpr float kUnseen = std::numeric_limits<float>::infinity();
// Of o' / o: below it nothing is drawn, and logits stay finite.
constexpr float kLeastKept = 1e-20f;

/// A training camera: where a mean falls and how large a pixel is there, world units.
class FilterCamera {
  public:
    FilterCamera(const Camera& camera, float near_plane)
        : straight_(draws_as_pinhole(camera)), near_(near_plane) {
        lo_ = {-kMargin * static_cast<float>(camera.width),
               -kMargin * static_cast<float>(camera.height)};
        hi_ = {(1 + kMargin) * static_cast<float>(camera.width),
               (1 + kMargin) * static_cast<float>(camera.height)};
        if (straight_) {
            pinhole_ =
                math::make_pinhole<float>(camera.rotation, camera.translation, camera.fx, camera.fy,
                                          camera.cx, camera.cy, camera.width, camera.height);
            per_depth_ = static_cast<float>(1 / std::sqrt(camera.fx * camera.fy));
        } else {
            lens_ = math::make_lens_camera<double>(camera);
        }
    }
    /// kUnseen where the camera does not see it.
    float pixel_size(Vec3f mean) const {
        if (!straight_) return through_lens(mean);
        const Vec3f c = pinhole_.rotation * mean + pinhole_.translation;
        const float w = 1 / c.z;
        const Vec2f at{pinhole_.fx * c.x * w + pinhole_.cx, pinhole_.fy * c.y * w + pinhole_.cy};
        return c.z > near_ && shows(at) ? c.z * per_depth_ : kUnseen;
    }

  private:
    bool shows(Vec2f at) const {
        return at.x >= lo_.x && at.x <= hi_.x && at.y >= lo_.y && at.y <= hi_.y;
    }
    /// A ball of radius 1 has the covariance J J^T there: its area is that of a unit square.
    float through_lens(Vec3f mean) const {
        const auto seen = math::project(lens_, Vec3d{mean.x, mean.y, mean.z}, Vec3d{1, 1, 1},
                                        Quat<double>{1, 0, 0, 0});
        if (!(seen.depth > static_cast<double>(near_)) || !(seen.det > 0) ||
            !shows({static_cast<float>(seen.mean.x), static_cast<float>(seen.mean.y)}))
            return kUnseen;
        return static_cast<float>(1 / std::sqrt(std::sqrt(seen.det)));
    }

    bool straight_;
    float near_, per_depth_ = 0;
    Vec2f lo_, hi_;
    math::Pinhole<float> pinhole_{};
    math::LensCamera<double> lens_{};
};

/// One Gaussian's filter at work.
struct FilteredLane {
    float log_scale[3], share[3], kept;  // share = (s / s')^2, kept = o' / o
    FilteredLane(const float* planes, std::size_t lane, float f) {
        Vec3f s;
        float* const scale[3] = {&s.x, &s.y, &s.z};
        for (int i = 0; i < 3; ++i) {
            *scale[i] = math::exp(planes[static_cast<std::size_t>(kLogScales + i) * kBlock + lane]);
            share[i] = math::mip_share(*scale[i], f);
        }
        const Vec3f wide = math::mip_scale(s, f);
        log_scale[0] = math::log(wide.x);
        log_scale[1] = math::log(wide.y);
        log_scale[2] = math::log(wide.z);
        kept = std::max(math::mip_kept(s, f), kLeastKept);
    }
};

}  // namespace

void size_filter(std::span<const float> means, std::size_t count, std::span<const Camera> cameras,
                 float near_plane, FilterRows rows, Buffer<float>& filter, Exchange& ranks) {
    const std::size_t capacity = means.size() / 3;
    CHECK(means.size() == 3 * capacity && count <= capacity, "{} of {}", count, means.size());
    if (rows == FilterRows::all || filter.size() != capacity) filter.resize(capacity, 0.0f);
    if (rows == FilterRows::all) filter.fill(0.0f);
    std::vector<FilterCamera> seeing;
    for (const Camera& camera : cameras) seeing.emplace_back(camera, near_plane);
    parallel_ranges(count, kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if (filter[i] != 0) continue;
            const Vec3f mean{means[i], means[capacity + i], means[2 * capacity + i]};
            float least = kUnseen;
            for (const FilterCamera& camera : seeing)
                least = std::min(least, camera.pixel_size(mean));
            filter[i] = math::sqrt(kFilterVariance) * least;
        }
    });
    float largest = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (filter[i] < kUnseen) largest = std::max(largest, filter[i]);
    for (const float of : of_each(ranks, largest)) largest = std::max(largest, of);
    for (std::size_t i = 0; i < count; ++i)
        if (!(filter[i] < kUnseen)) filter[i] = largest;
    std::fill(filter.begin() + count, filter.end(), 0.0f);
}

void filter_block(float* planes, const float* filter) {
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
        if (!(filter[lane] > 0)) continue;
        const FilteredLane drawn(planes, lane, filter[lane]);
        for (int i = 0; i < 3; ++i)
            planes[static_cast<std::size_t>(kLogScales + i) * kBlock + lane] = drawn.log_scale[i];
        // o' = kept / (1 + exp(-x)), and its logit without the cancellation of 1 - o'.
        float& logit = planes[static_cast<std::size_t>(kOpacityLogits) * kBlock + lane];
        logit = math::log(drawn.kept) - math::log(math::exp(-logit) + (1 - drawn.kept));
    }
}

void filter_block_vjp(const float* planes, const float* filter, BlockGradients& gradients) {
    for (std::uint32_t lanes = gradients.mask; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
        if (!(filter[lane] > 0)) continue;
        const FilteredLane drawn(planes, lane, filter[lane]);
        const float faint =
            math::exp(-planes[static_cast<std::size_t>(kOpacityLogits) * kBlock + lane]);
        const float hidden = faint + (1 - drawn.kept);  // (1 - o') (1 + faint)
        float& logit = gradients.planes[kOpacityLogits][lane];
        const float v_log_opacity = logit * (1 + faint) / hidden;
        logit *= faint / hidden;
        for (int i = 0; i < 3; ++i) {
            float& v = gradients.planes[kLogScales + i][lane];
            v = math::mip_log_scale_vjp(drawn.share[i], v, v_log_opacity);
        }
    }
}

void filter_model(GaussianModel& model, std::span<const float> filter) {
    if (filter.empty()) return;
    CHECK(filter.size() >= model.count, "{} filters of {}", filter.size(), model.count);
    parallel_for(model.blocks(), 64, [&](std::size_t block) {
        alignas(64) float planes[kGeometryPlanes * kBlock], filters[kBlock] = {};
        const std::size_t first = block * kBlock, lanes = std::min(kBlock, model.count - first);
        std::copy_n(filter.data() + first, lanes, filters);
        for (int p = 0; p < kGeometryPlanes; ++p)
            std::copy_n(model.plane(p) + first, kBlock,
                        planes + static_cast<std::size_t>(p) * kBlock);
        filter_block(planes, filters);
        for (int p = kLogScales; p < kGeometryPlanes; ++p)
            std::copy_n(planes + static_cast<std::size_t>(p) * kBlock, kBlock,
                        model.plane(p) + first);
    });
}

}  // namespace gs
