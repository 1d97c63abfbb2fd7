// The photo codecs behind read_image and probe_image, on bytes in memory. Private to renderer/io.
// They refuse pictures whose header claims more pixels than their bytes can hold, before anything
// is allocated.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "renderer/io/images/image_io.h"

namespace gs {

/// Larger pictures than this are refused (268 million pixels).
inline constexpr std::uint64_t kMaxImagePixels = 1ull << 28;

bool is_jpeg(std::span<const std::byte> bytes);
bool is_png(std::span<const std::byte> bytes);
bool is_webp(std::span<const std::byte> bytes);
bool is_tiff(std::span<const std::byte> bytes);
/// Decoding leaves noise around what was black.
bool is_lossy(std::span<const std::byte> bytes);
/// `path` is used in errors only. A cut or corrupted stream is an error, never half a picture.
Result<Image8> decode_jpeg(std::span<const std::byte> bytes, const std::string& path);
Result<Image8> decode_png(std::span<const std::byte> bytes, const std::string& path);
Result<Image8> decode_webp_photo(std::span<const std::byte> bytes, const std::string& path);
Result<Image8> decode_tiff(std::span<const std::byte> bytes, const std::string& path);
/// Size and channels as decoding gives them; `bytes` may be only the beginning of the file.
Result<ImageSize> probe_jpeg(std::span<const std::byte> bytes, const std::string& path);
Result<ImageSize> probe_png(std::span<const std::byte> bytes, const std::string& path);
Result<ImageSize> probe_webp(std::span<const std::byte> bytes, const std::string& path);
/// Fills `out` from byte `at` of a file; false where it is shorter.
using ReadAt = std::function<bool(std::uint64_t at, std::span<std::byte> out)>;
/// Reads from `bytes`, which must outlive it.
ReadAt reader_of(std::span<const std::byte> bytes);
/// A TIFF's header may be anywhere in its file of this many bytes.
Result<ImageSize> probe_tiff(std::uint64_t bytes, const ReadAt& read, const std::string& path);
/// Decodes by content.
Result<Image8> decode_image(std::span<const std::byte> bytes, const std::string& path);

/// EXIF's orientation, 1 to 8, in a JPEG, PNG or WebP file of this many bytes; 1 where it has none.
/// `head`: the beginning of the file, of a JPEG up to the pixels.
int exif_orientation(std::span<const std::byte> head, std::uint64_t bytes, const ReadAt& read);
/// The content of a JPEG's first segment of this marker that begins with `head`; empty: none comes
/// before the pixels.
std::span<const std::byte> jpeg_segment(std::span<const std::byte> bytes, int marker,
                                        std::string_view head);

}  // namespace gs
