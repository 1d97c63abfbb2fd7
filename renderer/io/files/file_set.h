// Files that belong together under short names: a folder, or a zip archive. Used for SOG and for
// sets of levels, whose meta.json names the others. Names from inside a file are not trusted: none
// leads outside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

class FileSet {
  public:
    virtual ~FileSet() = default;
    /// The file's bytes, of which there are at most `max_bytes`. Errors: a name that is absolute or
    /// leads upwards, not found, too long, damaged. May be called from several threads.
    virtual Result<std::vector<std::byte>> read(const std::string& name,
                                                std::uint64_t max_bytes) const = 0;
    /// The file of this name that lies least deep, as a path for read(); a folder is not searched.
    /// Empty: there is none.
    virtual std::string find(const std::string& name) const = 0;
    /// For messages: the file or folder, with the name inside it.
    virtual std::string describe(const std::string& name) const = 0;
    /// Bytes on disk of everything in it.
    virtual std::uint64_t size() const = 0;
};

std::unique_ptr<FileSet> open_folder(const fs::path& folder);
/// Zip: stored and deflated entries, no encryption, no zip64 (PKWARE APPNOTE 6.3.3). Errors:
/// malformed with byte.
Result<std::unique_ptr<FileSet>> open_zip(const fs::path& path);

/// Empty when `name` is a relative path that stays inside; else what is wrong with it.
std::string problem_of_name(const std::string& name);

}  // namespace gs
