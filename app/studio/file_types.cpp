#include "app/studio/file_types.h"

#include <sys/stat.h>

#include <chrono>
#include <map>

#include "app/paths/path_contents.h"
#include "base/format.h"
#include "base/seconds.h"
#include "panels/widgets/file_browser.h"
#include "trainer/run/run_pictures.h"

namespace gs {
namespace {

FileKind kind_of_file(const std::string& path) {
    const PathContents found = find_contents(path);
    const auto is = [&](PathKind kind) { return found.kind == kind; };
    if (is(PathKind::capture)) return FileKind::capture;
    if (is(PathKind::trace)) return FileKind::trace;
    if (is(PathKind::bundle)) return FileKind::bundle;
    if (is(PathKind::step)) return FileKind::step;
    if (is(PathKind::checkpoint) || found.run) return FileKind::checkpoint;
    return is(PathKind::splats) ? FileKind::splats : FileKind::other;
}

std::string summary_of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return "not found";
    std::string out = format_date(found.st_mtime);
    const fs::path named(path);
    const bool is_folder = S_ISDIR(found.st_mode);
    if (!is_folder && named.extension() != ".gsc") return out;
    const auto run = run_in(is_folder ? named : named.parent_path());
    if (!run) return out;
    if (run->steps) out += ", " + format_count(static_cast<double>(*run->steps)) + " steps";
    const auto description = read_run_description(run->folder);
    if (description && !description->evaluations.empty())
        out += ", " + format_db(description->evaluations.back().psnr);
    return out;
}

/// Asks again only from time to time.
class KeptSummaries {
  public:
    std::string operator()(const std::string& path) {
        Kept& kept = (*kept_)[path];
        if (kept.text.empty() || seconds_since(kept.since) > kKept)
            kept = {summary_of(path), std::chrono::steady_clock::now()};
        return kept.text;
    }

  private:
    static constexpr double kKept = 10;
    struct Kept {
        std::string text;
        std::chrono::steady_clock::time_point since;
    };
    std::shared_ptr<std::map<std::string, Kept>> kept_ =
        std::make_shared<std::map<std::string, Kept>>();
};

std::vector<std::string> thumbnails_of(const std::string& path) {
    const fs::path named(path);
    // Not by looking: this is asked with every frame. Names of folders may have dots.
    const bool is_file = named.extension() == ".gsc" || named.extension() == ".ply";
    const fs::path run = is_file ? named.parent_path() : named;
    std::vector<std::string> out;
    for (const fs::path& file : thumbnail_files(run)) out.push_back(file.string());
    return out;
}

}  // namespace

std::shared_ptr<const FileTypes> file_types() {
    FileTypes out{
        .kind_of = kind_of_file, .thumbnails_of = thumbnails_of, .summary_of = KeptSummaries()};
    for (const SplatFormat& format : splat_formats())
        if (format.write)
            for (const std::string& extension : format.extensions)
                // A complete file name is not an extension.
                if (extension.starts_with('.'))
                    out.written.push_back({format.description, extension});
    return std::make_shared<const FileTypes>(std::move(out));
}

}  // namespace gs
