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

// `head`: the beginning of a file of this many bytes.
Result<ImageSize> probe_head(std::span<const std::byte> head, std::uint64_t bytes,
                             const ReadAt& read, const std::string& path) {
    if (is_tiff(head)) return probe_tiff(bytes, read, path);
    Result<ImageSize> size = unknown_format(path);
    if (is_jpeg(head)) size = probe_jpeg(head, path);
    if (is_png(head)) size = probe_png(head, path);
    if (is_webp(head)) size = probe_webp(head, path);
    if (size) size->orientation = exif_orientation(head, bytes, read);
    return size;
}

}  // namespace

ReadAt reader_of(std::span<const std::byte> bytes) {
    return [bytes](std::uint64_t at, std::span<std::byte> out) {
        if (at > bytes.size() || out.size() > bytes.size() - at) return false;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
        return true;
    };
}

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
    if (size != nullptr) {
        GS_TRY(*size, probe_head(bytes, bytes.size(), reader_of(bytes), path.string()));
    }
    return image;
}

Result<ImageSize> probe_image(const fs::path& path) {
    GS_TRY(const auto file, InputFile::open(path));
    if (file.size() == 0) return fail(ErrorKind::malformed, path.string(), "is empty");
    const ReadAt read = [&](std::uint64_t at, std::span<std::byte> out) {
        return at <= file.size() && out.size() <= file.size() - at &&
               file.read_at(at, out).has_value();
    };
    // Headers are near the front, but a JPEG may carry a large preview or colour profile first.
    for (std::uint64_t window = 64 << 10;; window *= 16) {
        std::vector<std::byte> head(std::min<std::uint64_t>(window, file.size()));
        GS_TRY_VOID(file.read_at(0, head));
        const auto size = probe_head(head, file.size(), read, path.string());
        if (size || is_tiff(head) || head.size() == file.size() ||
            size.error().kind == ErrorKind::unsupported || window >= (16 << 20))
            return size;
    }
}

}  // namespace gs
