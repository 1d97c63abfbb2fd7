// From one listed frame to one View: decode, composite, undistort where that is asked for, scale,
// mask. Called by load_capture on loader threads and, without pixels, by forecast_capture.
#pragma once

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/captures/lens_mask.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/images/image_io.h"

namespace gs {

/// Where masks are looked for; empty folder: nowhere.
struct MaskFolder {
    fs::path folder;
    bool chosen = false;  ///< named by the user, so it wins over masks named by the model file
    std::shared_ptr<LensMasks> of_lenses = std::make_shared<LensMasks>();
    std::shared_ptr<FileFinder> files = std::make_shared<FileFinder>(std::vector{folder});
    /// No mask counts, not those of the model file either.
    bool none() const { return chosen && folder.empty(); }
};

struct LoadedView {
    View view;
    CameraModel lens =
        CameraModel::pinhole;            ///< the photo's; pinhole also where it distorts nothing
    bool resampled = false;              ///< from that lens to a pinhole
    Shutter shutter = Shutter::global;   ///< the photo's
    bool shutter_without_poses = false;  ///< as in Frame
    int listed_width = 0,
        listed_height = 0;      ///< the size in the model file when the photo has another, else 0
    int factor = 1;             ///< the integer factor it was shrunk by
    std::string photo_problem;  ///< why the photo could not be loaded, where only cameras are
    std::string mask_problem;   ///< why its mask was not used
    bool has_mask = false;
    std::uint64_t pixel_bytes = 0;  ///< of photo and mask
    bool mask_resampled = false;    ///< it is not of the photo's size
    bool turned = false;            ///< by its EXIF orientation
    bool not_turned = false;        ///< although it has one
};

/// Size and intrinsics of the photo and of the view made of it.
struct ViewPlan {
    Camera lens;    ///< as the photo is
    Camera full;    ///< the same, or the pinhole that the photo is resampled to, at full size
    Camera scaled;  ///< what the View gets
    int factor = 1;
    bool resampled = false;
    int orientation = 1;  ///< EXIF's, by which the stored picture is turned first
};

/// "NAME: why, at byte N (advice)".
std::string why_skipped(const Frame& frame, const Error& error);

/// For a photo of this size. The error's text alone matters: it becomes the reason why the frame is
/// skipped.
Result<ViewPlan> plan_view(const Frame& frame, const ImageSize& photo,
                           const CaptureOptions& options);
Result<LoadedView> load_view(const Frame& frame, const CaptureOptions& options,
                             const MaskFolder& masks);
/// The camera alone, for a capture loaded without photos, or whose photos are decoded later; the
/// headers of photo and mask are read. Without photos they need not be there.
Result<LoadedView> load_view_camera(const Frame& frame, const CaptureOptions& options,
                                    const MaskFolder& masks);

}  // namespace gs
