#include "profiler/store/iteration_name.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"

namespace gs {
namespace {

struct Known {
    std::string_view word;
    int rank;
};
constexpr Known kKnown[] = {{"iteration", kBestIterationRank},
                            {"profilerstep", 4},
                            {"trainstep", 3},
                            {"trainingstep", 3},
                            {"trainiteration", 3},
                            {"trainingiteration", 3},
                            {"trainiter", 3},
                            {"iter", 2},
                            {"step", 2}};

bool is_numeral(char c) { return c >= '0' && c <= '9'; }

}  // namespace

IterationName iteration_name(std::string_view text) {
    constexpr std::size_t kLongest = 32;
    const std::size_t stop = std::min(text.find_first_of("#[(:=0123456789"), text.size());
    if (stop == 0 || stop > kLongest) return {};
    std::string word;
    for (const char c : text.substr(0, stop))
        if (c != ' ' && c != '_' && c != '-' && c != '.') word += lower_case(c);
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const Known& k) { return k.word == word; });
    if (known == std::end(kKnown)) return {};
    IterationName out{known->rank, std::nullopt};
    const auto digit =
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(stop), text.end(), is_numeral);
    std::uint64_t number = 0;
    const char* const from = text.data() + (digit - text.begin());
    if (digit != text.end() &&
        std::from_chars(from, text.data() + text.size(), number).ec == std::errc())
        out.number = number;
    return out;
}

}  // namespace gs
