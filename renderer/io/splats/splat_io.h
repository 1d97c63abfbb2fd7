// Splat files in and out, behind one registry: a format is chosen by content first, by name second.
// docs/formats.md says what each format holds. Called by the command line, the session and the
// trainer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "base/progress.h"
#include "renderer/scene/clip_box.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/trained_through.h"

namespace gs {

struct SplatFile {
    GaussianModel model;
    std::string format;              ///< "3DGS PLY (binary)"
    std::vector<std::string> notes;  ///< what was missing, ignored or repaired, with counts
    TrainedThrough trained = {};     ///< as far as it says
};

struct SplatReadOptions {
    int lod = 0;  ///< level of detail of a streamed set: 0 = the finest; a format without levels
                  ///< has only that one
    Progress progress;
    std::optional<ClipBox> crop{};  ///< of a streamed set, only the regions that reach into it
};
struct SplatWriteOptions {
    int spz_version = 4;     ///< 3 (gzip) or 4 (zstd)
    TrainedThrough trained;  ///< said in the file where its format has a place for it
    Progress progress;
};
/// What the format could not hold of the model, one line each, with counts; empty when nothing was
/// lost.
using SplatNotes = std::vector<std::string>;

struct SplatFormat {
    std::string name;  ///< "ply"
    std::string description;
    /// Ends of file names, lower case, "." first; a whole file name ("meta.json") for formats whose
    /// ending says nothing.
    std::vector<std::string> extensions;
    bool (*recognises)(std::span<const std::byte> first_bytes, const fs::path& path) = nullptr;
    Result<SplatFile> (*read)(const fs::path& path,
                              const SplatReadOptions& options) = nullptr;  ///< null: write only
    Result<SplatNotes> (*write)(const fs::path& path, const GaussianModel& model,
                                const SplatWriteOptions& options) = nullptr;  ///< null: read only
    bool keeps_training = false;                                              ///< TrainedThrough
    bool keeps_origin = false;  ///< GaussianModel::origin
    bool keeps_sky = false;     ///< GaussianModel::sky
};

std::span<const SplatFormat> splat_formats();
/// ".ply, .spz, ...": of what can be written, or read.
std::string splat_extensions(bool written);
/// A file with splats, found but not read.
struct SplatSource {
    fs::path file{};
    const SplatFormat* format = nullptr;
    bool by_content = false;  ///< false: only its name says so; its reader says what is wrong
    bool has_levels() const { return format && format->name == "lods"; }
};
/// A folder stands for the meta.json or lod-meta.json in it. Errors: unreadable, unsupported.
Result<SplatSource> find_splats(const fs::path& path);
/// In the model every format has the axes of PLY (x right, y down, z forward). Errors: malformed
/// with byte, unsupported, cancelled.
Result<SplatFile> read_splats(const SplatSource& source, const SplatReadOptions& options = {});
Result<SplatFile> read_splats(const fs::path& path, const SplatReadOptions& options = {});
/// The format is that of the longest known end of the name. Errors: usage (unknown end),
/// unwritable, cancelled.
Result<SplatNotes> write_splats(const fs::path& path, const GaussianModel& model,
                                const SplatWriteOptions& options);
/// The same where nobody asks what was lost.
Result<void> write_splats(const fs::path& path, const GaussianModel& model);
/// Bytes on disk of a splat file, or of all files in the folder it stands for.
std::uint64_t splat_bytes(const fs::path& path);

}  // namespace gs
