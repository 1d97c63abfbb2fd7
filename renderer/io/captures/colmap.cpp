#include "renderer/io/captures/colmap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/text.h"
#include "base/try.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/captures/ply_points.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

// Numbers, names and parameter counts: COLMAP 4.1, src/colmap/sensor/models.h.
constexpr std::array<ColmapLens, kColmapLenses> kLenses = {{{"SIMPLE_PINHOLE", 3},
                                                            {"PINHOLE", 4},
                                                            {"SIMPLE_RADIAL", 4},
                                                            {"RADIAL", 5},
                                                            {"OPENCV", 8},
                                                            {"OPENCV_FISHEYE", 8},
                                                            {"FULL_OPENCV", 12},
                                                            {"FOV", 5},
                                                            {"SIMPLE_RADIAL_FISHEYE", 4},
                                                            {"RADIAL_FISHEYE", 5},
                                                            {"THIN_PRISM_FISHEYE", 12},
                                                            {"RAD_TAN_THIN_PRISM_FISHEYE", 16},
                                                            {"SIMPLE_DIVISION", 4},
                                                            {"DIVISION", 5},
                                                            {"SIMPLE_FISHEYE", 3},
                                                            {"FISHEYE", 4},
                                                            {"EUCM", 6},
                                                            {"EQUIRECTANGULAR", 2}}};

// What of COLMAP's models ours cover: which one, how many focal lengths, how many distortion
// numbers.
struct Cover {
    CameraModel model;
    int focals, distortions;
};
const Cover* cover_of(int model) {
    static constexpr Cover kPinhole1{CameraModel::pinhole, 1, 0},
        kPinhole{CameraModel::pinhole, 2, 0}, kSimpleRadial{CameraModel::simple_radial, 1, 1},
        kRadial{CameraModel::radial, 1, 2}, kOpenCv{CameraModel::opencv, 2, 4},
        kFisheye{CameraModel::opencv_fisheye, 2, 4}, kFisheye1{CameraModel::opencv_fisheye, 1, 1},
        kFisheye2{CameraModel::opencv_fisheye, 1, 2}, kFullOpenCv{CameraModel::full_opencv, 2, 8},
        kThinPrism{CameraModel::thin_prism_fisheye, 2, 8},
        kFisheye0{CameraModel::opencv_fisheye, 1, 0}, kFisheye00{CameraModel::opencv_fisheye, 2, 0};
    switch (model) {
        case 0:
            return &kPinhole1;
        case 1:
            return &kPinhole;
        case 2:
            return &kSimpleRadial;
        case 3:
            return &kRadial;
        case 4:
            return &kOpenCv;
        case 5:
            return &kFisheye;
        case 6:
            return &kFullOpenCv;
        case 10:
            return &kThinPrism;
        case 8:
            return &kFisheye1;  // the same formula with k2 = k3 = k4 = 0
        case 9:
            return &kFisheye2;
        case 14:
            return &kFisheye0;  // without distortion
        case 15:
            return &kFisheye00;
        default:
            return nullptr;
    }
}

// Lenses of which ours cover some, as others where their numbers say that these are the same.
ColmapCamera simplified(const ColmapCamera& in) {
    const auto zero = [&](std::size_t first, std::size_t end) {
        return std::all_of(in.params.begin() + static_cast<std::ptrdiff_t>(first),
                           in.params.begin() + static_cast<std::ptrdiff_t>(end),
                           [](double v) { return v == 0; });
    };
    const auto as = [&](int model, std::size_t params) {
        ColmapCamera out = in;
        out.model = model;
        out.params.resize(params);
        return out;
    };
    if (in.model == 11 && zero(8, 16)) return as(5, 8);  // k0 to k3 only
    if (in.model == 12 && zero(3, 4)) return as(0, 3);
    if (in.model == 13 && zero(4, 5)) return as(1, 4);
    if (in.model == 16 && zero(4, 5)) return as(1, 4);  // alpha 0: beta does not count
    return in;
}

// Why this camera cannot be used, empty when it can.
std::string camera_from(const ColmapCamera& given, Camera& out) {
    constexpr int kEquirectangular = 17;
    const ColmapCamera in = simplified(given);
    const Cover* cover = cover_of(in.model);
    if (in.model < 0) return fmt::format("its camera has the {}", in.unknown);
    if (cover == nullptr && in.model != kEquirectangular)
        return fmt::format(
            "camera model {} is not supported; run \"colmap image_undistorter\" and load its "
            "output",
            colmap_lens(in.model)->name);
    if (in.width == 0 || in.height == 0 || in.width > 1000000 || in.height > 1000000)
        return fmt::format("camera size {} x {} is not valid", in.width, in.height);
    out.width = static_cast<int>(in.width);
    out.height = static_cast<int>(in.height);
    if (in.model == kEquirectangular) {  // its numbers are the size again
        out.model = CameraModel::equirectangular;
        out = sphere_camera(out);
        return "";
    }
    out.model = cover->model;
    std::size_t p = 0;
    out.fx = out.fy = in.params[p++];
    if (cover->focals == 2) out.fy = in.params[p++];
    out.cx = in.params[p++];
    out.cy = in.params[p++];
    for (int k = 0; k < cover->distortions; ++k)
        out.distortion[static_cast<std::size_t>(k)] = in.params[p++];
    return out.valid() ? "" : "focal length or another camera number is not usable";
}

std::string pose_from(const ColmapImage& image, Camera& camera) {
    const Quatd q = image.rotation;
    const double length = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (!std::isfinite(length) || length < 1e-12) return "its rotation is not a number or zero";
    camera.rotation = rotation_from_quat(q);
    camera.translation = image.translation;
    return camera.valid() ? "" : "its position is not a number";
}

// Folders in which a model's photos may be, those nearest to it first.
std::vector<fs::path> photo_folders(const fs::path& root, const fs::path& model) {
    // INRIA's convert.py: of input/ is distorted/sparse, of images/ what was undistorted.
    const bool distorted = model.string().find("distorted/sparse") != std::string::npos &&
                           model.string().find("undistorted/sparse") == std::string::npos;
    std::vector<fs::path> out;
    const auto add = [&](const fs::path& folder) {
        if (!folder.empty() && std::ranges::find(out, folder) == out.end()) out.push_back(folder);
    };
    const auto add_named = [&](const fs::path& folder, std::span<const char* const> names) {
        const FileFinder finder({folder.empty() ? fs::path(".") : folder});
        for (const char* name : names) add(finder.folder(name));
    };
    const std::array<const char*, 2> names{distorted ? "input" : "images",
                                           distorted ? "images" : "input"};
    const fs::path top = (root / "").lexically_normal().parent_path();
    fs::path at = model.lexically_normal();
    for (int up = 0; up < 4 && !at.empty() && at != top; ++up, at = at.parent_path())
        add_named(at, names);
    add_named(root, names);
    add(root);
    add_named(root.parent_path(), std::array{"images"});
    add_named(root.parent_path().parent_path(), std::array{"images"});
    return out;
}

// How well photos fit the model when they are looked for in this folder: 0 none is there, 1 some
// is, 2 it has its camera's size.
int fit_of(const fs::path& folder, const ColmapModel& model, bool as_written) {
    constexpr std::size_t kLookedAt = 256;
    const FileFinder finder({folder});
    const std::size_t step = model.images.size() / kLookedAt + 1;
    for (std::size_t i = 0; i < model.images.size(); i += step) {
        const ColmapImage& image = model.images[i];
        const fs::path photo = as_written ? folder / image.name
                                          : finder.find(image.name, FileFinder::Kind::photo).path;
        if (image.name.empty() || photo.empty() || !file_exists(photo)) continue;
        const auto camera = model.cameras.find(image.camera);
        const auto size = probe_image(photo);
        if (!size || camera == model.cameras.end()) return 1;
        const auto is = [&](int width, int height) {
            return camera->second.width == static_cast<std::uint64_t>(width) &&
                   camera->second.height == static_cast<std::uint64_t>(height);
        };
        return is(size->width, size->height) ||
                       (size->orientation >= 5 && is(size->height, size->width))
                   ? 2
                   : 1;
    }
    return 0;
}

fs::path find_photo_folder(const fs::path& root, const fs::path& folder, const ColmapModel& model) {
    const auto candidates = photo_folders(root, folder);
    for (const bool as_written : {true, false}) {
        const fs::path* some = nullptr;
        for (const fs::path& candidate : candidates) {
            const int fit = fit_of(candidate, model, as_written);
            if (fit == 2) return candidate;
            if (fit == 1 && some == nullptr) some = &candidate;
        }
        if (some != nullptr) return *some;
    }
    return root / "images";
}

// The file of a model: in the wanted form, else in another.
fs::path model_file(const fs::path& folder, const std::string& stem, bool binary) {
    for (const char* extension : {binary ? ".bin" : ".txt", binary ? ".txt" : ".bin"})
        if (const fs::path path = folder / (stem + extension); path_exists(path)) return path;
    return {};
}

Result<void> read_ply_into(const fs::path& path, ColmapModel& model,
                           std::vector<std::string>& notes) {
    GS_TRY(auto points, read_ply_points(path, notes));
    model.points = std::move(points.points);
    model.points_have_colors = points.have_colors;
    return {};
}

// points3D as .bin or .txt; where there is none, or none in it, a PLY beside it or in the capture.
Result<void> read_points(const fs::path& root, const fs::path& folder, bool binary,
                         ColmapModel& model, std::vector<std::string>& notes) {
    const fs::path own = model_file(folder, "points3D", binary);
    if (!own.empty())
        GS_TRY_VOID(
            (own.extension() == ".bin" ? read_points_binary : read_points_text)(own, model));
    if (!own.empty() && (own.extension() == ".bin") != binary)
        notes.push_back("points are from " + own.filename().string());
    if (!model.points.empty()) return {};
    const FileFinder finder({folder, root});
    for (const char* name : {"points3D.ply", "points.ply", "sparse_pc.ply"})
        if (const auto ply = finder.find(name, FileFinder::Kind::points); !ply.path.empty()) {
            GS_TRY_VOID(read_ply_into(ply.path, model, notes));
            notes.push_back("points are from " + ply.path.filename().string());
            return {};
        }
    if (own.empty())
        notes.push_back(binary ? "points3D.bin is missing" : "points3D.txt is missing");
    return {};
}

Result<std::string> read_model(const fs::path& root, const fs::path& folder, ColmapModel& model,
                               std::vector<std::string>& notes) {
    const bool binary = path_exists(folder / "cameras.bin") && path_exists(folder / "images.bin");
    const fs::path cameras = model_file(folder, "cameras", binary),
                   images = model_file(folder, "images", binary);
    GS_TRY_VOID(
        (cameras.extension() == ".bin" ? read_cameras_binary : read_cameras_text)(cameras, model));
    GS_TRY_VOID(
        (images.extension() == ".bin" ? read_images_binary : read_images_text)(images, model));
    GS_TRY_VOID(read_points(root, folder, binary, model, notes));
    return std::string(binary ? "COLMAP binary" : "COLMAP text");
}

// Rigs do not decide where photos are, so without them the capture is as good as before.
RigPhotos find_rigs(const fs::path& folder, bool binary, ColmapModel& model,
                    CaptureSource& source) {
    const fs::path rigs = model_file(folder, "rigs", binary),
                   frames = model_file(folder, "frames", binary);
    if (rigs.empty() || frames.empty()) return {};
    if (const auto read = read_rigs(rigs, frames, model); !read) {
        source.rig_notes.push_back("rigs are ignored: " + read.error().text());
        return {};
    }
    RigPhotos out = photos_of_rigs(model);
    if (out.frames > 0)
        source.notes.push_back(fmt::format("{} photos are of {} frames of rigs",
                                           out.frame_of_image.size(), out.frames));
    if (out.apart > 0)
        source.rig_notes.push_back(
            fmt::format("{} of {} photos are not where their rig has them: up to {:.2g} degrees "
                        "and {:.2g} units apart",
                        out.apart, out.frame_of_image.size(), out.degrees, out.distance));
    return out;
}

// The photo and what it is called here: as written where that is the file's name.
void find_photo(const ColmapImage& image, const FileFinder& finder, CaptureSource& source,
                FoundNames& names, Frame& frame, std::string& problem) {
    const auto found = finder.find(image.name, FileFinder::Kind::photo);
    frame.name = image.name;
    frame.photo = source.photo_folder / image.name;
    if (problem.empty()) problem = found.problem;
    if (found.path.empty()) return;
    names.add(image.name, found);
    frame.photo = found.path;
    frame.guessed = found.guessed;
    frame.shrunk = found.shrunk;
    if (!found.as_written) frame.name = name_outside(found.path, source.photo_folder);
}

}  // namespace

const ColmapLens* colmap_lens(int model) {
    return model >= 0 && static_cast<std::size_t>(model) < kLenses.size()
               ? &kLenses[static_cast<std::size_t>(model)]
               : nullptr;
}

int colmap_lens_number(std::string_view name) {
    for (std::size_t i = 0; i < kLenses.size(); ++i)
        if (name == kLenses[i].name) return static_cast<int>(i);
    return -1;
}

void add_point(ColmapModel& model, double x, double y, double z, const std::uint8_t (&rgb)[3],
               double error) {
    const Vec3f position{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)};
    if (!std::isfinite(position.x) || !std::isfinite(position.y) || !std::isfinite(position.z))
        ++model.bad_points;
    else
        model.points.push_back({{x, y, z}, {rgb[0], rgb[1], rgb[2]}});
    if (!std::isfinite(error) || error <= 0) return;
    model.error_sum += error;
    ++model.errors;
}

Result<CaptureSource> read_colmap(const fs::path& root, const fs::path& folder) {
    CaptureSource source;
    ColmapModel model;
    GS_TRY(source.format, read_model(root, folder, model, source.notes));
    source.photo_folder = find_photo_folder(root, folder, model);
    const RigPhotos rigs = find_rigs(folder, source.format == "COLMAP binary", model, source);
    // Given the model's own folder (CAPTURE/sparse/0), the capture is where its photos are.
    source.root = name_below(source.photo_folder, root).starts_with("..")
                      ? source.photo_folder.parent_path()
                      : root;
    if (lower_case(source.photo_folder.filename().string()).starts_with("images_"))
        source.notes.push_back(
            fmt::format("only downscaled photos were found: those of {} are used, with intrinsics "
                        "scaled to their size",
                        source.photo_folder.filename().string()));
    source.list_folders = {folder, folder.parent_path(), source.photo_folder.parent_path(),
                           source.root};
    source.points = std::move(model.points);
    source.points_have_colors = model.points_have_colors;
    if (model.errors > 0)
        source.reprojection_px = model.error_sum / static_cast<double>(model.errors);
    if (model.bad_points > 0)
        source.notes.push_back(
            fmt::format("{} points without a finite position were dropped", model.bad_points));
    const FileFinder finder({source.photo_folder, source.root});
    FoundNames found;
    for (const ColmapImage& image : model.images) {
        Frame frame;
        const auto camera = model.cameras.find(image.camera);
        std::string problem = camera == model.cameras.end()
                                  ? fmt::format("its camera {} is not in the model", image.camera)
                                  : camera_from(camera->second, frame.camera);
        frame.camera_number = image.camera;
        if (const auto of = rigs.frame_of_image.find(image.number); of != rigs.frame_of_image.end())
            frame.rig_frame = of->second;
        if (problem.empty()) problem = pose_from(image, frame.camera);
        if (problem.empty() && image.name.empty()) problem = "an image has no name";
        find_photo(image, finder, source, found, frame, problem);
        if (problem.empty())
            source.frames.push_back(std::move(frame));
        else
            source.skipped.push_back(fmt::format("{}: {}", image.name, problem));
    }
    for (std::string& note : found.notes("photos")) source.notes.push_back(std::move(note));
    return source;
}

}  // namespace gs
