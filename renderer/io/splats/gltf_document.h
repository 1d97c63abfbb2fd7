// A glTF 2.0 file (text or binary) as JSON with its buffers, which stay on disk where they can:
// columns of numbers are read from them a piece at a time. Used by gltf_read.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/progress.h"
#include "renderer/io/files/input_file.h"

namespace gs {

/// "glTF", "JSON" and "BIN\0" as the numbers that begin a binary file and its chunks.
inline constexpr std::uint32_t kGltfMagic = 0x46546C67, kGltfJsonChunk = 0x4E4F534A,
                               kGltfBinaryChunk = 0x004E4942;

class GltfDocument {
  public:
    /// Errors: malformed with byte, unsupported (glTF 1), a buffer that is missing or leads outside
    /// the folder.
    static Result<GltfDocument> open(const fs::path& path);

    const nlohmann::json& json() const { return json_; }
    /// Bytes of the file and of the buffers beside it.
    std::uint64_t bytes() const;
    const std::string& path() const { return path_; }

    struct Accessor {
        std::size_t count = 0;
        int components = 0;      ///< numbers a row
        int component_type = 0;  ///< 5120 .. 5126
        bool normalized = false;
        bool has_data = false;  ///< false: all zeros
        std::size_t buffer = 0, stride = 0;
        std::uint64_t offset = 0;  ///< of the first row, in the buffer

        bool is_signed_integer() const { return component_type == 5120 || component_type == 5122; }
    };
    /// Checked against its view and buffer.
    Result<Accessor> accessor(std::size_t index) const;
    /// The bytes of a buffer view.
    Result<std::vector<std::byte>> view_bytes(std::size_t index) const;
    /// Row i, component c to targets[c][i], as floats (normalised integers to 0..1 or -1..1).
    /// Parallel.
    Result<void> read(const Accessor& accessor, std::span<float* const> targets,
                      const Progress& progress) const;

  private:
    struct Buffer {
        std::optional<InputFile> file;  ///< beside this one, or this one
        std::vector<std::byte> bytes;   ///< embedded
        std::uint64_t offset = 0, size = 0;
    };
    Result<void> read_binary_chunks(InputFile file);
    Result<void> open_buffers();
    Result<Buffer> open_buffer(const std::string& uri) const;

    std::string path_;
    std::uint64_t file_bytes_ = 0;
    nlohmann::json json_;
    std::deque<Buffer> buffers_;
    std::optional<Buffer> binary_chunk_;
};

}  // namespace gs
