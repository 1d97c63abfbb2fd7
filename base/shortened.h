// Messages quote files and requests, which hold words of any length and orders to terminals: here
// the quotations become what people read. Used by the log, the notices and panels of the studio and
// the command line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/record/utf8.h"
#include "base/text.h"

namespace gs {

/// Bytes of a message that is shown: an error, a notice, a line of the log.
inline constexpr std::size_t kLongestMessage = 2000;
/// Bytes of a name that a command saves something under.
inline constexpr std::size_t kLongestName = 100;

/// `text`, or `most` bytes of it around a note of how many are left out; characters stay whole.
/// Control characters but line ends and tabs are '?': a terminal would obey them.
inline std::string shortened(std::string_view text, std::size_t most = kLongestMessage) {
    std::string out(text);
    if (text.size() > most) {
        const std::string_view begin = whole_characters(text, most * 3 / 4);
        std::string_view end = text.substr(text.size() - most / 4);
        while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80)
            end.remove_prefix(1);
        out = fmt::format("{} [... {} bytes left out ...] {}", begin,
                          text.size() - begin.size() - end.size(), end);
    }
    for (char& c : out)
        if (is_control(c) && c != '\n' && c != '\t') c = '?';
    return out;
}

}  // namespace gs
