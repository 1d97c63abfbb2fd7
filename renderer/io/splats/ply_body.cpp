#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/files/text_reader.h"
#include "renderer/io/splats/ply.h"

namespace gs {
namespace {

template <class T, bool swapped>
T load(const std::byte* p) {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), p, sizeof(T));
    if constexpr (swapped) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
}

// Rows of the element lie `stride` bytes apart from `rows`; they become rows `first` and on of the
// column.
template <class T, bool swapped>
void copy_column(const std::byte* rows, std::size_t stride, std::size_t count, std::size_t first,
                 const PlyColumn& column) {
    const auto copy = [&](auto* target) {
        for (std::size_t i = 0; i < count; ++i)
            target[i] = static_cast<std::remove_pointer_t<decltype(target)>>(
                load<T, swapped>(rows + i * stride));
    };
    if (column.exact != nullptr)
        copy(column.exact + first);
    else
        copy(column.target + first);
}

using CopyColumn = void (*)(const std::byte*, std::size_t, std::size_t, std::size_t,
                            const PlyColumn&);

template <bool swapped>
CopyColumn copier(PlyType type) {
    switch (type) {
        case PlyType::i8:
            return copy_column<std::int8_t, swapped>;
        case PlyType::u8:
            return copy_column<std::uint8_t, swapped>;
        case PlyType::i16:
            return copy_column<std::int16_t, swapped>;
        case PlyType::u16:
            return copy_column<std::uint16_t, swapped>;
        case PlyType::i32:
            return copy_column<std::int32_t, swapped>;
        case PlyType::u32:
            return copy_column<std::uint32_t, swapped>;
        case PlyType::f32:
            return copy_column<float, swapped>;
        case PlyType::f64:
            return copy_column<double, swapped>;
    }
    return nullptr;
}

Result<void> read_binary(const InputFile& file, const PlyHeader& header, const PlyElement& element,
                         std::span<const PlyColumn> columns, const Progress& progress) {
    GS_TRY(const auto offset, ply_element_offset(file, header, element));
    const bool swapped = header.encoding == PlyEncoding::big_endian;
    const std::size_t stride = element.row_bytes, count = element.count;
    std::vector<CopyColumn> copiers;
    for (const PlyColumn& column : columns) {
        const PlyType type = element.properties[static_cast<std::size_t>(column.property)].type;
        copiers.push_back(swapped ? copier<true>(type) : copier<false>(type));
    }
    const std::size_t tile =
        std::max<std::size_t>(1, (std::size_t{1} << 15) / stride);  // what a level-1 cache holds
    return read_records(
        file, offset, stride, count, progress,
        [&](const std::byte* rows, std::size_t first, std::size_t n) {
            for (std::size_t t = 0; t < n; t += tile)
                for (std::size_t c = 0; c < columns.size(); ++c) {
                    const std::uint32_t at =
                        element.properties[static_cast<std::size_t>(columns[c].property)].offset;
                    copiers[c](rows + t * stride + at, stride, std::min(tile, n - t), first + t,
                               columns[c]);
                }
        });
}

// Pieces of a file, read in order.
class Window {
  public:
    Window(const InputFile& file, std::uint64_t at) : file_(file), begin_(at) {}
    // The bytes at `at`, `n` of them (8 at most); the pointer lives until the next call.
    Result<const std::byte*> bytes(std::uint64_t at, std::size_t n) {
        if (at < begin_ || at + n > begin_ + bytes_.size()) {
            if (at > file_.size() || n > file_.size() - at)
                return fail_at_byte(file_.path(), file_.size(), "the file ends inside a list",
                                    "the file is cut");
            bytes_.resize(std::min<std::uint64_t>(kWindow, file_.size() - at));
            GS_TRY_VOID(file_.read_at(at, bytes_));
            begin_ = at;
        }
        return bytes_.data() + (at - begin_);
    }

  private:
    static constexpr std::size_t kWindow = 1 << 16;
    const InputFile& file_;
    std::uint64_t begin_;
    std::vector<std::byte> bytes_;
};

template <bool swapped>
std::int64_t load_count(const std::byte* p, PlyType type) {
    switch (type) {
        case PlyType::i8:
            return load<std::int8_t, swapped>(p);
        case PlyType::u8:
            return load<std::uint8_t, swapped>(p);
        case PlyType::i16:
            return load<std::int16_t, swapped>(p);
        case PlyType::u16:
            return load<std::uint16_t, swapped>(p);
        case PlyType::i32:
            return load<std::int32_t, swapped>(p);
        case PlyType::u32:
            return load<std::uint32_t, swapped>(p);
        default:
            return -1;  // no whole number
    }
}

// The byte after all rows of an element with lists: each row has its own length. A row of empty
// lists still takes a byte, so a count that the file cannot hold ends at its end.
template <bool swapped>
Result<std::uint64_t> end_of_lists(const InputFile& file, const PlyElement& element,
                                   std::uint64_t at) {
    Window window(file, at);
    for (std::uint64_t row = 0; row < element.count; ++row)
        for (const PlyProperty& property : element.properties) {
            const std::uint64_t size = ply_type_bytes(property.type);
            if (!property.list) {
                at += size;
                continue;
            }
            const std::size_t head = ply_type_bytes(property.count_type);
            GS_TRY(const std::byte* bytes, window.bytes(at, head));
            const std::int64_t count = load_count<swapped>(bytes, property.count_type);
            if (count < 0)
                return fail_at_byte(file.path(), at, "a list has a negative number of values",
                                    "the file is damaged");
            at += head + static_cast<std::uint64_t>(count) * size;
        }
    return at;
}

// Comments and blank lines are not part of ASCII bodies; elements follow each other one row a line.
Result<void> read_ascii(const InputFile& file, const PlyHeader& header, const PlyElement& element,
                        std::span<const PlyColumn> columns, const Progress& progress) {
    std::string text(file.size(), '\0');
    GS_TRY_VOID(file.read_at(0, std::as_writable_bytes(std::span(text))));
    LineReader lines(text);
    std::string_view line;
    const auto cut = [&] {
        return fail_at_line(file.path(), lines.number(),
                            fmt::format("the file ends before the last row of {}", element.name),
                            "the file is cut");
    };
    while (lines.next(line) && trimmed(line) != "end_header") {
    }
    for (const PlyElement& e : header.elements) {
        if (&e == &element) break;
        for (std::uint64_t i = 0; i < e.count; ++i)
            if (!lines.next(line)) return cut();
    }
    std::vector<double> row(element.properties.size());
    for (std::size_t i = 0; i < element.count; ++i) {
        do {
            if (!lines.next(line)) return cut();
        } while (trimmed(line).empty());
        for (std::size_t p = 0; p < row.size(); ++p)
            if (!parse_next(line, row[p]))
                return fail_at_line(file.path(), lines.number(),
                                    fmt::format("property \"{}\" is missing or not a number",
                                                element.properties[p].name),
                                    "the file is cut or damaged");
        for (const PlyColumn& column : columns) {
            const double value = row[static_cast<std::size_t>(column.property)];
            if (column.exact != nullptr)
                column.exact[i] = value;
            else
                column.target[i] = static_cast<float>(value);
        }
        if (i % 65536 == 65535 && !keep_going(progress, i + 1, element.count))
            return reading_cancelled(file.path());
    }
    return {};
}

}  // namespace

Result<std::uint64_t> ply_element_offset(const InputFile& file, const PlyHeader& header,
                                         const PlyElement& element) {
    std::uint64_t at = header.body_at;
    for (const PlyElement& e : header.elements) {
        if (&e == &element && e.has_list)
            return fail(ErrorKind::unsupported, file.path(),
                        fmt::format("element {} has list properties", e.name),
                        "export it without them");
        if (&e == &element) return at;
        if (e.has_list) {
            const bool swapped = header.encoding == PlyEncoding::big_endian;
            GS_TRY(at,
                   swapped ? end_of_lists<true>(file, e, at) : end_of_lists<false>(file, e, at));
            continue;
        }
        if (e.row_bytes > 0 && e.count > (file.size() - std::min(at, file.size())) / e.row_bytes)
            return fail_at_byte(
                file.path(), at,
                fmt::format("claims {} rows of {}, more than the file holds", e.count, e.name),
                "the file is cut or damaged");
        at += e.count * e.row_bytes;
    }
    return at;
}

Result<void> check_ply_size(const InputFile& file, const PlyHeader& header,
                            const PlyElement& element) {
    const std::uint64_t body = file.size() - std::min(header.body_at, file.size());
    std::uint64_t row = element.row_bytes;
    if (header.encoding == PlyEncoding::ascii) {
        row = 2 * element.properties.size();  // a digit and a separator
        // The last separator may be missing.
        if (element.properties.empty() || element.count <= (body + 1) / row) return {};
    } else {
        GS_TRY(const auto offset, ply_element_offset(file, header, element));
        const std::uint64_t rest = file.size() - std::min(offset, file.size());
        if (row == 0 || element.count <= rest / row) return {};
    }
    return fail_at_byte(file.path(), file.size(),
                        fmt::format("the file ends too early: {} rows of {} need {} bytes or more "
                                    "each, but only {} bytes follow the header",
                                    element.count, element.name, row, body),
                        "the file is cut or its count is wrong; copy it again");
}

Result<void> read_ply_columns(const InputFile& file, const PlyHeader& header,
                              const PlyElement& element, std::span<const PlyColumn> columns,
                              const Progress& progress) {
    if (element.count == 0 || columns.empty()) return {};
    if (element.has_list)
        return fail(ErrorKind::unsupported, file.path(),
                    fmt::format("element {} has list properties", element.name),
                    "export it without them");
    GS_TRY_VOID(check_ply_size(file, header, element));
    return header.encoding == PlyEncoding::ascii
               ? read_ascii(file, header, element, columns, progress)
               : read_binary(file, header, element, columns, progress);
}

}  // namespace gs
