#include "tests/support/ptx_launches/word_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace gs::ptx {
namespace {

constexpr std::size_t kNear = 8;  // words to either side
constexpr std::size_t kMostExamples = 3;
constexpr std::size_t kChunkWords = 1024;
constexpr double kLargestNumber = 1e38;  // absurd parameters have absurd conics

float number(std::uint32_t word) { return std::bit_cast<float>(word); }

/// A number, or a count, index or mask: those look like denormals, like NaN or far too large.
bool is_number(std::uint32_t word) {
    return word << 1 == 0 ||
           (std::isnormal(number(word)) && std::abs(number(word)) < kLargestNumber);
}

/// The NaN that an operation makes, on the host or on a GPU; any other is data or a mask.
bool is_made_nan(std::uint32_t word) {
    return word == 0x7fffffffu || (word & 0x7fffffffu) == 0x7fc00000u;
}

std::size_t kind_of(const WordMeaning& meaning, std::size_t word) {
    return meaning.kind ? meaning.kind(word) : 0;
}

/// The largest number of the word's kind around it.
double largest_near(std::span<const std::uint32_t> words, std::size_t at,
                    const WordMeaning& meaning) {
    double largest = 0;
    const std::size_t end = std::min(words.size(), at + kNear + 1), kind = kind_of(meaning, at);
    for (std::size_t i = at < kNear ? 0 : at - kNear; i < end; ++i)
        if (is_number(words[i]) && kind_of(meaning, i) == kind)
            largest = std::max(largest, static_cast<double>(std::abs(number(words[i]))));
    return largest;
}

/// How far two floats lie apart; none: they are not two numbers.
std::optional<double> floats_apart(std::uint32_t expected, std::uint32_t got) {
    const float a = number(expected), b = number(got);
    if (std::isnan(a) && std::isnan(b) && (is_made_nan(expected) || is_made_nan(got))) return 0;
    // Zero and the smallest numbers are alike where denormals are flushed.
    const bool flushed = (expected << 1 == 0 && std::fpclassify(b) == FP_SUBNORMAL) ||
                         (got << 1 == 0 && std::fpclassify(a) == FP_SUBNORMAL);
    if (!flushed && (!is_number(expected) || !is_number(got))) return std::nullopt;
    return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

/// How far the doubles lie apart that a word is half of, over the larger.
std::optional<double> doubles_apart(std::span<const std::uint32_t> expected,
                                    std::span<const std::uint32_t> got, std::size_t at) {
    const std::size_t first = at / 2 * 2;
    if (first + 1 >= expected.size()) return std::nullopt;
    double a = 0, b = 0;
    std::memcpy(&a, &expected[first], sizeof a);
    std::memcpy(&b, &got[first], sizeof b);
    const double size = std::max(std::abs(a), std::abs(b));
    if (!std::isfinite(size) || size > kLargestNumber || size < 1e-30) return std::nullopt;
    return std::abs(a - b) / size;
}

}  // namespace

void WordDifferences::add(const WordDifferences& more) {
    changed += more.changed;
    differing += more.differing;
    beyond += more.beyond;
    worst = std::max(worst, more.worst);
}

namespace {

/// Calls f(word) for those that the kernel changed, on either side.
template <class F>
void each_changed(std::span<const std::uint32_t> before, std::span<const std::uint32_t> expected,
                  std::span<const std::uint32_t> got, F&& f) {
    for (std::size_t chunk = 0; chunk < expected.size(); chunk += kChunkWords) {
        const std::size_t end = std::min(expected.size(), chunk + kChunkWords),
                          bytes = (end - chunk) * sizeof(std::uint32_t);
        if (std::memcmp(&before[chunk], &expected[chunk], bytes) == 0 &&
            std::memcmp(&before[chunk], &got[chunk], bytes) == 0)
            continue;
        for (std::size_t i = chunk; i < end; ++i)
            if (expected[i] != before[i] || got[i] != before[i]) f(i);
    }
}

struct Compared {
    std::span<const std::uint32_t> expected, got;
    const Tolerance& tolerance;
    const WordMeaning& meaning;
    std::vector<double> largest;  ///< of each kind
};

bool within(const Compared& c, std::size_t at, double& worst) {
    if (c.tolerance.doubles) {
        const auto wide = doubles_apart(c.expected, c.got, at);
        return wide && *wide <= c.tolerance.nearby;
    }
    const auto apart = floats_apart(c.expected[at], c.got[at]);
    if (!apart) return false;
    const double near =
        *apart == 0 ? 0 : *apart / std::max(largest_near(c.expected, at, c.meaning), 1e-37);
    if (near <= c.tolerance.nearby) {
        worst = std::max(worst, near);
        return true;
    }
    const std::size_t kind = kind_of(c.meaning, at);
    return kind < c.largest.size() && *apart <= c.tolerance.of_largest * c.largest[kind];
}

}  // namespace

WordDifferences compare_words(std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> expected,
                              std::span<const std::uint32_t> got, const Tolerance& tolerance,
                              const WordMeaning& meaning) {
    WordDifferences out;
    const bool exact = tolerance.nearby == 0 && tolerance.of_largest == 0;
    Compared compared{expected, got, tolerance, meaning, {}};
    if (tolerance.of_largest > 0)
        each_changed(before, expected, got, [&](std::size_t i) {
            if (!is_number(expected[i])) return;
            const std::size_t kind = kind_of(meaning, i);
            if (kind >= compared.largest.size()) compared.largest.resize(kind + 1);
            compared.largest[kind] = std::max(compared.largest[kind],
                                              static_cast<double>(std::abs(number(expected[i]))));
        });
    each_changed(before, expected, got, [&](std::size_t i) {
        ++out.changed;
        if (expected[i] == got[i]) return;
        ++out.differing;
        if (!exact && within(compared, i, out.worst)) return;
        if (meaning.excused && meaning.excused(i)) return;
        if (meaning.alike && meaning.alike(i, expected[i], got[i])) return;
        ++out.beyond;
        if (out.examples.size() < kMostExamples)
            out.examples.push_back({i, before[i], expected[i], got[i]});
    });
    return out;
}

std::string text_of(const WordDifferences::Example& e) {
    return fmt::format("word {}: {:#010x} ({:.8g}), expected {:#010x} ({:.8g}), before {:#010x}",
                       e.word, e.got, number(e.got), e.expected, number(e.expected), e.before);
}

}  // namespace gs::ptx
