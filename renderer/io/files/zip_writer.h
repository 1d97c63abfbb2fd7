// A zip archive, written as its entries come: what a SOG bundle is (stored entries), and a captured
// step (deflated ones). Source: PKWARE APPNOTE 6.3.3.
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
    /// An entry that deflated() made. Errors: the same.
    struct Deflated {
        std::vector<std::byte> bytes;
        std::uint32_t crc = 0, size = 0;  ///< of what was deflated
    };
    Result<void> add(const std::string& name, const Deflated& entry);
    /// May be called from many threads. Errors: unsupported past 4 GiB.
    static Result<Deflated> deflated(std::span<const std::byte> bytes);
    /// The directory; nothing can be added afterwards.
    Result<void> finish();

  private:
    struct Kind {
        std::uint16_t method;
        std::uint32_t crc, size;  // of what it unpacks to
    };
    Result<void> put(const std::string& name, std::span<const std::byte> bytes, Kind kind);
    AtomicFile& file_;
    std::uint64_t at_ = 0;
    std::vector<std::byte> directory_;
    std::uint16_t entries_ = 0;
};

}  // namespace gs
