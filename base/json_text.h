// JSON from files nobody vouches for: the one way it is parsed. Nesting is limited, as copying,
// printing and comparing JSON recurse; the place of an error is kept, the parser's own words are
// not. Used by everything that reads JSON but traces, which have a reader of their own.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "base/name_text.h"

namespace gs {

/// Deepest nesting of lists and objects that is read.
inline constexpr int kDeepestJson = 128;

/// The first byte that nests deeper. Of text that is no JSON, any byte or none. `comments`: as
/// parse_json().
inline std::optional<std::size_t> too_deep_at(std::string_view text, bool comments = false) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            for (++i; i < text.size() && text[i] != '"'; ++i)
                if (text[i] == '\\') ++i;
        } else if (comments && text.substr(i, 2) == "//") {
            i = std::min(text.find_first_of(std::string_view("\n\r\0", 3), i), text.size());
        } else if (comments && text.substr(i, 2) == "/*") {
            i = std::min(text.find("*/", i + 2), text.size() - 1) + 1;
        } else if (c == '[' || c == '{') {
            if (++depth > kDeepestJson) return i;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return std::nullopt;
}

/// Strings as json_text() of json_write.h was given them: bytes of names come back.
template <class Json>
void take_names(Json& json) {
    if (json.is_string()) {
        auto& text = json.template get_ref<std::string&>();
        if (text.find(kReplacement) != std::string::npos) text = name_from_text(text);
    } else if (json.is_array()) {
        for (Json& value : json) take_names(value);
    } else if (json.is_object()) {
        Json out = Json::object();
        for (auto& [key, value] : json.items()) {
            take_names(value);
            out[name_from_text(key)] = std::move(value);
        }
        json = std::move(out);
    }
}
template <class Json>
Json with_names(Json json, std::string_view text) {
    // As itself, or as any program escapes it.
    if (text.find(kReplacement) != std::string_view::npos ||
        text.find("\\ufffd") != std::string_view::npos ||
        text.find("\\uFFFD") != std::string_view::npos)
        take_names(json);
    return json;
}

/// `own`: bytes of names come back; anyone's text stays as it is written.
enum class JsonBy { own, anyone };

/// Errors: malformed, with the byte; nested deeper than kDeepestJson. `name` is for messages;
/// `comments`: the text may have comments as C++ has them.
template <class Json = nlohmann::json>
Result<Json> parse_json(std::string_view text, const std::string& name, bool comments = false,
                        JsonBy by = JsonBy::own) {
    if (const auto deep = too_deep_at(text, comments))
        return fail_at_byte(
            name, *deep, fmt::format("nests lists and objects deeper than {} levels", kDeepestJson),
            "the file is damaged");
    try {
        Json json = Json::parse(text, nullptr, true, comments);
        return by == JsonBy::own ? with_names(std::move(json), text) : json;
    } catch (const typename Json::parse_error& error) {
        return fail_at_byte(name, error.byte, "is not valid JSON", "the file is cut or damaged");
    } catch (const typename Json::exception&) {
        return fail(ErrorKind::malformed, name,
                    "is not valid JSON: it holds a number beyond the range of a double",
                    "the file is damaged");
    }
}
/// Discarded where parse_json() gives an error.
template <class Json = nlohmann::json>
Json json_or_discarded(std::string_view text) {
    if (too_deep_at(text)) return Json(Json::value_t::discarded);
    return with_names(Json::parse(text, nullptr, false), text);
}

/// Errors: those of parse_json(); not an object.
inline Result<nlohmann::json> parse_json_object(std::span<const std::byte> bytes,
                                                const std::string& name, JsonBy by = JsonBy::own) {
    auto json =
        parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name, false, by);
    if (json && !json->is_object()) return fail_at_byte(name, 0, "is JSON, but not an object");
    return json;
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
template <class T = float>
std::optional<std::vector<T>> number_list(const nlohmann::json& json, std::size_t least,
                                          std::size_t most) {
    if (!json.is_array() || json.size() < least || json.size() > most) return std::nullopt;
    std::vector<T> out;
    for (const nlohmann::json& value : json) {
        if (!value.is_number()) return std::nullopt;
        out.push_back(static_cast<T>(value.get<double>()));
    }
    return out;
}

}  // namespace gs
