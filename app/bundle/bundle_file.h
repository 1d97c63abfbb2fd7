// Bundle: a scene and all its data as one file (.gsb): a zip of stored entries listed in its
// manifest.json. Written by bundle.save, unpacked when opened; docs/bundle.md has the format.
// Bundles are not trusted: names, counts and sizes are checked before anything is written, and no
// path leads out of the folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/bundle/private_folder.h"
#include "base/expected.h"
#include "base/file.h"
#include "base/progress.h"

namespace gs {

// Names of a bundle's members.
namespace member_name {
inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kScene = "scene.ply";
inline constexpr const char* kCapture = "capture";  ///< a folder
inline constexpr const char* kViews = "views.txt";
inline constexpr const char* kNotes = "notes.json";
inline constexpr const char* kView = "view.json";
inline constexpr const char* kPath = "film.json";  ///< the camera path
inline constexpr const char* kMeasures = "measures.txt";
inline constexpr const char* kLayout = "layout.txt";
inline constexpr const char* kPicture = "screenshot.png";
inline constexpr const char* kTrace = "trace.pftrace";
inline constexpr const char* kCurves = "curves.csv";
inline constexpr const char* kSettings = "settings.json";
inline constexpr const char* kReport = "report.html";
}  // namespace member_name

/// Facts about the whole bundle.
struct BundleFacts {
    std::string name;        ///< of the scene
    std::string made;        ///< made_by()
    int sh_degree = 3;       ///< drawn degree
    std::uint64_t step = 0;  ///< training step
    bool photos = false;     ///< contains the capture's photos
    std::string backend;     ///< that drew it
};

/// Packs `folder` into one file at `path`. Errors: unwritable (a full disk, no permission),
/// unsupported (beyond 4 GiB or 4,000 files), cancelled; then nothing has changed at `path`.
Result<void> write_bundle(const fs::path& path, const fs::path& folder, const BundleFacts& facts,
                          const Progress& progress);

struct UnpackedBundle {
    fs::path file;         ///< the bundle
    PrivateFolder folder;  ///< its unpacked files
    BundleFacts facts;
    std::vector<std::string> notes;  ///< missing, damaged or unknown parts

    /// Path of a member; empty if missing.
    fs::path member(std::string_view name) const;
};
/// Fails without a scene; other missing or damaged parts are listed in `notes`. Errors:
/// not_found, malformed (no bundle, damaged), unsupported (a newer version whose scene is none of
/// ours), unwritable, cancelled.
Result<std::shared_ptr<const UnpackedBundle>> unpack_bundle(const fs::path& path,
                                                            const Progress& progress);

}  // namespace gs
