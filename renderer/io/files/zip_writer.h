// A zip archive of stored entries, written as they come: what a SOG bundle is. Source: PKWARE
// APPNOTE 6.3.3.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace gs {

class ZipWriter {
  public:
    explicit ZipWriter(AtomicFile& file) : file_(file) {}
    /// Errors: unwritable; unsupported past 4 GiB.
    Result<void> add(const std::string& name, std::span<const std::byte> bytes);
    /// The directory; nothing can be added afterwards.
    Result<void> finish();

  private:
    AtomicFile& file_;
    std::uint64_t at_ = 0;
    std::vector<std::byte> directory_;
    std::uint16_t entries_ = 0;
};

}  // namespace gs
