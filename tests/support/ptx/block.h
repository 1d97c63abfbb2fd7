// One block of threads at a time: its warps, their barriers, its shared memory; and what a launch
// gathers: faults and counts. Made by execute(), reused for every block of a launch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/ptx/shared.h"
#include "tests/support/ptx/warp.h"

namespace gs::ptx {

class Block {
  public:
    Block(const Program& program, Memory& memory, std::span<const std::byte> parameters, Grid grid,
          const Options& options);

    /// Runs block `index` of the grid to its end.
    void run(unsigned index);
    /// A fault has ended the launch (Options::stop_at_fault).
    bool stopped() const { return options_.stop_at_fault && !faults_.empty(); }
    Report report() const;

    // ---- for the functions of instructions
    SharedMemory shared;
    Memory& memory;
    std::span<const std::byte> parameters;
    void fault(const Warp& warp, FaultKind kind, int lane, std::string detail);

  private:
    enum class Stop { barrier, ended };
    /// Until the warp's next barrier, or its end.
    Stop advance(Warp& warp);
    void branch(Warp& warp, const Instruction& i);
    void end_lanes(Warp& warp, std::uint32_t lanes);
    /// All warps have stopped: the waiting ones continue together.
    void release();
    void check_barrier(Warp& first, Warp& warp);

    const Program& program_;
    const Grid grid_;
    const Options& options_;
    std::vector<std::unique_ptr<Warp>> warps_;
    std::vector<Stop> stopped_;
    std::vector<Counts> counts_;  ///< by instruction
    std::vector<Fault> faults_;
    std::vector<std::pair<FaultKind, int>> fault_keys_;  ///< kind and instruction of each
    unsigned index_ = 0;
};

}  // namespace gs::ptx
