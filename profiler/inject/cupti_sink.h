// Where CUPTI's records go: its callbacks hand out buffers and take them back, and a completed
// buffer becomes records of the ring's activity lane there and then, on the thread that brought it.
// When several come at once, one thread reads them all and the others continue without waiting. One
// per process (CUPTI's callbacks carry no pointer of ours).
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/inject/cupti_abi.h"

namespace gs::inject::cupti::sink {

/// Before CUPTI gets the callbacks. False: no memory for buffers.
bool begin(const Functions& cupti, const Layouts& layouts, std::uint32_t version) noexcept;
/// After CUPTI has gone for good: its buffers are free again.
void recall_buffers() noexcept;

/// CUPTI's two callbacks.
void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept;
void completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
               std::size_t valid) noexcept;

/// From `cupti_ns` on (CUPTI's clock) nothing is wanted, or something again: what lies wholly in
/// such a stretch is thrown away, which CUPTI bears better than kinds switched off and on. One
/// thread at a time.
void begin_pause(std::uint64_t cupti_ns) noexcept;
void end_pause(std::uint64_t cupti_ns) noexcept;

/// All that was launched before this moment (CLOCK_MONOTONIC) is in the ring, when CUPTI has
/// flushed what was complete at `flushed_ns`.
std::uint64_t complete_until(std::uint64_t flushed_ns) noexcept;
/// How often CUPTI has come for a buffer or brought one.
std::uint64_t visits() noexcept;
/// CUPTI has none of our buffers.
bool nothing_out() noexcept;
/// More calls than these need a visit to be reported.
std::uint64_t calls_without_visit() noexcept;
bool graph_seen() noexcept;  ///< a CUDA graph has run

std::uint64_t written() noexcept;   ///< records that reached the ring
std::uint64_t told() noexcept;      ///< records that CUPTI made for us, kept or not
std::uint64_t gpu_told() noexcept;  ///< of those: work of the GPU
/// Records that came but could not be kept: no buffer was left for them, or they were damaged.
std::uint64_t lost() noexcept;

/// Which CUDA calls are worth a record; valid after begin().
bool call_is_recorded(bool driver, std::uint32_t cbid) noexcept;

/// In the child of a fork.
void close() noexcept;

}  // namespace gs::inject::cupti::sink
