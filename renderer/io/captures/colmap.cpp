#include "renderer/io/captures/colmap.h"

#include <array>
#include <cmath>
#include <set>

#include "base/try.h"
#include "renderer/io/captures/capture_source.h"

namespace gs {
namespace {

// Numbers, names and parameter counts: COLMAP, src/colmap/sensor/models.h.
constexpr std::array<ColmapLens, 12> kLenses = {{{"SIMPLE_PINHOLE", 3},
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
                                                 {"RAD_TAN_THIN_PRISM_FISHEYE", 16}}};

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
        kThinPrism{CameraModel::thin_prism_fisheye, 2, 8};
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
        default:
            return nullptr;
    }
}

// Why this camera cannot be used, empty when it can.
std::string camera_from(const ColmapCamera& in, Camera& out) {
    const Cover* cover = cover_of(in.model);
    if (cover == nullptr)
        return fmt::format(
            "camera model {} is not supported; run \"colmap image_undistorter\" and load its "
            "output",
            colmap_lens(in.model)->name);
    if (in.width == 0 || in.height == 0 || in.width > 1000000 || in.height > 1000000)
        return fmt::format("camera size {} x {} is not possible", in.width, in.height);
    out.model = cover->model;
    out.width = static_cast<int>(in.width);
    out.height = static_cast<int>(in.height);
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

fs::path find_photo_folder(const fs::path& root, const std::vector<ColmapImage>& images) {
    std::error_code ignored;
    const std::array<fs::path, 5> candidates = {root / "images", root / "input", root,
                                                root.parent_path() / "images",
                                                root.parent_path().parent_path() / "images"};
    for (const fs::path& folder : candidates) {
        if (!fs::is_directory(folder, ignored)) continue;
        for (const ColmapImage& image : images)
            if (fs::is_regular_file(folder / image.name, ignored)) return folder;
    }
    return root / "images";
}

Result<std::string> read_model(const fs::path& folder, ColmapModel& model,
                               std::vector<std::string>& notes) {
    std::error_code ignored;
    const bool binary =
        fs::exists(folder / "cameras.bin", ignored) && fs::exists(folder / "images.bin", ignored);
    const char* extension = binary ? "bin" : "txt";
    const auto file = [&](const char* stem) {
        return folder / fmt::format("{}.{}", stem, extension);
    };
    GS_TRY_VOID((binary ? read_cameras_binary : read_cameras_text)(file("cameras"), model));
    GS_TRY_VOID((binary ? read_images_binary : read_images_text)(file("images"), model));
    if (!fs::exists(file("points3D"), ignored))
        notes.push_back(fmt::format("{} is missing", file("points3D").filename().string()));
    else
        GS_TRY_VOID((binary ? read_points_binary : read_points_text)(file("points3D"), model));
    return std::string(binary ? "COLMAP binary" : "COLMAP text");
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

fs::path find_colmap_model(const fs::path& path) {
    std::error_code ignored;
    for (const char* sub :
         {"sparse/0", "sparse", "", "colmap/sparse/0", "sparse_txt/0", "sparse_txt"}) {
        const fs::path folder = *sub == '\0' ? path : path / sub;
        for (const char* extension : {".bin", ".txt"})
            if (fs::exists(folder / (std::string("cameras") + extension), ignored) &&
                fs::exists(folder / (std::string("images") + extension), ignored))
                return folder;
    }
    return {};
}

Result<CaptureSource> read_colmap(const fs::path& root, const fs::path& folder) {
    CaptureSource source;
    ColmapModel model;
    GS_TRY(source.format, read_model(folder, model, source.notes));
    source.photo_folder = find_photo_folder(root, model.images);
    // Given the model's own folder (CAPTURE/sparse/0), the capture is where its photos are.
    source.root = source.photo_folder.parent_path() == root || source.photo_folder == root
                      ? root
                      : source.photo_folder.parent_path();
    source.points = std::move(model.points);
    if (model.errors > 0)
        source.reprojection_px = model.error_sum / static_cast<double>(model.errors);
    if (model.bad_points > 0)
        source.notes.push_back(
            fmt::format("{} points without a finite position were dropped", model.bad_points));
    std::set<std::string> names;
    for (const ColmapImage& image : model.images) {
        Frame frame;
        frame.name = image.name;
        frame.photo = source.photo_folder / image.name;
        const auto camera = model.cameras.find(image.camera);
        std::string problem = camera == model.cameras.end()
                                  ? fmt::format("its camera {} is not in the model", image.camera)
                                  : camera_from(camera->second, frame.camera);
        if (problem.empty()) problem = pose_from(image, frame.camera);
        if (problem.empty() && image.name.empty()) problem = "an image has no name";
        if (problem.empty() && !names.insert(image.name).second) problem = "it is listed twice";
        if (problem.empty())
            source.frames.push_back(std::move(frame));
        else
            source.skipped.push_back(fmt::format("{}: {}", image.name, problem));
    }
    return source;
}

}  // namespace gs
