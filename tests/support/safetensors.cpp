#include "tests/support/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/bad_data.h"

namespace gs::test {
namespace {

template <class T>
std::vector<double> widen(const std::byte* data, std::size_t bytes) {
    std::vector<T> raw(bytes / sizeof(T));
    std::memcpy(raw.data(), data, raw.size() * sizeof(T));
    return {raw.begin(), raw.end()};
}

}  // namespace

Arrays load_safetensors(const fs::path& path) {
    const auto bytes = read_file(path);
    REQUIRE_DATA(bytes.has_value(), "{}", bytes.error().text());
    std::uint64_t header_size = 0;
    REQUIRE_DATA(bytes->size() >= 8, "{} is too short", path.string());
    std::memcpy(&header_size, bytes->data(), 8);
    REQUIRE_DATA(header_size <= bytes->size() - 8, "{} has a broken header", path.string());
    const char* text = reinterpret_cast<const char*>(bytes->data()) + 8;
    const auto header = nlohmann::json::parse(text, text + header_size);
    std::map<std::string, Array> arrays;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const std::size_t begin = 8 + header_size + entry["data_offsets"][0].get<std::size_t>();
        const std::size_t end = 8 + header_size + entry["data_offsets"][1].get<std::size_t>();
        REQUIRE_DATA(begin <= end && end <= bytes->size(), "{}: tensor {} lies outside the file",
                     path.string(), name);
        const std::string type = entry["dtype"];
        REQUIRE_DATA(type == "F32" || type == "F64" || type == "I32", "{}: type {} is not handled",
                     path.string(), type);
        Array array;
        array.shape = entry["shape"].get<std::vector<std::size_t>>();
        const std::byte* data = bytes->data() + begin;
        array.values = type == "F32"   ? widen<float>(data, end - begin)
                       : type == "F64" ? widen<double>(data, end - begin)
                                       : widen<std::int32_t>(data, end - begin);
        arrays.emplace(name, std::move(array));
    }
    return {path.string(), std::move(arrays)};
}

}  // namespace gs::test
