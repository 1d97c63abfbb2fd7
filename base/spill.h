// SpillAllocator: memory of arrays that grow large. By default it is ordinary memory; after
// spill_to() it is that of unnamed files. The system writes them to the disk as they grow and
// removes their pages from memory when memory is short. So a process can keep more data than the
// machine, or the container, has memory for.
#pragma once

#include <cstddef>
#include <new>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

/// Spills to `folder` from now on, for the whole process; call it before other threads run. Errors:
/// unwritable (such files cannot be created in the folder), unsupported (the folder itself is in
/// memory).
Result<void> spill_to(const fs::path& folder);

namespace detail {
/// Smaller arrays stay in ordinary memory.
inline constexpr std::size_t kLeastSpilledBytes = std::size_t{1} << 20;
/// Zeroed pages, in ordinary memory when the folder has no space. Null: that is full as well.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* pages, std::size_t bytes) noexcept;
}  // namespace detail

template <class T>
struct SpillAllocator {
    using value_type = T;
    SpillAllocator() = default;
    template <class U>
    SpillAllocator(const SpillAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
        if (count * sizeof(T) < detail::kLeastSpilledBytes)
            return static_cast<T*>(
                ::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
        void* const pages = detail::map_pages(count * sizeof(T));
        if (pages == nullptr) throw std::bad_alloc();
        return static_cast<T*>(pages);
    }
    void deallocate(T* items, std::size_t count) noexcept {
        if (count * sizeof(T) < detail::kLeastSpilledBytes)
            ::operator delete (items, std::align_val_t{alignof(T)});
        else
            detail::unmap_pages(items, count * sizeof(T));
    }
    friend bool operator==(const SpillAllocator&, const SpillAllocator&) { return true; }
};

}  // namespace gs
