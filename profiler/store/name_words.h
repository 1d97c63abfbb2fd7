// What the words of a range's name say about its part in a training loop, and the name without its
// number: "ProfilerStep#37" and "ProfilerStep#38" are one name. Used by the NameBook, once a name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
std::string without_numbers(std::string_view name, Digits which);

}  // namespace gs
