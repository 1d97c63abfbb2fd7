// Memory that a kernel left beside memory that the same kernel, compiled otherwise, left: equal
// bits where the kernel moves or counts, rounding where it calculates. Nothing says what a word is,
// so each is judged by what it can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gs::ptx {

/// How far numbers may lie apart: either is enough. Zeros: equal bits.
struct Tolerance {
    /// Over the largest number of the 16 around: fused multiply-adds show where terms cancel, and
    /// their sizes are those of the numbers beside (a record's, a plane's).
    double nearby = 0;
    /// Over the largest number of its kind that the kernel wrote into the allocation: sums of many
    /// cancelling terms are as exact as the largest of them, not as what is left.
    double of_largest = 0;
    /// Aligned pairs of words are doubles, `nearby` is over their own size: nothing else is judged.
    bool doubles = false;
};

/// What the caller knows of an allocation's words, by number. Empty: nothing.
struct WordMeaning {
    /// Numbers of different kinds (a plane, first moments, second moments) are of different sizes,
    /// and only words of one kind are measures of each other. Small numbers: they are indices.
    std::function<std::size_t(std::size_t)> kind;
    /// Asked about words beyond the tolerance; true: they count as within.
    std::function<bool(std::size_t)> excused;
    /// Likewise, with what was expected and what was got: words that are no floats.
    std::function<bool(std::size_t, std::uint32_t, std::uint32_t)> alike{};
};

struct WordDifferences {
    std::uint64_t changed = 0;    ///< words that the kernel changed, on either side
    std::uint64_t differing = 0;  ///< of which the bits differ
    std::uint64_t beyond = 0;     ///< of which by more than the tolerance
    double worst = 0;             ///< largest that is within Tolerance::nearby
    struct Example {
        std::size_t word;
        std::uint32_t before, expected, got;
    };
    std::vector<Example> examples;  ///< the first few of `beyond`
    void add(const WordDifferences& more);
};

/// Words of one allocation: before the launch, as it should have left them, as it left them; of one
/// length.
WordDifferences compare_words(std::span<const std::uint32_t> before,
                              std::span<const std::uint32_t> expected,
                              std::span<const std::uint32_t> got, const Tolerance& tolerance,
                              const WordMeaning& meaning = {});
/// "word 12: 0x3f800000 (1), expected 0x3f800001 (1.0000001)".
std::string text_of(const WordDifferences::Example& example);

}  // namespace gs::ptx
