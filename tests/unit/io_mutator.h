// Breaks bytes in the ways files are broken: bits flipped, numbers replaced, pieces cut, doubled
// and moved. Seeded: the same inputs on every machine. Used by every fuzz test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/rng.h"

namespace gs::test {

class Mutator {
  public:
    explicit Mutator(std::uint64_t seed) : seed_(seed) {}

    std::string operator()(std::string bytes) {
        for (std::uint64_t n = 1 + below(4); n > 0; --n) mutate(bytes);
        return bytes;
    }

  private:
    std::uint64_t below(std::uint64_t limit) {
        return limit == 0 ? 0 : random_bits(seed_, 0, counter_++) % limit;
    }

    void mutate(std::string& bytes) {
        static const std::string kWords[] = {
            "nan", "-inf", "1e999", "-1", "0",    "99999999999999999999", "\n",
            " ",   "{",    "]",     "\"", "null", "end_header\n",         "list uchar int"};
        const std::size_t at = below(bytes.size() + 1);
        switch (below(8)) {
            case 0:
                bytes.resize(at);
                break;
            case 1:
                if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
                break;
            case 2:
                if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
                break;
            case 3:
                overwrite(bytes, at);
                break;
            case 4:
                bytes.insert(at, kWords[below(std::size(kWords))]);
                break;
            case 5:
                bytes.erase(at, below(16));
                break;
            case 6:
                bytes.insert(at, bytes.substr(below(bytes.size() + 1), below(64)));
                break;
            default:
                overwrite(bytes, below(std::min<std::size_t>(bytes.size(), 64) + 1));
                break;  // headers are at the front
        }
    }
    // A whole number or a double of the kind that breaks things.
    void overwrite(std::string& bytes, std::size_t at) {
        static const std::uint64_t kNumbers[] = {0,
                                                 1,
                                                 0x7FFFFFFF,
                                                 0x80000000,
                                                 0xFFFFFFFF,
                                                 ~0ull,
                                                 1ull << 63,
                                                 0x7FF8000000000000ull,
                                                 0x7FF0000000000000ull,
                                                 0x7FEFFFFFFFFFFFFFull,
                                                 1ull << 40};
        const std::uint64_t value = kNumbers[below(std::size(kNumbers))];
        const std::size_t size = std::size_t{1} << below(4);
        if (at + size <= bytes.size()) std::memcpy(bytes.data() + at, &value, size);
    }

    std::uint64_t seed_, counter_ = 0;
};

// Mutates `whole` many times and hands each to `parse`; says how often it was still accepted.
// GAUSSCOPE_FUZZ_ROUNDS asks for more rounds than a test does of itself: for long runs by hand.
template <class Parse>
void hammer(const std::string& whole, std::uint64_t rounds, Parse&& parse) {
    const char* more = std::getenv("GAUSSCOPE_FUZZ_ROUNDS");
    rounds = std::max(rounds, std::uint64_t{more ? std::strtoull(more, nullptr, 10) : 0});
    std::size_t accepted = 0;
    for (std::uint64_t round = 0; round < rounds; ++round)
        accepted += parse(Mutator(round)(whole)) ? 1 : 0;
    ::testing::Test::RecordProperty("accepted", static_cast<int>(accepted));
}

}  // namespace gs::test
