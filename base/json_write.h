// JSON out: the one way it becomes text. Names of files may hold any bytes and numbers may be
// missing; JSON knows neither. Used by whoever prints JSON or writes it to a file.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/name_text.h"

namespace gs {

template <class Json>
bool holds_names(const Json& json) {
    if (json.is_string()) return needs_text(json.template get_ref<const std::string&>());
    if (json.is_array())
        return std::any_of(json.begin(), json.end(), [](const Json& v) { return holds_names(v); });
    if (!json.is_object()) return false;
    for (const auto& [key, value] : json.items())
        if (needs_text(key) || holds_names(value)) return true;
    return false;
}
template <class Json>
Json names_as_text(const Json& json) {
    if (json.is_string()) return text_from_name(json.template get_ref<const std::string&>());
    if (!json.is_structured()) return json;
    Json out(json.type());
    if (json.is_array())
        for (const Json& value : json) out.push_back(names_as_text(value));
    else
        for (const auto& [key, value] : json.items())
            out[text_from_name(key)] = names_as_text(value);
    return out;
}

/// `indent` below 0: one line. Bytes that are not UTF-8 are written as name_text.h says.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
    const auto dump = [&](const Json& utf8) {
        return utf8.dump(indent, ' ', false, Json::error_handler_t::replace);
    };
    return holds_names(json) ? dump(names_as_text(json)) : dump(json);
}

/// null when it is not finite: what could not be measured is not 0.
inline nlohmann::ordered_json json_number(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace gs
