// PrivateFolder: a temporary folder that only this user can read, removed with the object; the next
// one made also removes folders left by killed processes. For packing and unpacking bundles.
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
