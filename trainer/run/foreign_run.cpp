#include "trainer/run/foreign_run.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "renderer/io/files/text_reader.h"

namespace gs {
namespace {

constexpr std::uint64_t kLargestSettings = 1 << 20;
/// INRIA's -r -1, and gsplat's default of its loader: wider photos are shrunk to this.
constexpr int kUsualWidth = 1600;

/// Where a trainer leaves the Gaussians of step N: in `folder`, BEFORE + N + AFTER.
struct Layout {
    const char *folder, *before, *after;
};
constexpr Layout kLayouts[] = {
    {"point_cloud", "iteration_", "/point_cloud.ply"},  // INRIA
    {"ply", "point_cloud_", ".ply"},                    // gsplat
    {"", "export_", ".ply"},                            // Brush
    {"", "splat_", ".ply"},                             // LichtFeld Studio
};

std::optional<std::uint64_t> whole(std::string_view text) {
    std::uint64_t value = 0;
    return parse_number(text, value) ? std::optional(value) : std::nullopt;
}

std::vector<ForeignStep> steps_of(const fs::path& folder, const Layout& layout) {
    std::error_code ignored;
    const std::string_view before = layout.before, after = layout.after;
    const std::string_view end = after.front() == '/' ? std::string_view() : after;
    std::vector<ForeignStep> out;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder / layout.folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.size() <= before.size() + end.size() || !name.starts_with(before) ||
            !name.ends_with(end))
            continue;
        const auto step = whole(
            std::string_view(name).substr(before.size(), name.size() - before.size() - end.size()));
        const fs::path splats = end.empty() ? entry.path() / after.substr(1) : entry.path();
        if (step && fs::is_regular_file(splats, ignored)) out.push_back({*step, splats});
    }
    std::ranges::sort(out, {}, &ForeignStep::step);
    return out;
}

using Settings = std::map<std::string, std::string, std::less<>>;

std::string unquoted(std::string_view value) {
    value = trimmed(value);
    if (value.size() >= 2 && value.front() == value.back() &&
        (value.front() == '\'' || value.front() == '"'))
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

/// "Namespace(eval=True, source_path='/a, b', …)", as Python prints parsed arguments.
Settings settings_of_namespace(std::string_view text) {
    Settings out;
    if (!text.starts_with("Namespace(")) return out;
    text.remove_prefix(10);
    while (!text.empty()) {
        const std::size_t equals = text.find('=');
        if (equals == text.npos) break;
        const std::string key(trimmed(text.substr(0, equals)));
        text.remove_prefix(equals + 1);
        const bool quoted = !text.empty() && (text.front() == '\'' || text.front() == '"');
        const std::size_t close = quoted ? text.find(text.front(), 1) : 0;
        if (close == text.npos) break;
        const std::size_t end = std::min(text.find_first_of(",)", close), text.size());
        out[key] = unquoted(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// The plain "key: value" lines of a YAML file that are not indented.
Settings settings_of_yaml(std::string_view text) {
    Settings out;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t colon = line.find(": ");
        if (colon != line.npos && line.front() != ' ' && line.front() != '#')
            out[std::string(line.substr(0, colon))] = unquoted(line.substr(colon + 2));
    }
    return out;
}

Settings settings_in(const fs::path& file, Settings (*parse)(std::string_view)) {
    const auto text = read_text_file(file, kLargestSettings);
    return text ? parse(*text) : Settings();
}

std::string value_of(const Settings& settings, std::string_view key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
}

/// N of a folder images_N, else 1.
int shrunk_photos(std::string_view images) {
    const std::size_t bar = images.rfind('_');
    const auto n = bar == images.npos ? std::nullopt : whole(images.substr(bar + 1));
    return n && *n >= 1 && *n <= 64 ? static_cast<int>(*n) : 1;
}

CaptureOptions loading_of_inria(const Settings& settings) {
    CaptureOptions out;
    const auto resolution = whole(value_of(settings, "resolution"));  // none: -1
    out.downscale = shrunk_photos(value_of(settings, "images"));
    if (resolution && *resolution >= 1 && *resolution <= 8)
        out.downscale *= static_cast<int>(*resolution);
    else
        out.max_side =
            static_cast<int>(std::min<std::uint64_t>(resolution.value_or(kUsualWidth), 65536));
    out.listed_split = ListedSplit::separate_files;
    out.test_every = value_of(settings, "eval") == "True" ? 8 : 0;
    if (value_of(settings, "white_background") == "True") out.background = {1, 1, 1};
    return out;
}

CaptureOptions loading_of_gsplat(const Settings& settings) {
    CaptureOptions out;
    const auto factor = whole(value_of(settings, "data_factor"));
    out.downscale = factor && *factor >= 1 && *factor <= 64 ? static_cast<int>(*factor) : 1;
    out.listed_split = ListedSplit::ignored;
    const auto every = whole(value_of(settings, "test_every"));
    out.test_every = every && *every <= 1'000'000 ? static_cast<int>(*every) : 8;
    return out;
}

}  // namespace

std::vector<ForeignStep> foreign_steps(const fs::path& folder) {
    for (const Layout& layout : kLayouts)
        if (auto steps = steps_of(folder, layout); !steps.empty()) return steps;
    const fs::path exported = folder / "splat.ply";  // nerfstudio
    if (file_exists(exported)) return {{0, exported}};
    return {};
}

std::optional<RunDescription> foreign_description(const fs::path& folder) {
    const Settings inria = settings_in(folder / "cfg_args", settings_of_namespace);
    const Settings gsplat =
        inria.empty() ? settings_in(folder / "cfg.yml", settings_of_yaml) : Settings();
    const std::string named =
        inria.empty() ? value_of(gsplat, "data_dir") : value_of(inria, "source_path");
    std::error_code ignored;
    if (named.empty() || !fs::exists(named, ignored)) return std::nullopt;
    return RunDescription{
        .capture = fs::absolute(named, ignored).string(),
        .loading = inria.empty() ? loading_of_gsplat(gsplat) : loading_of_inria(inria)};
}

}  // namespace gs
