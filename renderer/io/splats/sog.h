// SOG where it is a part of something: a folder or bundle of files, and the sets of levels that
// consist of several.
#pragma once

#include "renderer/io/files/file_set.h"
#include "renderer/io/splats/rows.h"

namespace gs {

/// The SOG whose description is `meta_name` in `files`; images are looked up beside it.
Result<SplatFile> read_sog_files(const FileSet& files, const std::string& meta_name,
                                 const SplatReadOptions& options);
/// What a SOG consists of: the text of its meta.json, and the images that it names.
struct SogFiles {
    struct Image {
        std::string name;
        std::vector<std::byte> bytes;
    };
    std::string meta;
    std::vector<Image> images;
};
/// These rows of the model in this order; all can be drawn (drawable_rows()). Adds what was lost to
/// `notes`. Errors: unsupported (more than an image can hold, of which `path` is said), cancelled.
Result<SogFiles> encode_sog(const fs::path& path, const GaussianModel& model, const SplatRows& rows,
                            const SplatWriteOptions& options, SplatNotes& notes);
/// As a folder where `path` is a meta.json, else as a bundle. Errors: unwritable.
Result<void> write_sog_files(const fs::path& path, const SogFiles& sog);

}  // namespace gs
