#include "tests/support/emulator/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tests/support/emulator/block.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/poison.h"
#include "tests/support/emulator/sanitizer.h"
#include "tests/support/emulator/shared_array.h"

namespace gs::emulator {
namespace {

constexpr std::size_t kGap = 64;
constexpr std::size_t kRoom = SharedMemory::kLimit * 2;  ///< arrays, their alignment and gaps
constexpr std::byte kGapByte{0x5E};

}  // namespace

SharedMemory::SharedMemory()
    : bytes_(static_cast<std::byte*>(::operator new(kRoom, std::align_val_t(256)))) {}

SharedMemory::~SharedMemory() {
    unguard(bytes_, used_);
    ::operator delete(bytes_, std::align_val_t(256));
}

void SharedMemory::begin() {
    unguard(bytes_, used_);
    declarations_.clear();
    used_ = declared_ = 0;
}

void* SharedMemory::claim(std::size_t element_bytes, std::size_t count, std::size_t alignment,
                          const char* name, std::source_location where) {
    for (const Declaration& known : declarations_) {
        if (known.name != name && std::strcmp(known.name, name) != 0) continue;
        if (!same_place(known.where, where)) continue;
        if (known.element_bytes != element_bytes || known.count != count) {
            current_block()->report(
                Fault::shared_mismatch,
                fmt::format("shared array {} declared with {} x {} bytes, by another thread of the "
                            "block with {} x {}",
                            name, count, element_bytes, known.count, known.element_bytes),
                where);
        }
        return bytes_ + known.offset;
    }
    const std::size_t bytes = element_bytes * count;
    const std::size_t aligned = std::max<std::size_t>(alignment, 16);
    const std::size_t offset = (used_ + aligned - 1) / aligned * aligned;
    declared_ += bytes;
    if (declared_ > kLimit) {
        current_block()->report(
            Fault::shared_too_large,
            fmt::format("{} bytes of shared memory with array {}, {} is the limit", declared_, name,
                        kLimit),
            where);
    }
    poison(bytes_ + offset, bytes);
    std::memset(bytes_ + offset + bytes, static_cast<int>(kGapByte), kGap);
    used_ = offset + bytes + kGap;
    guard(bytes_ + offset + bytes, kGap);
    declarations_.push_back({where, name, element_bytes, count, offset});
    return bytes_ + offset;
}

void SharedMemory::verify() const {
    if (kAddressSanitizer) return;  // which has stopped the one who did it
    for (const Declaration& one : declarations_) {
        const std::byte* const gap = bytes_ + one.offset + one.element_bytes * one.count;
        const std::byte* const damaged =
            std::find_if(gap, gap + kGap, [](std::byte b) { return b != kGapByte; });
        if (damaged != gap + kGap) {
            current_block()->report(
                Fault::shared_overrun,
                fmt::format("shared memory written {} bytes past the end of array {}",
                            damaged - gap, one.name),
                one.where);
        }
    }
}

void* claim_shared(std::size_t element_bytes, std::size_t count, std::size_t alignment,
                   const char* name, std::source_location where) {
    return current_block()->shared().claim(element_bytes, count, alignment, name, where);
}

void report_shared_index(const char* name, std::size_t index, std::size_t count,
                         std::source_location where) {
    current_block()->report(Fault::shared_bounds,
                            fmt::format("index {} of shared array {} of {}",
                                        static_cast<std::ptrdiff_t>(index), name, count),
                            where);
}

}  // namespace gs::emulator
