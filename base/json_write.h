// JSON out: the one way it becomes text. Names of files may hold any bytes and numbers may be
// missing; JSON knows neither. Used by whoever prints JSON or writes it to a file.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace gs {

/// `indent` below 0: one line. Bytes that are not UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// null when it is not finite: what could not be measured is not 0.
inline nlohmann::ordered_json json_number(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace gs
