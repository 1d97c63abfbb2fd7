// What the words of a range's name say about its part in a training loop, and the name without its
// number: "ProfilerStep#37" and "ProfilerStep#38" are one name. Used by the NameBook, once a name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/store/renumbering.h"

namespace gs {

/// Bits of words_in().
enum NameWord : std::uint16_t {
    kUpdateWord = 1,      ///< "optimizer", "adam", "update"
    kDataWord = 2,        ///< "load", "batch", "decode"
    kTrainWord = 4,       ///< "backward", "loss"
    kSideWord = 8,        ///< "eval", "checkpoint", "log", "epoch": beside the loop or around it
    kRequestWord = 16,    ///< "request", "handle", "rpc"
    kOptimizerHook = 32,  ///< "Optimizer.step#Adam.step", of PyTorch's and our own hook
    kLoaderHook = 64,     ///< "enumerate(DataLoader)#...", of the same
};
inline constexpr std::uint16_t kEndsTurn = kUpdateWord | kOptimizerHook;
/// Names that only programs that train use.
inline constexpr std::uint16_t kTrainingWords =
    kUpdateWord | kTrainWord | kOptimizerHook | kLoaderHook;

std::uint16_t words_in(std::string_view name);

enum class Digits : std::uint8_t {
    counting,  ///< behind one of "#[( =:,", or before one of ",)]"
    all,
};
/// Such digits are "*" in the answer: "batch 17" is "batch *"; "layer4" stays with `counting`.
std::string starred(std::string_view name, Digits which);

/// What is before the first number: "layer 12" is "layer"; empty: nothing.
std::string_view name_stem(std::string_view name);

/// Which names are one but for their number, by the NameBook's indices. Digits that need not count
/// do when more than kMostSpellings names differ in nothing else, whatever their domain.
class NameNumbers {
  public:
    static constexpr std::uint32_t kMostSpellings = 16;
    /// The next name.
    void add(std::string_view text);
    /// The same for all names that are one.
    std::uint64_t key(std::uint32_t name) const {
        return all_count(name) ? numbered_[names_[name].numbered].key : names_[name].key;
    }
    /// The same without any digits; 0: the name has none that may count.
    std::uint64_t bare(std::uint32_t name) const {
        const std::uint32_t at = names_[name].numbered;
        return at == kNone ? 0 : numbered_[at].key;
    }
    Digits digits(std::uint32_t name) const {
        return all_count(name) ? Digits::all : Digits::counting;
    }
    void renumber(const NewNumbers& number);
    std::size_t bytes() const;

  private:
    struct Name {
        std::uint64_t key = 0;
        std::uint32_t numbered = kNone;
    };
    /// Names that are the same without any digits.
    struct Numbered {
        std::uint64_t key = 0;
        std::vector<std::uint64_t> spellings;  ///< their keys; no more than decide
        void add(std::uint64_t spelling);
    };
    static constexpr std::uint32_t kNone = ~0u;
    bool all_count(std::uint32_t name) const {
        const std::uint32_t at = names_[name].numbered;
        return at != kNone && numbered_[at].spellings.size() > kMostSpellings;
    }

    std::vector<Name> names_;
    std::vector<Numbered> numbered_;
    std::unordered_map<std::uint64_t, std::uint32_t> index_of_;  // into numbered_, by key
};

}  // namespace gs
