// What files there are that can be opened or written, as the app knows it
// (app/studio/file_types.cpp asks the readers themselves), for browsers of files.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gs {

enum class FileKind { folder, capture, splats, checkpoint, trace, other };

/// A format that splats can be written in.
struct WrittenFormat {
    std::string description;  ///< "SPZ"
    std::string extension;    ///< ".spz"
};

struct FileTypes {
    /// By content where that tells; called from a thread of its own, for each entry of a folder.
    std::function<FileKind(const std::string& path)> kind_of;
    std::vector<WrittenFormat> written;
    /// Where a run at `path` (or a file of it) has its thumbnails, the most telling first; the
    /// files need not be there. Empty: nothing has any.
    std::function<std::vector<std::string>(const std::string& path)> thumbnails_of;
};

}  // namespace gs
