// EXIF's orientation: a number in a small TIFF structure that JPEG, PNG and WebP carry, and that
// TIFF is. Also what is done with it.
#include <algorithm>

#include "base/check.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size,
                        bool big) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < size; ++i)
        out = out << 8 | static_cast<std::uint32_t>(bytes[at + (big ? i : size - 1 - i)]);
    return out;
}

bool begins(std::span<const std::byte> bytes, std::string_view head) {
    return bytes.size() >= head.size() &&
           std::equal(head.begin(), head.end(), bytes.begin(), [](char c, std::byte b) {
               return static_cast<unsigned char>(c) == static_cast<unsigned char>(b);
           });
}

// Of the first folder of a TIFF structure; 1 where there is none or it is broken.
int orientation_in(std::span<const std::byte> tiff) {
    using std::string_view_literals::operator""sv;
    if (begins(tiff, "Exif\0\0"sv)) tiff = tiff.subspan(6);
    const bool big = begins(tiff, "MM\0*"sv);
    if (tiff.size() < 8 || (!big && !begins(tiff, "II*\0"sv))) return 1;
    const std::size_t at = number_at(tiff, 4, 4, big);
    if (at > tiff.size() - 2) return 1;
    const std::size_t entries = number_at(tiff, at, 2, big);
    for (std::size_t i = 0; i < entries && at + 2 + 12 * (i + 1) <= tiff.size(); ++i) {
        const std::size_t entry = at + 2 + 12 * i;
        if (number_at(tiff, entry, 2, big) != 0x112 || number_at(tiff, entry + 2, 2, big) != 3)
            continue;
        const auto value = static_cast<int>(number_at(tiff, entry + 8, 2, big));
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

// Chunks of PNG (length, name, content, checksum) or RIFF (name, length, content): the content of
// the one that is looked for.
std::span<const std::byte> chunk_of(std::span<const std::byte> bytes, bool png,
                                    std::string_view name) {
    for (std::size_t at = png ? 8 : 12; at + 8 <= bytes.size();) {
        const std::size_t size = number_at(bytes, at + (png ? 0 : 4), 4, png);
        const auto content = bytes.subspan(at + 8);
        const auto called = bytes.subspan(at + (png ? 4 : 0), 4);
        if (size > content.size() || (png && begins(called, "IDAT"))) return {};
        if (begins(called, name)) return content.first(size);
        at += 8 + size + (png ? 4 : size % 2);
    }
    return {};
}

}  // namespace

std::span<const std::byte> jpeg_segment(std::span<const std::byte> bytes, int marker,
                                        std::string_view head) {
    for (std::size_t at = 2; at + 4 <= bytes.size();) {
        if (bytes[at] != std::byte{0xFF}) return {};
        const auto found = static_cast<int>(bytes[at + 1]);
        if (found == 0xFF) {  // padding
            ++at;
            continue;
        }
        if (found == 0xDA || found == 0xD9) return {};
        const std::size_t size = number_at(bytes, at + 2, 2, true);
        if (size < 2 || size > bytes.size() - at - 2) return {};
        const auto content = bytes.subspan(at + 4, size - 2);
        if (found == marker && begins(content, head)) return content;
        at += 2 + size;
    }
    return {};
}

bool webp_has_exif(std::span<const std::byte> bytes) {
    using std::string_view_literals::operator""sv;
    return is_webp(bytes) && bytes.size() > 20 && begins(bytes.subspan(12), "VP8X"sv) &&
           (static_cast<unsigned>(bytes[20]) & 8u) != 0;
}

int exif_orientation(std::span<const std::byte> bytes) {
    if (is_jpeg(bytes)) return orientation_in(jpeg_segment(bytes, 0xE1, "Exif"));
    if (is_png(bytes)) return orientation_in(chunk_of(bytes, true, "eXIf"));
    if (is_webp(bytes)) return orientation_in(chunk_of(bytes, false, "EXIF"));
    return is_tiff(bytes) ? orientation_in(bytes) : 1;
}

Image8 turned(const Image8& image, int orientation) {
    CHECK(orientation >= 1 && orientation <= 8, "orientation {}", orientation);
    if (orientation == 1) return image;
    const bool lies = orientation >= 5;
    Image8 out{
        lies ? image.height : image.width, lies ? image.width : image.height, image.channels, {}};
    out.bytes.resize(image.bytes.size());
    const int right = image.width - 1, bottom = image.height - 1;
    const auto channels = static_cast<std::size_t>(image.channels);
    std::uint8_t* to = out.bytes.data();
    for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x, to += channels) {
            const int from_x = lies ? y : x, from_y = lies ? x : y;
            // 2, 3, 7, 8 begin at the right, 3, 4, 6, 7 at the bottom.
            const bool mirrored = orientation == 2 || orientation == 3 || orientation == 7 ||
                                  orientation == 8,
                       upside = orientation == 3 || orientation == 4 || orientation == 6 ||
                                orientation == 7;
            const std::uint8_t* from =
                image.at(mirrored ? right - from_x : from_x, upside ? bottom - from_y : from_y);
            std::copy(from, from + channels, to);
        }
    return out;
}

}  // namespace gs
