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

double largest_near(std::span<const std::uint32_t> words, std::size_t at) {
    double largest = 0;
    const std::size_t end = std::min(words.size(), at + kNear + 1);
    for (std::size_t i = at < kNear ? 0 : at - kNear; i < end; ++i)
        if (is_number(words[i]))
            largest = std::max(largest, static_cast<double>(std::abs(number(words[i]))));
    return largest;
}

/// How far two floats lie apart over what lies around them.
std::optional<double> floats_apart(std::span<const std::uint32_t> expected,
                                   std::span<const std::uint32_t> got, std::size_t at) {
    const float a = number(expected[at]), b = number(got[at]);
    if (std::isnan(a) && std::isnan(b) && (is_made_nan(expected[at]) || is_made_nan(got[at])))
        return 0;
    // Zero and the smallest numbers are alike where denormals are flushed.
    const bool flushed = (expected[at] << 1 == 0 && std::fpclassify(b) == FP_SUBNORMAL) ||
                         (got[at] << 1 == 0 && std::fpclassify(a) == FP_SUBNORMAL);
    if (!flushed && (!is_number(expected[at]) || !is_number(got[at]))) return std::nullopt;
    const double apart = std::abs(static_cast<double>(a) - static_cast<double>(b));
    return apart == 0 ? 0 : apart / std::max(largest_near(expected, at), 1e-37);
}

/// The same of the aligned pair that a word lies in, read as a double.
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

bool within(const Tolerance& tolerance, std::span<const std::uint32_t> expected,
            std::span<const std::uint32_t> got, std::size_t at, double largest, double& worst) {
    const auto apart = floats_apart(expected, got, at);
    if (apart) {
        const double close = *apart * largest_near(expected, at);
        if (*apart <= tolerance.nearby) {
            worst = std::max(worst, *apart);
            return true;
        }
        if (close <= tolerance.of_largest * largest) return true;
    }
    const auto wide = doubles_apart(expected, got, at);
    return wide && *wide <= tolerance.nearby;
}

}  // namespace

WordDifferences compare_words(std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> expected,
                              std::span<const std::uint32_t> got, const Tolerance& tolerance,
                              const std::function<bool(std::size_t)>& excused) {
    WordDifferences out;
    const bool exact = tolerance.nearby == 0 && tolerance.of_largest == 0;
    double largest = 0;
    if (!exact)
        each_changed(before, expected, got, [&](std::size_t i) {
            if (is_number(expected[i]))
                largest = std::max(largest, static_cast<double>(std::abs(number(expected[i]))));
        });
    each_changed(before, expected, got, [&](std::size_t i) {
        ++out.changed;
        if (expected[i] == got[i]) return;
        ++out.differing;
        if (!exact && within(tolerance, expected, got, i, largest, out.worst)) return;
        if (excused && excused(i)) return;
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
