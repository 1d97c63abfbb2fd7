// EXIF's orientation: a number in a small TIFF structure that JPEG, PNG and WebP carry. Also what
// is done with it. Orientations of TIFF files come from libtiff (tiff.cpp).
#include <algorithm>
#include <array>

#include "base/check.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

constexpr int kMostChunks = 1000;
constexpr std::uint64_t kLargestExif = 1 << 20;

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

// Chunks of PNG (length, name, content, checksum) or RIFF (name, length, content): the beginning of
// the content of the first one of this name. PNG's are searched up to the pixels.
std::vector<std::byte> chunk_of(std::uint64_t bytes, const ReadAt& read, bool png,
                                std::string_view name) {
    std::array<std::byte, 8> head{};
    std::uint64_t at = png ? 8 : 12;
    for (int i = 0; i < kMostChunks && at + head.size() <= bytes && read(at, head); ++i) {
        const std::uint64_t size = number_at(head, png ? 0 : 4, 4, png);
        const auto called = std::span(head).subspan(png ? 4 : 0, 4);
        at += head.size();
        if (size > bytes - at || (png && begins(called, "IDAT"))) break;
        if (begins(called, name)) {
            std::vector<std::byte> out(std::min(size, kLargestExif));
            return read(at, out) ? out : std::vector<std::byte>();
        }
        at += size + (png ? 4 : size % 2);
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

int exif_orientation(std::span<const std::byte> head, std::uint64_t bytes, const ReadAt& read) {
    if (is_jpeg(head)) return orientation_in(jpeg_segment(head, 0xE1, "Exif"));
    const bool png = is_png(head);
    return png || is_webp(head) ? orientation_in(chunk_of(bytes, read, png, png ? "eXIf" : "EXIF"))
                                : 1;
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
