#include "renderer/io/files/file_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace gs {
namespace {

// In the order in which they are taken where a name comes without any.
constexpr std::array<std::string_view, 6> kPhotoEnds{".png",  ".jpg", ".jpeg",
                                                     ".webp", ".tif", ".tiff"};
constexpr std::array<std::string_view, 1> kPointEnds{".ply"};
constexpr std::size_t kLongestName = 8192;

std::span<const std::string_view> ends_of(FileFinder::Kind kind) {
    switch (kind) {
        case FileFinder::Kind::photo:
            return kPhotoEnds;
        case FileFinder::Kind::points:
            return kPointEnds;
        case FileFinder::Kind::any:
            break;
    }
    return {};
}

// The place of the name's extension among `ends`; ends.size() where it has none of them.
std::size_t end_of(const std::string& lower, std::span<const std::string_view> ends) {
    std::size_t i = 0;
    while (i < ends.size() && !(lower.size() > ends[i].size() && lower.ends_with(ends[i]))) ++i;
    return i;
}

std::string without_end(const std::string& lower, std::span<const std::string_view> ends) {
    const std::size_t end = end_of(lower, ends);
    return end == ends.size() ? lower : lower.substr(0, lower.size() - ends[end].size());
}

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower_case(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "my%20photo.png" -> "my photo.png"; empty where no percent sign begins a character.
std::string percent_decoded(std::string_view text) {
    std::string out;
    bool any = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int high = text[i] == '%' && i + 2 < text.size() ? digit_of(text[i + 1]) : -1,
                  low = high >= 0 ? digit_of(text[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0)) {
            out += text[i];
            continue;
        }
        out += static_cast<char>(high * 16 + low);
        any = true;
        i += 2;
    }
    return any ? out : std::string();
}

// Parts without "." and with ".." taken off their folder; those that lead upwards stay in front.
std::vector<std::string> parts_of(std::string_view form) {
    std::vector<std::string> out;
    while (!form.empty()) {
        const std::size_t end = std::min(form.find('/'), form.size());
        const std::string_view part = form.substr(0, end);
        form.remove_prefix(std::min(form.size(), end + 1));
        if (part.empty() || part == ".") continue;
        if (part == ".." && !out.empty() && out.back() != "..")
            out.pop_back();
        else
            out.emplace_back(part);
    }
    return out;
}

bool leads_out(std::string_view form) {
    if (form.starts_with('/')) return true;
    const auto parts = parts_of(form);
    return !parts.empty() && parts.front() == "..";
}

}  // namespace

bool has_photo_name(const fs::path& path) {
    return end_of(lower_case(path.filename().string()), kPhotoEnds) < kPhotoEnds.size();
}

std::string name_below(const fs::path& file, const fs::path& folder) {
    const auto plain = [](const fs::path& path) {
        std::error_code ignored;
        fs::path out = fs::absolute(path, ignored).lexically_normal();
        return out.filename().empty() && out.has_relative_path() ? out.parent_path() : out;
    };
    return plain(file).lexically_relative(plain(folder)).generic_string();
}

std::string name_outside(const fs::path& file, const fs::path& folder) {
    std::string name = name_below(file, folder);
    while (name.starts_with("../")) name.erase(0, 3);
    return name;
}

std::string portable_name(std::string_view written) {
    if (written.starts_with("\xEF\xBB\xBF")) written.remove_prefix(3);
    const auto trim = [&] {
        while (!written.empty() && (is_blank(written.front()) || written.front() == '\n'))
            written.remove_prefix(1);
        while (!written.empty() && (is_blank(written.back()) || written.back() == '\n'))
            written.remove_suffix(1);
    };
    trim();
    if (written.size() > 1 && written.front() == '"' && written.back() == '"') {
        written = written.substr(1, written.size() - 2);
        trim();
    }
    if (written.starts_with("file://")) written.remove_prefix(7);
    std::string out(written);
    std::ranges::replace(out, '\\', '/');
    // "C:/photos/a.png", in a URL "/C:/photos/a.png".
    const std::size_t letter = out.starts_with('/') ? 1 : 0;
    if (out.size() > letter + 1 && out[letter + 1] == ':' && lower_case(out[letter]) >= 'a' &&
        lower_case(out[letter]) <= 'z')
        out = "/" + out.substr(letter + 2);
    return out;
}

FileFinder::FileFinder(std::vector<fs::path> folders, Reach reach)
    : folders_(std::move(folders)), reach_(reach) {}

FileFinder::Found FileFinder::find(std::string_view written, Kind kind) const {
    if (written.empty() || written.size() > kLongestName ||
        written.find('\0') != std::string_view::npos)
        return {};
    if (reach_ == Reach::anywhere || !leads_out(written))
        for (const fs::path& folder : folders_)
            if (const fs::path path = folder / written; file_exists(path)) return {path};
    const std::lock_guard lock(mutex_);
    const std::string form = portable_name(written);
    Found out = find_form(form, kind);
    for (const std::string& decoded : {percent_decoded(form), name_from_text(form)})
        if (out.path.empty() && out.problem.empty() && !decoded.empty() && decoded != form &&
            decoded.find('\0') == std::string::npos)
            out = find_form(decoded, kind);
    out.as_written = false;
    return out;
}

fs::path FileFinder::folder(std::string_view written) const {
    if (written.find('\0') != std::string_view::npos) return {};
    const std::lock_guard lock(mutex_);
    for (const fs::path& folder : folders_) {
        fs::path at = folder;
        int shrunk = 1;
        for (const std::string& part : parts_of(portable_name(written)))
            if (at = child_folder(at, part, shrunk); at.empty()) break;
        if (!at.empty()) return at;
    }
    return {};
}

/// The whole name, then ends of it that grow shorter. A leading folder is ignored only where it is
/// not there: one that is there and lacks the file says that the file is missing.
FileFinder::Found FileFinder::find_form(const std::string& form, Kind kind) const {
    Parts parts = parts_of(form);
    std::size_t first = 0;
    if (form.starts_with('/') && reach_ == Reach::anywhere && file_exists(form)) return {form};
    const bool out_of_folders = leads_out(form);
    if (out_of_folders && reach_ == Reach::inside)
        while (first < parts.size() && parts[first] == "..") ++first;
    for (std::size_t begin = first; begin < parts.size(); ++begin) {
        if (begin > first && has_folder(parts[begin - 1])) break;
        for (const fs::path& folder : folders_) {
            Found found = walk(folder, parts, begin, kind);
            found.guessed = begin > 0;
            if (!found.path.empty() || !found.problem.empty()) return found;
        }
    }
    return {};
}

bool FileFinder::has_folder(const std::string& name) const {
    int shrunk = 1;
    return name != ".." && std::ranges::any_of(folders_, [&](const fs::path& folder) {
               return !child_folder(folder, name, shrunk).empty();
           });
}

FileFinder::Found FileFinder::walk(fs::path at, const Parts& parts, std::size_t first,
                                   Kind kind) const {
    Found out;
    for (std::size_t i = first; i + 1 < parts.size(); ++i)
        if (at = child_folder(at, parts[i], out.shrunk); at.empty()) return {};
    pick_file(at, parts.back(), kind, out);
    return out;
}

/// The folder of this name in `parent`, whatever its case; for one that is missing or empty the
/// least shrunk NAME_N, where that is what such a name means.
fs::path FileFinder::child_folder(const fs::path& parent, const std::string& name,
                                  int& shrunk) const {
    std::error_code ignored;
    if (name == "..") return reach_ == Reach::anywhere ? parent / name : fs::path();
    fs::path exact = parent / name;
    const bool there = fs::is_directory(exact, ignored);
    if (there && !fs::is_empty(exact, ignored)) return exact;
    const Listing& listing = list(parent);
    const std::string lower = lower_case(name);
    fs::path other;
    if (const auto it = listing.by_lower.find(lower); !there && it != listing.by_lower.end())
        for (const std::string& sibling : it->second)
            if (fs::is_directory(parent / sibling, ignored)) {
                if (!other.empty()) return {};  // two of them
                other = parent / sibling;
            }
    if (!other.empty()) return other;
    // Of others "NAME_2" is not a smaller NAME: a second camera, say.
    const bool has_smaller =
        lower == "images" || lower == "input" || lower == "photos" || lower == "masks";
    if (!has_smaller) return there ? exact : fs::path();
    int least = 0;
    for (auto it = listing.by_lower.lower_bound(lower + "_");
         it != listing.by_lower.end() && it->first.starts_with(lower + "_"); ++it) {
        int factor = 0;
        const char* end = it->first.data() + it->first.size();
        const auto [parsed, error] =
            std::from_chars(it->first.data() + lower.size() + 1, end, factor);
        if (error != std::errc{} || parsed != end || factor < 2 || factor > 64 ||
            (least > 0 && factor >= least) ||
            !fs::is_directory(parent / it->second.front(), ignored))
            continue;
        least = factor;
        other = parent / it->second.front();
    }
    if (least > 0) shrunk *= least;
    return least > 0 ? other : (there ? exact : fs::path());
}

/// The one file of this name, whatever its case; else the one of this stem that is of the kind.
void FileFinder::pick_file(const fs::path& folder, const std::string& name, Kind kind,
                           Found& out) const {
    if (file_exists(folder / name)) {
        out.path = folder / name;
        return;
    }
    const Listing& listing = list(folder);
    const auto ends = ends_of(kind);
    const std::string lower = lower_case(name);
    std::vector<std::string> fit;
    const auto take = [&](const auto& index, const std::string& key, bool of_kind) {
        const auto it = index.find(key);
        if (it == index.end()) return;
        for (const std::string& one : it->second)
            if ((!of_kind || end_of(lower_case(one), ends) < ends.size()) &&
                file_exists(folder / one))
                fit.push_back(one);
    };
    take(listing.by_lower, lower, false);
    if (fit.empty()) take(listing.by_stem, without_end(lower, ends), true);
    if (fit.size() > 1 && end_of(lower, ends) == ends.size())
        // It was written without an extension: the first of them all.
        fit = {*std::ranges::min_element(fit, [&](const auto& a, const auto& b) {
            const std::size_t ea = end_of(lower_case(a), ends), eb = end_of(lower_case(b), ends);
            return ea != eb ? ea < eb : a < b;
        })};
    if (fit.size() == 1) out.path = folder / fit.front();
    if (fit.size() > 1) {
        std::ranges::sort(fit);
        fit.resize(std::min<std::size_t>(fit.size(), 4));
        out.problem = fmt::format("several files match this name: {}", fmt::join(fit, ", "));
    }
}

const FileFinder::Listing& FileFinder::list(const fs::path& folder) const {
    auto& listing = listings_[folder];
    if (listing) return *listing;
    listing = std::make_unique<Listing>();
    std::error_code ignored;
    for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
         it.increment(ignored)) {
        const std::string name = it->path().filename().string(), lower = lower_case(name);
        listing->by_lower[lower].push_back(name);
        for (const auto ends : {std::span<const std::string_view>(kPhotoEnds),
                                std::span<const std::string_view>(kPointEnds)})
            if (end_of(lower, ends) < ends.size())
                listing->by_stem[without_end(lower, ends)].push_back(name);
    }
    return *listing;
}

void FoundNames::add(std::string_view written, const FileFinder::Found& found) {
    if (found.path.empty() || found.as_written) return;
    if (found.shrunk > 1) {
        shrunk_[found.path.parent_path().filename().string()] = found.shrunk;
        return;
    }
    // An extension left out is how some formats are.
    const std::string form = portable_name(written);
    const std::string path = found.path.generic_string();
    const std::string usual = form.starts_with("./") ? form.substr(2) : form;
    if (path.find(usual) != std::string::npos &&
        without_end(lower_case(usual), kPhotoEnds) == lower_case(usual))
        return;
    if (renamed_++ > 0) return;
    written_ = written;
    found_ = path;
}

std::vector<std::string> FoundNames::notes(std::string_view what) const {
    std::vector<std::string> out;
    for (const auto& [folder, factor] : shrunk_)
        out.push_back(
            fmt::format("only downscaled {} were found: those of {} are used, with intrinsics "
                        "scaled to their size",
                        what, folder));
    if (renamed_ > 0)
        out.push_back(fmt::format("{} {} are not named as on this disk: {} is {}", renamed_, what,
                                  written_, found_));
    return out;
}

}  // namespace gs
