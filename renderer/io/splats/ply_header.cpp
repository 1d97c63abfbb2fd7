#include <algorithm>
#include <array>
#include <cmath>

#include "base/try.h"
#include "renderer/io/files/text_reader.h"
#include "renderer/io/splats/ply.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

constexpr std::size_t kLargestHeader = 1 << 20;

struct TypeName {
    std::string_view name;
    PlyType type;
};
constexpr std::array<TypeName, 16> kTypeNames = {{{"char", PlyType::i8},
                                                  {"int8", PlyType::i8},
                                                  {"uchar", PlyType::u8},
                                                  {"uint8", PlyType::u8},
                                                  {"short", PlyType::i16},
                                                  {"int16", PlyType::i16},
                                                  {"ushort", PlyType::u16},
                                                  {"uint16", PlyType::u16},
                                                  {"int", PlyType::i32},
                                                  {"int32", PlyType::i32},
                                                  {"uint", PlyType::u32},
                                                  {"uint32", PlyType::u32},
                                                  {"float", PlyType::f32},
                                                  {"float32", PlyType::f32},
                                                  {"double", PlyType::f64},
                                                  {"float64", PlyType::f64}}};

bool parse_type(std::string_view word, PlyType& out) {
    const auto* found = std::ranges::find(kTypeNames, word, &TypeName::name);
    if (found == kTypeNames.end()) return false;
    out = found->type;
    return true;
}

// Why the line is wrong, empty when it is right.
std::string parse_property(std::string_view line, PlyElement& element) {
    PlyProperty property;
    std::string_view type = next_word(line);
    if (type == "list") {
        PlyType count;
        if (!parse_type(next_word(line), count)) return "unknown type of a list's count";
        property.count_type = count;
        property.list = element.has_list = true;
        type = next_word(line);
    }
    if (!parse_type(type, property.type)) return fmt::format("unknown property type \"{}\"", type);
    property.name = next_word(line);
    if (property.name.empty()) return "a property without a name";
    if (element.find(property.name) >= 0)
        return fmt::format("property \"{}\" appears twice", property.name);
    property.offset = element.row_bytes;
    element.row_bytes += ply_type_bytes(property.type);
    element.properties.push_back(std::move(property));
    return {};
}

std::string parse_format(std::string_view line, PlyHeader& header) {
    const std::string_view format = next_word(line);
    if (format == "ascii")
        header.encoding = PlyEncoding::ascii;
    else if (format == "binary_little_endian")
        header.encoding = PlyEncoding::little_endian;
    else if (format == "binary_big_endian")
        header.encoding = PlyEncoding::big_endian;
    else
        return fmt::format("unknown format \"{}\"", format);
    return {};
}

std::string parse_line(std::string_view line, PlyHeader& header, bool& has_format) {
    const std::string_view keyword = next_word(line);
    if (keyword == "comment" || keyword == "obj_info") {
        header.comments.emplace_back(trimmed(line));
        return {};
    }
    if (keyword == "format") {
        has_format = true;
        return parse_format(line, header);
    }
    if (keyword == "element") {
        PlyElement element{.name = std::string(next_word(line))};
        if (element.name.empty() || !parse_next(line, element.count))
            return "an element needs a name and a count";
        header.elements.push_back(std::move(element));
        return {};
    }
    if (keyword == "property")
        return header.elements.empty() ? "a property before any element"
                                       : parse_property(line, header.elements.back());
    return keyword.empty() ? "" : fmt::format("unknown keyword \"{}\"", keyword.substr(0, 40));
}

}  // namespace

std::uint32_t ply_type_bytes(PlyType type) {
    switch (type) {
        case PlyType::i8:
        case PlyType::u8:
            return 1;
        case PlyType::i16:
        case PlyType::u16:
            return 2;
        case PlyType::f64:
            return 8;
        default:
            return 4;
    }
}

int PlyElement::find(std::string_view property) const {
    for (std::size_t i = 0; i < properties.size(); ++i)
        if (properties[i].name == property) return static_cast<int>(i);
    return -1;
}

const PlyElement* PlyHeader::find(std::string_view element) const {
    for (const PlyElement& e : elements)
        if (e.name == element) return &e;
    return nullptr;
}

bool PlyHeader::says_antialiased() const {
    return std::ranges::any_of(comments, [](const std::string& comment) {
        const std::string text = lower_case(comment);
        const auto mode = text.find("splatrendermode");
        if (mode != std::string::npos) return text.find("mip", mode) != std::string::npos;
        const auto word = text.find("antialiased");
        if (word == std::string::npos) return false;
        const std::string rest = text.substr(word);
        return rest.find('0') == std::string::npos && rest.find("false") == std::string::npos;
    });
}

TrainedThrough PlyHeader::trained() const {
    TrainedThrough out;
    for (const std::string& comment : comments) {
        std::string_view rest = comment;
        const std::string key = lower_case(std::string(next_word(rest)));
        double degrees = 0;
        if (key == "splatprojection:")
            out.unscented = lower_case(std::string(trimmed(rest))) == "ut";
        if (key == "splatlens:" && parse_next(rest, degrees) && degrees > 0 && degrees <= 180)
            out.widest_angle = degrees;
    }
    return out;
}

std::optional<Vec3d> PlyHeader::origin() const {
    for (const std::string& comment : comments) {
        std::string_view rest = comment;
        Vec3d out;
        if (lower_case(std::string(next_word(rest))) == "splatorigin:" && parse_next(rest, out.x) &&
            parse_next(rest, out.y) && parse_next(rest, out.z) &&
            std::isfinite(out.x + out.y + out.z))
            return out;
    }
    return {};
}

Sky PlyHeader::sky(std::vector<std::string>& notes) const {
    constexpr float kMost = 1e4f;  // no colour is that bright
    Sky out;
    std::size_t numbers = 0;
    bool sound = true;
    for (const std::string& comment : comments) {
        std::string_view rest = comment;
        if (lower_case(std::string(next_word(rest))) != "splatsky:") continue;
        for (int c = 0; c < 3; ++c, ++numbers)
            sound = sound && numbers < out.sh.size() && parse_next(rest, out.sh[numbers]) &&
                    std::abs(out.sh[numbers]) <= kMost;
    }
    for (int degree = 0; degree <= 3; ++degree)
        if (sound && numbers == static_cast<std::size_t>(3 * sh_bases(degree))) out.degree = degree;
    if (out.empty() && numbers > 0) notes.emplace_back("a damaged sky, which is left out");
    return out.empty() ? Sky() : out;
}

std::string ply_comments(const GaussianModel& model, const TrainedThrough& trained) {
    std::string out = "comment Generated by gausscope\n";
    if (!is_zero(model.origin))
        out += fmt::format("comment SplatOrigin: {} {} {}\n", model.origin.x, model.origin.y,
                           model.origin.z);
    for (int k = 0; !model.sky.empty() && k < sh_bases(model.sky.degree); ++k) {
        const float* rgb = model.sky.sh.data() + 3 * k;
        out += fmt::format("comment SplatSky: {} {} {}\n", rgb[0], rgb[1], rgb[2]);
    }
    if (model.antialiased) out += "comment SplatRenderMode: mip\n";
    if (trained.unscented) out += "comment SplatProjection: ut\n";
    if (trained.widest_angle > 0)
        out += fmt::format("comment SplatLens: {:g} degrees from the axis\n", trained.widest_angle);
    return out;
}

double full_ply_color(const std::array<std::span<const float>, 3>& columns, PlyType type) {
    float largest = 0;
    bool whole = type < PlyType::f32;
    for (const std::span<const float> column : columns)
        for (const float value : column)
            if (std::isfinite(value)) {
                largest = std::max(largest, value);
                whole = whole && value == std::floor(value);
            }
    // Computed values overshoot, and one value in a hundred may be anything.
    const float slack = whole ? 1 : 4;
    const std::ptrdiff_t few = std::ssize(columns[0]) * 3 / 100;
    for (const float full : {1.0f, 255.0f, 65535.0f}) {
        std::ptrdiff_t above = 0;
        for (const std::span<const float> column : columns)
            above +=
                std::ranges::count_if(column, [&](float value) { return value > slack * full; });
        // Bytes of a dark scene may all be 0 or 1.
        if (above <= few) return whole ? std::max(full, 255.0f) : full;
    }
    return static_cast<double>(largest);
}

Result<PlyHeader> parse_ply_header(std::string_view text, const std::string& path) {
    LineReader lines(text);
    std::string_view line;
    if (!lines.next(line) || trimmed(line) != "ply")
        return fail_at_line(path, 1, "is not a PLY file: the first line is not \"ply\"");
    PlyHeader header;
    bool has_format = false;
    while (lines.next(line)) {
        if (trimmed(line) == "end_header") {
            if (!has_format)
                return fail_at_line(path, lines.number(), "the header names no format");
            header.body_at =
                static_cast<std::uint64_t>(line.data() - text.data()) + line.size() + 1;
            return header;
        }
        if (const std::string problem = parse_line(line, header, has_format); !problem.empty())
            return fail_at_line(path, lines.number(), problem, "the header is damaged");
        if (header.elements.size() > 100 ||
            (!header.elements.empty() && header.elements.back().properties.size() > 10000))
            return fail_at_line(
                path, lines.number(),
                "the header lists more elements or properties than any program writes");
    }
    return fail_at_line(path, lines.number(), "the header has no end_header line",
                        "the file is cut");
}

Result<PlyHeader> read_ply_header(const InputFile& file) {
    // Small pieces first: a million-row file should not cost a megabyte to recognise.
    for (std::size_t window = 16384;; window *= 8) {
        std::string text(std::min<std::uint64_t>({window, kLargestHeader, file.size()}), '\0');
        GS_TRY_VOID(file.read_at(0, std::as_writable_bytes(std::span(text))));
        if (text.substr(0, 3) != "ply")
            return fail_at_line(file.path(), 1, "is not a PLY file: the first line is not \"ply\"");
        const bool whole = text.find("end_header") != std::string::npos ||
                           text.size() == file.size() || text.size() == kLargestHeader;
        if (whole) return parse_ply_header(text, file.path());
    }
}

}  // namespace gs
