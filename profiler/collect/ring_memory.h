// A producer's ring as a reader sees it: mapped read-only, copied from while it is being written.
// Used by TraceReader.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/expected.h"

namespace gs {

class RingMemory {
  public:
    RingMemory() = default;
    /// Maps what lies behind `fd`, which stays the caller's. Errors: unreadable, unsupported
    /// (memory that may shrink under the reader), malformed (too short for a ring's header).
    static Result<RingMemory> map(int fd);

    std::size_t bytes() const { return memory_.get_deleter().bytes; }
    /// A copy of `bytes` at `offset`, by relaxed 8-byte loads: the producer may be writing there.
    void copy(std::uint64_t offset, void* to, std::size_t bytes) const;
    template <class T>
    T load_acquire(std::uint64_t offset) const {
        auto* where = reinterpret_cast<T*>(const_cast<std::byte*>(memory_.get()) + offset);
        return std::atomic_ref(*where).load(std::memory_order_acquire);
    }

  private:
    struct Unmap {
        std::size_t bytes;
        void operator()(const std::byte* memory) const;
    };
    std::unique_ptr<const std::byte, Unmap> memory_;
};

}  // namespace gs
