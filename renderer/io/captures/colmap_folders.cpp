#include "renderer/io/captures/colmap_folders.h"

#include <algorithm>
#include <optional>
#include <set>

#include "renderer/io/captures/colmap.h"
#include "renderer/io/files/byte_reader.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/files/input_file.h"

namespace gs {
namespace {

bool has_model(const fs::path& folder) {
    const auto has = [&](const char* stem) {
        return path_exists(folder / (std::string(stem) + ".bin")) ||
               path_exists(folder / (std::string(stem) + ".txt"));
    };
    return has("cameras") && has("images");
}

// 2 before 10.
bool numbered_before(const std::string& a, const std::string& b) {
    const auto number = [](const std::string& text) {
        return !text.empty() && text.size() < 10 &&
               std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (number(a) != number(b)) return number(a);
    if (number(a) && a.size() != b.size()) return a.size() < b.size();
    return a < b;
}

std::vector<std::string> folders_in(const fs::path& folder) {
    std::vector<std::string> out;
    std::error_code ignored;
    for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
         it.increment(ignored))
        if (it->is_directory(ignored)) out.push_back(it->path().filename().string());
    std::sort(out.begin(), out.end(), numbered_before);
    return out;
}

class ModelSearch {
  public:
    explicit ModelSearch(const fs::path& path) : path_(path), finder_({path}) {}
    void look_at(const fs::path& folder) {
        if (!has_model(folder)) return;
        const std::string name = name_below(folder, path_);
        if (known_.insert(folder.lexically_normal()).second) found_.push_back({folder, name});
    }
    /// A place and the folders in it.
    void look_below(const std::string& place) {
        const fs::path folder = finder_.folder(place);
        if (folder.empty()) return;
        for (const std::string& name : folders_in(folder)) {
            look_at(folder / name);
            look_at(folder / name / "sparse");
        }
        look_at(folder);
    }
    std::vector<ColmapFolder> found_;

  private:
    fs::path path_;
    FileFinder finder_;
    std::set<fs::path> known_;
};

// Photos in the model; none where that cannot be read.
std::optional<std::uint64_t> photos_in(const fs::path& folder) {
    if (!path_exists(folder / "images.bin")) {
        ColmapModel model;
        if (!read_images_text(folder / "images.txt", model)) return std::nullopt;
        return model.images.size();
    }
    const auto file = InputFile::open(folder / "images.bin");
    std::vector<std::byte> head(8);
    if (!file || !file->read_at(0, head)) return std::nullopt;
    ByteReader reader(head, "");
    const auto count = reader.read<std::uint64_t>();
    if (count > file->size() / 64) return std::nullopt;
    return count;
}

}  // namespace

std::vector<ColmapFolder> colmap_folders(const fs::path& path) {
    if (!folder_exists(path)) return {};
    ModelSearch search(path);
    search.look_below("sparse");
    search.look_at(path);
    for (const char* place :
         {"colmap/sparse", "colmap", "sparse_txt", "dense/sparse", "dense", "undistorted/sparse",
          "undistorted", "distorted/sparse", "colmap/dense/sparse", "colmap/dense"})
        search.look_below(place);
    // The folder of the models itself.
    if (search.found_.empty())
        for (const std::string& name : folders_in(path))
            if (name.find_first_not_of("0123456789") == std::string::npos)
                search.look_at(path / name);
    return std::move(search.found_);
}

std::string first_model_in(const std::vector<ColmapFolder>& folders) {
    if (folders.size() > 1)
        for (const char* name :
             {"sparse/0", "sparse", ".", "colmap/sparse/0", "sparse_txt/0", "sparse_txt"})
            if (std::ranges::count(folders, name, &ColmapFolder::name) > 0) return name;
    return {};
}

tl::unexpected<Error> no_such_model(const fs::path& path, const std::string& wanted,
                                    const std::vector<std::string>& all) {
    if (all.empty())
        return fail(ErrorKind::usage, path.string(),
                    fmt::format("has no models to choose from, so none named \"{}\"", wanted),
                    "omit --model");
    return fail(ErrorKind::usage, path.string(), fmt::format("has no model named \"{}\"", wanted),
                fmt::format("there are {}", fmt::join(all, ", ")));
}

Result<ChosenModel> choose_model(const fs::path& path, const std::vector<ColmapFolder>& folders,
                                 const std::string& wanted) {
    ChosenModel out;
    std::uint64_t most = 0;
    std::size_t best = 0, named = folders.size();
    std::error_code ignored;
    std::string name = fs::path(portable_name(wanted)).lexically_normal().generic_string();
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    for (std::size_t i = 0; i < folders.size(); ++i) {
        const ColmapFolder& one = folders[i];
        if (!wanted.empty() && named == folders.size() &&
            (one.name == name || one.name.ends_with("/" + name) ||
             fs::equivalent(one.folder, wanted, ignored)))
            named = i;
        if (folders.size() == 1) continue;
        const auto photos = photos_in(one.folder);
        out.all.push_back(
            photos ? fmt::format("{} ({} {})", one.name, *photos, *photos == 1 ? "photo" : "photos")
                   : one.name + " (damaged)");
        if (photos.value_or(0) > most) most = *photos, best = i;
    }
    if (!wanted.empty() && named == folders.size())
        return no_such_model(
            path, wanted,
            out.all.empty() ? std::vector<std::string>{folders.front().name} : out.all);
    out.model = folders[wanted.empty() ? best : named];
    return out;
}

}  // namespace gs
