// Exceptions in our own words: libraries' names and codes are not for people. Used where an
// exception ends what was going on and becomes a message.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace gs {

inline std::string words_of(const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
    const std::string_view words = error.what();
    // nlohmann's, of a value that a reader did not expect.
    if (words.starts_with("[json.exception"))
        return "JSON holds a value of another kind than expected";
    if (words.starts_with("std::") || words.starts_with("basic_string") ||
        words.starts_with("vector::"))
        return "an internal limit was exceeded";
    return std::string(words);
}

}  // namespace gs
