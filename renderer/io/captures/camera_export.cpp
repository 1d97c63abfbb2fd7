#include "renderer/io/captures/camera_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/file_group.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/io/captures/ply_points.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/scene/camera_names.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

/// As COLMAP has it; none: it has no such lens.
std::optional<ColmapCamera> colmap_camera(const Camera& c) {
    ColmapCamera out{.width = static_cast<std::uint64_t>(c.width),
                     .height = static_cast<std::uint64_t>(c.height)};
    std::size_t numbers = 0;
    switch (c.model) {
        case CameraModel::pinhole:
            out.model = colmap_lens_number("PINHOLE");
            break;
        case CameraModel::simple_radial:
        case CameraModel::radial:  // one focal length there: OPENCV's without the others
        case CameraModel::opencv:
            out.model = colmap_lens_number("OPENCV");
            numbers = 4;
            break;
        case CameraModel::opencv_fisheye:
            out.model = colmap_lens_number("OPENCV_FISHEYE");
            numbers = 4;
            break;
        case CameraModel::full_opencv:
            out.model = colmap_lens_number("FULL_OPENCV");
            numbers = 8;
            break;
        case CameraModel::thin_prism_fisheye:
            out.model = colmap_lens_number("THIN_PRISM_FISHEYE");
            numbers = 8;
            break;
        default:
            return {};
    }
    const auto left = c.distortion.begin() + static_cast<std::ptrdiff_t>(numbers);
    if (std::any_of(left, c.distortion.end(), [](double x) { return x != 0; })) return {};
    out.params = {c.fx, c.fy, c.cx, c.cy};
    out.params.insert(out.params.end(), c.distortion.begin(), left);
    return out;
}

Result<ColmapModel> colmap_model(const Capture& capture, const std::vector<Camera>& cameras,
                                 std::vector<std::string>& notes) {
    ColmapModel out;
    // Of the same numbers there are several where the capture has several.
    std::map<std::tuple<int, std::uint64_t, std::uint64_t, std::vector<double>, std::uint32_t>,
             std::uint32_t>
        known;
    std::vector<std::optional<std::uint32_t>> frames;
    for (std::size_t v = 0; v < cameras.size(); ++v) {
        const auto camera = colmap_camera(cameras[v]);
        if (!camera)
            return fail(ErrorKind::usage, capture.views[v].name,
                        fmt::format("COLMAP has no lens like this ({})", text_of(cameras[v].model)),
                        "write transforms, or resample the photos to pinholes");
        const View& view = capture.views[v];
        const auto [at, is_new] = known.try_emplace(
            {camera->model, camera->width, camera->height, camera->params, view.camera_number},
            static_cast<std::uint32_t>(known.size() + 1));
        if (is_new) out.cameras.emplace(at->second, *camera);
        out.images.push_back({at->second, quat_from_rotation(cameras[v].rotation),
                              cameras[v].translation, view.name, v + 1});
        frames.push_back(view.rig_frame);
    }
    if (!group_into_rigs(frames, out))
        notes.emplace_back(
            "rigs are not written: a frame has two photos of one camera, or the cameras of a rig "
            "are "
            "not fixed to each other");
    if (!capture.points_are_random) out.points = world_points(capture);
    return out;
}

/// A file of records, as little-endian bytes or as words of lines.
class ColmapFile {
  public:
    /// `columns`: of the lines.
    ColmapFile(bool binary, std::size_t records, const char* columns) : binary_(binary) {
        if (binary)
            add<std::uint64_t>(records);
        else
            text_ = fmt::format("# {}\n", columns);
    }
    template <class T>
    void add(T value) {
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        if (binary_)
            text_.append(raw, sizeof(T));
        else
            word(fmt::format("{}", value));
    }
    void add(std::initializer_list<double> values) {
        for (const double x : values) add(x);
    }
    void add(const Quatd& q, const Vec3d& t) { add({q.w, q.x, q.y, q.z, t.x, t.y, t.z}); }
    void add(const Pose& pose) { add(quat_from_rotation(pose.rotation), pose.translation); }
    /// A number in one of the two, a word in the other.
    template <class T>
    void add(T number, const std::string& text) {
        binary_ ? add(number) : word(text);
    }
    void camera(std::uint32_t number) {
        add<std::int32_t>(0, "CAMERA");
        add(number);
    }
    void name(const std::string& name) {
        if (binary_)
            (text_ += name) += '\0';
        else
            word(name);
    }
    void end() {
        if (!binary_) text_ += '\n';
    }
    /// Ends a record that has a list of no members: lines leave it out.
    void end_with_empty_list() {
        if (binary_) add<std::uint64_t>(0);
        end();
    }
    const std::string& text() const { return text_; }

  private:
    void word(const std::string& text) {
        if (text_.back() != '\n') text_ += ' ';
        text_ += text;
    }
    bool binary_;
    std::string text_;
};

std::string cameras_file(bool binary, const ColmapModel& model) {
    ColmapFile out(binary, model.cameras.size(), "CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]");
    for (const auto& [id, c] : model.cameras) {
        out.add(id);
        out.add<std::int32_t>(c.model, colmap_lens(c.model)->name);
        out.add(c.width);
        out.add(c.height);
        for (const double p : c.params) out.add(p);
        out.end();
    }
    return out.text();
}
std::string images_file(bool binary, const ColmapModel& model) {
    ColmapFile out(binary, model.images.size(),
                   "IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n"
                   "# POINTS2D[] as (X, Y, POINT3D_ID)");
    for (const ColmapImage& i : model.images) {
        out.add(static_cast<std::uint32_t>(i.number));
        out.add(i.rotation, i.translation);
        out.add(i.camera);
        out.name(i.name);
        out.end_with_empty_list();
        out.end();  // lines have one more, of points
    }
    return out.text();
}
std::string points_file(bool binary, const ColmapModel& model) {
    ColmapFile out(binary, model.points.size(),
                   "POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)");
    std::uint64_t point = 0;
    for (const SourcePoint& p : model.points) {
        out.add(++point);
        for (const double x : {p.position.x, p.position.y, p.position.z})
            out.add(x, position_text(x));
        for (const std::uint8_t c : p.rgb) out.add(c);
        out.add(0.0);  // error
        out.end_with_empty_list();
    }
    return out.text();
}
std::string rigs_file(bool binary, const ColmapModel& model) {
    ColmapFile out(binary, model.rigs.size(),
                   "RIG_ID, NUM_SENSORS, REF_SENSOR_TYPE, REF_SENSOR_ID, SENSORS[] as "
                   "(SENSOR_TYPE, SENSOR_ID, HAS_POSE, [QW, QX, QY, QZ, TX, TY, TZ])");
    for (const auto& [id, rig] : model.rigs) {
        out.add(id);
        out.add(static_cast<std::uint32_t>(rig.camera_from_rig.size()));
        for (const auto& [camera, pose] : rig.camera_from_rig) {
            out.camera(camera);
            if (camera == rig.camera_from_rig.begin()->first) continue;
            out.add<std::uint8_t>(1);
            out.add(pose);
        }
        out.end();
    }
    return out.text();
}
std::string frames_file(bool binary, const ColmapModel& model) {
    ColmapFile out(binary, model.frames.size(),
                   "FRAME_ID, RIG_ID, RIG_FROM_WORLD[QW, QX, QY, QZ, TX, TY, TZ], NUM_DATA_IDS, "
                   "DATA_IDS[] as (SENSOR_TYPE, SENSOR_ID, DATA_ID)");
    for (const ColmapFrame& frame : model.frames) {
        out.add(frame.number);
        out.add(frame.rig);
        out.add(frame.rig_from_world);
        out.add(static_cast<std::uint32_t>(frame.images.size()));
        for (const std::uint64_t image : frame.images) {
            out.camera(model.images[image - 1].camera);
            out.add(image);
        }
        out.end();
    }
    return out.text();
}

Result<void> write_model(const fs::path& folder, const ColmapModel& model, bool binary) {
    const char* const end = binary ? ".bin" : ".txt";
    FileGroup files;
    const auto add = [&](const char* name, std::string (*file)(bool, const ColmapModel&)) {
        return files.add(folder / (std::string(name) + end), file(binary, model));
    };
    GS_TRY_VOID(add("cameras", cameras_file));
    GS_TRY_VOID(add("images", images_file));
    GS_TRY_VOID(add("points3D", points_file));
    GS_TRY_VOID(add("rigs", rigs_file));
    GS_TRY_VOID(add("frames", frames_file));
    return files.commit();
}

Result<void> write_transforms(const fs::path& folder, const Capture& capture,
                              const std::vector<Camera>& cameras) {
    nlohmann::ordered_json out{{"camera_model", "PINHOLE"}};
    if (!capture.points_are_random) out["ply_file_path"] = "points3d.ply";
    auto& frames = out["frames"] = nlohmann::ordered_json::array();
    for (std::size_t v = 0; v < cameras.size(); ++v)
        frames.push_back(frame_json("images/" + capture.views[v].name, cameras[v]));
    FileGroup files;
    GS_TRY_VOID(files.add(folder / "transforms.json", json_text(out, 1)));
    if (!capture.points_are_random) GS_TRY_VOID(write_ply_points(folder / "points3d.ply", capture));
    return files.commit();
}

nlohmann::ordered_json inria_json(const View& view, std::size_t number, const Camera& camera) {
    const auto& r = camera.rotation.m;
    const Vec3d p = camera.position();
    return {
        {"id", number},
        {"img_name", fs::path(view.name).stem().string()},
        {"width", camera.width},
        {"height", camera.height},
        {"position", {p.x, p.y, p.z}},
        // world_from_camera
        {"rotation",
         {{r[0][0], r[1][0], r[2][0]}, {r[0][1], r[1][1], r[2][1]}, {r[0][2], r[1][2], r[2][2]}}},
        {"fy", camera.fy},
        {"fx", camera.fx}};
}

/// What cameras.json of INRIA's code cannot hold.
std::vector<std::string> lost_to_inria(const std::vector<Camera>& cameras) {
    std::size_t lenses = 0, centres = 0, shutters = 0;
    for (const Camera& c : cameras) {
        lenses += c.model != CameraModel::pinhole ? 1 : 0;
        centres += std::abs(c.cx - 0.5 * c.width) + std::abs(c.cy - 0.5 * c.height) > 1 ? 1 : 0;
        shutters += c.rolling() ? 1 : 0;
    }
    std::vector<std::string> out;
    const auto say = [&](std::size_t n, const char* what) {
        if (n > 0) out.push_back(fmt::format("{} of {} cameras {}", n, cameras.size(), what));
    };
    say(lenses, "have a lens that is no pinhole; INRIA's code takes them for one");
    say(centres, "have a principal point off the centre, where INRIA's code takes it to be");
    say(shutters, "have a rolling shutter; their poses are those of half the read-out");
    return out;
}

Result<std::vector<std::string>> write_inria(const fs::path& folder, const Capture& capture,
                                             const std::vector<Camera>& cameras) {
    auto list = nlohmann::ordered_json::array();
    for (std::size_t v = 0; v < cameras.size(); ++v)
        list.push_back(inria_json(capture.views[v], v, cameras[v]));
    GS_TRY_VOID(write_text_file(folder / "cameras.json", json_text(list)));
    Capture points;  // less the origin, as the Gaussians beside them
    points.points = capture.points;
    GS_TRY_VOID(write_ply_points(folder / "input.ply", points));
    auto notes = lost_to_inria(cameras);
    if (!is_zero(capture.origin))
        notes.push_back(
            fmt::format("positions are less the origin {}, which INRIA's layout cannot store",
                        text_of_origin(capture.origin)));
    return notes;
}

Result<std::vector<std::string>> write_into(const fs::path& folder, CameraFormat format,
                                            const Capture& capture,
                                            const std::vector<Camera>& local) {
    std::vector<Camera> cameras;
    for (const Camera& camera : local) cameras.push_back(seen_from_zero(camera, -capture.origin));
    std::vector<std::string> notes;
    if (format == CameraFormat::transforms) {
        GS_TRY_VOID(write_transforms(folder, capture, cameras));
        return notes;
    }
    if (format == CameraFormat::inria) return write_inria(folder, capture, local);
    GS_TRY(const ColmapModel model, colmap_model(capture, cameras, notes));
    GS_TRY_VOID(write_model(folder, model, format == CameraFormat::colmap));
    if (std::any_of(cameras.begin(), cameras.end(), [](const Camera& c) { return c.rolling(); }))
        notes.emplace_back("COLMAP has no rolling shutter: poses are those of half the read-out");
    return notes;
}

}  // namespace

std::string photo_path(const Capture& capture, const View& view) {
    // Names are relative to the photos' folder, which these formats have by convention.
    const bool own_folder =
        capture.format.starts_with("COLMAP") || capture.format.starts_with("OpenSfM");
    return (own_folder ? "images/" : "") + view.name;
}

Result<std::vector<std::string>> write_cameras(const fs::path& folder, CameraFormat format,
                                               const Capture& capture,
                                               const std::vector<Camera>& cameras) {
    std::error_code ignored;
    const bool made = !fs::exists(folder, ignored);
    GS_TRY_VOID(make_folder(folder));
    auto notes = write_into(folder, format, capture, cameras);
    if (!notes && made) fs::remove(folder, ignored);
    return notes;
}

}  // namespace gs
