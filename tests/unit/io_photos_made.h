// Photos of every kind that is read, made in memory: EXIF in JPEG, CMYK, WebP, TIFF. Used by tests
// of decoders and their fuzz targets.
#pragma once

#include <turbojpeg.h>
#include <webp/encode.h>
#include <zlib.h>

#include <map>
#include <string>
#include <vector>

#include "renderer/scene/image.h"

namespace gs::test {

/// A TIFF structure that holds an orientation alone.
inline std::string exif_bytes(int orientation, bool big = true) {
    std::string out =
        big ? std::string("MM\0*\0\0\0\x08\0\x01", 10) : std::string("II*\0\x08\0\0\0\x01\0", 10);
    const std::string entry = big ? std::string("\x01\x12\0\x03\0\0\0\x01\0", 9)
                                  : std::string("\x12\x01\x03\0\x01\0\0\0", 8);
    out += entry;
    out += static_cast<char>(orientation);
    out += std::string(big ? 2 : 3, '\0');
    return out + std::string(4, '\0');
}

/// With four channels: inks.
inline std::string jpeg_bytes(const Image8& image, int orientation = 0) {
    const tjhandle encoder = tjInitCompress();
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    const int format = image.channels == 4 ? TJPF_CMYK : TJPF_RGB;
    tjCompress2(encoder, image.bytes.data(), image.width, 0, image.height, format, &bytes, &size,
                TJSAMP_444, 95, 0);
    std::string out(reinterpret_cast<char*>(bytes), size);
    tjFree(bytes);
    tjDestroy(encoder);
    if (orientation == 0) return out;
    const std::string exif = std::string("Exif\0\0", 6) + exif_bytes(orientation);
    const std::size_t length = exif.size() + 2;
    const std::string head{'\xFF', '\xE1', static_cast<char>(length >> 8),
                           static_cast<char>(length & 255)};
    return out.substr(0, 2) + head + exif + out.substr(2);
}

/// Lossless; with EXIF at the end where `orientation` is not 0, after a chunk of `between` bytes.
inline std::string webp_bytes(const Image8& image, int orientation = 0, std::size_t between = 0) {
    std::uint8_t* bytes = nullptr;
    const std::size_t size = image.channels == 4
                                 ? WebPEncodeLosslessRGBA(image.bytes.data(), image.width,
                                                          image.height, image.width * 4, &bytes)
                                 : WebPEncodeLosslessRGB(image.bytes.data(), image.width,
                                                         image.height, image.width * 3, &bytes);
    std::string plain(reinterpret_cast<char*>(bytes), size);
    WebPFree(bytes);
    if (orientation == 0) return plain;
    const auto number = [](std::size_t value, int count) {
        std::string out;
        for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i) & 255);
        return out;
    };
    const std::string exif = exif_bytes(orientation, false);
    std::string body = "WEBPVP8X" + number(10, 4) + number(8 | (image.channels == 4 ? 16 : 0), 4) +
                       number(static_cast<std::size_t>(image.width - 1), 3) +
                       number(static_cast<std::size_t>(image.height - 1), 3) + plain.substr(12) +
                       "XMP " + number(between, 4) + std::string(between + between % 2, ' ') +
                       "EXIF" + number(exif.size(), 4) + exif;
    return "RIFF" + number(body.size(), 4) + body;
}

struct TiffMade {
    int width = 0, height = 0, bits = 8, samples = 3, photometric = 2;
    int compression = 1;  ///< 1 none, 5 LZW, 8 Deflate, 32773 PackBits
    bool huge = false;    ///< BigTIFF: offsets of 8 bytes
    bool big = false, planes = false, predicted = false;
    int tile = 0;   ///< its sides; 0: strips
    int rows = 3;   ///< of a strip
    int extra = 0;  ///< what samples beyond the colours are; 0: not said
    int orientation = 0;
    std::vector<int> palette;
    /// A sample of a pixel, of `bits` bits.
    int (*at)(int x, int y, int sample) = nullptr;
};

namespace tiff_made {

inline std::string lzw(const std::string& in) {
    std::map<std::string, int> table;
    std::string out;
    unsigned buffer = 0;
    int held = 0, width = 9, next = 258;
    const auto put = [&](int code) {
        buffer = buffer << width | static_cast<unsigned>(code);
        for (held += width; held >= 8; held -= 8)
            out += static_cast<char>(buffer >> (held - 8) & 255);
    };
    const auto code_of = [&](const std::string& text) {
        return text.size() == 1 ? static_cast<int>(static_cast<unsigned char>(text[0]))
                                : table.at(text);
    };
    put(256);
    std::string text;
    for (const char c : in) {
        const std::string longer = text + c;
        if (longer.size() == 1 || table.count(longer) > 0) {
            text = longer;
            continue;
        }
        put(code_of(text));
        table[longer] = next++;
        if (next == (1 << width) && width < 12) ++width;
        if (next == 4094) {
            put(256);
            table.clear();
            width = 9;
            next = 258;
        }
        text = std::string(1, c);
    }
    if (!text.empty()) put(code_of(text));
    if (++next == (1 << width) && width < 12) ++width;
    put(257);
    if (held > 0) out += static_cast<char>(buffer << (8 - held) & 255);
    return out;
}

inline std::string packed(const std::string& in, int compression) {
    if (compression == 5) return lzw(in);
    if (compression == 8) {
        uLongf size = compressBound(static_cast<uLong>(in.size()));
        std::string out(size, '\0');
        compress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(in.data()), static_cast<uLong>(in.size()));
        return out.substr(0, size);
    }
    if (compression != 32773) return in;
    std::string out;
    for (std::size_t i = 0; i < in.size();) {
        std::size_t run = 1;
        while (i + run < in.size() && in[i + run] == in[i] && run < 128) ++run;
        if (run > 1) {
            out += static_cast<char>(1 - static_cast<int>(run));
            out += in[i];
            i += run;
        } else {
            const std::size_t count = std::min<std::size_t>(5, in.size() - i);
            out += static_cast<char>(count - 1);
            out += in.substr(i, count);
            i += count;
        }
    }
    return out;
}

/// A strip or tile: rows of samples, each row from a whole byte.
inline std::string chunk(const TiffMade& m, int left, int top, int width, int rows, int plane) {
    std::string out;
    for (int y = top; y < top + rows; ++y) {
        unsigned buffer = 0;
        int held = 0;
        for (int x = left; x < left + width; ++x)
            for (int s = 0; s < (m.planes ? 1 : m.samples); ++s) {
                const int sample = m.planes ? plane : s;
                const auto value = [&](int at_x) {
                    return at_x < m.width && y < m.height ? m.at(at_x, y, sample) : 0;
                };
                int v = value(x);
                if (m.predicted && x > left) v = (v - value(x - 1)) & ((1 << m.bits) - 1);
                if (m.bits == 16) {
                    out += static_cast<char>(m.big ? v >> 8 : v & 255);
                    out += static_cast<char>(m.big ? v & 255 : v >> 8);
                    continue;
                }
                buffer = buffer << m.bits | static_cast<unsigned>(v);
                if ((held += m.bits) < 8) continue;
                out += static_cast<char>(buffer & 255);
                buffer = 0;
                held = 0;
            }
        if (held > 0) out += static_cast<char>(buffer << (8 - held));
    }
    return out;
}

using Tags = std::map<int, std::pair<int, std::vector<std::size_t>>>;  // bytes a value, values

inline Tags tags(const TiffMade& m, const std::vector<std::size_t>& offsets,
                 const std::vector<std::size_t>& lengths) {
    Tags tags;
    const auto size = [](int value) { return static_cast<std::size_t>(value); };
    tags[256] = {4, {size(m.width)}};
    tags[257] = {4, {size(m.height)}};
    tags[258] = {2, std::vector<std::size_t>(size(m.samples), size(m.bits))};
    tags[259] = {2, {size(m.compression)}};
    tags[262] = {2, {size(m.photometric)}};
    tags[277] = {2, {size(m.samples)}};
    tags[284] = {2, {m.planes ? 2u : 1u}};
    if (m.orientation > 0) tags[274] = {2, {size(m.orientation)}};
    if (m.predicted) tags[317] = {2, {2}};
    if (m.extra > 0) tags[338] = {2, {size(m.extra)}};
    if (!m.palette.empty()) {
        tags[320] = {2, {}};
        for (const int v : m.palette) tags[320].second.push_back(size(v));
    }
    if (m.tile > 0)
        tags[322] = {4, {size(m.tile)}}, tags[323] = {4, {size(m.tile)}};
    else
        tags[278] = {4, {size(m.rows)}};
    tags[m.tile > 0 ? 324 : 273] = {4, offsets};
    tags[m.tile > 0 ? 325 : 279] = {4, lengths};
    return tags;
}

}  // namespace tiff_made

inline std::string tiff_bytes(const TiffMade& m) {
    const auto number = [&](std::size_t value, int count) {
        std::string out;
        for (int i = 0; i < count; ++i)
            out += static_cast<char>(value >> (8 * (m.big ? count - 1 - i : i)) & 255);
        return out;
    };
    const int word = m.huge ? 8 : 4;  // bytes of offsets, and of values inside an entry
    const std::size_t first = m.huge ? 16 : 8;
    const int wide = m.tile > 0 ? m.tile : m.width, high = m.tile > 0 ? m.tile : m.rows;
    std::string data;
    std::vector<std::size_t> offsets, lengths;
    for (int plane = 0; plane < (m.planes ? m.samples : 1); ++plane)
        for (int top = 0; top < m.height; top += high)
            for (int left = 0; left < m.width; left += wide) {
                const int rows = m.tile > 0 ? high : std::min(high, m.height - top);
                const std::string bytes = tiff_made::packed(
                    tiff_made::chunk(m, left, top, wide, rows, plane), m.compression);
                offsets.push_back(first + data.size());
                lengths.push_back(bytes.size());
                data += bytes;
                if (data.size() % 2 != 0) data += '\0';
            }
    const auto size = [](int value) { return static_cast<std::size_t>(value); };
    const auto tags = tiff_made::tags(m, offsets, lengths);
    const std::size_t directory = first + data.size();
    const std::string count = number(tags.size(), m.huge ? 8 : 2);
    const std::size_t after =
        directory + count.size() + (4 + 2 * size(word)) * tags.size() + size(word);
    std::string entries = count, more;
    for (const auto& [tag, field] : tags) {
        const auto& [bytes, values] = field;
        std::string packed;
        for (const std::size_t v : values) packed += number(v, bytes);
        entries +=
            number(size(tag), 2) + number(bytes == 2 ? 3 : 4, 2) + number(values.size(), word);
        if (packed.size() <= size(word)) {
            entries += packed + std::string(size(word) - packed.size(), '\0');
        } else {
            entries += number(after + more.size(), word);
            more += packed;
        }
    }
    const std::string head = (m.big ? "MM" : "II") + number(m.huge ? 43 : 42, 2) +
                             (m.huge ? number(8, 2) + number(0, 2) : "");
    return head + number(directory, word) + data + entries + number(0, word) + more;
}

}  // namespace gs::test
