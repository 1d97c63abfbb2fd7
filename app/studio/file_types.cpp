#include "app/studio/file_types.h"

#include "app/session/loading.h"
#include "profiler/files/trace_file.h"
#include "renderer/io/splats/splat_io.h"
#include "trainer/run_pictures.h"

namespace gs {
namespace {

FileKind kind_of_file(const std::string& path) {
    const auto kind = kind_of_path(path);
    if (!kind) return is_trace_file(path) ? FileKind::trace : FileKind::other;
    switch (*kind) {
        case PathKind::capture:
            return FileKind::capture;
        case PathKind::splats:
        case PathKind::step:  // splats and the photo they were drawn for
            return FileKind::splats;
        case PathKind::bundle:
        case PathKind::checkpoint:
        case PathKind::run:
            return FileKind::checkpoint;
    }
    return FileKind::other;
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
