#include "app/studio/file_types.h"

#include "app/paths/path_contents.h"
#include "trainer/run_pictures.h"

namespace gs {
namespace {

FileKind kind_of_file(const std::string& path) {
    const PathContents found = find_contents(path);
    const auto is = [&](PathKind kind) { return found.kind == kind; };
    if (is(PathKind::capture)) return FileKind::capture;
    if (is(PathKind::trace)) return FileKind::trace;
    if (is(PathKind::bundle) || is(PathKind::checkpoint) || found.run) return FileKind::checkpoint;
    // A step: splats and the photo they were drawn for.
    return is(PathKind::splats) || is(PathKind::step) ? FileKind::splats : FileKind::other;
}

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
    FileTypes out;
    out.kind_of = kind_of_file;
    out.thumbnails_of = thumbnails_of;
    for (const SplatFormat& format : splat_formats())
        if (format.write)
            for (const std::string& extension : format.extensions)
                // A complete file name is not an extension.
                if (extension.starts_with('.'))
                    out.written.push_back({format.description, extension});
    return std::make_shared<const FileTypes>(std::move(out));
}

}  // namespace gs
