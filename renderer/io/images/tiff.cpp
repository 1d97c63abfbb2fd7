// TIFF photos, as cameras, scanners and photogrammetry programs write them: strips or tiles, packed
// or planes apart, 1 to 16 bits a sample; grey, palette, RGB or CMYK, with or without alpha; not
// compressed or by PackBits, LZW or Deflate. Source: TIFF 6.0 (Adobe 1992) and its Photoshop
// technical notes (2002).
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/try.h"
#include "renderer/io/images/codecs.h"

namespace gs {
namespace {

enum Tag : std::uint16_t {
    kTagWidth = 256,
    kTagHeight = 257,
    kTagBits = 258,
    kTagCompression = 259,
    kTagPhotometric = 262,
    kTagFillOrder = 266,
    kTagStripOffsets = 273,
    kTagOrientation = 274,
    kTagSamples = 277,
    kTagRowsPerStrip = 278,
    kTagStripBytes = 279,
    kTagPlanar = 284,
    kTagPredictor = 317,
    kTagColorMap = 320,
    kTagTileWidth = 322,
    kTagTileHeight = 323,
    kTagTileOffsets = 324,
    kTagTileBytes = 325,
    kTagExtraSamples = 338,
    kTagSampleFormat = 339
};
constexpr std::size_t kMostNumbers = 1 << 20;  // of a tag: one strip a row, or as many tiles
constexpr int kWidestTile = 1 << 16;
constexpr std::uint64_t kMostPacked = 8192;  // bytes that one byte of a file may become

using Bytes = std::vector<std::uint8_t>;

struct TiffField {
    std::uint16_t type = 0;
    std::uint32_t count = 0;
    std::array<std::byte, 4> inside{};  // the values, or where they are
};

std::uint64_t number_of(std::span<const std::byte> bytes, bool big) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        out = out << 8 | static_cast<std::uint64_t>(bytes[big ? i : bytes.size() - 1 - i]);
    return out;
}

tl::unexpected<Error> tiff_damaged(const std::string& path, std::string what) {
    return fail(ErrorKind::malformed, path, "is a damaged TIFF: " + std::move(what),
                "copy or export the picture again");
}
tl::unexpected<Error> tiff_unsupported(const std::string& path, std::string what) {
    return fail(ErrorKind::unsupported, path, "is a TIFF " + std::move(what),
                "save it as PNG, or as a TIFF of 8 or 16 bits with LZW or no compression");
}

// The first picture's fields.
class TiffFields {
  public:
    static Result<TiffFields> read(const ReadAt& read, const std::string& path) {
        TiffFields out;
        std::array<std::byte, 8> head{};
        if (!read(0, head)) return tiff_damaged(path, "the file ends too early");
        out.big = head[0] == std::byte{'M'};
        if (number_of(std::span(head).subspan(2, 2), out.big) == 43)
            return tiff_unsupported(path, "of the large kind (BigTIFF)");
        const std::uint64_t at = number_of(std::span(head).subspan(4, 4), out.big);
        std::array<std::byte, 2> count{};
        if (!read(at, count)) return tiff_damaged(path, "its directory is not in the file");
        const std::uint64_t entries = number_of(count, out.big);
        for (std::uint64_t i = 0; i < entries; ++i) {
            std::array<std::byte, 12> entry{};
            if (!read(at + 2 + 12 * i, entry))
                return tiff_damaged(path, "its directory is not in the file");
            const std::span<const std::byte> e(entry);
            TiffField field;
            field.type = static_cast<std::uint16_t>(number_of(e.subspan(2, 2), out.big));
            field.count = static_cast<std::uint32_t>(number_of(e.subspan(4, 4), out.big));
            std::copy(e.begin() + 8, e.end(), field.inside.begin());
            out.fields_.emplace(static_cast<std::uint16_t>(number_of(e.first(2), out.big)), field);
        }
        return out;
    }
    bool has(Tag tag) const { return fields_.count(tag) > 0; }
    /// Empty where there is none, or it is broken.
    std::vector<std::uint64_t> numbers(const ReadAt& read, Tag tag) const {
        const auto it = fields_.find(tag);
        if (it == fields_.end()) return {};
        const TiffField& field = it->second;
        const std::size_t size = field.type == 1 ? 1 : (field.type == 3 ? 2 : 4);
        if ((field.type != 1 && field.type != 3 && field.type != 4) || field.count > kMostNumbers)
            return {};
        std::vector<std::byte> bytes(size * field.count);
        if (bytes.size() <= 4)
            std::copy_n(field.inside.begin(), bytes.size(), bytes.begin());
        else if (!read(number_of(field.inside, big), bytes))
            return {};
        std::vector<std::uint64_t> out;
        for (std::size_t i = 0; i < field.count; ++i)
            out.push_back(number_of(std::span(bytes).subspan(i * size, size), big));
        return out;
    }
    std::uint64_t number(const ReadAt& read, Tag tag, std::uint64_t usual) const {
        const auto all = numbers(read, tag);
        return all.empty() ? usual : all.front();
    }

    bool big = false;

  private:
    std::map<std::uint16_t, TiffField> fields_;
};

// What a picture's header says of its pixels.
struct TiffLayout {
    ImageSize size;
    bool big = false, tiled = false, planes = false;
    int bits = 8, samples = 1, colours = 1;  // colours: samples that are no extra ones
    std::uint64_t photometric = 1, compression = 1, predictor = 1;
    std::uint64_t alpha = 0;                      // 0: none, 1: multiplied in, 2: not
    int chunk_width = 0, chunk_height = 0;        // of a strip or a tile
    std::vector<std::uint64_t> offsets, lengths;  // of them
    std::vector<std::uint64_t> palette;           // red, then green, then blue: 16 bits

    int across() const { return (size.width + chunk_width - 1) / chunk_width; }
    int down() const { return (size.height + chunk_height - 1) / chunk_height; }
    int samples_in_chunk() const { return planes ? 1 : samples; }
    std::size_t row_bytes() const {
        return (static_cast<std::size_t>(chunk_width) *
                    static_cast<std::size_t>(samples_in_chunk() * bits) +
                7) /
               8;
    }
};

Result<void> read_colours(const ReadAt& read, const TiffFields& fields, const std::string& path,
                          TiffLayout& out) {
    out.photometric = fields.number(read, kTagPhotometric, 1);
    out.samples =
        static_cast<int>(std::min<std::uint64_t>(fields.number(read, kTagSamples, 1), 99));
    switch (out.photometric) {
        case 0:
        case 1:
        case 3:
            out.colours = 1;
            break;
        case 2:
            out.colours = 3;
            break;
        case 5:
            out.colours = 4;
            break;
        default:
            return tiff_unsupported(
                path, fmt::format("with colours of kind {} (grey, palette, RGB and CMYK are read)",
                                  out.photometric));
    }
    if (out.samples < out.colours || out.samples > 16)
        return tiff_damaged(path, fmt::format("it claims {} samples a pixel", out.samples));
    const auto bits = fields.numbers(read, kTagBits);
    out.bits = static_cast<int>(bits.empty() ? 1 : std::min<std::uint64_t>(bits.front(), 99));
    if (std::any_of(bits.begin(), bits.end(), [&](auto b) { return b != bits.front(); }) ||
        (out.bits != 1 && out.bits != 2 && out.bits != 4 && out.bits != 8 && out.bits != 16))
        return tiff_unsupported(path, fmt::format("of {} bits a sample", out.bits));
    for (const std::uint64_t format : fields.numbers(read, kTagSampleFormat))
        if (format != 1 && format != 4)
            return tiff_unsupported(path, "whose samples are no whole numbers from 0");
    if (out.samples > out.colours)
        if (const auto extra = fields.number(read, kTagExtraSamples, 0); extra == 1 || extra == 2)
            out.alpha = extra;
    out.palette = fields.numbers(read, kTagColorMap);
    if (out.photometric == 3 && (out.bits > 8 || out.palette.size() != 3u << out.bits))
        return tiff_damaged(path, "its palette is not of its size");
    out.size.channels = out.alpha > 0 ? 4 : (out.photometric < 2 ? 1 : 3);
    return {};
}

Result<void> read_chunks(const ReadAt& read, const TiffFields& fields, const std::string& path,
                         TiffLayout& out) {
    out.compression = fields.number(read, kTagCompression, 1);
    out.predictor = fields.number(read, kTagPredictor, 1);
    out.planes = fields.number(read, kTagPlanar, 1) == 2 && out.samples > 1;
    if (fields.number(read, kTagFillOrder, 1) != 1)
        return tiff_unsupported(path, "whose bits run backwards");
    if (out.compression != 1 && out.compression != 5 && out.compression != 8 &&
        out.compression != 32946 && out.compression != 32773)
        return tiff_unsupported(
            path, fmt::format("compressed by method {}{}", out.compression,
                              out.compression == 7 || out.compression == 6 ? " (JPEG)" : ""));
    if (out.predictor != 1 && (out.predictor != 2 || out.bits < 8))
        return tiff_unsupported(path, fmt::format("with predictor {}", out.predictor));
    out.tiled = fields.has(kTagTileWidth);
    const auto side = [&](Tag tag, int usual) {
        return static_cast<int>(std::clamp<std::uint64_t>(
            fields.number(read, tag, static_cast<std::uint64_t>(usual)), 0, 1u << 28));
    };
    out.chunk_width = out.tiled ? side(kTagTileWidth, 0) : out.size.width;
    out.chunk_height = out.tiled
                           ? side(kTagTileHeight, 0)
                           : std::min(side(kTagRowsPerStrip, out.size.height), out.size.height);
    out.offsets = fields.numbers(read, out.tiled ? kTagTileOffsets : kTagStripOffsets);
    out.lengths = fields.numbers(read, out.tiled ? kTagTileBytes : kTagStripBytes);
    if (out.chunk_width < 1 || out.chunk_height < 1 ||
        out.chunk_width > std::max(out.size.width, kWidestTile) ||
        static_cast<std::uint64_t>(out.chunk_width) * static_cast<std::uint64_t>(out.chunk_height) >
            2 * kMaxImagePixels)
        return tiff_damaged(path, "its strips or tiles have no possible size");
    const auto wanted = static_cast<std::size_t>(out.across()) *
                        static_cast<std::size_t>(out.down()) *
                        static_cast<std::size_t>(out.planes ? out.samples : 1);
    // Of a single strip that is not compressed some writers do not say how long it is.
    if (out.lengths.empty() && wanted == 1 && out.compression == 1)
        out.lengths = {out.row_bytes() * static_cast<std::size_t>(out.chunk_height)};
    if (out.offsets.size() < wanted || out.lengths.size() < wanted)
        return tiff_damaged(path, "not all of its strips or tiles are listed");
    return {};
}

// Reads the header; with `whole` also what decoding needs.
Result<TiffLayout> read_layout(const ReadAt& read, const std::string& path, bool whole) {
    GS_TRY(const TiffFields fields, TiffFields::read(read, path));
    TiffLayout out;
    out.big = fields.big;
    const auto side = [&](Tag tag) {
        const std::uint64_t value = fields.number(read, tag, 0);
        return value <= 1u << 28 ? static_cast<int>(value) : 0;
    };
    out.size.width = side(kTagWidth);
    out.size.height = side(kTagHeight);
    if (out.size.width < 1 || out.size.height < 1)
        return tiff_damaged(path, "it has no possible size");
    const std::uint64_t turn = fields.number(read, kTagOrientation, 1);
    out.size.orientation = turn >= 1 && turn <= 8 ? static_cast<int>(turn) : 1;
    GS_TRY_VOID(read_colours(read, fields, path, out));
    if (whole) GS_TRY_VOID(read_chunks(read, fields, path, out));
    return out;
}

bool unpack_bits(std::span<const std::byte> in, std::span<std::uint8_t> out) {
    std::size_t at = 0, done = 0;
    while (done < out.size() && at < in.size()) {
        const int head = static_cast<std::int8_t>(in[at++]);
        if (head == -128) continue;
        const auto count = std::min<std::size_t>(
            static_cast<std::size_t>(head < 0 ? 1 - head : 1 + head), out.size() - done);
        const std::size_t taken = head < 0 ? 1 : count;
        if (taken > in.size() - at) return false;
        for (std::size_t i = 0; i < count; ++i)
            out[done + i] = static_cast<std::uint8_t>(in[at + (head < 0 ? 0 : i)]);
        done += count;
        at += taken;
    }
    return done == out.size();
}

bool unpack_deflate(std::span<const std::byte> in, std::span<std::uint8_t> out) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return false;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream, Z_SYNC_FLUSH);
    const bool whole = stream.avail_out == 0 && code != Z_DATA_ERROR;
    inflateEnd(&stream);
    return whole;
}

// Codes of 9 to 12 bits, the highest bit first; a code becomes longer one entry early.
class LzwReader {
  public:
    explicit LzwReader(std::span<const std::byte> in) : in_(in) {}
    bool unpack(std::span<std::uint8_t> out) {
        constexpr int kClear = 256, kEnd = 257;
        int before = -1;
        clear();
        for (std::size_t done = 0; done < out.size();) {
            const int code = next_code();
            if (code < 0 || code == kEnd) return false;
            if (code == kClear) {
                clear();
                before = -1;
                continue;
            }
            if (before < 0 ? code >= kClear : code > next_ || (code == next_ && next_ > 4095))
                return false;
            // A code that is only now being made is the text before and its own first byte.
            if (before >= 0 && next_ <= 4095) {
                prefix_[index(next_)] = static_cast<std::uint16_t>(before);
                last_[index(next_)] = first_[index(code == next_ ? before : code)];
                first_[index(next_)] = first_[index(before)];
                length_[index(next_)] = static_cast<std::uint16_t>(length_[index(before)] + 1);
                if (++next_ >= (1 << width_) - 1 && width_ < 12) ++width_;
            }
            write(code, out.subspan(done));
            done += std::min<std::size_t>(length_[index(code)], out.size() - done);
            before = code;
        }
        return true;
    }

  private:
    static std::size_t index(int code) { return static_cast<std::size_t>(code); }
    void clear() {
        next_ = 258;
        width_ = 9;
        for (std::size_t i = 0; i < 256; ++i) {
            first_[i] = last_[i] = static_cast<std::uint8_t>(i);
            length_[i] = 1;
        }
    }
    int next_code() {
        int out = 0;
        for (int i = 0; i < width_; ++i, ++bit_) {
            if (bit_ / 8 >= in_.size()) return -1;
            out = out << 1 | (static_cast<int>(in_[bit_ / 8]) >> (7 - bit_ % 8) & 1);
        }
        return out;
    }
    void write(int code, std::span<std::uint8_t> out) const {
        for (std::size_t i = length_[index(code)]; i > 0; --i) {
            if (i <= out.size()) out[i - 1] = last_[index(code)];
            code = prefix_[index(code)];
        }
    }
    std::span<const std::byte> in_;
    std::size_t bit_ = 0;
    int next_ = 258, width_ = 9;
    std::array<std::uint16_t, 4096> prefix_{}, length_{};
    std::array<std::uint8_t, 4096> first_{}, last_{};
};

bool unpack(std::uint64_t compression, std::span<const std::byte> in, std::span<std::uint8_t> out) {
    switch (compression) {
        case 1:
            if (in.size() < out.size()) return false;
            if (!out.empty()) std::memcpy(out.data(), in.data(), out.size());
            return true;
        case 5:
            return LzwReader(in).unpack(out);
        case 32773:
            return unpack_bits(in, out);
        default:
            return unpack_deflate(in, out);
    }
}

// Rows of a chunk as samples of 16 bits; those of 8 and fewer bits as they are.
void take_row(const TiffLayout& layout, std::span<const std::uint8_t> row,
              std::span<std::uint16_t> out) {
    const auto bits = static_cast<std::size_t>(layout.bits);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint8_t* at = row.data() + i * bits / 8;
        if (bits == 16)
            out[i] =
                static_cast<std::uint16_t>(layout.big ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
        else
            out[i] =
                static_cast<std::uint16_t>(*at >> (8 - bits - i * bits % 8) & ((1u << bits) - 1));
    }
    if (layout.predictor != 2) return;
    const auto step = static_cast<std::size_t>(layout.samples_in_chunk());
    for (std::size_t i = step; i < out.size(); ++i)
        out[i] = static_cast<std::uint16_t>((out[i] + out[i - step]) &
                                            (layout.bits == 8 ? 0xFF : 0xFFFF));
}

std::uint8_t eight_bits(std::uint16_t value, int bits) {
    if (bits == 8) return static_cast<std::uint8_t>(value);
    if (bits == 16) return static_cast<std::uint8_t>((value + 128) / 257);
    return static_cast<std::uint8_t>(value * 255 / ((1 << bits) - 1));
}

// A pixel's samples to grey, RGB or RGBA.
void put_pixel(const TiffLayout& layout, const std::uint16_t* samples, std::uint8_t* out) {
    std::array<std::uint8_t, 4> v{};
    for (int c = 0; c < layout.colours; ++c)
        v[static_cast<std::size_t>(c)] = eight_bits(samples[c], layout.bits);
    if (layout.photometric == 0) v[0] = static_cast<std::uint8_t>(255 - v[0]);
    if (layout.photometric < 2) v[1] = v[2] = v[0];
    if (layout.photometric == 3)
        for (std::size_t c = 0; c < 3; ++c)
            v[c] = eight_bits(
                static_cast<std::uint16_t>(
                    layout.palette[(c << static_cast<unsigned>(layout.bits)) + samples[0]]),
                16);
    if (layout.photometric == 5)
        for (std::size_t c = 0; c < 3; ++c)
            v[c] = static_cast<std::uint8_t>(((255 - v[c]) * (255 - v[3]) + 127) / 255);
    if (layout.alpha > 0) {
        v[3] = eight_bits(samples[layout.colours], layout.bits);
        for (std::size_t c = 0; c < 3 && layout.alpha == 1 && v[3] > 0; ++c)
            v[c] = static_cast<std::uint8_t>(std::min(255, (v[c] * 255 + v[3] / 2) / v[3]));
    }
    std::copy_n(v.begin(), layout.size.channels, out);
}

// One strip or tile into the samples of its rows' pixels.
Result<void> read_chunk(const TiffLayout& layout, std::span<const std::byte> file,
                        const std::string& path, std::size_t number, int rows, Bytes& out) {
    const std::uint64_t at = layout.offsets[number], length = layout.lengths[number];
    if (at > file.size() || length > file.size() - at)
        return tiff_damaged(path, "the file ends too early");
    const std::size_t size = layout.row_bytes() * static_cast<std::size_t>(rows);
    if (size > kMostPacked * length)
        return tiff_damaged(path, fmt::format("{} bytes claim to be {}", length, size));
    out.resize(size);
    if (!unpack(layout.compression, file.subspan(at, length), out))
        return tiff_damaged(path, fmt::format("strip or tile {} is broken", number));
    return {};
}

}  // namespace

bool is_tiff(std::span<const std::byte> bytes) {
    if (bytes.size() < 8 || bytes[0] != bytes[1]) return false;
    const bool big = bytes[0] == std::byte{'M'};
    if (!big && bytes[0] != std::byte{'I'}) return false;
    const std::uint64_t version = number_of(bytes.subspan(2, 2), big);
    return version == 42 || version == 43;
}

Result<ImageSize> probe_tiff(const ReadAt& read, const std::string& path) {
    GS_TRY(const TiffLayout layout, read_layout(read, path, false));
    return layout.size;
}

Result<Image8> decode_tiff(std::span<const std::byte> bytes, const std::string& path) {
    const ReadAt read = [&](std::uint64_t at, std::span<std::byte> out) {
        if (at > bytes.size() || out.size() > bytes.size() - at) return false;
        if (!out.empty()) std::memcpy(out.data(), bytes.data() + at, out.size());
        return true;
    };
    GS_TRY(const TiffLayout layout, read_layout(read, path, true));
    Image8 image{layout.size.width, layout.size.height, layout.size.channels, {}};
    if (image.pixels() > kMaxImagePixels || image.pixels() / kMostPacked > bytes.size())
        return fail(ErrorKind::malformed, path,
                    fmt::format("claims {} x {} pixels in {} bytes", image.width, image.height,
                                bytes.size()));
    image.bytes.resize(image.pixels() * static_cast<std::size_t>(image.channels));
    const int planes = layout.planes ? layout.samples : 1;
    const auto per_pixel = static_cast<std::size_t>(layout.samples);
    const auto in_chunk = static_cast<std::size_t>(layout.samples_in_chunk());
    std::vector<Bytes> chunks(static_cast<std::size_t>(planes));
    std::vector<std::uint16_t> row(static_cast<std::size_t>(layout.chunk_width) * in_chunk),
        pixels(static_cast<std::size_t>(layout.chunk_width) * per_pixel);
    for (int y0 = 0; y0 < layout.down(); ++y0)
        for (int x0 = 0; x0 < layout.across(); ++x0) {
            const int left = x0 * layout.chunk_width, top = y0 * layout.chunk_height,
                      shown = std::min(layout.chunk_height, image.height - top),
                      rows = layout.tiled ? layout.chunk_height : shown;
            for (int p = 0; p < planes; ++p) {
                const auto number = static_cast<std::size_t>((p * layout.down() + y0)) *
                                        static_cast<std::size_t>(layout.across()) +
                                    static_cast<std::size_t>(x0);
                GS_TRY_VOID(read_chunk(layout, bytes, path, number, rows,
                                       chunks[static_cast<std::size_t>(p)]));
            }
            for (int y = 0; y < shown; ++y) {
                for (std::size_t p = 0; p < chunks.size(); ++p) {
                    take_row(
                        layout,
                        std::span(chunks[p]).subspan(
                            static_cast<std::size_t>(y) * layout.row_bytes(), layout.row_bytes()),
                        row);
                    for (std::size_t i = 0; i < row.size(); ++i)
                        pixels[layout.planes ? i * per_pixel + p : i] = row[i];
                }
                for (int x = 0; x < layout.chunk_width && left + x < image.width; ++x)
                    put_pixel(layout, pixels.data() + static_cast<std::size_t>(x) * per_pixel,
                              image.bytes.data() + (static_cast<std::size_t>(top + y) *
                                                        static_cast<std::size_t>(image.width) +
                                                    static_cast<std::size_t>(left + x)) *
                                                       static_cast<std::size_t>(image.channels));
            }
        }
    return image;
}

}  // namespace gs
