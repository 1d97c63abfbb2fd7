#include "tests/support/npz.h"

#include <zlib.h>

#include <cstring>
#include <string_view>

#include "tests/support/bad_data.h"

namespace gs::test {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T read_at(const Bytes& bytes, std::size_t offset) {
    REQUIRE_DATA(offset + sizeof(T) <= bytes.size(), "read past the end, at byte {} of {}", offset,
                 bytes.size());
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

Bytes inflate_raw(const std::byte* data, std::size_t size, std::size_t expected) {
    Bytes out(expected);
    z_stream stream{};
    REQUIRE_DATA(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib could not start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data));
    stream.avail_in = static_cast<uInt>(size);
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(expected);
    const int status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    REQUIRE_DATA(status == Z_STREAM_END, "deflated data is broken");
    return out;
}

// Header of an .npy: a Python dictionary literal.
struct NpyHeader {
    char kind = 'f';
    std::size_t item_bytes = 4;
    bool fortran = false;
    std::vector<std::size_t> shape;
    std::size_t data_offset = 0;
};

// What follows 'key': in the dictionary.
std::string_view after_key(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(fmt::format("'{}':", key));
    REQUIRE_DATA(at != std::string_view::npos, "the .npy header has no {}: {}", key, text);
    return text.substr(at + key.size() + 3);
}

// Every run of digits up to the closing parenthesis.
std::vector<std::size_t> parse_shape(std::string_view text) {
    std::vector<std::size_t> shape;
    bool inside_number = false;
    for (const char c : text.substr(0, text.find(')'))) {
        const bool digit = c >= '0' && c <= '9';
        if (digit && !inside_number) shape.push_back(0);
        if (digit) shape.back() = 10 * shape.back() + static_cast<std::size_t>(c - '0');
        inside_number = digit;
    }
    return shape;
}

NpyHeader parse_npy_header(const Bytes& npy) {
    REQUIRE_DATA(npy.size() > 10 && std::memcmp(npy.data(), "\x93NUMPY", 6) == 0,
                 "not an .npy file");
    const bool wide = read_at<std::uint8_t>(npy, 6) >= 2;
    const std::size_t length =
        wide ? read_at<std::uint32_t>(npy, 8) : read_at<std::uint16_t>(npy, 8);
    NpyHeader header{.data_offset = (wide ? 12 : 10) + length};
    REQUIRE_DATA(header.data_offset <= npy.size(), "the .npy header is cut off");
    const std::string_view text(reinterpret_cast<const char*>(npy.data()) + (wide ? 12 : 10),
                                length);
    std::string_view type = after_key(text, "descr");  // ' '<f4', ...
    type = type.substr(type.find('\'') + 1);
    type = type.substr(0, type.find('\''));
    REQUIRE_DATA(type.size() >= 3 && type[0] != '>', "npy type {} is not handled", type);
    header.kind = type[1];
    header.item_bytes = parse_shape(type.substr(2)).at(0) * (header.kind == 'U' ? 4 : 1);
    header.fortran =
        after_key(text, "fortran_order").substr(0, 6).find("True") != std::string_view::npos;
    header.shape = parse_shape(after_key(text, "shape"));
    return header;
}

double read_number(const Bytes& b, std::size_t at, char kind, std::size_t size) {
    if (kind == 'f')
        return size == 4 ? static_cast<double>(read_at<float>(b, at)) : read_at<double>(b, at);
    if (kind == 'b' || (kind == 'u' && size == 1)) return read_at<std::uint8_t>(b, at);
    if (kind == 'u' && size == 8) return static_cast<double>(read_at<std::uint64_t>(b, at));
    if (kind == 'u')
        return size == 2 ? read_at<std::uint16_t>(b, at) : read_at<std::uint32_t>(b, at);
    REQUIRE_DATA(kind == 'i', "npy type {}{} is not handled", kind, size);
    switch (size) {
        case 1:
            return read_at<std::int8_t>(b, at);
        case 2:
            return read_at<std::int16_t>(b, at);
        case 4:
            return read_at<std::int32_t>(b, at);
        default:
            return static_cast<double>(read_at<std::int64_t>(b, at));
    }
}

std::string read_utf32(const Bytes& b, std::size_t at, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; i += 4)
        if (const auto code = read_at<std::uint32_t>(b, at + i); code != 0)
            text.push_back(static_cast<char>(code));
    return text;
}

// Position in the file of the element that comes at `c_index` in C order.
std::size_t fortran_index(std::size_t c_index, const std::vector<std::size_t>& shape) {
    std::size_t out = 0, stride = 1, rest = c_index;
    std::vector<std::size_t> position(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        position[axis] = rest % shape[axis];
    for (std::size_t axis = 0; axis < shape.size(); stride *= shape[axis++])
        out += position[axis] * stride;
    return out;
}

Array parse_npy(const Bytes& npy) {
    const NpyHeader header = parse_npy_header(npy);
    Array out;
    out.shape = header.shape;
    std::size_t count = 1;
    for (const std::size_t n : header.shape) count *= n;
    REQUIRE_DATA(header.data_offset + count * header.item_bytes <= npy.size(),
                 "the .npy data is cut off");
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at =
            header.data_offset +
            header.item_bytes * (header.fortran ? fortran_index(i, header.shape) : i);
        if (header.kind == 'U')
            out.texts.push_back(read_utf32(npy, at, header.item_bytes));
        else
            out.values.push_back(read_number(npy, at, header.kind, header.item_bytes));
    }
    return out;
}

std::size_t find_end_of_directory(const Bytes& zip) {
    REQUIRE_DATA(zip.size() >= 22, "too short for a zip");
    for (std::size_t i = zip.size() - 22;; --i) {
        if (read_at<std::uint32_t>(zip, i) == 0x06054B50) return i;
        REQUIRE_DATA(i > 0, "not a zip");
    }
}

// Data of the directory entry at `entry`; sizes come from the directory, as the local header may
// lack them.
Bytes entry_data(const Bytes& zip, std::size_t entry) {
    const auto method = read_at<std::uint16_t>(zip, entry + 10);
    const std::size_t packed = read_at<std::uint32_t>(zip, entry + 20),
                      size = read_at<std::uint32_t>(zip, entry + 24);
    const std::size_t local = read_at<std::uint32_t>(zip, entry + 42);
    const std::size_t data = local + 30 + read_at<std::uint16_t>(zip, local + 26) +
                             read_at<std::uint16_t>(zip, local + 28);
    REQUIRE_DATA(data + packed <= zip.size(), "a zip entry is cut off");
    if (method == 0) return {zip.data() + data, zip.data() + data + packed};
    REQUIRE_DATA(method == 8, "zip method {} is not handled", method);
    return inflate_raw(zip.data() + data, packed, size);
}

Bytes bytes_of(const fs::path& path) {
    auto bytes = read_file(path);
    REQUIRE_DATA(bytes.has_value(), "{}", bytes.error().text());
    return std::move(*bytes);
}

}  // namespace

Array load_npy(const fs::path& path) { return parse_npy(bytes_of(path)); }

Arrays load_npz(const fs::path& path) {
    const Bytes zip = bytes_of(path);
    const std::size_t end = find_end_of_directory(zip);
    const std::size_t count = read_at<std::uint16_t>(zip, end + 10);
    std::size_t entry = read_at<std::uint32_t>(zip, end + 16);
    std::map<std::string, Array> arrays;
    for (std::size_t i = 0; i < count; ++i) {
        REQUIRE_DATA(read_at<std::uint32_t>(zip, entry) == 0x02014B50,
                     "{}: the zip directory is broken", path.string());
        const std::size_t name_size = read_at<std::uint16_t>(zip, entry + 28);
        std::string name(reinterpret_cast<const char*>(zip.data()) + entry + 46, name_size);
        if (name.ends_with(".npy")) name.resize(name.size() - 4);
        arrays.emplace(std::move(name), parse_npy(entry_data(zip, entry)));
        entry += 46 + name_size + read_at<std::uint16_t>(zip, entry + 30) +
                 read_at<std::uint16_t>(zip, entry + 32);
    }
    return {path.string(), std::move(arrays)};
}

}  // namespace gs::test
