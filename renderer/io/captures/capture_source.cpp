#include "renderer/io/captures/capture_source.h"

#include <algorithm>
#include <array>
#include <map>
#include <numbers>
#include <set>

#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/colmap_folders.h"
#include "renderer/io/captures/test_split.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/files/input_file.h"

namespace gs {
namespace {

void drop_missing(CaptureSource& source, bool photos) {
    if (!photos) return;
    std::error_code error;
    std::erase_if(source.frames, [&](const Frame& frame) {
        if (fs::is_regular_file(frame.photo, error)) return false;
        source.skipped.push_back(fmt::format("{}: {}", frame.name,
                                             error == std::errc::permission_denied
                                                 ? "no permission to read its folder"
                                                 : "no such photo"));
        return true;
    });
}

// Of two frames of one name the first counts. Where two names were found to be one photo, those
// that were found by an end of them alone are not that photo's for certain.
void drop_repeated(CaptureSource& source) {
    std::map<fs::path, std::vector<std::size_t>> by_photo;
    for (std::size_t i = 0; i < source.frames.size(); ++i)
        by_photo[source.frames[i].photo.lexically_normal()].push_back(i);
    std::vector<bool> drop(source.frames.size());
    for (const auto& [photo, frames] : by_photo)
        for (const std::size_t i : frames) drop[i] = frames.size() > 1 && source.frames[i].guessed;
    std::size_t i = 0;
    std::set<std::string> names;
    std::erase_if(source.frames, [&](const Frame& frame) {
        if (!drop[i++] && names.insert(frame.name).second) return false;
        source.skipped.push_back(drop[i - 1]
                                     ? fmt::format("{}: several names match the photo {}",
                                                   frame.name, frame.photo.filename().string())
                                     : fmt::format("{}: it is listed twice", frame.name));
        return true;
    });
}

// "r_0_depth" beside "r_0": what belongs to a photo is none itself. A number after it makes another
// photo.
bool belongs_to_a_photo(const std::string& stem, const std::set<std::string>& posed) {
    for (std::size_t at = stem.find_first_of("._"); at != std::string::npos;
         at = stem.find_first_of("._", at + 1))
        if (at + 1 < stem.size() && std::isalpha(static_cast<unsigned char>(stem[at + 1])) != 0 &&
            posed.count(stem.substr(0, at)) > 0)
            return true;
    return false;
}

// Photos in the folders of the posed ones that no frame names.
void find_unposed(CaptureSource& source) {
    std::map<fs::path, std::pair<std::set<std::string>, std::set<std::string>>>
        folders;  // names, stems
    for (const Frame& frame : source.frames)
        for (const fs::path& file : {frame.photo, frame.mask}) {
            if (file.empty()) continue;
            auto& [names, stems] = folders[file.parent_path()];
            names.insert(file.filename().string());
            if (file == frame.photo) stems.insert(file.stem().string());
        }
    std::error_code ignored;
    for (const auto& [folder, posed] : folders)
        for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
             it.increment(ignored)) {
            const fs::path& path = it->path();
            if (has_photo_name(path) && posed.first.count(path.filename().string()) == 0 &&
                !posed.second.empty() && !belongs_to_a_photo(path.stem().string(), posed.second) &&
                it->is_regular_file(ignored))
                source.unposed.push_back(path.lexically_relative(source.photo_folder).string());
        }
    std::ranges::sort(source.unposed);
}

}  // namespace

Camera sphere_camera(Camera camera) {
    camera.fx = camera.width / (2 * std::numbers::pi);
    camera.fy = camera.height / std::numbers::pi;
    camera.cx = 0.5 * camera.width;
    camera.cy = 0.5 * camera.height;
    return camera;
}

bool head_has(const fs::path& json, std::string_view text) {
    if (json.extension() != ".json") return false;
    const auto file = InputFile::open(json);
    if (!file) return false;
    std::string head(std::min<std::uint64_t>(file->size(), 1 << 20), '\0');
    return file->read_at(0, std::as_writable_bytes(std::span(head))) &&
           head.find(text) != std::string::npos;
}

namespace {

Result<CaptureSource> read_colmap_model(const CaptureFiles& files, const std::string& wanted) {
    GS_TRY(ChosenModel chosen, choose_model(files.path, files.models, wanted));
    GS_TRY(CaptureSource source, read_colmap(files.path, chosen.model.folder));
    source.model = chosen.model.name;
    source.models = std::move(chosen.all);
    source.lists = lists_in_transforms(source.root / "transforms.json");
    return source;
}

tl::unexpected<Error> no_capture(const fs::path& path) {
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (there && fs::is_directory(path, error)) fs::directory_iterator(path, error);
    if (error == std::errc::permission_denied)
        return fail(ErrorKind::unreadable, path.string(), "cannot be read: permission denied",
                    "its permissions, or those of a folder above it, forbid it");
    if (!there) return fail(ErrorKind::not_found, path.string(), "does not exist");
    return fail(ErrorKind::not_found, path.string(),
                "is not a capture: it has no COLMAP model (sparse/0), transforms.json, OpenSfM "
                "reconstruction.json, KITTI drive or nuScenes drive",
                "give the folder that holds images/ and sparse/, or one of those files");
}

struct CaptureSearch {
    fs::path (*find)(const fs::path& path);
    decltype(CaptureFiles::read) read;
};
/// Any .json file passes as transforms.json, so that is the first in a folder and the last for a
/// file.
constexpr std::array<CaptureSearch, 3> kSearches{
    {{find_transforms, [](auto& files, auto&) { return read_transforms(files.file); }},
     {find_opensfm, [](auto& files, auto& model) { return read_opensfm(files.file, model); }},
     {find_drive, [](auto& files, auto&) { return read_drive(files.file); }}}};

void note_models(CaptureSource& source) {
    if (source.models.size() > 1)
        source.notes.push_back(
            fmt::format("it has {} models: {}; using {} (choose another with --model NAME)",
                        source.models.size(), fmt::join(source.models, ", "), source.model));
}

}  // namespace

CaptureFiles find_capture(const fs::path& path) {
    if (path.empty()) return {};
    CaptureFiles out{path, colmap_folders(path), {}, read_colmap_model, true};
    if (!out.models.empty()) return out;
    const bool folder = folder_exists(path);
    for (std::size_t i = 0; i < kSearches.size(); ++i) {
        const CaptureSearch& search = kSearches[folder ? i : kSearches.size() - 1 - i];
        if (out.file = search.find(path); out.file.empty()) continue;
        out.read = search.read;
        out.certain = folder || search.find != find_transforms || head_has(path, "\"frames\"");
        return out;
    }
    return {path};
}

Result<CaptureSource> read_capture_source(const CaptureFiles& files, const std::string& model) {
    if (files.read == nullptr) return no_capture(files.path);
    const std::string wanted = model == kFirstModel ? first_model_in(files.models) : model;
    GS_TRY(CaptureSource source, files.read(files, wanted));
    if (!wanted.empty() && source.model.empty()) return no_such_model(files.path, wanted, {});
    note_models(source);
    if (source.list_folders.empty())
        source.list_folders = {source.root, source.photo_folder.parent_path()};
    std::erase_if(source.list_folders, [&](const fs::path& folder) {  // of another capture
        return name_below(folder, source.root).starts_with("..");
    });
    return source;
}

tl::unexpected<Error> no_view_left(const CaptureSource& source,
                                   const std::vector<std::string>& skipped) {
    std::string why = fmt::format("no view is left, {} skipped", skipped.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(3, skipped.size()); ++i)
        why += fmt::format("; {}", skipped[i]);
    return fail(ErrorKind::malformed, source.root.string(), why,
                fmt::format("photos are expected in {}", source.photo_folder.string()));
}

Result<void> prepare_frames(CaptureSource& source, const CaptureOptions& options) {
    if (options.downscale < 0 || options.max_side < 0)
        return fail(ErrorKind::usage, "", "downscale and max-side must not be negative",
                    "use 1 for full size, 0 for automatic");
    find_unposed(source);
    drop_repeated(source);
    drop_missing(source, options.photos);
    std::ranges::sort(source.frames, {}, &Frame::name);
    if (source.frames.empty()) return no_view_left(source, source.skipped);
    return assign_test_views(source, options);
}

}  // namespace gs
