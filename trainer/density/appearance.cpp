#include "trainer/density/appearance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/math/adam.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/lost_views.h"
#include "trainer/loss/metrics.h"
#include "trainer/settings/schedule.h"

namespace gs {
namespace {

using math::kCameraValues;
using math::kLookParts;
using math::kPhotoValues;

constexpr std::size_t kRowsPerTask = 16;

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

AppearanceRows::AppearanceRows(const Capture& capture)
    : AppearanceRows(capture, trainable_views(capture)) {}

AppearanceRows::AppearanceRows(const Capture& capture, std::vector<std::size_t> views)
    : photo_of_view(capture.views.size(), kNone),
      camera_of_view(capture.views.size(), kNone),
      view_of_photo(std::move(views)) {
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

std::vector<math::PhotoNeighbours> photo_neighbours(const Capture& capture,
                                                    const AppearanceRows& rows) {
    const auto camera = [&](std::size_t photo) -> const Camera& {
        return capture.views[rows.view_of_photo[photo]].camera;
    };
    const std::size_t photos = rows.photos(),
                      count = std::min<std::size_t>(math::kNeighbours, photos - 1);
    const std::vector<std::uint8_t> lost = lost_views(capture);
    std::vector<Vec3d> places;
    for (const std::size_t view : rows.view_of_photo)
        if (lost[view] == 0) places.push_back(capture.views[view].camera.position());
    const auto n = static_cast<double>(places.size());
    Vec3d middle{};
    double spread = 0;
    for (const Vec3d place : places) middle += (1 / n) * place;
    for (const Vec3d place : places) spread += dot(place - middle, place - middle) / n;
    const auto apart = [&](std::size_t a, std::size_t b) {
        const auto &ways = camera(a).rotation.m, &others = camera(b).rotation.m;
        const Vec3d arm = camera(a).position() - camera(b).position(),
                    turn{ways[2][0] - others[2][0], ways[2][1] - others[2][1],
                         ways[2][2] - others[2][2]};
        return std::sqrt(dot(arm, arm) / std::max(spread, 1e-12) + dot(turn, turn));
    };
    std::vector<math::PhotoNeighbours> out(photos);
    parallel_for(photos, 16, [&](std::size_t p) {
        std::vector<std::pair<double, std::size_t>> others;
        for (std::size_t q = 0; q < photos; ++q)
            if (q != p) others.emplace_back(apart(p, q), q);
        std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count),
                          others.end());
        double shares[math::kNeighbours], sum = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const double far = others[k].first / std::max(others[count - 1].first, 1e-12);
            sum += shares[k] = std::exp(-2 * far * far);
            out[p].photo[k] = static_cast<unsigned>(others[k].second);
        }
        for (std::size_t k = 0; k < count; ++k)
            out[p].share[k] = static_cast<float>(shares[k] / sum);
    });
    return out;
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

bool fit_appearance(AppearanceState& state, const Capture& capture) {
    const AppearanceRows rows(capture);
    if (state.values.size() == rows.values()) return true;
    const AppearanceRows older(capture, trainable_or_blind_views(capture));
    if (state.values.size() != older.values()) return false;
    AppearanceState out;
    out.values.resize_discard(rows.values());
    out.moments.resize_discard(2 * rows.values());
    const auto keep = [&](std::size_t to, std::size_t from, std::size_t count) {
        std::copy_n(state.values.data() + from, count, out.values.data() + to);
        for (const std::size_t moment : {0u, 1u})
            std::copy_n(state.moments.data() + moment * older.values() + from, count,
                        out.moments.data() + moment * rows.values() + to);
    };
    for (std::size_t p = 0; p < rows.photos(); ++p)
        keep(p * kPhotoValues,
             std::size_t{older.photo_of_view[rows.view_of_photo[p]]} * kPhotoValues, kPhotoValues);
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        if (rows.camera_of_view[v] != AppearanceRows::kNone)
            keep(rows.camera_at(rows.camera_of_view[v]), older.camera_at(older.camera_of_view[v]),
                 kCameraValues);
    state = std::move(out);
    return true;
}

AppearancePlan appearance_plan(const TrainingSettings& settings, const AppearanceRows& rows,
                               std::size_t view, std::uint64_t shown) {
    AppearancePlan plan;
    plan.mode = settings.appearance;
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
    if (const double since =
            static_cast<double>(shown) - settings.appearance_from * batch_of(settings);
        since >= 0)
        plan.width = static_cast<float>(std::max<double>(
            math::kLightWidth, math::kFirstLightWidth * std::pow(0.8, since / plan.photos)));
    else if (plan.simple())
        plan.mode = AppearanceMode::none;
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
                        const Image8& mask, const ImageF& shown, float width, ImageF& gradient) {
    const PixelPlaces places(picture);
    const auto rows = static_cast<std::size_t>(picture.height);
    std::vector<LookSums> parts((rows + kRowsPerTask - 1) / kRowsPerTask);
    parallel_ranges(rows, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
        LookSums& sums = parts[begin / kRowsPerTask];
        sums.fill(0);
        for (std::size_t row = begin; row < end; ++row) {
            float of_row[math::kStepSums] = {}, unused[kLookParts] = {};
            const int y = static_cast<int>(row);
            for (int x = 0; x < picture.width; ++x) {
                const std::uint8_t* sample = photo.at(x, y);
                float rgb[3], grad[3], there[3], here[3];
                bool whole = true;
                for (int c = 0; c < 3; ++c) {
                    const bool full = saturated(sample[c]);
                    rgb[c] = picture.at(c, x, y);
                    here[c] = shown.at(c, x, y);
                    there[c] = sample_of(sample[c]);
                    grad[c] = full && here[c] >= there[c] ? 0.0f : gradient.at(c, x, y);
                    whole = whole && !full;
                }
                math::apply_look_vjp(of.look, of.simple, places.u(x), places.v(y), rgb, grad,
                                     whole ? of_row : unused);
                for (int c = 0; c < 3; ++c) gradient.at(c, x, y) = grad[c];
                if (width > 0 && whole && (mask.empty() || *mask.at(x, y) != 0))
                    math::add_light(here, there, width, of_row + kLookParts);
            }
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(of_row[i]);
        }
    });
    LookSums out{};
    for (const LookSums& part : parts)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += part[i];
    return out;
}

namespace {

/// Where light k of a photo lies among `moments`: what was found, or what is applied.
std::size_t found_at(std::size_t photo, int k) {
    return photo * kPhotoValues + static_cast<std::size_t>(math::light_at(k));
}
std::size_t applied_at(const AppearanceState& state, std::size_t photo, int k) {
    return state.values.size() + found_at(photo, k);
}

/// What the plan's photo says of its light, then the light of all photos: what was found, without
/// what neighbours share and without the mean.
void step_light(AppearanceState& state, const AppearancePlan& plan, const float* sums,
                std::span<const math::PhotoNeighbours> neighbours) {
    using math::kLights;
    Buffer<float>& moments = state.moments;
    float found[kLights], applied[kLights];
    for (int k = 0; k < kLights; ++k) {
        found[k] = moments[found_at(plan.photo, k)];
        applied[k] = moments[applied_at(state, plan.photo, k)];
    }
    math::find_light(sums, applied, found);
    for (int k = 0; k < kLights; ++k) moments[found_at(plan.photo, k)] = found[k];

    const auto photos = static_cast<float>(plan.photos);
    for (int k = 0; k < kLights; ++k) {
        float mean = 0, m[math::kLightMoments] = {};
        for (std::size_t p = 0; p < plan.photos; ++p) mean += moments[found_at(p, k)];
        mean /= photos;
        const auto near = [&](std::size_t p) {
            float sum = 0;
            for (int j = 0; j < math::kNeighbours; ++j)
                sum +=
                    neighbours[p].share[j] * (moments[found_at(neighbours[p].photo[j], k)] - mean);
            return sum;
        };
        for (std::size_t p = 0; p < plan.photos; ++p)
            math::add_moments(moments[found_at(p, k)] - mean, near(p), m);
        const float shared = math::shared_light(m, photos);
        const float rest = mean - shared * m[math::kNear] / photos;
        for (std::size_t p = 0; p < plan.photos; ++p)
            moments[applied_at(state, p, k)] = moments[found_at(p, k)] - rest - shared * near(p);
    }
    for (std::size_t p = 0; p < plan.photos; ++p) {
        float light[kLights];
        for (int k = 0; k < kLights; ++k) light[k] = moments[applied_at(state, p, k)];
        math::set_light(light, plan.simple(), state.values.data() + p * kPhotoValues);
    }
}

/// Adam for what PPISP has besides: three control points of each photo's colour, and cameras.
void step_stages(AppearanceState& state, const AppearancePlan& plan, const LookSums& sums) {
    const float* values = state.values.data();
    const AppliedLook of = look_of_photo(values, plan);
    float v_look[kLookParts], v_photo[kPhotoValues], v_camera[kCameraValues];
    for (std::size_t i = 0; i < kLookParts; ++i) v_look[i] = static_cast<float>(sums[i]);
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
    for (int k = 0; k < kPhotoValues; ++k) pull[k] = math::mean_pull(mean, k, photos);
    for (std::size_t p = 0; p < plan.photos; ++p) {
        for (int k = 0; k < kPhotoValues; ++k)
            gradient[k] = pull[k] + (p == plan.photo && sound ? v_photo[k] : 0.0f);
        step_values(state, plan, p * kPhotoValues + math::kAdamColour, math::kAdamColours,
                    gradient + math::kAdamColour);
    }
    for (std::uint32_t c = 0; c < plan.cameras; ++c) {
        for (int k = 0; k < kCameraValues; ++k)
            gradient[k] = math::camera_pull(values + plan.camera_at(c), k, cameras) +
                          (c == plan.camera && sound ? v_camera[k] : 0.0f);
        step_values(state, plan, plan.camera_at(c), kCameraValues, gradient);
    }
}

}  // namespace

void step_appearance(AppearanceState& state, const AppearancePlan& plan, const LookSums& sums,
                     std::span<const math::PhotoNeighbours> neighbours) {
    CHECK(neighbours.size() == plan.photos, "{} of {} photos", neighbours.size(), plan.photos);
    float light[math::kLightSums];
    for (std::size_t i = 0; i < math::kLightSums; ++i)
        light[i] = static_cast<float>(sums[kLookParts + i]);
    if (!plan.simple()) step_stages(state, plan, sums);
    if (plan.width > 0) step_light(state, plan, light, neighbours);
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
