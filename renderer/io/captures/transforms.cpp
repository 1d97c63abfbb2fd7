// transforms.json of instant-ngp and nerfstudio, and transforms_train/val/test.json of
// NeRF-synthetic (Blender).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/try.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/captures/ply_points.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/io/files/capture_json.h"
#include "renderer/io/files/file_finder.h"

namespace gs {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json, const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Where the file's names are looked for, and which were found in another way than as written.
struct Places {
    FileFinder finder;
    FoundNames photos;
};

// The photo, and the frame's name: relative to the file, with the photo's extension.
std::string set_photo(const std::string& written, const fs::path& folder, Places& places,
                      Frame& frame) {
    const auto found = places.finder.find(written, FileFinder::Kind::photo);
    places.photos.add(written, found);
    frame.name = fs::path(written).lexically_normal().generic_string();
    frame.photo = found.path.empty() ? folder / written : found.path;
    frame.guessed = found.guessed;
    frame.shrunk = found.shrunk;
    if (!found.path.empty() && !found.as_written) frame.name = name_below(found.path, folder);
    return found.problem;
}

void read_frame(const Json& file, const Json& json, const fs::path& folder, bool test,
                std::size_t index, Places& places, CaptureSource& source) {
    if (!json.is_object()) {
        source.skipped.push_back(fmt::format("frame {}: is not an object", index));
        return;
    }
    Frame frame;
    frame.test = test;
    const std::string name = text_of(json, "file_path");
    std::string problem =
        name.empty() ? "file_path is missing" : set_photo(name, folder, places, frame);
    if (problem.empty()) problem = read_frame_camera(json, file, frame);
    if (const std::string mask = text_of(json, "mask_path"); !mask.empty()) {
        const auto found = places.finder.find(mask, FileFinder::Kind::photo);
        frame.mask = found.path.empty() ? folder / mask : found.path;
    }
    if (problem.empty())
        source.frames.push_back(std::move(frame));
    else
        source.skipped.push_back(fmt::format(
            "{}: {}", name.empty() ? fmt::format("frame {}", index) : frame.name, problem));
}

// Frames are distinguished by their names; when they were taken does not matter here, but times
// that run back show a damaged or mixed list.
void note_times(const Json& frames, CaptureSource& source) {
    std::size_t back = 0;
    std::optional<double> before;
    for (const Json& frame : frames) {
        if (!frame.is_object() || !frame.contains("timestamp")) continue;
        const Json& time = frame["timestamp"];
        const bool number = time.is_number() && std::isfinite(time.get<double>());
        if (!number || (before && time.get<double>() < *before)) ++back;
        if (number) before = time.get<double>();
    }
    if (back > 0)
        source.notes.push_back(
            fmt::format("{} timestamps are earlier than the previous one, or not numbers", back));
}

Result<void> read_frames(const Json& file, const fs::path& path, bool test, CaptureSource& source) {
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    Places places{FileFinder({folder}), {}};
    const auto frames = file.find("frames");
    if (frames == file.end() || !frames->is_array())
        return fail(ErrorKind::malformed, path.string(), "has no list \"frames\"",
                    "is it a transforms.json?");
    for (std::size_t i = 0; i < frames->size(); ++i)
        read_frame(file, (*frames)[i], folder, test, i, places, source);
    for (std::string& note : places.photos.notes("photos")) source.notes.push_back(std::move(note));
    note_times(*frames, source);
    return {};
}

// Names relative to the folder all photos share ("images/0001.jpg" -> "0001.jpg").
void settle_names(CaptureSource& source) {
    std::optional<std::string> common;
    for (const Frame& frame : source.frames) {
        const std::string folder = fs::path(frame.name).parent_path().generic_string() + "/";
        // Photos that are missing may be named by another machine's folders.
        if (folder.starts_with('/') && !file_exists(frame.photo)) continue;
        common = !common || *common == folder ? folder : "/";
    }
    source.photo_folder = source.root;
    if (common && common->size() > 1) {
        source.photo_folder /= common->substr(0, common->size() - 1);
        for (Frame& frame : source.frames)
            if (frame.name.starts_with(*common)) frame.name.erase(0, common->size());
    }
}

Result<void> read_points(const Json& file, CaptureSource& source) {
    const FileFinder finder({source.root});
    const std::string named = text_of(file, "ply_file_path");
    if (!named.empty() && finder.find(named, FileFinder::Kind::points).path.empty())
        source.notes.push_back(fmt::format("ply_file_path {} is missing", named));
    for (const std::string& candidate : {named, std::string("points3d.ply"),
                                         std::string("sparse_pc.ply"), std::string("points.ply")}) {
        const fs::path path = finder.find(candidate, FileFinder::Kind::points).path;
        if (path.empty()) continue;
        GS_TRY(auto points, read_ply_points(path, source.notes));
        source.points = std::move(points.points);
        source.points_have_colors = points.have_colors;
        return {};
    }
    return {};
}

// nerfstudio's lists of what photos are for. Returns the keys that are something else than lists of
// names.
std::vector<std::string> read_lists(const Json& file, const fs::path& path, PhotoLists& out) {
    std::vector<std::string> wrong;
    for (const auto& [key, names] :
         {std::pair("train_filenames", &out.train), std::pair("val_filenames", &out.val),
          std::pair("test_filenames", &out.test)}) {
        const auto it = file.find(key);
        if (it == file.end() || it->is_null()) continue;
        const bool right = it->is_array() && std::ranges::all_of(*it, &Json::is_string);
        if (!right) wrong.emplace_back(key);
        if (!it->is_array()) continue;
        for (const Json& name : *it)
            if (name.is_string()) names->push_back(name.get<std::string>());
    }
    if (out.any()) out.from = path.filename().string();
    return wrong;
}

}  // namespace

fs::path find_transforms(const fs::path& path) {
    if (path.extension() == ".json" && file_exists(path)) return path;
    for (const char* name : {"transforms.json", "transforms_train.json"})
        if (file_exists(path / name)) return path / name;
    return {};
}

PhotoLists lists_in_transforms(const fs::path& path) {
    constexpr std::uint64_t kLargest = 64 << 20;
    PhotoLists out;
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error || size > kLargest) return out;
    if (const auto json = read_capture_json(path); json && json->is_object())
        read_lists(*json, path, out);
    return out;
}

Result<CaptureSource> read_transforms(const fs::path& path) {
    GS_TRY(const auto json, read_capture_json(path));
    if (!json.is_object()) return fail_at_byte(path.string(), 0, "is JSON, but not an object");
    CaptureSource source{.format = path.filename().string(),
                         .root = path.parent_path().empty() ? fs::path(".") : path.parent_path()};
    GS_TRY_VOID(read_frames(json, path, false, source));
    if (json.contains("applied_transform"))
        source.notes.emplace_back(
            "applied_transform is left as it is: poses and points stay in the file's own world");

    std::error_code ignored;
    const fs::path test = source.root / "transforms_test.json";
    if (path.filename() == "transforms_train.json") {
        source.blender = !json.contains("fl_x") && json.contains("camera_angle_x");
        if (fs::is_regular_file(test, ignored)) {
            GS_TRY(const auto test_json, read_capture_json(test));
            if (!test_json.is_object())
                return fail_at_byte(test.string(), 0, "is JSON, but not an object");
            GS_TRY_VOID(read_frames(test_json, test, true, source));
            source.has_test_file = true;
            source.format += " + transforms_test.json";
        }
        if (fs::is_regular_file(source.root / "transforms_val.json", ignored))
            source.notes.emplace_back("transforms_val.json is not used");
    }
    for (const std::string& key : read_lists(json, path, source.lists))
        source.split_notes.push_back(fmt::format("{} of {} is not a list of names and is ignored",
                                                 key, path.filename().string()));
    GS_TRY_VOID(read_points(json, source));
    settle_names(source);
    return source;
}

}  // namespace gs
