#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/try.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

struct Destroy {
    void operator()(void* handle) const { tjDestroy(handle); }
};
struct FreeBytes {
    void operator()(unsigned char* bytes) const { tjFree(bytes); }
};
using Codec = std::unique_ptr<void, Destroy>;

const unsigned char* as_uchar(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

// The end-of-image marker, looked for near the end because cameras append previews and padding.
bool has_end_marker(std::span<const std::byte> bytes) {
    const std::size_t begin = bytes.size() > 65536 ? bytes.size() - 65536 : 0;
    for (std::size_t i = bytes.size(); i-- > begin + 1;)
        if (bytes[i] == std::byte{0xD9} && bytes[i - 1] == std::byte{0xFF}) return true;
    return false;
}

// libjpeg continues after damage and fills the rest with grey. Only its complaints about bytes that
// belong to no segment (some cameras write them) leave the picture whole.
bool harmless(std::string_view warning, std::span<const std::byte> bytes) {
    return warning.find("extraneous bytes") != std::string_view::npos && has_end_marker(bytes);
}

struct Header {
    ImageSize size;
    int colour_space = 0;
};

Result<Header> read_header(void* decoder, std::span<const std::byte> bytes,
                           const std::string& path) {
    int width = 0, height = 0, subsampling = 0, colour_space = 0;
    if (tjDecompressHeader3(decoder, as_uchar(bytes), static_cast<unsigned long>(bytes.size()),
                            &width, &height, &subsampling, &colour_space) != 0)
        return fail(ErrorKind::malformed, path,
                    fmt::format("is not a readable JPEG: {}", tjGetErrorStr2(decoder)),
                    "copy or export the photo again");
    if (width <= 0 || height <= 0)
        return fail(ErrorKind::malformed, path, "is a JPEG of size zero");
    return Header{{width, height, colour_space == TJCS_GRAY ? 1 : 3}, colour_space};
}

// Inks to light. Adobe's programs, which write nearly all of these, store inks inverted and leave
// their marker.
Image8 from_cmyk(const Image8& inks, bool inverted) {
    Image8 out{inks.width, inks.height, 3, {}};
    out.bytes.resize(out.pixels() * 3);
    for (std::size_t i = 0; i < out.pixels(); ++i) {
        const std::uint8_t* in = inks.bytes.data() + 4 * i;
        const int black = inverted ? in[3] : 255 - in[3];
        for (std::size_t c = 0; c < 3; ++c)
            out.bytes[3 * i + c] =
                static_cast<std::uint8_t>(((inverted ? in[c] : 255 - in[c]) * black + 127) / 255);
    }
    return out;
}

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
    return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} &&
           bytes[2] == std::byte{0xFF};
}

Result<ImageSize> probe_jpeg(std::span<const std::byte> bytes, const std::string& path) {
    const Codec decoder(tjInitDecompress());
    GS_TRY(const auto header, read_header(decoder.get(), bytes, path));
    return header.size;
}

Result<Image8> decode_jpeg(std::span<const std::byte> bytes, const std::string& path) {
    const Codec decoder(tjInitDecompress());
    GS_TRY(const auto header, read_header(decoder.get(), bytes, path));
    const int width = header.size.width, height = header.size.height,
              channels = header.size.channels;
    const std::uint64_t pixels =
        static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
    // A block of 64 samples takes at least one bit, so a true JPEG holds at most 512 pixels a byte.
    if (pixels > kMaxImagePixels || pixels > 1024 * static_cast<std::uint64_t>(bytes.size()))
        return fail(ErrorKind::malformed, path,
                    fmt::format("claims {} x {} pixels in {} bytes", width, height, bytes.size()));
    const bool inks = header.colour_space == TJCS_CMYK || header.colour_space == TJCS_YCCK;
    const int samples = inks ? 4 : channels,
              format = inks ? TJPF_CMYK : (channels == 1 ? TJPF_GRAY : TJPF_RGB);
    Image8 image{width, height, samples, {}};
    image.bytes.resize(static_cast<std::size_t>(pixels) * static_cast<std::size_t>(samples));
    // TJFLAG_LIMITSCANS: a progressive file may ask for thousands of passes over the whole picture.
    if (tjDecompress2(decoder.get(), as_uchar(bytes), static_cast<unsigned long>(bytes.size()),
                      image.bytes.data(), width, 0, height, format, TJFLAG_LIMITSCANS) != 0) {
        const std::string message = tjGetErrorStr2(decoder.get());
        if (tjGetErrorCode(decoder.get()) != TJERR_WARNING || !harmless(message, bytes))
            return fail(ErrorKind::malformed, path, fmt::format("is a damaged JPEG: {}", message),
                        "copy or export the photo again");
    }
    return inks ? from_cmyk(image, !jpeg_segment(bytes, 0xEE, "Adobe").empty()) : image;
}

Result<void> write_jpeg(const fs::path& path, const Image8& image, int quality) {
    CHECK(image.channels == 3, "{} channels", image.channels);
    CHECK(!image.empty());
    const Codec encoder(tjInitCompress());
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    const int failed = tjCompress2(encoder.get(), image.bytes.data(), image.width, 0, image.height,
                                   TJPF_RGB, &bytes, &size, TJSAMP_420, quality, TJFLAG_FASTDCT);
    const std::unique_ptr<unsigned char, FreeBytes> owner(bytes);
    if (failed != 0)
        return fail(ErrorKind::unwritable, path.string(),
                    fmt::format("cannot encode {} x {} pixels: {}", image.width, image.height,
                                tjGetErrorStr2(encoder.get())));
    return write_file(path, std::as_bytes(std::span(bytes, size)));
}

}  // namespace gs
