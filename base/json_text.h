// JSON from files nobody vouches for: parsed with the place of an error, numbers checked. Used by
// SOG, sets of levels and glTF.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/expected.h"

namespace gs {

/// `name` is for messages. Errors: malformed with byte; not an object.
inline Result<nlohmann::json> parse_json_object(std::span<const std::byte> bytes,
                                                const std::string& name) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    try {
        auto json = nlohmann::json::parse(text, text + bytes.size());
        if (!json.is_object()) return fail_at_byte(name, 0, "is JSON, but not an object");
        return json;
    } catch (const nlohmann::json::parse_error& error) {
        return fail_at_byte(name, error.byte, "is not valid JSON", "the file is cut or damaged");
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorKind::malformed, name, fmt::format("is not valid JSON: {}", error.what()),
                    "the file is damaged");
    }
}

/// The member, null when `json` is no object or has none.
inline const nlohmann::json& member(const nlohmann::json& json, const char* key) {
    static const nlohmann::json kNone;
    if (!json.is_object()) return kNone;
    const auto it = json.find(key);
    return it == json.end() ? kNone : *it;
}
inline const nlohmann::json& element(const nlohmann::json& json, std::size_t i) {
    static const nlohmann::json kNone;
    return json.is_array() && i < json.size() ? json[i] : kNone;
}
/// A whole number from 0 to `largest`.
inline std::optional<std::uint64_t> whole_number(const nlohmann::json& json,
                                                 std::uint64_t largest) {
    if (json.is_number_unsigned()) {
        const auto value = json.get<std::uint64_t>();
        return value <= largest ? std::optional(value) : std::nullopt;
    }
    if (!json.is_number_float()) return std::nullopt;
    const auto value = json.get<double>();
    if (!(value >= 0) || value > static_cast<double>(largest) || value != std::floor(value))
        return std::nullopt;
    return static_cast<std::uint64_t>(value);
}
/// All the numbers of a list, when it has `least` to `most` of them and nothing else.
inline std::optional<std::vector<float>> number_list(const nlohmann::json& json, std::size_t least,
                                                     std::size_t most) {
    if (!json.is_array() || json.size() < least || json.size() > most) return std::nullopt;
    std::vector<float> out;
    for (const nlohmann::json& value : json) {
        if (!value.is_number()) return std::nullopt;
        out.push_back(static_cast<float>(value.get<double>()));
    }
    return out;
}

}  // namespace gs
