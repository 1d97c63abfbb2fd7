#include "profiler/inject/cupti_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace gs::inject::cupti {
namespace {

/// Takes the lowest bit out of `mask`; 64 when it is empty.
std::uint32_t take_bit(std::atomic<std::uint64_t>& mask) noexcept {
    std::uint64_t bits = mask.load(std::memory_order_relaxed);
    while (bits != 0 &&
           !mask.compare_exchange_weak(bits, bits & (bits - 1), std::memory_order_acq_rel)) {
    }
    return static_cast<std::uint32_t>(std::countr_zero(bits));
}

}  // namespace

bool BufferPool::prepare() noexcept {
    static_assert(kBuffers == 64);
    if (memory_ != nullptr) return true;
    void* memory = ::mmap(nullptr, kBytes * kBuffers, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::uint8_t*>(memory);
    free_.store(~std::uint64_t{0}, std::memory_order_release);
    return true;
}

std::uint8_t* BufferPool::take(std::uint64_t now_ns, std::uint64_t records) noexcept {
    if (memory_ == nullptr) return nullptr;
    const std::uint32_t i = take_bit(free_);
    if (i >= kBuffers) return nullptr;
    // Who looks in between finds when it was out before: too long ago, which does no harm.
    since_[i].store(now_ns, std::memory_order_release);
    records_[i].store(records, std::memory_order_release);
    return memory_ + i * kBytes;
}

std::uint64_t BufferPool::oldest_out(std::uint64_t otherwise) const noexcept {
    if (memory_ == nullptr) return otherwise;
    std::uint64_t oldest = otherwise;
    for (std::uint64_t out = ~free_.load(std::memory_order_acquire); out != 0; out &= out - 1)
        oldest = std::min(oldest, since_[std::countr_zero(out)].load(std::memory_order_acquire));
    return oldest;
}

std::uint64_t BufferPool::records_out() const noexcept {
    std::uint64_t records = 0;
    if (memory_ == nullptr) return records;
    for (std::uint64_t out = ~free_.load(std::memory_order_acquire); out != 0; out &= out - 1)
        records += records_[std::countr_zero(out)].load(std::memory_order_acquire);
    return records;
}
int BufferPool::out() const noexcept {
    return memory_ == nullptr ? 0 : std::popcount(~free_.load(std::memory_order_acquire));
}

std::uint32_t BufferPool::index_of(const std::uint8_t* buffer) const noexcept {
    if (memory_ == nullptr || buffer < memory_ || buffer >= memory_ + kBytes * kBuffers)
        return kBuffers;
    const auto offset = static_cast<std::size_t>(buffer - memory_);
    return offset % kBytes == 0 ? static_cast<std::uint32_t>(offset / kBytes) : kBuffers;
}

bool BufferPool::complete(const std::uint8_t* buffer, std::size_t valid) noexcept {
    const std::uint32_t i = index_of(buffer);
    if (i >= kBuffers) return false;
    const std::uint64_t bit = std::uint64_t{1} << i;
    const std::uint64_t not_out = free_.load(std::memory_order_acquire) |
                                  full_.load(std::memory_order_acquire) |
                                  reading_.load(std::memory_order_acquire);
    if ((not_out & bit) != 0) return false;
    valid_[i] = std::min(valid, kBytes);
    full_.fetch_or(bit, std::memory_order_release);
    return true;
}

std::uint8_t* BufferPool::next_full(std::size_t& valid) noexcept {
    const std::uint32_t i = take_bit(full_);
    if (i >= kBuffers) return nullptr;
    reading_.fetch_or(std::uint64_t{1} << i, std::memory_order_acq_rel);
    valid = valid_[i];
    return memory_ + i * kBytes;
}

void BufferPool::free(const std::uint8_t* buffer) noexcept {
    const std::uint32_t i = index_of(buffer);
    if (i >= kBuffers) return;
    reading_.fetch_and(~(std::uint64_t{1} << i), std::memory_order_acq_rel);
    free_.fetch_or(std::uint64_t{1} << i, std::memory_order_release);
}

void BufferPool::recall() noexcept {
    const std::uint64_t kept =
        full_.load(std::memory_order_acquire) | reading_.load(std::memory_order_acquire);
    // Nobody says how far they were filled: what they hold is given back to the system.
    for (std::uint64_t out = ~(kept | free_.load(std::memory_order_acquire)); out != 0;
         out &= out - 1)
        ::madvise(memory_ + static_cast<std::size_t>(std::countr_zero(out)) * kBytes, kBytes,
                  MADV_DONTNEED);
    free_.fetch_or(~kept, std::memory_order_release);
}

}  // namespace gs::inject::cupti
