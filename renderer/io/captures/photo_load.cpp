#include "renderer/io/captures/photo_load.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/try.h"
#include "renderer/io/captures/shrunk_capture.h"
#include "renderer/io/captures/undistort.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

constexpr int kAutoSide = 1600;
constexpr double kLeastWithRays = 0.01;  // of a photo: a lens with less folds back on itself

tl::unexpected<Error> because(const Frame& frame, std::string why) {
    return fail(ErrorKind::malformed, frame.photo.string(), std::move(why));
}

// Whole pixels: the same aspect means that one side follows from the other within rounding.
bool same_aspect(const Camera& camera, int width, int height) {
    const double by_width = static_cast<double>(width) / camera.width,
                 by_height = static_cast<double>(height) / camera.height;
    return std::abs(by_width * camera.height - height) <= 1 ||
           std::abs(by_height * camera.width - width) <= 1;
}

// How the stored picture is to be turned: as EXIF says where its camera's size fits only then.
// Programs that pose photos read them as stored or turned; their cameras say which.
int orientation_for(const Frame& frame, const ImageSize& photo) {
    const Camera& camera = frame.camera;
    return photo.orientation >= 5 && camera.width > 0 && camera.height > 0 &&
                   !same_aspect(camera, photo.width, photo.height) &&
                   same_aspect(camera, photo.height, photo.width)
               ? photo.orientation
               : 1;
}

// The lens for a photo of this size: from its own intrinsics, scaled where the photo was resized
// since.
Result<Camera> lens_for(const Frame& frame, int width, int height) {
    Camera camera = frame.camera;
    if (camera.width == 0 || camera.height == 0) {
        camera.width = width;
        camera.height = height;
        if (frame.angle_x) camera.fx = 0.5 * width / std::tan(0.5 * *frame.angle_x);
        if (frame.angle_y) camera.fy = 0.5 * height / std::tan(0.5 * *frame.angle_y);
        if (!frame.angle_y && frame.angle_x) camera.fy = camera.fx;
        if (!frame.angle_x && frame.angle_y) camera.fx = camera.fy;
        if (!frame.angle_x && !frame.angle_y && frame.shrunk > 1)  // of photos that are not there
            for (double* length : {&camera.fx, &camera.fy, &camera.cx, &camera.cy})
                *length /= frame.shrunk;
        if (camera.model == CameraModel::equirectangular) camera = sphere_camera(camera);
        if (frame.centred) {
            camera.cx = 0.5 * width;
            camera.cy = 0.5 * height;
        }
    } else if (width != camera.width || height != camera.height) {
        if (!same_aspect(camera, width, height))
            return because(
                frame,
                fmt::format("the photo is {} x {} pixels but its camera {} x {}, another aspect",
                            width, height, camera.width, camera.height));
        camera = camera.scaled_to(width, height);
    }
    if (!camera.valid())
        return because(frame,
                       "its camera is not usable: a size or focal length is not positive, or a "
                       "number is not finite");
    if (!is_distorted(camera)) camera.model = CameraModel::pinhole;
    return camera;
}

int factor_for(const Camera& camera, const CaptureOptions& options) {
    const int longest = std::max(camera.width, camera.height);
    return options.downscale > 0 ? options.downscale : (longest + kAutoSide - 1) / kAutoSide;
}

// Grey to RGB; alpha over the background. Straight alpha, as PNG defines it.
Image8 composited(const Image8& photo, Vec3f background) {
    if (photo.channels == 3) return photo;
    Image8 out{photo.width, photo.height, 3, {}};
    out.bytes.resize(out.pixels() * 3);
    const float over[3] = {255 * background.x, 255 * background.y, 255 * background.z};
    const std::uint8_t* in = photo.bytes.data();
    for (std::size_t i = 0; i < out.pixels(); ++i, in += photo.channels) {
        std::uint8_t* rgb = out.bytes.data() + 3 * i;
        if (photo.channels == 1) {
            rgb[0] = rgb[1] = rgb[2] = in[0];
            continue;
        }
        const float alpha = static_cast<float>(in[3]) / 255.0f;
        for (int c = 0; c < 3; ++c)
            rgb[c] = static_cast<std::uint8_t>(
                std::clamp(alpha * static_cast<float>(in[c]) + (1 - alpha) * over[c], 0.0f,
                           255.0f) +
                0.5f);
    }
    return out;
}

fs::path mask_file(const Frame& frame, const MaskFolder& masks) {
    if (masks.none()) return {};
    const auto found = [&](const fs::path& path) { return !path.empty() && file_exists(path); };
    if (!masks.chosen && found(frame.mask)) return frame.mask;
    if (!masks.folder.empty()) {
        const fs::path name(frame.name), last = name.filename();
        for (const fs::path& candidate :
             {fs::path(name).replace_extension(".png"), fs::path(frame.name + ".png"),
              fs::path(last).replace_extension(".png"), fs::path(last.string() + ".png"),
              fs::path("mask.png")})
            if (found(masks.folder / candidate)) return masks.folder / candidate;
        for (const std::string& candidate : {name.generic_string() + ".png", name.generic_string(),
                                             last.string() + ".png", last.string()})
            if (const auto mask = masks.files->find(candidate, FileFinder::Kind::photo);
                !mask.path.empty() && !mask.guessed)
                return mask.path;
    }
    return found(frame.mask) ? frame.mask : fs::path();
}

/// Why a mask that the model file names is not used; empty: it names none, it was found, or masks
/// are looked for elsewhere.
std::string missing_mask(const Frame& frame, const MaskFolder& masks) {
    if (frame.mask.empty() || masks.chosen) return {};
    return "the capture names a missing one";  // the same words for all: they are counted
}

Result<void> check_mask_aspect(const fs::path& path, int mask_width, int mask_height, int width,
                               int height) {
    const double stretch =
        static_cast<double>(mask_width) * height / (static_cast<double>(mask_height) * width);
    if (std::abs(stretch - 1) > 0.02)
        return fail(
            ErrorKind::malformed, path.string(),
            fmt::format("the mask is {} x {} pixels, another aspect than the photo's {} x {}",
                        mask_width, mask_height, width, height));
    return {};
}

// A mask that was made of the photo as it is stored is turned as the photo is.
bool lies_as_stored(int mask_width, int mask_height, const ViewPlan& plan) {
    return plan.orientation >= 5 &&
           (mask_width > mask_height) != (plan.lens.width > plan.lens.height);
}

// One channel, 0 or 255, of the photo's size.
Result<Image8> read_mask(const fs::path& path, const ViewPlan& plan, bool& resampled) {
    const int width = plan.lens.width, height = plan.lens.height;
    GS_TRY(const auto bytes, read_file(path, 1ull << 31));
    GS_TRY(auto image, decode_image(bytes, path.string()));
    if (lies_as_stored(image.width, image.height, plan)) image = turned(image, plan.orientation);
    GS_TRY_VOID(check_mask_aspect(path, image.width, image.height, width, height));
    resampled = image.width != width || image.height != height;
    // Only 0 means ignore, except where noise is around black.
    const int threshold = is_lossy(bytes) ? 128 : 1;
    Image8 out{width, height, 1, {}};
    out.bytes.resize(out.pixels());
    const int colours = std::min(image.channels, 3);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const std::uint8_t* p =
                image.at(static_cast<int>((static_cast<std::int64_t>(x) * image.width) / width),
                         static_cast<int>((static_cast<std::int64_t>(y) * image.height) / height));
            const bool keep =
                *std::max_element(p, p + colours) >= threshold && (image.channels < 4 || p[3] > 0);
            out.bytes[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x)] = keep ? 255 : 0;
        }
    return out;
}

// 0 where either is.
Image8 both_masks(Image8 a, const Image8& b) {
    for (std::size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = std::min(a.bytes[i], b.bytes[i]);
    return a;
}

Image8 scaled_mask(const Image8& mask, const ViewPlan& plan) {
    const int width = shrunk_size(mask.width, plan.factor),
              height = shrunk_size(mask.height, plan.factor);
    const Image8 out = shrunk_mask(mask, plan.factor, plan.factor, width, height);
    if (width == plan.scaled.width && height == plan.scaled.height) return out;
    return shrunk_mask(out, static_cast<double>(width) / plan.scaled.width,
                       static_cast<double>(height) / plan.scaled.height, plan.scaled.width,
                       plan.scaled.height);
}

Image8 scaled_photo(const Image8& photo, const ViewPlan& plan) {
    Image8 out = plan.factor > 1 ? shrink(photo, plan.factor) : photo;
    return resize_area(out, plan.scaled.width, plan.scaled.height);
}

LoadedView described(const Frame& frame, const ViewPlan& plan) {
    LoadedView out;
    out.view.name = frame.name;
    out.view.camera = plan.scaled;
    out.view.test = frame.test;
    out.view.camera_number = frame.camera_number;
    out.view.rig_frame = frame.rig_frame;
    out.factor = plan.factor;
    out.lens = plan.lens.model;
    out.shutter = plan.lens.shutter;
    out.shutter_without_poses = frame.shutter_without_poses;
    out.resampled = plan.resampled;
    out.turned = plan.orientation != 1;
    if (frame.camera.width > 0 &&
        (frame.camera.width != plan.lens.width || frame.camera.height != plan.lens.height)) {
        out.listed_width = frame.camera.width;
        out.listed_height = frame.camera.height;
    }
    return out;
}

}  // namespace

std::string why_skipped(const Frame& frame, const Error& error) {
    std::string out = fmt::format("{}: {}", frame.name, error.message);
    if (error.byte) out += fmt::format(", at byte {}", *error.byte);
    if (!error.advice.empty()) out += fmt::format(" ({})", error.advice);
    return out;
}

Result<ViewPlan> plan_view(const Frame& frame, const ImageSize& photo,
                           const CaptureOptions& options) {
    ViewPlan plan{.orientation = orientation_for(frame, photo)};
    const bool lies = plan.orientation >= 5;
    GS_TRY(const auto lens,
           lens_for(frame, lies ? photo.height : photo.width, lies ? photo.width : photo.height));
    plan.lens = plan.full = lens;
    if (options.undistort) {
        if (lens.model == CameraModel::equirectangular)
            return because(frame, "a photo of all directions cannot be resampled to a pinhole");
        plan.resampled = is_distorted(lens);
        if (plan.resampled) plan.full = undistorted_camera(lens);
        plan.full.shutter = Shutter::global;
    } else if (share_with_rays(lens) < kLeastWithRays) {
        return because(frame,
                       "its lens has a direction for hardly any pixel: the distortion folds "
                       "back near the axis");
    }
    plan.factor = factor_for(plan.full, options);
    plan.scaled = shrunk_camera(plan.full, plan.factor);
    const int longest = std::max(plan.scaled.width, plan.scaled.height);
    if (options.max_side > 0 && longest > options.max_side) {
        const double scale = static_cast<double>(options.max_side) / longest;
        const auto smaller = [&](int side) {
            return std::clamp(static_cast<int>(std::lround(side * scale)), 1, side);
        };
        plan.scaled =
            plan.scaled.scaled_to(smaller(plan.scaled.width), smaller(plan.scaled.height));
    }
    return plan;
}

Result<LoadedView> load_view(const Frame& frame, const CaptureOptions& options,
                             const MaskFolder& masks) {
    ImageSize size;
    GS_TRY(auto decoded, read_image(frame.photo, &size));
    GS_TRY(const auto plan, plan_view(frame, size, options));
    LoadedView out = described(frame, plan);
    out.not_turned = size.orientation != plan.orientation;
    if (out.turned) decoded = turned(decoded, plan.orientation);

    Image8 mask;
    if (const fs::path file = mask_file(frame, masks); !file.empty()) {
        if (auto read = read_mask(file, plan, out.mask_resampled))
            mask = std::move(*read);
        else
            out.mask_problem = read.error().text();
    } else {
        out.mask_problem = missing_mask(frame, masks);
    }
    Image8 photo = composited(decoded, options.background);
    decoded = {};
    if (plan.resampled) {
        Undistorted straight = undistort(photo, mask, plan.lens, plan.full);
        photo = std::move(straight.photo);
        mask = std::move(straight.mask);
    }
    out.view.photo = scaled_photo(photo, plan);
    if (!mask.empty()) out.view.mask = scaled_mask(mask, plan);
    if (const auto of_lens = masks.of_lenses->of(plan.scaled))
        out.view.mask = mask.empty() ? *of_lens : both_masks(std::move(out.view.mask), *of_lens);
    out.has_mask = !out.view.mask.empty();
    out.pixel_bytes = out.view.photo.bytes.size() + out.view.mask.bytes.size();
    return out;
}

Result<LoadedView> load_view_camera(const Frame& frame, const CaptureOptions& options,
                                    const MaskFolder& masks) {
    const auto size = probe_image(frame.photo);
    if (!size && (options.photos || frame.camera.width == 0 || frame.camera.height == 0))
        return tl::unexpected(size.error());
    GS_TRY(const auto plan,
           plan_view(frame, size ? *size : ImageSize{frame.camera.width, frame.camera.height, 3},
                     options));
    LoadedView out = described(frame, plan);
    out.not_turned = size && size->orientation != plan.orientation;
    if (!size) {
        out.photo_problem = size.error().kind == ErrorKind::not_found
                                ? frame.name + ": no such photo"
                                : why_skipped(frame, size.error());
        return out;
    }
    const fs::path file = mask_file(frame, masks);
    if (file.empty()) {
        out.mask_problem = missing_mask(frame, masks);
        return out;
    }
    auto mask = probe_image(file);
    const int width = plan.lens.width, height = plan.lens.height;
    if (mask && lies_as_stored(mask->width, mask->height, plan))
        std::swap(mask->width, mask->height);
    const Result<void> fits =
        mask ? check_mask_aspect(file, mask->width, mask->height, width, height)
             : tl::unexpected(mask.error());
    if (fits) {
        out.has_mask = true;
        out.mask_resampled = mask->width != width || mask->height != height;
    } else {
        out.mask_problem = fits.error().text();
    }
    return out;
}

}  // namespace gs
