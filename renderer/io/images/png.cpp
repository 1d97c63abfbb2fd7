// The C library reports errors by longjmp: functions that call setjmp here keep every object with a
// destructor in the caller's state, so a jump skips none.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "base/try.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

struct Reading {
    std::span<const std::byte> rest;
    std::uint64_t file_bytes = 0;
    png_structp png = nullptr;
    png_infop info = nullptr;
    char message[128] = "";
    Image8 image;
    std::vector<png_bytep> rows;
    std::uint64_t raw_bytes = 0;

    Reading() = default;
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_error(png_structp png, png_const_charp text) {
    auto* state = static_cast<Reading*>(png_get_error_ptr(png));
    std::strncpy(state->message, text, sizeof state->message - 1);
    std::longjmp(*png_set_longjmp_fn(png, std::longjmp, sizeof(jmp_buf)), 1);
}

void read_bytes(png_structp png, png_bytep out, std::size_t size) {
    auto* state = static_cast<Reading*>(png_get_io_ptr(png));
    if (size > state->rest.size()) png_error(png, "the file ends too early");
    std::memcpy(out, state->rest.data(), size);
    state->rest = state->rest.subspan(size);
}

bool start(Reading& state) {
    state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error,
                                       [](png_structp, png_const_charp) {});
    if (state.png == nullptr) return false;
    state.info = png_create_info_struct(state.png);
    if (state.info == nullptr) return false;
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_set_read_fn(state.png, &state, read_bytes);
    png_read_info(state.png, state.info);
    // 8-bit gray, RGB or RGBA whatever the file holds; 16 bits are scaled, colour profiles are left
    // alone as everywhere in this field.
    png_set_scale_16(state.png);
    png_set_expand(state.png);
    const int colour = png_get_color_type(state.png, state.info);
    const bool alpha = (colour & PNG_COLOR_MASK_ALPHA) != 0 ||
                       png_get_valid(state.png, state.info, PNG_INFO_tRNS) != 0;
    if (alpha) png_set_gray_to_rgb(state.png);
    state.raw_bytes = static_cast<std::uint64_t>(png_get_rowbytes(state.png, state.info)) *
                      png_get_image_height(state.png, state.info);
    png_set_interlace_handling(state.png);
    png_read_update_info(state.png, state.info);
    state.image.width = static_cast<int>(png_get_image_width(state.png, state.info));
    state.image.height = static_cast<int>(png_get_image_height(state.png, state.info));
    state.image.channels = png_get_channels(state.png, state.info);
    return true;
}

bool finish(Reading& state) {
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_read_image(state.png, state.rows.data());
    png_read_end(state.png, nullptr);
    return true;
}

// The library says so in its own words, or, before it can, with nothing at all.
bool lacked_memory(const Reading& state) {
    return state.info == nullptr || std::strstr(state.message, "emory") != nullptr;
}

tl::unexpected<Error> damaged(const Reading& state, const std::string& path) {
    if (lacked_memory(state))
        return fail(ErrorKind::unreadable, path, "not enough memory to decode it",
                    "use fewer threads");
    return tl::unexpected<Error>(Error{ErrorKind::malformed,
                                       path,
                                       fmt::format("is a damaged PNG: {}", state.message),
                                       "copy or export the picture again",
                                       {},
                                       state.file_bytes - state.rest.size()});
}

Result<void> open_png(Reading& state, std::span<const std::byte> bytes, const std::string& path) {
    state.rest = bytes;
    state.file_bytes = bytes.size();
    if (!start(state)) return damaged(state, path);
    if (state.image.channels != 1 && state.image.channels != 3 && state.image.channels != 4)
        return fail(ErrorKind::unsupported, path,
                    fmt::format("has {} channels", state.image.channels));
    return {};
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
    return bytes.size() >= 8 &&
           png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) == 0;
}

Result<ImageSize> probe_png(std::span<const std::byte> bytes, const std::string& path) {
    Reading state;
    GS_TRY_VOID(open_png(state, bytes, path));
    return ImageSize{state.image.width, state.image.height, state.image.channels};
}

Result<Image8> decode_png(std::span<const std::byte> bytes, const std::string& path) {
    Reading state;
    GS_TRY_VOID(open_png(state, bytes, path));
    // Deflate reaches at most 1032 : 1.
    if (state.image.pixels() > kMaxImagePixels ||
        state.raw_bytes > 1040 * static_cast<std::uint64_t>(bytes.size()))
        return fail(ErrorKind::malformed, path,
                    fmt::format("claims {} x {} pixels in {} bytes", state.image.width,
                                state.image.height, bytes.size()));
    const std::size_t stride = png_get_rowbytes(state.png, state.info);
    state.image.bytes.resize(stride * static_cast<std::size_t>(state.image.height));
    state.rows.resize(static_cast<std::size_t>(state.image.height));
    for (std::size_t y = 0; y < state.rows.size(); ++y)
        state.rows[y] = state.image.bytes.data() + y * stride;
    if (!finish(state)) return damaged(state, path);
    return std::move(state.image);
}

}  // namespace gs
