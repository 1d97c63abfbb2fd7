#include "renderer/io/splats/gltf_document.h"

#include <array>

#include "base/json_text.h"
#include "base/try.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kLargestNumber = 1ull << 48;

std::size_t bytes_of_type(int component_type) {
    switch (component_type) {
        case 5120:
        case 5121:
            return 1;
        case 5122:
        case 5123:
            return 2;
        case 5125:
        case 5126:
            return 4;
        default:
            return 0;
    }
}
int components_of(const std::string& type) {
    static const std::array<std::pair<const char*, int>, 7> kTypes = {{{"SCALAR", 1},
                                                                       {"VEC2", 2},
                                                                       {"VEC3", 3},
                                                                       {"VEC4", 4},
                                                                       {"MAT2", 4},
                                                                       {"MAT3", 9},
                                                                       {"MAT4", 16}}};
    for (const auto& [name, count] : kTypes)
        if (type == name) return count;
    return 0;
}

template <class T>
float real(const std::byte* p, bool normalized) {
    const auto value = static_cast<float>(load_as<T>(p));
    if constexpr (std::is_floating_point_v<T>) return value;
    if (!normalized) return value;
    return std::max(-1.0f, value / static_cast<float>(std::numeric_limits<T>::max()));
}
float real(const std::byte* p, int type, bool normalized) {
    switch (type) {
        case 5120:
            return real<std::int8_t>(p, normalized);
        case 5121:
            return real<std::uint8_t>(p, normalized);
        case 5122:
            return real<std::int16_t>(p, normalized);
        case 5123:
            return real<std::uint16_t>(p, normalized);
        case 5125:
            return real<std::uint32_t>(p, normalized);
        default:
            return real<float>(p, normalized);
    }
}

// RFC 4648; nothing when a character does not belong.
std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::vector<std::byte> out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                          : c >= 'a' && c <= 'z' ? c - 'a' + 26
                          : c >= '0' && c <= '9' ? c - '0' + 52
                          : c == '+' || c == '-' ? 62
                          : c == '/' || c == '_' ? 63
                                                 : -1;
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        if ((have += 6) >= 8) out.push_back(static_cast<std::byte>(bits >> (have -= 8) & 255));
    }
    return out;
}

// "%20" -> " ".
std::string unescaped(const std::string& uri) {
    std::string out;
    for (std::size_t i = 0; i < uri.size(); ++i) {
        const bool escape = uri[i] == '%' && i + 2 < uri.size() &&
                            std::isxdigit(static_cast<unsigned char>(uri[i + 1])) &&
                            std::isxdigit(static_cast<unsigned char>(uri[i + 2]));
        out += escape ? static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
        if (escape) i += 2;
    }
    return out;
}

}  // namespace

Result<void> GltfDocument::read_binary_chunks(InputFile file) {
    std::byte head[20];
    if (file.size() < sizeof head)
        return fail_at_byte(path_, file.size(), "the file ends inside the header",
                            "the file is cut");
    GS_TRY_VOID(file.read_at(0, head));
    if (load_as<std::uint32_t>(head + 4) != 2)
        return fail(ErrorKind::unsupported, path_,
                    fmt::format("is glTF {}; 2 is read", load_as<std::uint32_t>(head + 4)));
    const std::uint64_t json_size = load_as<std::uint32_t>(head + 12);
    if (load_as<std::uint32_t>(head + 16) != kGltfJsonChunk ||
        json_size > file.size() - sizeof head)
        return fail_at_byte(path_, 12, "the JSON chunk does not fit into the file",
                            "the file is cut or damaged");
    std::vector<std::byte> text(json_size);
    GS_TRY_VOID(file.read_at(sizeof head, text));
    auto json = parse_json_object(text, path_, JsonBy::anyone);
    if (!json) {
        if (json.error().byte) *json.error().byte += sizeof head;
        return tl::unexpected(json.error());
    }
    json_ = std::move(*json);
    const std::uint64_t at = sizeof head + json_size;
    if (at + 8 > file.size()) return {};
    GS_TRY_VOID(file.read_at(at, std::span(head).first(8)));
    const std::uint64_t size = load_as<std::uint32_t>(head);
    if (load_as<std::uint32_t>(head + 4) != kGltfBinaryChunk) return {};
    if (size > file.size() - at - 8)
        return fail_at_byte(path_, at,
                            fmt::format("the binary chunk claims {} bytes, {} are left", size,
                                        file.size() - at - 8),
                            "the file is cut; copy it again");
    Buffer chunk;
    chunk.file.emplace(std::move(file));
    chunk.offset = at + 8;
    chunk.size = size;
    binary_chunk_.emplace(std::move(chunk));
    return {};
}

Result<GltfDocument::Buffer> GltfDocument::open_buffer(const std::string& uri) const {
    Buffer out;
    if (uri.starts_with("data:")) {
        const auto comma = uri.find(',');
        if (comma == std::string::npos || uri.substr(0, comma).find("base64") == std::string::npos)
            return fail(ErrorKind::unsupported, path_, "embeds a buffer that is not base64");
        auto bytes = from_base64(std::string_view(uri).substr(comma + 1));
        if (!bytes)
            return fail(ErrorKind::malformed, path_, "embeds a buffer that is not base64",
                        "the file is damaged");
        out.bytes = std::move(*bytes);
        out.size = out.bytes.size();
        return out;
    }
    const std::string name = unescaped(uri);
    if (const std::string problem = problem_of_name(name); !problem.empty())
        return fail(ErrorKind::malformed, path_,
                    fmt::format("names a buffer \"{}\", {}", name, problem),
                    "the file is damaged or malicious");
    GS_TRY(auto file, InputFile::open(fs::path(path_).parent_path() / name));
    out.size = file.size();
    out.file.emplace(std::move(file));
    return out;
}

Result<void> GltfDocument::open_buffers() {
    constexpr std::size_t kMostBuffers = 256;
    const Json& list = member(json_, "buffers");
    if (list.is_array() && list.size() > kMostBuffers)
        return fail(ErrorKind::unsupported, path_, fmt::format("has {} buffers", list.size()));
    for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
        const Json& uri = member(list[i], "uri");
        if (!uri.is_string() && i == 0 && binary_chunk_) {
            buffers_.push_back(std::move(*binary_chunk_));
            continue;
        }
        if (!uri.is_string())
            return fail(ErrorKind::malformed, path_, fmt::format("buffer {} has no data", i),
                        "the file is damaged");
        GS_TRY(auto buffer, open_buffer(uri.get_ref<const std::string&>()));
        buffers_.push_back(std::move(buffer));
    }
    return {};
}

Result<GltfDocument> GltfDocument::open(const fs::path& path) {
    GltfDocument out;
    out.path_ = path.string();
    GS_TRY(auto file, InputFile::open(path));
    out.file_bytes_ = file.size();
    std::byte magic[4] = {};
    GS_TRY_VOID(file.read_at(0, std::span(magic).first(std::min<std::uint64_t>(4, file.size()))));
    if (load_as<std::uint32_t>(magic) == kGltfMagic) {
        GS_TRY_VOID(out.read_binary_chunks(std::move(file)));
    } else {
        GS_TRY(const auto text, read_file(path, 1ull << 32));
        GS_TRY(auto json, parse_json_object(text, out.path_, JsonBy::anyone));
        out.json_ = std::move(json);
    }
    GS_TRY_VOID(out.open_buffers());
    return out;
}

std::uint64_t GltfDocument::bytes() const {
    std::uint64_t sum = file_bytes_;
    for (const Buffer& buffer : buffers_)
        sum += buffer.file && buffer.offset == 0 ? buffer.size : 0;
    return sum;
}

Result<std::vector<std::byte>> GltfDocument::view_bytes(std::size_t index) const {
    const Json& view = element(member(json_, "bufferViews"), index);
    const Json& start = member(view, "byteOffset");
    const auto buffer = whole_number(member(view, "buffer"), kLargestNumber),
               length = whole_number(member(view, "byteLength"), kLargestNumber),
               offset = start.is_null() ? std::optional<std::uint64_t>(0)
                                        : whole_number(start, kLargestNumber);
    if (!buffer || !length || !offset || *buffer >= buffers_.size() ||
        *offset > buffers_[*buffer].size || *length > buffers_[*buffer].size - *offset)
        return fail(ErrorKind::malformed, path_, fmt::format("buffer view {} is not valid", index),
                    "the file is damaged");
    const Buffer& from = buffers_[*buffer];
    std::vector<std::byte> out(*length);
    if (from.file)
        GS_TRY_VOID(from.file->read_at(from.offset + *offset, out));
    else
        std::copy_n(from.bytes.begin() + static_cast<std::ptrdiff_t>(*offset), *length,
                    out.begin());
    return out;
}

Result<GltfDocument::Accessor> GltfDocument::accessor(std::size_t index) const {
    const auto malformed = [&](std::string what) {
        return fail(ErrorKind::malformed, path_, fmt::format("accessor {}: {}", index, what),
                    "the file is damaged");
    };
    const Json& json = element(member(json_, "accessors"), index);
    if (!json.is_object()) return malformed("it does not exist");
    if (json.contains("sparse"))
        return fail(ErrorKind::unsupported, path_, fmt::format("accessor {} is sparse", index));
    Accessor out;
    const auto type = whole_number(member(json, "componentType"), 10000),
               count = whole_number(member(json, "count"), 1ull << 32);
    const Json& shape = member(json, "type");
    out.component_type = static_cast<int>(type.value_or(0));
    out.components = shape.is_string() ? components_of(shape.get<std::string>()) : 0;
    const std::size_t row =
        bytes_of_type(out.component_type) * static_cast<std::size_t>(out.components);
    if (row == 0 || !count) return malformed("its type or count is not valid");
    out.count = *count;
    const Json& normalized = member(json, "normalized");
    out.normalized = normalized.is_boolean() && normalized.get<bool>();
    out.stride = row;
    if (!json.contains("bufferView")) return out;
    out.has_data = true;
    const auto view_index = whole_number(member(json, "bufferView"), kLargestNumber);
    const Json& view = view_index ? element(member(json_, "bufferViews"), *view_index) : Json();
    if (!view.is_object()) return malformed("its buffer view is missing");
    if (member(view, "extensions").is_object() && !member(view, "extensions").empty())
        return fail(ErrorKind::unsupported, path_, "has compressed buffer views",
                    "export it without compression");
    const auto number = [&](const Json& from, const char* key) {
        const Json& value = member(from, key);
        return value.is_null() ? std::optional<std::uint64_t>(0)
                               : whole_number(value, kLargestNumber);
    };
    const auto buffer = number(view, "buffer"), view_offset = number(view, "byteOffset"),
               length = whole_number(member(view, "byteLength"), kLargestNumber),
               stride = number(view, "byteStride"), offset = number(json, "byteOffset");
    if (!buffer || !view_offset || !length || !stride || !offset || *buffer >= buffers_.size() ||
        (*stride != 0 && *stride < row) || *stride > 65536)
        return malformed("its buffer view is not valid");
    if (*stride != 0) out.stride = *stride;
    out.buffer = *buffer;
    out.offset = *view_offset + *offset;
    const std::uint64_t needed = out.count == 0 ? 0 : (out.count - 1) * out.stride + row;
    if (*offset > *length || needed > *length - *offset || *view_offset > buffers_[*buffer].size ||
        *length > buffers_[*buffer].size - *view_offset)
        return malformed(fmt::format(
            "its {} rows exceed its buffer view, or the view exceeds the buffer", out.count));
    return out;
}

Result<void> GltfDocument::read(const Accessor& accessor, std::span<float* const> targets,
                                const Progress& progress) const {
    const std::size_t size = bytes_of_type(accessor.component_type);
    const auto decode = [&](const std::byte* rows, std::size_t first, std::size_t n) {
        for (std::size_t c = 0; c < targets.size(); ++c)
            for (std::size_t i = 0; i < n; ++i)
                targets[c][first + i] = real(rows + i * accessor.stride + c * size,
                                             accessor.component_type, accessor.normalized);
    };
    if (!accessor.has_data) {
        for (float* target : targets) std::fill_n(target, accessor.count, 0.0f);
        return {};
    }
    if (accessor.count == 0) return {};
    const Buffer& buffer = buffers_[accessor.buffer];
    if (!buffer.file) {
        parallel_ranges(accessor.count, 16384, [&](std::size_t begin, std::size_t end) {
            decode(buffer.bytes.data() + accessor.offset + begin * accessor.stride, begin,
                   end - begin);
        });
        return {};
    }
    // The last row may end before its stride does.
    const std::uint64_t at = buffer.offset + accessor.offset;
    GS_TRY_VOID(
        read_records(*buffer.file, at, accessor.stride, accessor.count - 1, progress, decode));
    std::vector<std::byte> last(size * static_cast<std::size_t>(accessor.components));
    GS_TRY_VOID(buffer.file->read_at(at + (accessor.count - 1) * accessor.stride, last));
    decode(last.data(), accessor.count - 1, 1);
    return {};
}

}  // namespace gs
