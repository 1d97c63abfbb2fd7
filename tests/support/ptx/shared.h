// A block's shared memory, with a shadow that remembers who read and wrote each cell since the last
// barrier: races are seen whatever order the warps ran in.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/ptx/program.h"

namespace gs::ptx {

class Warp;

enum class Access : std::uint8_t { read, write, atomic };

class SharedMemory {
  public:
    explicit SharedMemory(const Program& program);

    /// Nothing is written any more.
    void begin_block() {
        ++block_;
        ++interval_;
    }
    /// All threads of the block have met: what came before is ordered before what comes.
    void barrier() { ++interval_; }

    /// Bytes at an address of the shared window's own numbering; null with the fault reported when
    /// they are not within an array. `value`: what is about to be written; writing what is there
    /// already is no race. `several`: every active lane reads these bytes.
    std::byte* access(Warp& warp, int lane, std::uint64_t address, std::size_t bytes, Access kind,
                      const std::byte* value, bool several = false);
    /// Whether all of these bytes of an array have been written in this block.
    bool written(const std::byte* at, std::size_t bytes) const;
    void set_written(const std::byte* at, std::size_t bytes, bool written);

  private:
    /// Who last wrote a cell, and who read it, in which interval between barriers.
    struct Cell {
        std::uint32_t written_in = 0;  ///< block; 0: not
        std::uint32_t write_interval = 0, read_interval = 0;
        std::uint32_t write_stamp = 0, read_stamp = 0;  ///< of the warp (Warp::stamp)
        std::int16_t writer = 0;                        ///< thread
        std::int16_t reader = 0;  ///< thread; the lanes of warp w: kLanesOf - w; kWarps: several
        bool by_atomic = false, lanes_atomic = false;
    };
    static constexpr std::int16_t kWarps = -1, kLanesOf = -2;

    void check_read(Warp& warp, int lane, Cell& cell, std::uint64_t address, bool several) const;
    void check_write(Warp& warp, int lane, Cell& cell, std::uint64_t address, Access kind,
                     bool changes) const;
    std::size_t cell_of(const std::byte* at) const {
        return static_cast<std::size_t>(at - storage_.data()) / granule_;
    }

    const Program& program_;
    const std::size_t granule_;  ///< bytes of a cell
    std::vector<std::byte> storage_;
    std::vector<Cell> cells_;
    std::uint32_t block_ = 0, interval_ = 0;
};

/// Passes over 32 banks of 4 bytes that the lanes of `mask` need for `bytes` each, and how many
/// they would need if they lay best.
struct BankPasses {
    int passes = 0, least = 0;
};
BankPasses bank_passes(const std::uint64_t* addresses, std::uint32_t mask, std::size_t bytes);

}  // namespace gs::ptx
