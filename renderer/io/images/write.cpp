#include <png.h>

#include <csetjmp>

#include "base/check.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

// Compressed in memory, then written at once: libpng's jumps never cross a file of ours.
struct Writing {
    std::vector<std::byte> out;
    std::vector<png_bytep> rows;
    png_structp png = nullptr;
    png_infop info = nullptr;

    Writing() = default;
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() { png_destroy_write_struct(&png, &info); }
};

void collect(png_structp png, png_bytep data, std::size_t size) {
    auto& out = static_cast<Writing*>(png_get_io_ptr(png))->out;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
}
void flush(png_structp) {}

bool encode(Writing& state, int width, int height, int colour_type) {
    state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr,
                                        [](png_structp, png_const_charp) {});
    if (state.png == nullptr) return false;
    state.info = png_create_info_struct(state.png);
    if (state.info == nullptr) return false;
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_set_write_fn(state.png, &state, collect, flush);
    // Level 4 with one filter: a tenth larger than the best, many times faster, which live
    // screenshots need.
    png_set_compression_level(state.png, 4);
    png_set_filter(state.png, 0, PNG_FILTER_SUB);
    png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(width),
                 static_cast<png_uint_32>(height), 8, colour_type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(state.png, state.info);
    png_write_image(state.png, state.rows.data());
    png_write_end(state.png, state.info);
    return true;
}

}  // namespace

Result<void> write_png(const fs::path& path, const Image8& image) {
    CHECK(image.channels == 1 || image.channels == 3 || image.channels == 4, "{} channels",
          image.channels);
    CHECK(!image.empty());
    const int colour_type = image.channels == 1   ? PNG_COLOR_TYPE_GRAY
                            : image.channels == 3 ? PNG_COLOR_TYPE_RGB
                                                  : PNG_COLOR_TYPE_RGB_ALPHA;
    Writing state;
    state.rows.resize(static_cast<std::size_t>(image.height));
    // libpng's row type is not const, but writing does not change rows.
    for (int y = 0; y < image.height; ++y)
        state.rows[static_cast<std::size_t>(y)] = const_cast<png_bytep>(image.at(0, y));
    if (!encode(state, image.width, image.height, colour_type))
        return fail(ErrorKind::unwritable, path.string(),
                    fmt::format("cannot encode {} x {} pixels", image.width, image.height));
    return write_file(path, state.out);
}

Result<void> write_npy(const fs::path& path, const ImageF& image) {
    const std::string shape =
        image.channels == 1
            ? fmt::format("({}, {})", image.height, image.width)
            : fmt::format("({}, {}, {})", image.height, image.width, image.channels);
    // Format 1.0 of NumPy's "npy format": magic, version, length of the header, the header padded
    // to 64 bytes.
    std::string header =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape);
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::string preamble("\x93NUMPY\x01\x00", 8);
    preamble += static_cast<char>(header.size() & 255);
    preamble += static_cast<char>(header.size() >> 8);

    const auto channels = static_cast<std::size_t>(image.channels);
    std::vector<float> values(image.pixels() * channels);
    for (std::size_t c = 0; c < channels; ++c) {
        const float* plane = image.plane(static_cast<int>(c));
        for (std::size_t i = 0; i < image.pixels(); ++i) values[i * channels + c] = plane[i];
    }
    GS_TRY(auto file, AtomicFile::create(path));
    GS_TRY_VOID(file.append(preamble + header));
    GS_TRY_VOID(file.append(std::as_bytes(std::span(values))));
    return file.commit();
}

}  // namespace gs
