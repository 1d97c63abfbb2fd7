#include "base/assets.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/embedded.h"

namespace gs {
namespace {

constexpr std::uint64_t kLargestText = 1 << 20;

fs::path folder_from(const char* variable, const char* under_home) {
    if (const char* set = std::getenv(variable); set && *set) return fs::path(set) / "gausscope";
    const char* home = std::getenv("HOME");
    return fs::path(home && *home ? home : ".") / under_home / "gausscope";
}

const EmbeddedFile* find_embedded(std::string_view path) {
    const auto files = embedded_files();
    const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
    return found == files.end() ? nullptr : &*found;
}

fs::path users_own(std::string_view path) { return config_folder() / "assets" / path; }

}  // namespace

fs::path config_folder() { return folder_from("XDG_CONFIG_HOME", ".config"); }
fs::path cache_folder() { return folder_from("XDG_CACHE_HOME", ".cache"); }

std::string_view embedded_asset(std::string_view path) {
    const EmbeddedFile* file = find_embedded(path);
    CHECK(file != nullptr, "no asset {} was built in", path);
    return {file->begin, static_cast<std::size_t>(file->end - file->begin)};
}

Asset asset(std::string_view path) {
    const fs::path own = users_own(path);
    auto text = read_text_file(own, kLargestText);
    if (text) return {own.string(), std::move(*text)};
    if (find_embedded(path) == nullptr) return {own.string(), ""};  // it was there a moment ago
    return {fmt::format("built-in {}", path), std::string(embedded_asset(path))};
}

std::vector<std::string> embedded_assets(std::string_view folder) {
    std::vector<std::string> paths;
    for (const EmbeddedFile& file : embedded_files())
        if (std::string_view(file.path).starts_with(fmt::format("{}/", folder)))
            paths.emplace_back(file.path);
    std::ranges::sort(paths);
    return paths;
}

std::vector<std::string> assets_in(std::string_view folder) {
    std::vector<std::string> paths = embedded_assets(folder);
    std::error_code error;
    for (fs::directory_iterator it(users_own(folder), error), end; !error && it != end;
         it.increment(error))
        if (it->is_regular_file(error))
            paths.push_back(fmt::format("{}/{}", folder, it->path().filename().string()));
    std::ranges::sort(paths);
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
}

}  // namespace gs
