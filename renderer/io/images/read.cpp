#include <algorithm>

#include "base/try.h"
#include "renderer/io/files/input_file.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

tl::unexpected<Error> unknown_format(const std::string& path) {
    return fail(ErrorKind::unsupported, path, "is not a JPEG, PNG, WebP or TIFF picture",
                "convert it to JPEG or PNG");
}

Result<ImageSize> probe_bytes(std::span<const std::byte> bytes, const std::string& path) {
    if (is_jpeg(bytes)) return probe_jpeg(bytes, path);
    if (is_png(bytes)) return probe_png(bytes, path);
    if (is_webp(bytes)) return probe_webp(bytes, path);
    return unknown_format(path);
}

}  // namespace

Result<Image8> decode_image(std::span<const std::byte> bytes, const std::string& path) {
    if (bytes.empty()) return fail(ErrorKind::malformed, path, "is empty");
    if (is_jpeg(bytes)) return decode_jpeg(bytes, path);
    if (is_png(bytes)) return decode_png(bytes, path);
    if (is_webp(bytes)) return decode_webp_photo(bytes, path);
    if (is_tiff(bytes)) return decode_tiff(bytes, path);
    return unknown_format(path);
}

Result<Image8> read_image(const fs::path& path, ImageSize* size) {
    GS_TRY(const auto bytes, read_file(path, 1ull << 31));
    GS_TRY(Image8 image, decode_image(bytes, path.string()));
    if (size != nullptr)
        *size = {image.width, image.height, image.channels, exif_orientation(bytes)};
    return image;
}

Result<ImageSize> probe_image(const fs::path& path) {
    GS_TRY(const auto file, InputFile::open(path));
    if (file.size() == 0) return fail(ErrorKind::malformed, path.string(), "is empty");
    // Headers are near the front, but a JPEG may carry a large preview or colour profile first.
    Result<ImageSize> size = unknown_format(path.string());
    for (std::uint64_t window = 64 << 10;; window *= 16) {
        const std::uint64_t wanted = std::min<std::uint64_t>(window, file.size());
        std::vector<std::byte> head(wanted);
        GS_TRY_VOID(file.read_at(0, head));
        if (is_tiff(head))
            return probe_tiff(
                file.size(),
                [&](std::uint64_t at, std::span<std::byte> out) {
                    return at <= file.size() && out.size() <= file.size() - at &&
                           file.read_at(at, out).has_value();
                },
                path.string());
        size = probe_bytes(head, path.string());
        if (size) size->orientation = exif_orientation(head);
        if (size && size->orientation == 1 && webp_has_exif(head) && wanted < file.size() &&
            window < (16 << 20))
            continue;
        if (size || wanted == file.size() || size.error().kind == ErrorKind::unsupported ||
            window >= (16 << 20))
            return size;
    }
}

}  // namespace gs
