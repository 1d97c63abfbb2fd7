// The memory that CUPTI writes its records into: a fixed number of buffers of one size, so that
// what a burst of launches can take is known beforehand. Handing out, returning and finding full
// ones are single atomic operations on bit masks; CUPTI's callbacks, which come from any thread and
// under CUPTI's own locks, never wait here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gs::inject::cupti {

class BufferPool {
  public:
    static constexpr std::size_t kBytes = 1u << 20;
    static constexpr std::uint32_t kBuffers =
        64;  ///< address space; pages are used as buffers fill
    static constexpr std::size_t kDiscardBytes = 128u << 10;

    /// Maps the memory; again: nothing. False when the system refuses.
    bool prepare() noexcept;
    /// A free buffer, all zero if whoever frees one sees to it; null when all are out. It counts as
    /// handed out at `now_ns`, for up to `records`.
    std::uint8_t* take(std::uint64_t now_ns, std::uint64_t records) noexcept;
    /// Since when the oldest buffer is out that has not been freed again; `otherwise` when none is.
    std::uint64_t oldest_out(std::uint64_t otherwise) const noexcept;
    int out() const noexcept;                    ///< how many are
    std::uint64_t records_out() const noexcept;  ///< for how many records they are
    /// The buffer all of whose contents are thrown away, for CUPTI versions that must be given one.
    std::uint8_t* discard() noexcept { return discard_; }
    bool is_discard(const std::uint8_t* buffer) const noexcept { return buffer == discard_; }

    /// CUPTI gives `buffer` back with `valid` bytes. False: not one of ours.
    bool complete(const std::uint8_t* buffer, std::size_t valid) noexcept;
    /// One completed buffer to be read and then freed; null when there is none.
    std::uint8_t* next_full(std::size_t& valid) noexcept;
    void free(const std::uint8_t* buffer) noexcept;
    bool any_full() const noexcept { return full_.load(std::memory_order_acquire) != 0; }
    /// CUPTI has gone: what it still had is ours again, and zero. Not while another thread reads a
    /// full one.
    void recall() noexcept;

  private:
    std::uint32_t index_of(const std::uint8_t* buffer) const noexcept;

    std::uint8_t* memory_ = nullptr;
    std::atomic<std::uint64_t> free_{0}, full_{0}, reading_{0};
    std::atomic<std::uint64_t> since_[kBuffers] = {}, records_[kBuffers] = {};
    std::size_t valid_[kBuffers] = {};  ///< written before the bit in full_ is set
    alignas(8) std::uint8_t discard_[kDiscardBytes] = {};
};

}  // namespace gs::inject::cupti
