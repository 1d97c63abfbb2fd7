// Records of equal size in a file, read and written by all cores in pieces of about a megabyte, so
// that a file of any size needs little memory besides its result. Used by every binary format.
// Reads go through pread, not a mapping: a file that another program cuts meanwhile is an error
// then, and not a signal.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/try.h"
#include "renderer/io/files/input_file.h"

namespace gs {

/// The first failure of many tasks, and the brake for the others.
class FirstError {
  public:
    bool failed() const { return failed_; }
    void set(Error error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
        failed_ = true;
    }
    Result<void> result() {
        if (error_) return tl::unexpected(*error_);
        return {};
    }

  private:
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::optional<Error> error_;
};

inline tl::unexpected<Error> reading_cancelled(const std::string& path) {
    return fail(ErrorKind::cancelled, path, "reading was cancelled");
}
inline tl::unexpected<Error> writing_cancelled(const fs::path& path) {
    return fail(ErrorKind::cancelled, path.string(), "writing was cancelled");
}
/// Reports; false when the user cancels.
inline bool keep_going(const Progress& progress, std::size_t done, std::size_t total) {
    return !progress || progress("splats", done, total);
}

inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
inline constexpr std::size_t kPiecesAtOnce = 64;  ///< between two reports of progress

/// Calls decode(bytes, first, n) with n whole records, the first of which has number `first`, from
/// many threads. `count` records must be in the file: check before.
template <class Decode>
Result<void> read_records(const InputFile& file, std::uint64_t offset, std::size_t record_bytes,
                          std::size_t count, const Progress& progress, Decode&& decode) {
    const std::size_t piece = std::max<std::size_t>(1, kPieceBytes / record_bytes),
                      batch = kPiecesAtOnce * piece;
    FirstError error;
    for (std::size_t start = 0; start < count; start += batch) {
        const std::size_t in_batch = std::min(batch, count - start);
        parallel_ranges(in_batch, piece, [&](std::size_t begin, std::size_t end) {
            if (error.failed()) return;
            const std::size_t size = (end - begin) * record_bytes;
            const auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
            if (auto read =
                    file.read_at(offset + (start + begin) * record_bytes, {bytes.get(), size});
                !read)
                return error.set(read.error());
            decode(bytes.get(), start + begin, end - begin);
        });
        if (error.failed()) return error.result();
        if (!keep_going(progress, start + in_batch, count)) return reading_cancelled(file.path());
    }
    return {};
}

/// Appends `count` records that encode(out, first, n) makes, n at a time, from many threads.
template <class Encode>
Result<void> write_records(AtomicFile& file, const fs::path& path, std::size_t record_bytes,
                           std::size_t count, const Progress& progress, Encode&& encode) {
    const std::size_t piece = std::max<std::size_t>(1, kPieceBytes / 16 / record_bytes),
                      batch = kPiecesAtOnce * piece;
    std::vector<std::byte> bytes(std::min(batch, count) * record_bytes);
    for (std::size_t start = 0; start < count; start += batch) {
        const std::size_t in_batch = std::min(batch, count - start);
        parallel_ranges(in_batch, piece, [&](std::size_t begin, std::size_t end) {
            encode(bytes.data() + begin * record_bytes, start + begin, end - begin);
        });
        GS_TRY_VOID(file.append(std::span(bytes).first(in_batch * record_bytes)));
        if (!keep_going(progress, start + in_batch, count)) return writing_cancelled(path);
    }
    return {};
}

}  // namespace gs
