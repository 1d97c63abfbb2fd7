// Photos and pictures: JPEG, PNG, WebP and TIFF in; PNG, JPEG and NPY out.
#pragma once

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/image.h"

namespace gs {

struct ImageSize {
    int width = 0, height = 0, channels = 0;
    int orientation = 1;  ///< EXIF's, 1 to 8: how the stored picture is to be turned. Pixels, width
                          ///< and height are as stored
};

/// Decodes by content, not by name. 8-bit gray, RGB or RGBA (16 bits are reduced, palettes
/// expanded, CMYK converted). `size`, where given: as probe_image().
Result<Image8> read_image(const fs::path& path, ImageSize* size = nullptr);
/// Size from the header, without decoding.
Result<ImageSize> probe_image(const fs::path& path);
/// PNG of 1, 3 or 4 channels.
Result<void> write_png(const fs::path& path, const Image8& image);
/// JPEG of 3 channels. `quality`: 1..100.
Result<void> write_jpeg(const fs::path& path, const Image8& image, int quality = 90);
/// float32 .npy of shape [height][width][channels] (no last axis for one channel).
Result<void> write_npy(const fs::path& path, const ImageF& image);
/// One side of a picture shrunk by an integer factor: size / factor rounded to nearest (halves up),
/// at least 1.
constexpr int shrunk_size(int size, int factor) {
    return size < factor ? 1 : (2 * size + factor) / (2 * factor);
}
/// Exact area average over blocks of factor x factor, each output pixel's block starting at a
/// multiple of factor. The last block of a row or column is averaged over the pixels that are
/// there; less than half a block is dropped (shrunk_size).
Image8 shrink(const Image8& image, int factor);
/// Area average to any smaller size.
Image8 resize_area(const Image8& image, int width, int height);
/// The picture upright, by EXIF's orientation.
Image8 turned(const Image8& image, int orientation);
ImageF to_float(const Image8& image);
/// Clamps to 0..1, rounds to nearest.
Image8 to_bytes(const ImageF& image);

}  // namespace gs
