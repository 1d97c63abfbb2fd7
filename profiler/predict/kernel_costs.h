// What our kernels cost, counted in the code nvcc made of them (assets/gpu/kernel_costs.csv,
// written by tools/sass_costs.py): warp instructions of each kernel and of each of its loops, by
// the unit that executes them, per architecture. The performance model multiplies them by how often
// a frame runs them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace gs {

/// Warp instructions in a piece of code, once each.
struct CodeCost {
    double issue = 0;  ///< all of them
    double fp32 = 0, half = 0, integer = 0, special = 0;
    double shared_load = 0, shared_store = 0, global_load = 0, global_store = 0;
    double shuffle = 0, vote = 0, atomic = 0, control = 0, other = 0;
    double stall = 0;   ///< clocks, the sum of the fixed waits between them
    double rounds = 0;  ///< times a warp must wait for loads it has sent, one after the other
    double least = 0;   ///< instructions of the shortest way through
    CodeCost& operator+=(const CodeCost& more);
    CodeCost operator*(double times) const;
};

struct LoopCost {
    int number = 0, parent = 0;  ///< 0: in no other loop
    int depth = 1;
    std::string line;  ///< of its head in the source, "blend.cu:90"
    CodeCost code;     ///< without the loops inside it
    bool innermost = true;
};

struct KernelCost {
    std::string architecture;  ///< "90"
    std::string file;          ///< "renderer/raster/cuda/blend.cu"
    std::string kernel;        ///< "blend<(Depths)0, false, false, (Measured)0>"
    int registers = 0;         ///< a thread
    int shared_bytes = 0;      ///< a block, static
    CodeCost code;             ///< all of it
    CodeCost outside;          ///< its code outside loops
    std::vector<LoopCost> loops;
};

class KernelCosts {
  public:
    /// The CSV; `origin` is for messages. Errors: malformed, with the line.
    static Result<KernelCosts> parse(std::string_view text, const std::string& origin);
    /// As built in.
    static KernelCosts built_in();
    /// The kernel of that architecture whose name is `kernel`, or begins with it when it ends in
    /// '*'; the first in the table. Null: there is none.
    const KernelCost* find(std::string_view architecture, std::string_view kernel) const;
    const std::vector<KernelCost>& kernels() const { return kernels_; }

  private:
    std::vector<KernelCost> kernels_;
};

}  // namespace gs
