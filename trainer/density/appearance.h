// Exposure and colour of each photo, learned beside the scene: between the drawn picture and the
// loss stands the photo's look (renderer/math/appearance.h). Here: which photo and camera has which
// values, what a step of them is, and the CPU's bodies; trainer/cuda/appearance.cu has the
// device's. What a viewer draws and a file holds is the scene without any look. Exposure and white
// balance are found in closed form (renderer/math/photo_light.h), what PPISP has besides by Adam.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/record/ring.h"
#include "renderer/math/photo_light.h"
#include "renderer/scene/capture.h"
#include "trainer/settings/settings.h"

namespace gs {

/// Which photo and camera of the learned values belongs to which view of a capture. Photos are the
/// views that can be trained on, in order; views of the same size and lens share a camera.
struct AppearanceRows {
    static constexpr std::uint32_t kNone = ~0u;
    std::vector<std::uint32_t> photo_of_view, camera_of_view;  ///< kNone: has none
    std::vector<std::size_t> view_of_photo;
    std::uint32_t cameras = 0;

    AppearanceRows() = default;
    explicit AppearanceRows(const Capture& capture);
    /// Of these photos.
    AppearanceRows(const Capture& capture, std::vector<std::size_t> views);
    std::size_t photos() const { return view_of_photo.size(); }
    std::size_t camera_at(std::uint32_t camera) const {
        return photos() * math::kPhotoValues + std::size_t{camera} * math::kCameraValues;
    }
    std::size_t values() const { return camera_at(cameras); }
};

/// What was learned: [photos][9], then [cameras][27]; first moments of the same order, then second
/// ones; a photo's lights among them (math::light_at). Empty: nothing is.
struct AppearanceState {
    Buffer<float> values, moments;

    bool empty() const { return values.size() == 0; }
    std::size_t bytes() const { return values.capacity_bytes() + moments.capacity_bytes(); }
};
/// What a run learned, as it is kept.
struct LearnedLooks {
    AppearanceMode mode = AppearanceMode::none;
    AppearanceState state;
};
/// By photo: those taken nearest to it, by place (over the spread of all) and direction.
std::vector<math::PhotoNeighbours> photo_neighbours(const Capture& capture,
                                                    const AppearanceRows& rows);
/// Looks that change nothing; empty for AppearanceMode::none.
AppearanceState initial_appearance(const AppearanceRows& rows, AppearanceMode mode);

/// Leaves blind photos (scene/lost_views.h) out of a `state` of a version that learned theirs as
/// well. False: it is of other cameras.
bool fit_appearance(AppearanceState& state, const Capture& capture);

/// Of one step, decided.
struct AppearancePlan {
    AppearanceMode mode = AppearanceMode::none;
    float rate = 0, epsilon = 0;          ///< as math::adam_step() takes them
    float width = 0;                      ///< as math::add_light() takes it; 0: no light is found
    std::uint32_t photo = 0, camera = 0;  ///< whose step it is
    std::uint32_t photos = 0, cameras = 0;

    bool on() const { return mode != AppearanceMode::none; }
    bool simple() const { return mode != AppearanceMode::ppisp; }
    std::size_t photo_at() const { return std::size_t{photo} * math::kPhotoValues; }
    std::size_t camera_at(std::uint32_t which) const {
        return std::size_t{photos} * math::kPhotoValues + std::size_t{which} * math::kCameraValues;
    }
};
/// Of a view that is trained on, after `shown` others (steps, or more where each takes several):
/// lr_appearance, rising from a hundredth over the first sixtieth of the run and falling to a
/// hundredth at its end; light is found from appearance_from on. Not on() where nothing is learned
/// yet.
AppearancePlan appearance_plan(const TrainingSettings& settings, const AppearanceRows& rows,
                               std::size_t view, std::uint64_t shown);

/// A look as it is applied.
struct AppliedLook {
    math::Look<float> look;
    bool simple = true;
};
/// Of the plan's photo. `values`: AppearanceState::values.
AppliedLook look_of_photo(const float* values, const AppearancePlan& plan);
/// Of any view: what its camera does to every photo. None where that is nothing, or not known.
std::optional<AppliedLook> look_of_camera(const AppearanceState& state, const AppearanceRows& rows,
                                          std::size_t view, AppearanceMode mode);

/// `out` becomes `picture` (3 planes) as the photo would show it. With `photo`: where a sample of
/// it is saturated and the result above it, the result is the sample.
void apply_look(const AppliedLook& look, const ImageF& picture, const Image8* photo, ImageF& out);
using LookSums = std::array<double, math::kStepSums>;
/// `shown`: what apply_look() gave. `gradient`: d loss / d shown, becomes d loss / d picture.
/// Returns d loss / d look, then what pixels say of the light where `width` is not 0 (the plan's);
/// saturated pixels have no part in either, and masked ones none in the light. The same bits on any
/// number of threads.
LookSums apply_look_vjp(const AppliedLook& look, const ImageF& picture, const Image8& photo,
                        const Image8& mask, const ImageF& shown, float width, ImageF& gradient);
/// One step of everything: the plan's photo and camera by `sums`, all by what holds them.
/// `neighbours`: by photo.
void step_appearance(AppearanceState& state, const AppearancePlan& plan, const LookSums& sums,
                     std::span<const math::PhotoNeighbours> neighbours);

/// What a photo's values do to grey, stops of each channel.
std::array<double, 3> stops_of_photo(const float* photo, AppearanceMode mode);

}  // namespace gs
