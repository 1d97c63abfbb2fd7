#include "profiler/inject/cupti_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace gs::inject::cupti {
namespace {

/// Takes the lowest bit out of `mask`; 32 when it is empty.
std::uint32_t take_bit(std::atomic<std::uint32_t>& mask) noexcept {
    std::uint32_t bits = mask.load(std::memory_order_relaxed);
    while (bits != 0 &&
           !mask.compare_exchange_weak(bits, bits & (bits - 1), std::memory_order_acq_rel)) {
    }
    return static_cast<std::uint32_t>(std::countr_zero(bits));
}

}  // namespace

bool BufferPool::prepare() noexcept {
    static_assert(kBuffers == 32);
    if (memory_ != nullptr) return true;
    void* memory = ::mmap(nullptr, kBytes * kBuffers, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::uint8_t*>(memory);
    free_.store(~0u, std::memory_order_release);
    return true;
}

std::uint8_t* BufferPool::take() noexcept {
    if (memory_ == nullptr) return nullptr;
    const std::uint32_t i = take_bit(free_);
    return i < kBuffers ? memory_ + i * kBytes : nullptr;
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
    const std::uint32_t bit = 1u << i;
    const std::uint32_t not_out = free_.load(std::memory_order_acquire) |
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
    reading_.fetch_or(1u << i, std::memory_order_acq_rel);
    valid = valid_[i];
    return memory_ + i * kBytes;
}

void BufferPool::free(const std::uint8_t* buffer) noexcept {
    const std::uint32_t i = index_of(buffer);
    if (i >= kBuffers) return;
    reading_.fetch_and(~(1u << i), std::memory_order_acq_rel);
    free_.fetch_or(1u << i, std::memory_order_release);
}

void BufferPool::recall() noexcept {
    const std::uint32_t kept =
        full_.load(std::memory_order_acquire) | reading_.load(std::memory_order_acquire);
    free_.fetch_or(~kept, std::memory_order_release);
}

}  // namespace gs::inject::cupti
