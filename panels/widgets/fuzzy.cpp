#include "panels/widgets/fuzzy.h"

#include <algorithm>

namespace gs {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool letter_or_digit(char c) {
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

int fuzzy_score(std::string_view query, std::string_view text) {
    int score = 0, run = 0;
    std::size_t at = 0;
    for (const char wanted : query) {
        if (wanted == ' ') {
            run = 0;
            continue;
        }
        // The beginning of a word is taken when there is one ahead, unless the next letter goes on
        // a run.
        std::size_t found = std::string_view::npos;
        for (std::size_t i = at; i < text.size(); ++i) {
            if (lower(text[i]) != lower(wanted)) continue;
            const bool begins_word = i == 0 || !letter_or_digit(text[i - 1]);
            if (found == std::string_view::npos || begins_word) found = i;
            if (begins_word || (i == at && run > 0)) break;
        }
        if (found == std::string_view::npos) return -1;
        run = found == at && at > 0 ? run + 1 : 1;
        const bool begins_word = found == 0 || !letter_or_digit(text[found - 1]);
        score += 1 + 3 * (run - 1) + (begins_word ? 8 : 0) -
                 static_cast<int>(std::min<std::size_t>(found - at, 3));
        at = found + 1;
    }
    return std::max(score, 0);
}

bool contains_text(std::string_view text, std::string_view needle) {
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    return std::search(text.begin(), text.end(), needle.begin(), needle.end(), same) != text.end();
}

}  // namespace gs
