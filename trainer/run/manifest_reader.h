// ManifestReader: numbers, flags and words of a captured step's manifest. step_file.cpp reads with
// it and asks once, at the end, what was wrong.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"

namespace gs {

/// Takes numbers out of the manifest; the first that is missing or impossible is remembered.
class ManifestReader {
  public:
    ManifestReader(const nlohmann::json& json, std::string path)
        : json_(json), path_(std::move(path)) {}

    const nlohmann::json& at(const char* key) const { return member(json_, key); }
    std::uint64_t whole(const nlohmann::json& from, const char* key, std::uint64_t least,
                        std::uint64_t most) {
        const auto value = whole_number(member(from, key), most);
        if (!value || *value < least) refuse(key);
        return value.value_or(least);
    }
    double number(const nlohmann::json& from, const char* key) {
        return number(member(from, key), key, true);
    }
    /// null is NaN.
    double measured(const nlohmann::json& from, const char* key) {
        if (member(from, key).is_null()) return std::numeric_limits<double>::quiet_NaN();
        return number(from, key);
    }
    double number(const nlohmann::json& value, const char* key, bool) {
        if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
        refuse(key);
        return 0;
    }
    bool flag(const nlohmann::json& from, const char* key) {
        const nlohmann::json& value = member(from, key);
        if (!value.is_boolean()) refuse(key);
        return value.is_boolean() && value.get<bool>();
    }
    std::string text(const char* key) {
        const nlohmann::json& value = at(key);
        if (!value.is_string()) refuse(key);
        return value.is_string() ? value.get<std::string>() : std::string();
    }
    template <std::size_t n>
    std::array<double, n> numbers(const nlohmann::json& from, const char* key) {
        std::array<double, n> out{};
        const nlohmann::json& list = member(from, key);
        if (!list.is_array() || list.size() != n) {
            refuse(key);
            return out;
        }
        for (std::size_t i = 0; i < n; ++i) out[i] = number(list[i], key, true);
        return out;
    }
    void refuse(const char* key) {
        if (wrong_.empty()) wrong_ = key;
    }
    Result<void> result() const {
        if (wrong_.empty()) return {};
        return fail(ErrorKind::malformed, path_,
                    fmt::format("its manifest has no usable \"{}\"", wrong_),
                    "the file is damaged");
    }

  private:
    const nlohmann::json& json_;
    std::string path_, wrong_;
};

}  // namespace gs
