#include "renderer/io/images/webp.h"

#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <memory>

#include "base/try.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

constexpr std::size_t kFedAtOnce = 1 << 16;
constexpr int kEffort = 4;  // of 0 (fast) to 9 (small)

tl::unexpected<Error> damaged(const std::string& name, const char* what) {
    return fail(ErrorKind::malformed, name, fmt::format("is not a readable WebP image: {}", what),
                "the file is cut or damaged");
}

tl::unexpected<Error> too_large_for_memory(const std::string& name) {
    return fail(ErrorKind::unreadable, name, "does not fit into memory",
                "close other programs, or convert it on a machine with more memory");
}

struct Ticker {
    const WebpTick* tick;
    int last = 0;
};
int on_progress(int percent, const WebPPicture* picture) {
    auto& ticker = *static_cast<Ticker*>(picture->user_data);
    const int step = percent - ticker.last;
    ticker.last = percent;
    const std::size_t pixels =
        static_cast<std::size_t>(picture->width) * static_cast<std::size_t>(picture->height);
    return !*ticker.tick ||
                   (*ticker.tick)(pixels * static_cast<std::size_t>(std::max(step, 0)) / 100)
               ? 1
               : 0;
}

}  // namespace

bool is_webp(std::span<const std::byte> bytes) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return bytes.size() >= 12 && std::string_view(text, 4) == "RIFF" &&
           std::string_view(text + 8, 4) == "WEBP";
}

bool is_lossy(std::span<const std::byte> bytes) {
    constexpr int kLossy = 1;  // of WebPBitstreamFeatures::format
    WebPBitstreamFeatures features;
    return is_jpeg(bytes) || (is_webp(bytes) &&
                              ::WebPGetFeatures(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                bytes.size(), &features) == VP8_STATUS_OK &&
                              features.format == kLossy);
}

Result<ImageSize> probe_webp(std::span<const std::byte> bytes, const std::string& path) {
    WebPBitstreamFeatures features;
    if (::WebPGetFeatures(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                          &features) != VP8_STATUS_OK)
        return damaged(path, "the header is damaged");
    if (features.has_animation != 0)
        return fail(ErrorKind::unsupported, path, "is an animated WebP",
                    "export one picture of it as a photo");
    return ImageSize{features.width, features.height, features.has_alpha != 0 ? 4 : 3};
}

Result<Image8> decode_webp_photo(std::span<const std::byte> bytes, const std::string& path) {
    GS_TRY(const ImageSize size, probe_webp(bytes, path));
    Image8 out{size.width, size.height, size.channels, {}};
    if (out.pixels() == 0 || out.pixels() > kMaxImagePixels)
        return fail(ErrorKind::malformed, path,
                    fmt::format("claims {} x {} pixels", size.width, size.height));
    // The library's own memory is touched only as pixels come: of a lying header nothing is.
    const std::unique_ptr<std::uint8_t, void (*)(void*)> pixels(
        (size.channels == 4 ? ::WebPDecodeRGBA : ::WebPDecodeRGB)(
            reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), nullptr, nullptr),
        &::WebPFree);
    if (pixels == nullptr) return damaged(path, "its data is damaged or ends too early");
    out.bytes.assign(pixels.get(),
                     pixels.get() + out.pixels() * static_cast<std::size_t>(out.channels));
    return out;
}

Result<WebpImage> decode_webp(std::span<const std::byte> bytes, const std::string& name,
                              std::uint64_t min_pixels, std::uint64_t max_pixels,
                              const WebpTick& tick) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    WebPDecoderConfig config;
    if (::WebPInitDecoderConfig(&config) == 0 ||
        ::WebPGetFeatures(data, bytes.size(), &config.input) != VP8_STATUS_OK)
        return damaged(name, "the header is damaged");
    if (config.input.has_animation != 0) return damaged(name, "it is an animation");
    WebpImage out{config.input.width, config.input.height, {}};
    const std::uint64_t pixels =
        static_cast<std::uint64_t>(out.width) * static_cast<std::uint64_t>(out.height);
    if (pixels < min_pixels || pixels > max_pixels)
        return fail(ErrorKind::malformed, name,
                    fmt::format("is {} x {} pixels; {} to {} are expected", out.width, out.height,
                                min_pixels, max_pixels),
                    "the file is damaged");
    out.rgba.resize(4 * pixels);
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {out.rgba.data(), 4 * out.width, out.rgba.size()};
    const std::unique_ptr<WebPIDecoder, void (*)(WebPIDecoder*)> decoder(
        ::WebPIDecode(nullptr, 0, &config), &::WebPIDelete);
    if (decoder == nullptr) return too_large_for_memory(name);
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = std::min(kFedAtOnce, bytes.size() - at);
        const VP8StatusCode code = ::WebPIUpdate(decoder.get(), data, at + n);
        if (code == VP8_STATUS_OK) return out;
        if (code == VP8_STATUS_OUT_OF_MEMORY) return too_large_for_memory(name);
        if (code != VP8_STATUS_SUSPENDED) return damaged(name, "its data is damaged");
        at += n;
        if (tick && !tick(n)) return fail(ErrorKind::cancelled, name, "reading was cancelled");
    }
    return damaged(name, "it ends too early");
}

Result<std::vector<std::byte>> encode_webp(const WebpImage& image, const WebpTick& tick) {
    WebPConfig config;
    WebPPicture picture;
    if (::WebPConfigInit(&config) == 0 || ::WebPConfigLosslessPreset(&config, kEffort) == 0 ||
        ::WebPPictureInit(&picture) == 0)
        return fail(ErrorKind::unsupported, "",
                    "the WebP library's version differs from its headers");
    config.exact = 1;
    WebPMemoryWriter writer;
    ::WebPMemoryWriterInit(&writer);
    Ticker ticker{&tick};
    picture.use_argb = 1;
    picture.width = image.width;
    picture.height = image.height;
    picture.writer = ::WebPMemoryWrite;
    picture.custom_ptr = &writer;
    picture.progress_hook = on_progress;
    picture.user_data = &ticker;
    const bool done = ::WebPPictureImportRGBA(&picture, image.rgba.data(), 4 * image.width) != 0 &&
                      ::WebPEncode(&config, &picture) != 0;
    const WebPEncodingError code = picture.error_code;
    std::vector<std::byte> out(reinterpret_cast<const std::byte*>(writer.mem),
                               reinterpret_cast<const std::byte*>(writer.mem) + writer.size);
    ::WebPPictureFree(&picture);
    ::WebPMemoryWriterClear(&writer);
    if (code == VP8_ENC_ERROR_USER_ABORT)
        return fail(ErrorKind::cancelled, "", "writing was cancelled");
    if (code == VP8_ENC_ERROR_BAD_DIMENSION)
        return fail(ErrorKind::unsupported, "",
                    fmt::format("{} x {} pixels are too many for WebP", image.width, image.height));
    if (!done)
        return fail(ErrorKind::unwritable, "",
                    fmt::format("WebP could not be made (error {})", static_cast<int>(code)));
    return out;
}

}  // namespace gs
