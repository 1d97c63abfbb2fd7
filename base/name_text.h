// Names of files as text and back. A name may hold any bytes, JSON holds UTF-8 only: each byte that
// is not part of UTF-8 is written as U+FFFD and its two hexadecimal digits ("caf\xe9" is "caf�e9"),
// so that a path read back still names the file. Used by json_write.h and json_text.h, for every
// string.
#pragma once

#include <string>
#include <string_view>

namespace gs {

/// U+FFFD in UTF-8.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Whether text_from_name() would change it.
bool needs_text(std::string_view name);
std::string text_from_name(std::string_view name);
/// The bytes that text_from_name() was given; text that it does not write stays as it is.
std::string name_from_text(std::string_view text);

}  // namespace gs
