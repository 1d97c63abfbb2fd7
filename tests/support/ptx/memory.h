// Device memory as an executed kernel sees it: regions at the very addresses that its parameters
// hold, each byte known to have been written or not. Tests fill it with what a launch found, and
// compare it with what the launch left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gs::ptx {

struct Region {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
    /// One per byte of `bytes`: 1 where it has been written. Empty: all of them have.
    std::vector<std::uint8_t> written;
    std::string name;  ///< for messages

    bool holds(std::uint64_t first, std::size_t count) const {
        return first >= address && first - address <= bytes.size() &&
               count <= bytes.size() - (first - address);
    }
};

class Memory {
  public:
    /// Regions must not overlap (a bug in the test: CHECK).
    void add(Region region);
    /// The region that holds all of [address, address + count), or null.
    Region* find(std::uint64_t address, std::size_t count);
    const Region* find(std::uint64_t address, std::size_t count) const {
        return const_cast<Memory*>(this)->find(address, count);
    }
    /// The last region that begins at or before the address, or null; for messages.
    const Region* near(std::uint64_t address) const;
    const std::vector<Region>& regions() const { return regions_; }

  private:
    std::vector<Region> regions_;  ///< by address
    std::size_t last_ = 0;         ///< found last
};

}  // namespace gs::ptx
