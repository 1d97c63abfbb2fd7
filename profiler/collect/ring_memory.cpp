#include "profiler/collect/ring_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/record/abi.h"

namespace gs {

void RingMemory::Unmap::operator()(const std::byte* memory) const {
    ::munmap(const_cast<std::byte*>(memory), bytes);
}

Result<RingMemory> RingMemory::map(int fd) {
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0)
        return fail(ErrorKind::unreadable, "", "there is no ring to read");
    // A ring that may shrink could take pages from under the reader at any moment.
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return fail(ErrorKind::unsupported, "",
                    "the ring's memory is not sealed against shrinking");
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    if (file_bytes < sizeof(abi::RingHeader))
        return fail(ErrorKind::malformed, "", "the ring is shorter than its header");
    const std::size_t bytes = std::min<std::uint64_t>(file_bytes, abi::kHardCap);
    void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return fail(ErrorKind::unreadable, "",
                    fmt::format("the ring cannot be mapped: {}", std::strerror(errno)));
    RingMemory out;
    out.memory_ = {static_cast<const std::byte*>(memory), Unmap{bytes}};
    return out;
}

void RingMemory::copy(std::uint64_t offset, void* to, std::size_t bytes) const {
    constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
    auto* from = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(memory_.get()) + offset);
    auto* out = static_cast<std::byte*>(to);
    for (std::size_t i = 0; i < bytes / kWordBytes; ++i) {
        const std::uint64_t word = std::atomic_ref(from[i]).load(std::memory_order_relaxed);
        std::memcpy(out + i * kWordBytes, &word, kWordBytes);
    }
}

}  // namespace gs
