// The file types that the app can open or write, for file browsers (app/studio/file_types.cpp asks
// the readers).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gs {

enum class FileKind { folder, capture, splats, checkpoint, bundle, step, trace, other };

/// A format that splats can be written in.
struct WrittenFormat {
    std::string description;  ///< "SPZ"
    std::string extension;    ///< ".spz"
};

struct FileTypes {
    /// Detects the kind, by content if possible; called on another thread for each folder entry.
    std::function<FileKind(const std::string& path)> kind_of;
    std::vector<WrittenFormat> written;
    /// Thumbnail paths of a run at `path` (or of a file of it), the best first; the
    /// files need not be there. Empty: nothing has any.
    std::function<std::vector<std::string>(const std::string& path)> thumbnails_of;
    /// "25 Nov 2026 13:05, 7,000 steps, 25.8 dB", of a run or a file of one; of others the date.
    /// Asked for with every frame.
    std::function<std::string(const std::string& path)> summary_of;
};

}  // namespace gs
