// The bytes inside an .spz, a piece at a time, whatever compresses them. Used by
// splat_spz_read.cpp; memory stays at a few pieces however large the file is or claims to be.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/expected.h"
#include "renderer/io/files/input_file.h"

namespace gs {

class ByteStream {
  public:
    virtual ~ByteStream() = default;
    /// Fills all of `out`. Errors: the stream ends before (with the byte in the file), damaged
    /// data.
    virtual Result<void> read(std::span<std::byte> out) = 0;
    /// After the last read: what follows inside the stream is passed over (a little is allowed),
    /// and the stream has its proper end. Errors as above.
    virtual Result<void> finish() = 0;
};

/// The file from byte `offset` to `end`, as it is.
std::unique_ptr<ByteStream> plain_stream(const InputFile& file, std::uint64_t offset,
                                         std::uint64_t end);
std::unique_ptr<ByteStream> gzip_stream(const InputFile& file, std::uint64_t offset,
                                        std::uint64_t end);
std::unique_ptr<ByteStream> zstd_stream(const InputFile& file, std::uint64_t offset,
                                        std::uint64_t end);

}  // namespace gs
