#include "app/session/photo_looks.h"

#include "app/session/viewer.h"

namespace gs {
namespace {

constexpr int kCurveSamples = 48;

CameraLook camera_look(const float* values) {
    CameraLook out;
    const float nothing[math::kPhotoValues] = {};
    math::Look<float> look;
    math::look_of(nothing, values, false, look);
    for (int c = 0; c < 3; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        const float* vignette = look.at + math::kLookVignette + c * math::kVignetteValues;
        const float* curve = look.at + math::kLookCurve + 5 * c;
        for (int i = 0; i <= kCurveSamples; ++i) {
            const float x = static_cast<float>(i) / kCurveSamples;
            const float far = 0.71f * x;  // to the corner of a square
            const float light = math::look::falloff(vignette, vignette[0] + far, vignette[1]);
            out.vignette[channel].push_back({far, math::look::between(light)});
            out.curve[channel].push_back({x, math::look::tone(curve, x)});
        }
    }
    return out;
}

void add_looks(const Trainer& trainer, PhotoLooks& out) {
    const AppearanceMode mode = trainer.settings().appearance;
    if (mode == AppearanceMode::none) return;
    const AppearanceState state = trainer.backend().appearance();
    if (state.empty()) return;
    const AppearanceRows rows(trainer.capture());
    for (std::size_t p = 0; p < rows.photos(); ++p) {
        const std::size_t view = rows.view_of_photo[p];
        out.photos.push_back({view, trainer.capture().views[view].name, rows.camera_of_view[view],
                              stops_of_photo(state.values.data() + p * math::kPhotoValues, mode)});
    }
    for (std::uint32_t c = 0; mode == AppearanceMode::ppisp && c < rows.cameras; ++c)
        out.cameras.push_back(camera_look(state.values.data() + rows.camera_at(c)));
}

void add_poses(const Trainer& trainer, PhotoLooks& out) {
    if (!trainer.settings().refine_poses) return;
    const std::vector<View>& views = trainer.capture().views;
    for (std::size_t v = 0; v < views.size(); ++v)
        if (!views[v].test)
            out.poses.push_back(pose_change(v, views[v].camera, trainer.camera_of(v)));
}

}  // namespace

std::shared_ptr<const PhotoLooks> photo_looks(const Trainer& trainer, bool pose_arrows) {
    auto out = std::make_shared<PhotoLooks>();
    out->step = trainer.steps_done();
    out->pose_arrows = pose_arrows;
    add_looks(trainer, *out);
    add_poses(trainer, *out);
    return out->photos.empty() && out->poses.empty() ? nullptr : out;
}

std::optional<AppliedLook> shown_look(const LoadedScene& scene, const ViewSettings& settings) {
    const bool colours = settings.mode == ViewMode::color || settings.mode == ViewMode::error;
    if (!settings.photo_look || !colours || !scene.trainer ||
        !photo_view(scene, settings.capture_view))
        return std::nullopt;
    const Trainer& trainer = *scene.trainer;
    const auto view = static_cast<std::size_t>(settings.capture_view);
    const AppearanceMode mode = trainer.settings().appearance;
    if (mode == AppearanceMode::none) return std::nullopt;
    const AppearanceState learned = trainer.backend().appearance();
    if (learned.empty()) return std::nullopt;
    const AppearanceRows rows(trainer.capture());
    if (rows.photo_of_view[view] == AppearanceRows::kNone)
        return look_of_camera(learned, rows, view, mode);
    AppearancePlan plan{.mode = mode,
                        .photo = rows.photo_of_view[view],
                        .camera = rows.camera_of_view[view],
                        .photos = static_cast<std::uint32_t>(rows.photos()),
                        .cameras = rows.cameras};
    return look_of_photo(learned.values.data(), plan);
}

}  // namespace gs
