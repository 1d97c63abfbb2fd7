// PrivateFolder: a folder in the system's temporary one that nobody else can read, which goes with
// the object; what a killed process left is removed when the next one is made. For what a bundle
// is unpacked to and made of.
#pragma once

#include "base/expected.h"
#include "base/file.h"

namespace gs {

class PrivateFolder {
  public:
    /// Errors: unwritable.
    static Result<PrivateFolder> make();
    PrivateFolder(PrivateFolder&& other) noexcept { *this = std::move(other); }
    PrivateFolder& operator=(PrivateFolder&& other) noexcept;
    ~PrivateFolder();
    const fs::path& path() const { return path_; }

  private:
    PrivateFolder() = default;
    fs::path path_;
    int lock_ = -1;  // held as long as the folder is used
};

}  // namespace gs
