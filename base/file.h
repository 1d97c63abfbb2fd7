// Whole files in, whole files out. Writing goes to a temporary file beside the target, is synced
// and renamed, so a crash or a full disk never leaves half a file under the final name. Used by
// every writer (splats, checkpoints, traces, images).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace gs {

namespace fs = std::filesystem;

/// The file's bytes. Errors: not_found, unreadable (directory, permission, larger than max_bytes).
Result<std::vector<std::byte>> read_file(const fs::path& path,
                                         std::uint64_t max_bytes = 1ull << 40);
Result<std::string> read_text_file(const fs::path& path, std::uint64_t max_bytes = 1ull << 32);

/// Whether it is there, as a file or a folder. False also where that cannot be found out.
bool path_exists(const fs::path& path);
bool file_exists(const fs::path& file);
bool folder_exists(const fs::path& folder);

/// Makes the folder and those above it that are missing; an empty path is the current folder.
/// Errors: unwritable, with the reason.
Result<void> make_folder(const fs::path& folder, std::string advice = "choose another output path");

/// A file being written: append() as often as needed, then commit(). Without commit() nothing
/// appears at `path`.
class AtomicFile {
  public:
    static Result<AtomicFile> create(const fs::path& path);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&& other) noexcept;
    ~AtomicFile();

    Result<void> append(std::span<const std::byte> bytes);
    Result<void> append(std::string_view text);
    /// Syncs and renames into place.
    Result<void> commit();

  private:
    AtomicFile() = default;
    void discard() noexcept;
    int descriptor_ = -1;
    fs::path temporary_, final_;
};

Result<void> write_file(const fs::path& path, std::span<const std::byte> bytes);
Result<void> write_text_file(const fs::path& path, std::string_view text);

}  // namespace gs
