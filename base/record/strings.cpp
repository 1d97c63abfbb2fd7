#include "base/record/strings.h"

#include <cstring>

#include "base/record/mutex.h"
#include "base/record/service_status.h"
#include "base/record/utf8.h"

namespace gs::detail {

constinit StringTable string_table;

namespace {

__extension__ using Wide = unsigned __int128;

/// Multiply and fold, eight bytes at a time: a name of 13 bytes takes two steps.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_text(std::string_view text, std::uint64_t beginning) {
    std::uint64_t h = mix(text.size(), beginning);
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t word = 0;
    for (; left > 8; left -= 8, at += 8) {
        std::memcpy(&word, at, 8);
        h = mix(h, word);
    }
    word = 0;
    if (left != 0) std::memcpy(&word, at, left);
    return mix(h, word);
}

std::string_view text_of(const abi::StringEntry& entry) {
    return {reinterpret_cast<const char*>(&entry + 1), entry.bytes};
}

/// That an entry takes in the arena.
std::uint32_t bytes_of(const abi::StringEntry& entry) {
    return static_cast<std::uint32_t>(sizeof entry) + ((entry.bytes + 7) & ~7u);
}

/// `text` with every run of digits replaced by '#', in `out`, which has space for it.
std::string_view without_digits(std::string_view text, char* out) {
    std::size_t bytes = 0;
    bool in_digits = false;
    for (const char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit || !in_digits) out[bytes++] = digit ? '#' : c;
        in_digits = digit;
    }
    return {out, bytes};
}

}  // namespace

void StringTable::attach(abi::RingHeader& header) noexcept {
    if (count_.load(std::memory_order_relaxed) + aliases_ != 0)
        for (auto& slot : slots_) slot.store(0, std::memory_order_relaxed);
    count_ = used_bytes_ = aliases_ = 0;
    full_ = false;
    header_ = &header;
    arena_ = reinterpret_cast<std::byte*>(&header) + header.arena_offset;
}

void StringTable::detach() noexcept {
    header_ = nullptr;
    arena_ = nullptr;
    ::pthread_mutex_init(&lock_, nullptr);
}

std::uint64_t StringTable::hash_of(const StringKey& key) noexcept {
    return hash_text(key.text, key.domain | std::uint64_t{key.flags} << 32);
}

StringId StringTable::find(const StringKey& key, std::uint64_t hash) const noexcept {
    if (arena_ == nullptr) return 0;
    for (std::uint64_t place = hash;; ++place) {
        const std::uint64_t slot = slots_[place % kSlots].load(std::memory_order_acquire);
        if (slot == 0) return 0;
        if (((slot ^ hash) & kHashBits) != 0 || (slot & kAlias) != 0) continue;
        const auto& entry = *reinterpret_cast<const abi::StringEntry*>(
            arena_ + ((slot & ~kHashBits) >> kPlaceShift) * 8);
        if (entry.domain == key.domain && entry.flags == key.flags && text_of(entry) == key.text)
            return static_cast<StringId>(slot & kIdBits);
    }
}

StringId StringTable::find_alias(std::string_view text) const noexcept {
    if (arena_ == nullptr) return 0;
    const std::uint64_t wanted = (hash_text(text, kAlias) & kHashBits) | kAlias;
    for (std::uint64_t place = hash_text(text, kAlias);; ++place) {
        const std::uint64_t slot = slots_[place % kSlots].load(std::memory_order_acquire);
        if (slot == 0) return 0;
        if ((slot & (kHashBits | kAlias)) == wanted) return static_cast<StringId>(slot & kIdBits);
    }
}

void StringTable::fill_slot(std::uint64_t hash, std::uint64_t content) noexcept {
    std::uint64_t place = hash;
    while (slots_[place % kSlots].load(std::memory_order_relaxed) != 0) ++place;
    slots_[place % kSlots].store((hash & kHashBits) | content, std::memory_order_release);
}

void StringTable::add_alias(std::string_view text, StringId id) noexcept {
    const Locked held(lock_);
    if (id == 0 || aliases_ == kMaxAliases || find_alias(text) != 0) return;
    ++aliases_;
    fill_slot(hash_text(text, kAlias), kAlias | id);
}

bool StringTable::half_full() const noexcept {
    return count_.load(std::memory_order_relaxed) > kMaxStrings / 2 ||
           std::atomic_ref(header_->arena_published).load(std::memory_order_relaxed) >
               header_->arena_bytes / 2;
}

StringId StringTable::add(StringKey key) noexcept {
    if (arena_ == nullptr) return 0;
    const std::size_t whole = key.text.size();
    key.text = whole_characters(key.text, abi::kMaxStringBytes);
    if (const StringId known = find(key)) return known;
    if (key.text.size() != whole) count(&abi::RingHeader::truncated_strings);
    char shorter[abi::kMaxStringBytes];
    if (key.numbered && half_full() &&
        key.text.find_first_of("0123456789") != std::string_view::npos) {
        count(&abi::RingHeader::truncated_strings);
        key.text = without_digits(key.text, shorter);
        if (const StringId known = find(key)) return known;
    }
    const StringId id = full_.load(std::memory_order_relaxed) ? 0 : append(key);
    if (id == 0) count(&abi::RingHeader::dropped_strings);
    return id;
}

StringId StringTable::append(const StringKey& key) noexcept {
    const Locked held(lock_);
    const std::uint64_t hash = hash_of(key);
    if (const StringId known = find(key, hash)) return known;
    const abi::StringEntry fresh{static_cast<std::uint32_t>(key.text.size()), key.domain, key.color,
                                 key.flags};
    const std::uint32_t needed = bytes_of(fresh), id = count_.load(std::memory_order_relaxed) + 1;
    if (id > kMaxStrings || used_bytes_ + needed > header_->arena_bytes) {
        full_ = true;
        return 0;
    }
    const std::uint64_t place = used_bytes_ / 8;
    auto* entry = reinterpret_cast<abi::StringEntry*>(arena_ + used_bytes_);
    *entry = fresh;
    key.text.copy(reinterpret_cast<char*>(entry + 1), key.text.size());
    used_bytes_ += needed;
    publish(header_->arena_published, std::uint64_t{used_bytes_});
    publish(header_->string_count, id);
    count_.store(id, std::memory_order_release);
    fill_slot(hash, place << kPlaceShift | id);
    return id;
}

void StringTable::copy_text(StringId id, char (&out)[abi::kMaxStringBytes + 1]) const noexcept {
    out[0] = '\0';
    if (arena_ == nullptr || id == 0 || id > count_.load(std::memory_order_acquire)) return;
    const std::byte* at = arena_;
    while (--id != 0) at += bytes_of(*reinterpret_cast<const abi::StringEntry*>(at));
    const std::string_view text = text_of(*reinterpret_cast<const abi::StringEntry*>(at));
    out[text.copy(out, text.size())] = '\0';
}

}  // namespace gs::detail
