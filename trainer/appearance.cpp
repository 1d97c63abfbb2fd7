#include "trainer/appearance.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/math/adam.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

using math::kCameraValues;
using math::kLookParts;
using math::kPhotoValues;

constexpr std::size_t kRowsPerTask = 16;

bool same_lens(const Camera& a, const Camera& b) {
    const auto numbers = [](const Camera& c) {
        return std::tie(c.model, c.width, c.height, c.fx, c.fy, c.cx, c.cy, c.distortion);
    };
    return numbers(a) == numbers(b);
}

/// Where a pixel of a picture is: pixels from the middle over the larger side.
struct PixelPlaces {
    float scale, middle_x, middle_y;
    explicit PixelPlaces(const ImageF& of)
        : scale(1.0f / static_cast<float>(std::max(of.width, of.height))),
          middle_x(0.5f * static_cast<float>(of.width) - 0.5f),
          middle_y(0.5f * static_cast<float>(of.height) - 0.5f) {}
    float u(int x) const { return (static_cast<float>(x) - middle_x) * scale; }
    float v(int y) const { return (static_cast<float>(y) - middle_y) * scale; }
};

bool saturated(std::uint8_t sample) { return sample >= math::kSaturatedByte; }
float sample_of(std::uint8_t sample) { return static_cast<float>(sample) / 255.0f; }

void step_values(AppearanceState& state, const AppearancePlan& plan, std::size_t first,
                 std::size_t count, const float* gradient) {
    const std::size_t all = state.values.size();
    for (std::size_t i = 0; i < count; ++i) {
        float &value = state.values[first + i], &m = state.moments[first + i],
              &v = state.moments[all + first + i];
        const auto next =
            math::adam_step<float>({value, m, v}, gradient[i], plan.rate, plan.epsilon);
        value = next.value;
        m = next.m;
        v = next.v;
    }
}

}  // namespace

StringId appearance_stage() {
    static const StringId name = register_string("appearance");
    return name;
}

AppearanceMode appearance_of(const TrainingSettings& settings) {
    return static_cast<AppearanceMode>(std::clamp(static_cast<int>(settings.appearance), 0, 2));
}

AppearanceRows::AppearanceRows(const Capture& capture)
    : photo_of_view(capture.views.size(), kNone),
      camera_of_view(capture.views.size(), kNone),
      view_of_photo(trainable_views(capture)) {
    std::vector<const Camera*> lenses;
    const auto lens_of = [&](const Camera& camera) {
        const auto it = std::find_if(lenses.begin(), lenses.end(),
                                     [&](const Camera* lens) { return same_lens(*lens, camera); });
        return static_cast<std::size_t>(it - lenses.begin());
    };
    for (std::size_t i = 0; i < photos(); ++i) {
        const Camera& camera = capture.views[view_of_photo[i]].camera;
        photo_of_view[view_of_photo[i]] = static_cast<std::uint32_t>(i);
        if (lens_of(camera) == lenses.size()) lenses.push_back(&camera);
    }
    cameras = static_cast<std::uint32_t>(lenses.size());
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        if (const std::size_t lens = lens_of(capture.views[v].camera); lens < lenses.size())
            camera_of_view[v] = static_cast<std::uint32_t>(lens);
}

AppearanceState initial_appearance(const AppearanceRows& rows, AppearanceMode mode) {
    AppearanceState out;
    if (mode == AppearanceMode::none) return out;
    out.values.resize_discard(rows.values());
    out.moments.resize_discard(2 * rows.values());
    std::fill(out.values.begin(), out.values.end(), 0.0f);
    std::fill(out.moments.begin(), out.moments.end(), 0.0f);
    for (std::uint32_t camera = 0; camera < rows.cameras; ++camera)
        for (int c = 0; c < 3; ++c) {
            float* curve = out.values.data() + rows.camera_at(camera) + math::kCameraCurve +
                           c * math::kCurveValues;
            curve[0] = curve[1] = static_cast<float>(math::kRawPower);
            curve[2] = static_cast<float>(math::kRawGamma);
        }
    return out;
}

AppearancePlan appearance_plan(const TrainingSettings& settings, const AppearanceRows& rows,
                               std::size_t view, std::uint64_t shown) {
    AppearancePlan plan;
    plan.mode = appearance_of(settings);
    if (!plan.on()) return plan;
    plan.photo = rows.photo_of_view.at(view);
    plan.camera = rows.camera_of_view.at(view);
    CHECK(plan.photo != AppearanceRows::kNone, "view {} is not trained on", view);
    plan.photos = static_cast<std::uint32_t>(rows.photos());
    plan.cameras = rows.cameras;
    const double all = std::max(settings.steps * batch_of(settings), 1.0),
                 t = static_cast<double>(shown) + 1,
                 rising = std::min(1.0, 0.01 + 0.99 * t / std::max(1.0, all / 60)),
                 falling = std::pow(0.01, std::min(1.0, t / all)),
                 root = std::sqrt(1 - std::pow(math::kAdamBeta2, t));
    plan.rate = static_cast<float>(settings.lr_appearance * rising * falling * root /
                                   (1 - std::pow(math::kAdamBeta1, t)));
    plan.epsilon = static_cast<float>(static_cast<double>(math::kAdamEpsilon) * root);
    return plan;
}

AppliedLook look_of_photo(const float* values, const AppearancePlan& plan) {
    AppliedLook out{{}, plan.simple()};
    math::look_of(values + plan.photo_at(), values + plan.camera_at(plan.camera), out.simple,
                  out.look);
    return out;
}

std::optional<AppliedLook> look_of_camera(const AppearanceState& state, const AppearanceRows& rows,
                                          std::size_t view, AppearanceMode mode) {
    const std::uint32_t camera = rows.camera_of_view.at(view);
    if (mode != AppearanceMode::ppisp || state.empty() || camera == AppearanceRows::kNone)
        return std::nullopt;
    const float none[kPhotoValues] = {};
    AppliedLook out{{}, false};
    math::look_of(none, state.values.data() + rows.camera_at(camera), false, out.look);
    return out;
}

void apply_look(const AppliedLook& of, const ImageF& picture, const Image8* photo, ImageF& out) {
    CHECK(picture.channels == 3);
    CHECK(photo == nullptr || (photo->width == picture.width && photo->height == picture.height));
    if (&out != &picture) out.resize(picture.width, picture.height, 3);
    const PixelPlaces places(picture);
    parallel_for(static_cast<std::size_t>(picture.height), kRowsPerTask, [&](std::size_t row) {
        const int y = static_cast<int>(row);
        for (int x = 0; x < picture.width; ++x) {
            float rgb[3] = {picture.at(0, x, y), picture.at(1, x, y), picture.at(2, x, y)};
            math::apply_look(of.look, of.simple, places.u(x), places.v(y), rgb);
            const std::uint8_t* sample = photo == nullptr ? nullptr : photo->at(x, y);
            for (int c = 0; c < 3; ++c)
                out.at(c, x, y) = sample != nullptr && saturated(sample[c])
                                      ? std::min(rgb[c], sample_of(sample[c]))
                                      : rgb[c];
        }
    });
}

LookSums apply_look_vjp(const AppliedLook& of, const ImageF& picture, const Image8& photo,
                        const ImageF& shown, ImageF& gradient) {
    const PixelPlaces places(picture);
    const auto rows = static_cast<std::size_t>(picture.height);
    std::vector<LookSums> parts((rows + kRowsPerTask - 1) / kRowsPerTask);
    parallel_ranges(rows, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
        LookSums& sums = parts[begin / kRowsPerTask];
        sums.fill(0);
        for (std::size_t row = begin; row < end; ++row) {
            float of_row[kLookParts] = {}, unused[kLookParts] = {};
            const int y = static_cast<int>(row);
            for (int x = 0; x < picture.width; ++x) {
                const std::uint8_t* sample = photo.at(x, y);
                float rgb[3], grad[3];
                bool whole = true;
                for (int c = 0; c < 3; ++c) {
                    const bool full = saturated(sample[c]);
                    rgb[c] = picture.at(c, x, y);
                    grad[c] = full && shown.at(c, x, y) >= sample_of(sample[c])
                                  ? 0.0f
                                  : gradient.at(c, x, y);
                    whole = whole && !full;
                }
                math::apply_look_vjp(of.look, of.simple, places.u(x), places.v(y), rgb, grad,
                                     whole ? of_row : unused);
                for (int c = 0; c < 3; ++c) gradient.at(c, x, y) = grad[c];
            }
            for (int i = 0; i < kLookParts; ++i)
                sums[static_cast<std::size_t>(i)] += static_cast<double>(of_row[i]);
        }
    });
    LookSums out{};
    for (const LookSums& part : parts)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += part[i];
    return out;
}

void step_appearance(AppearanceState& state, const AppearancePlan& plan, const LookSums& sums) {
    const float* values = state.values.data();
    const AppliedLook of = look_of_photo(values, plan);
    float v_look[kLookParts], v_photo[kPhotoValues], v_camera[kCameraValues];
    for (std::size_t i = 0; i < sums.size(); ++i) v_look[i] = static_cast<float>(sums[i]);
    math::look_of_vjp(values + plan.photo_at(), values + plan.camera_at(plan.camera), of.simple,
                      of.look, v_look, v_photo, v_camera);
    const auto poisoned = [](float x) { return !std::isfinite(x); };
    const bool sound = std::none_of(v_photo, v_photo + kPhotoValues, poisoned) &&
                       std::none_of(v_camera, v_camera + kCameraValues, poisoned);

    const auto photos = static_cast<float>(plan.photos), cameras = static_cast<float>(plan.cameras);
    float mean[kPhotoValues] = {}, pull[kPhotoValues], gradient[kCameraValues];
    for (std::size_t p = 0; p < plan.photos; ++p)
        for (std::size_t k = 0; k < kPhotoValues; ++k) mean[k] += values[p * kPhotoValues + k];
    for (float& m : mean) m /= photos;
    for (int k = 0; k < kPhotoValues; ++k) pull[k] = math::mean_pull(mean, of.simple, k, photos);
    for (std::size_t p = 0; p < plan.photos; ++p) {
        for (int k = 0; k < kPhotoValues; ++k)
            gradient[k] = pull[k] + (p == plan.photo && sound ? v_photo[k] : 0.0f);
        step_values(state, plan, p * kPhotoValues, kPhotoValues, gradient);
    }
    for (std::uint32_t c = 0; !of.simple && c < plan.cameras; ++c) {
        for (int k = 0; k < kCameraValues; ++k)
            gradient[k] = math::camera_pull(values + plan.camera_at(c), k, cameras) +
                          (c == plan.camera && sound ? v_camera[k] : 0.0f);
        step_values(state, plan, plan.camera_at(c), kCameraValues, gradient);
    }
}

std::array<double, 3> stops_of_photo(const float* photo, AppearanceMode mode) {
    std::array<double, 3> out{};
    if (mode == AppearanceMode::none) return out;
    double values[kPhotoValues], camera[kCameraValues] = {}, rgb[3] = {0.5, 0.5, 0.5};
    std::copy_n(photo, kPhotoValues, values);
    math::Look<double> look{};
    math::look_of(values, camera, mode != AppearanceMode::ppisp, look);
    // Without its camera: a tone curve is left out.
    for (int c = 0; c < 3; ++c) rgb[c] *= look.at[math::kLookGain + c];
    if (mode == AppearanceMode::ppisp) {
        const double *h = look.at + math::kLookMatrix, sum = rgb[0] + rgb[1] + rgb[2];
        double to[3];
        for (int k = 0; k < 3; ++k)
            to[k] = h[3 * k] * rgb[0] + h[3 * k + 1] * rgb[1] + h[3 * k + 2] * sum;
        const double keep = sum / to[2];
        rgb[2] = (to[2] - to[0] - to[1]) * keep;
        rgb[0] = to[0] * keep;
        rgb[1] = to[1] * keep;
    }
    for (std::size_t c = 0; c < 3; ++c) out[c] = std::log2(rgb[c] / 0.5);
    return out;
}

}  // namespace gs
