// Kernels with one thing taken away that keeps their threads together: a barrier of the block, a
// barrier of a warp, one lane of a membermask. Whoever checks kernels must find each of them. A
// removed barrier is found by what it kept in order. A mask is found by comparing it with who came,
// wherever lane 31 does: it shows that a case reaches the place, and no more.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/ptx/execute.h"

namespace gs::ptx {

struct Mutant {
    std::size_t instruction = 0;  ///< in Report::instructions
    Source source;
    std::string what;  ///< "bar.sync removed"
    bool of_mask = false;
};

/// One for each bar.sync and bar.warp.sync (removed) and each shfl.sync and vote.sync (lane 31
/// taken out of its mask), in the order of the program.
std::vector<Mutant> mutants_of(const Kernel& kernel);
/// The kernel with that change.
Kernel mutated(const Kernel& kernel, const Mutant& mutant);

}  // namespace gs::ptx
