// Which names programs give to one turn of their training loop. Used by the store (frames of
// foreign processes) and by whatever looks for iterations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gs {

struct IterationName {
    int rank = 0;  ///< 0: no such name. Where a process uses several, those of the highest rank are
                   ///< its iterations.
    std::optional<std::uint64_t> number;  ///< "ProfilerStep#12" -> 12, "iteration[40,44)" -> 40
};
inline constexpr int kPictureRank = 1;  ///< of a viewer, which counts where nothing is trained
inline constexpr int kBestIterationRank = 5;  ///< "iteration"

/// Case does not count, nor does what follows the word's digits: iteration, iter, step, train_step,
/// training step, train_iteration, ProfilerStep#N, iteration[a,b).
IterationName iteration_name(std::string_view text);

}  // namespace gs
