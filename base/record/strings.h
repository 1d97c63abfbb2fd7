// StringTable: the recorder's private index over the ring's append-only string arena, so that equal
// names share one id. Used by ring.cpp under its lock; nvtx.cpp reads texts through it.
#pragma once

#include <cstdint>

#include "base/record/ring.h"

namespace gs::detail {

class StringTable {
  public:
    static constexpr std::uint32_t kMaxStrings = 8191;

    void attach(abi::RingHeader& header) noexcept;
    void reset() noexcept;
    /// The id of a name, added if new; 0 when nothing more fits (counted in the header).
    std::uint32_t add(const StringKey& key) noexcept;
    /// Null for an unknown id. Needs no lock for an id that add() has returned.
    const abi::StringEntry* entry(std::uint32_t id) const noexcept;
    /// Copies the text of `id` into `out` with a terminator; "" for an unknown id.
    void copy_text(std::uint32_t id, char (&out)[abi::kMaxStringBytes + 1]) const noexcept;

  private:
    static constexpr std::uint32_t kBuckets = 16384;  // at most half full
    abi::StringEntry* at(std::uint32_t id) const noexcept;

    abi::RingHeader* header_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t used_bytes_ = 0;
    std::uint32_t offset_[kMaxStrings + 1] = {};  // of entry id in the arena
    std::uint16_t bucket_[kBuckets] = {};         // id, 0: empty
};

}  // namespace gs::detail
