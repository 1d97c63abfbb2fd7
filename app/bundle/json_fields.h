// Reads JSON fields that may be missing or of another type: valid fields are taken, others keep
// their value. For settings files, where damage is not an error.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace gs {

/// The value under `key` if present and of the right type.
template <class T>
void take(const nlohmann::json& object, const char* key, T& into) {
    const auto found = object.find(key);
    if (found == object.end()) return;
    if constexpr (std::is_same_v<T, bool>) {
        if (found->is_boolean()) into = found->template get<bool>();
    } else if constexpr (std::is_arithmetic_v<T>) {
        if (found->is_number()) into = found->template get<T>();
    } else {
        if (found->is_string()) into = found->template get<T>();
    }
}
/// One of `names`.
template <class E, std::size_t n>
void take_name(const nlohmann::json& object, const char* key,
               const std::array<const char*, n>& names, E& into) {
    std::string name;
    take(object, key, name);
    for (std::size_t i = 0; i < n; ++i)
        if (name == names[i]) into = static_cast<E>(i);
}

}  // namespace gs
