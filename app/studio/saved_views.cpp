#include "app/studio/saved_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/studio/arguments.h"
#include "base/format.h"
#include "base/rng.h"
#include "base/shortened.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr std::uint64_t kLargestFile = 1 << 20;

/// Parses the text after the name; false: not a camera.
bool take_place(const std::string& text, SavedView& view) {
    const std::vector<std::string> words = split_words(text);
    if (words.size() == 2 && words[0] == "photo") {
        const auto index = integer_argument(words[1], 0, 1 << 30, "the photo");
        if (index) view.photo = static_cast<int>(*index);
        return index.has_value();
    }
    if (words.size() != 10 && words.size() != 11) return false;
    const auto lens = viewer_lens_named(words.size() == 11 ? words[10] : "pinhole");
    if (!lens) return false;
    view.place.through = *lens;
    double v[10] = {};
    for (std::size_t i = 0; i < 10; ++i) {
        const auto number = number_argument(words[i], -1e9, 1e9, "a coordinate");
        if (!number) return false;
        v[i] = *number;
    }
    const Vec3d up{v[6], v[7], v[8]};
    return place(view.place, {v[0], v[1], v[2]}, {v[3], v[4], v[5]}, &up, &v[9]);
}

}  // namespace

std::string camera_text(const NavigationState& state) {
    const Vec3d eye = state.eye(), at = state.target;
    std::string out;
    for (const double v : {eye.x, eye.y, eye.z, at.x, at.y, at.z, state.up.x, state.up.y,
                           state.up.z, state.fov_y / kDegree})
        out += (out.empty() ? "" : " ") + fmt::format("{:.9g}", v);
    const bool usual = state.through.model == CameraModel::pinhole;
    return usual ? out : fmt::format("{} {}", out, text_of(state.through));
}

bool place(NavigationState& state, Vec3d eye, Vec3d at, const Vec3d* up,
           const double* fov_degrees) {
    const Vec3d way = at - eye;
    if (!(dot(way, way) > 0)) return false;
    if (fov_degrees) state.fov_y = std::clamp(*fov_degrees, 1.0, 170.0) * kDegree;
    if (up && dot(*up, *up) > 0) state.up = (1 / std::sqrt(dot(*up, *up))) * *up;
    state.snapped = false;
    state.rotation = look_at(eye, at, state.up, 1, 1, 1).rotation;
    state.target = at;
    state.distance = std::sqrt(dot(way, way));
    return true;
}

std::vector<LapseCamera> saved_lapse_cameras(std::span<const SavedView> saved,
                                             std::span<const Camera> photos) {
    constexpr int kWidth = kTimeLapseSide, kHeight = kWidth * 5 / 8;
    std::vector<LapseCamera> out;
    for (const SavedView& view : saved) {
        if (view.name == kLastView) continue;
        if (view.photo < 0)
            out.push_back({view.name, camera_of(view.place, kWidth, kHeight)});
        else if (const auto photo = static_cast<std::size_t>(view.photo); photo < photos.size())
            out.push_back({view.name, photos[photo]});
    }
    return out;
}

fs::path views_file(const std::string& run_folder, const std::string& path,
                    const fs::path& config) {
    if (!run_folder.empty()) return fs::path(run_folder) / "views.txt";
    std::error_code error;
    std::uint64_t hash = 0;
    for (const char c : fs::weakly_canonical(path, error).string())
        hash = hash64(hash ^ static_cast<unsigned char>(c));
    return config / "views" / fmt::format("{:016x}.txt", hash);
}

std::vector<SavedView> read_views(const fs::path& file) {
    std::vector<SavedView> out;
    const auto text = read_text_file(file, kLargestFile);
    for (std::size_t begin = 0; text && begin < text->size();) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        const std::string line = text->substr(begin, end - begin);
        begin = end + 1;
        const std::size_t equals = line.rfind(" = ");
        if (equals == std::string::npos || equals == 0 || equals > kLongestName) continue;
        SavedView view{line.substr(0, equals)};
        if (take_place(line.substr(equals + 3), view)) out.push_back(std::move(view));
    }
    return out;
}

Result<void> write_views(const fs::path& file, const std::vector<SavedView>& views) {
    GS_TRY_VOID(make_folder(file.parent_path()));
    std::string text;
    for (const SavedView& view : views)
        text += view.name + " = " +
                (view.photo >= 0 ? fmt::format("photo {}", view.photo) : camera_text(view.place)) +
                "\n";
    return write_text_file(file, text);
}

}  // namespace gs
