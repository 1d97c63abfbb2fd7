// A regular file open for reading at any place, from any number of threads. Used where a whole-file
// buffer would be waste: image headers, large splat files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

class InputFile {
  public:
    /// Errors: not_found, unreadable (permission, not a regular file).
    static Result<InputFile> open(const fs::path& path);
    /// Bytes of another file, unpacked from it; `path` is that file's, for messages.
    static InputFile of_bytes(std::vector<std::byte> bytes, std::string path);
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile();

    std::uint64_t size() const { return size_; }
    const std::string& path() const { return path_; }
    /// Fills `out` from byte `offset`. Fails at the byte where the file ends when it has become
    /// shorter since.
    Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

  private:
    InputFile() = default;
    int descriptor_ = -1;  ///< -1: bytes_
    std::vector<std::byte> bytes_;
    std::uint64_t size_ = 0;
    std::string path_;
};

}  // namespace gs
