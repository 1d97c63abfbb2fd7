// The two photo codecs behind read_image and probe_image, on bytes in memory. Private to
// renderer/io. Both refuse pictures whose header claims more pixels than their bytes can hold,
// before anything is allocated.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "renderer/io/images/image_io.h"

namespace gs {

/// Larger pictures than this are refused (268 million pixels).
inline constexpr std::uint64_t kMaxImagePixels = 1ull << 28;

bool is_jpeg(std::span<const std::byte> bytes);
bool is_png(std::span<const std::byte> bytes);
/// `path` is used in errors only. A cut or corrupted stream is an error, never half a picture.
Result<Image8> decode_jpeg(std::span<const std::byte> bytes, const std::string& path);
Result<Image8> decode_png(std::span<const std::byte> bytes, const std::string& path);
/// Size and channels as decoding gives them; `bytes` may be only the beginning of the file.
Result<ImageSize> probe_jpeg(std::span<const std::byte> bytes, const std::string& path);
Result<ImageSize> probe_png(std::span<const std::byte> bytes, const std::string& path);
/// Decodes by content.
Result<Image8> decode_image(std::span<const std::byte> bytes, const std::string& path);

}  // namespace gs
