// TIFF photos, by libtiff: whatever layout, compression and colours it turns into RGBA. Its own
// messages are not shown; a picture of more than 8 bits a sample is reduced.
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/try.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

constexpr std::uint64_t kMostPacked = 8192;       // pixels that one byte of a file may become
constexpr tmsize_t kLargestTiffPart = 1ll << 31;  // bytes of a strip, a tile or a list of them

/// A file that libtiff reads from.
struct TiffBytes {
    const ReadAt& read;
    std::uint64_t size = 0;
    const std::byte* memory = nullptr;  ///< all of it, where it is in memory
    std::uint64_t at = 0;
};

tmsize_t read_proc(thandle_t handle, void* out, tmsize_t wanted) {
    auto& file = *static_cast<TiffBytes*>(handle);
    const std::uint64_t left = file.at < file.size ? file.size - file.at : 0;
    const auto count = std::min(static_cast<std::uint64_t>(std::max<tmsize_t>(wanted, 0)), left);
    if (count == 0) return 0;
    if (!file.read(file.at, {static_cast<std::byte*>(out), count})) return 0;
    file.at += count;
    return static_cast<tmsize_t>(count);
}
toff_t seek_proc(thandle_t handle, toff_t to, int from) {
    auto& file = *static_cast<TiffBytes*>(handle);
    file.at = from == SEEK_SET ? to : (from == SEEK_CUR ? file.at + to : file.size + to);
    return file.at;
}

int map_proc(thandle_t handle, void** out, toff_t* size) {
    const auto& file = *static_cast<TiffBytes*>(handle);
    *out = const_cast<std::byte*>(file.memory);  // libtiff only reads
    *size = file.size;
    return file.memory != nullptr;
}

struct CloseTiff {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffFile = std::unique_ptr<TIFF, CloseTiff>;

/// Null where the first picture's directory is broken. `file` must outlive it.
TiffFile open_tiff(TiffBytes& file) {
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
        TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
    const auto say_nothing = [](TIFF*, void*, const char*, const char*, va_list) { return 1; };
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), say_nothing, nullptr);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), say_nothing, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kLargestTiffPart);
    return TiffFile(TIFFClientOpenExt(
        "", "r", &file, read_proc, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
        seek_proc, [](thandle_t) { return 0; },
        [](thandle_t handle) -> toff_t { return static_cast<TiffBytes*>(handle)->size; }, map_proc,
        [](thandle_t, void*, toff_t) {}, options.get()));
}

tl::unexpected<Error> tiff_damaged(const std::string& path) {
    return fail(ErrorKind::malformed, path, "is a damaged TIFF",
                "copy or export the picture again");
}

/// What the first extra sample is: EXTRASAMPLE_ASSOCALPHA, _UNASSALPHA, or 0 for no alpha.
int alpha_kind(TIFF* tiff) {
    std::uint16_t count = 0;
    const std::uint16_t* kinds = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 0 || count == 0) return 0;
    return kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA ? kinds[0] : 0;
}
bool is_grey(TIFF* tiff) {
    std::uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    return photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
}

Result<ImageSize> size_of(TIFF* tiff, const std::string& path) {
    std::uint32_t width = 0, height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    if (width < 1 || height < 1 || width > kMaxImagePixels || height > kMaxImagePixels)
        return tiff_damaged(path);
    std::uint16_t turn = 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &turn);
    return ImageSize{static_cast<int>(width), static_cast<int>(height),
                     alpha_kind(tiff) != 0 ? 4 : (is_grey(tiff) ? 1 : 3),
                     turn >= 1 && turn <= 8 ? turn : 1};
}

/// RGBA of every pixel, in the file's own order; empty where a strip or tile is broken.
Result<std::vector<std::uint32_t>> read_rgba(TIFF* tiff, std::size_t pixels,
                                             const std::string& path) {
    char ignored[1024] = "";
    TIFFRGBAImage image;
    if (TIFFRGBAImageOK(tiff, ignored) == 0 || TIFFRGBAImageBegin(&image, tiff, 1, ignored) == 0)
        return fail(ErrorKind::unsupported, path, "is a TIFF of an unsupported kind",
                    "save it as PNG, or as a TIFF of 8 or 16 bits with LZW or no compression");
    image.req_orientation = image.orientation;
    std::vector<std::uint32_t> out(pixels);
    const bool whole = TIFFRGBAImageGet(&image, out.data(), image.width, image.height) != 0;
    TIFFRGBAImageEnd(&image);
    if (!whole) return tiff_damaged(path);
    return out;
}

std::uint8_t divided(std::uint32_t value, std::uint32_t alpha) {
    return static_cast<std::uint8_t>(std::min(255u, (value * 255 + alpha / 2) / alpha));
}

}  // namespace

bool is_tiff(std::span<const std::byte> bytes) {
    static constexpr const char* kHeads[] = {"II*\0", "MM\0*", "II+\0", "MM\0+"};
    return bytes.size() >= 8 && std::any_of(std::begin(kHeads), std::end(kHeads), [&](auto head) {
               return std::memcmp(bytes.data(), head, 4) == 0;
           });
}

Result<ImageSize> probe_tiff(std::uint64_t bytes, const ReadAt& read, const std::string& path) {
    TiffBytes file{read, bytes};
    const TiffFile tiff = open_tiff(file);
    return tiff ? size_of(tiff.get(), path) : tiff_damaged(path);
}

Result<Image8> decode_tiff(std::span<const std::byte> bytes, const std::string& path) {
    const ReadAt read = reader_of(bytes);
    TiffBytes file{read, bytes.size(), bytes.data()};
    const TiffFile tiff = open_tiff(file);
    if (!tiff) return tiff_damaged(path);
    GS_TRY(const ImageSize size, size_of(tiff.get(), path));
    Image8 image{size.width, size.height, size.channels, {}};
    if (image.pixels() > kMaxImagePixels || image.pixels() / kMostPacked > bytes.size())
        return fail(ErrorKind::malformed, path,
                    fmt::format("claims {} x {} pixels in {} bytes", image.width, image.height,
                                bytes.size()));
    GS_TRY(const auto rgba, read_rgba(tiff.get(), image.pixels(), path));
    // libtiff leaves colours that alpha was multiplied into, and multiplies it into those of RGB.
    const int alpha = alpha_kind(tiff.get());
    const bool multiplied = alpha == EXTRASAMPLE_ASSOCALPHA || (alpha != 0 && !is_grey(tiff.get()));
    image.bytes.reserve(image.pixels() * static_cast<std::size_t>(image.channels));
    for (const std::uint32_t pixel : rgba) {
        const std::uint8_t a = TIFFGetA(pixel);
        std::uint8_t v[] = {static_cast<std::uint8_t>(TIFFGetR(pixel)),
                            static_cast<std::uint8_t>(TIFFGetG(pixel)),
                            static_cast<std::uint8_t>(TIFFGetB(pixel)), a};
        for (int c = 0; c < 3 && multiplied && a > 0; ++c) v[c] = divided(v[c], a);
        image.bytes.insert(image.bytes.end(), v, v + image.channels);
    }
    return image;
}

}  // namespace gs
