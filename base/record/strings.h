// StringTable: the recorder's index over the ring's append-only string arena, so that equal names
// share one id. A known name is found without a lock in some ten nanoseconds; a new one takes one.
// Behind register_string() (ring.h); the injection library asks it directly, for its names come
// with every call.
//
// Programs that build a new name for every step ("iteration 12345"), and compilers that number
// their kernels, would fill the arena. Once half of it is used, the digits of such names
// (StringKey::numbered) that were not seen before become '#', so they stay one name instead of
// becoming none.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/record/ring.h"

namespace gs::detail {

class StringTable {
  public:
    static constexpr std::uint32_t kMaxStrings = 8191;

    /// Begins an empty arena. Before anybody may look for a name in it.
    void attach(abi::RingHeader& header) noexcept;
    /// The arena has gone. In the child of a fork: no other thread is left that could hold the
    /// lock.
    void detach() noexcept;

    /// The id of a name that is known; 0: none is. No text is longer than abi::kMaxStringBytes.
    StringId find(const StringKey& key) const noexcept { return find(key, hash_of(key)); }
    /// The id of a name, added if new; 0 when nothing more fits (counted in the header).
    StringId add(StringKey key) noexcept;

    /// Another text that stands for a name, identified only by its hash (50 bits): a kernel's
    /// symbol, whose readable form takes long to find. 0: none is known. There is space for some
    /// 16,000; what finds none is forgotten.
    StringId find_alias(std::string_view text) const noexcept;
    void add_alias(std::string_view text, StringId id) noexcept;

    /// Copies the text of `id` into `out` with a terminator; "" for an unknown id.
    void copy_text(StringId id, char (&out)[abi::kMaxStringBytes + 1]) const noexcept;

  private:
    // A slot is filled once, under the lock. From its lowest bit: the id, whether it is an alias,
    // where the entry is in the arena (in eights), the upper bits of the hash. 0 is a free slot.
    static constexpr std::uint32_t kSlots = 32768;
    static constexpr std::uint32_t kMaxAliases = kSlots / 2;  // so a quarter stays free
    static constexpr std::uint64_t kIdBits = 0x1FFF, kAlias = 0x2000;
    static constexpr int kPlaceShift = 14, kHashShift = 29;
    static constexpr std::uint64_t kHashBits = ~std::uint64_t{0} << kHashShift;
    static_assert(kMaxStrings <= kIdBits && kMaxStrings + kMaxAliases <= kSlots / 4 * 3);
    static_assert(abi::kArenaBytes / 8 <= 1u << (kHashShift - kPlaceShift));

    static std::uint64_t hash_of(const StringKey& key) noexcept;
    StringId find(const StringKey& key, std::uint64_t hash) const noexcept;
    StringId append(const StringKey& key) noexcept;
    void fill_slot(std::uint64_t hash, std::uint64_t content) noexcept;
    bool half_full() const noexcept;
    std::byte* arena_ = nullptr;
    abi::RingHeader* header_ = nullptr;
    std::atomic<std::uint32_t> count_{0};
    std::atomic<bool> full_{false};
    std::uint32_t used_bytes_ = 0, aliases_ = 0;
    pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<std::uint64_t> slots_[kSlots] = {};
};

/// The recorder's; never destroyed, for threads record until the very end. In .bss.
extern constinit StringTable string_table;

}  // namespace gs::detail
