// Lines and numbers of a text file, without copies and without the locale. Used by the parsers of
// COLMAP's text, of lists, of KITTI's files and of ASCII PLY.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace gs {

/// Takes the next blank-separated word off the front of `line`; empty at the end.
inline std::string_view next_word(std::string_view& line) {
    std::size_t begin = 0;
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    std::size_t end = begin;
    while (end < line.size() && !is_blank(line[end])) ++end;
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

/// The whole word as a number; false when it is not one or does not fit. A leading + is accepted;
/// so are nan and inf.
template <class T>
bool parse_number(std::string_view word, T& out) {
    if (!word.empty() && word.front() == '+') word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && end == word.data() + word.size() && !word.empty();
}
template <class T>
bool parse_next(std::string_view& line, T& out) {
    return parse_number(next_word(line), out);
}

class LineReader {
  public:
    /// A byte order mark in front is no part of the first line.
    explicit LineReader(std::string_view text) : text_(text) {
        if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    }
    /// False at the end. The line comes without its line break.
    bool next(std::string_view& line) {
        if (at_ >= text_.size()) return false;
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        line = text_.substr(at_, end - at_);
        at_ = end + 1;
        ++number_;
        return true;
    }
    /// 1-based number of the line last given.
    std::uint64_t number() const { return number_; }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace gs
