#include "base/record/strings.h"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace gs::detail {
namespace {

// FNV-1a, begun with what else makes the entry.
std::uint32_t hash_of(const StringKey& key, std::uint32_t bytes) {
    std::uint32_t h = 2166136261u;
    for (const std::uint32_t word : {key.domain, key.color, key.flags}) h = (h ^ word) * 16777619u;
    for (std::uint32_t i = 0; i < bytes; ++i)
        h = (h ^ static_cast<unsigned char>(key.text[i])) * 16777619u;
    return h;
}

bool same(const abi::StringEntry& e, const StringKey& key, std::uint32_t bytes) {
    return e.bytes == bytes && e.domain == key.domain && e.color == key.color &&
           e.flags == key.flags && std::memcmp(&e + 1, key.text, bytes) == 0;
}

/// `bytes` of text, shortened so that no UTF-8 character is cut in two.
std::uint32_t whole_characters(const char* text, std::uint32_t bytes) {
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    return bytes;
}

void count(std::uint64_t& counter) {
    std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void StringTable::attach(abi::RingHeader& header) noexcept {
    reset();
    header_ = &header;
}

void StringTable::reset() noexcept {
    header_ = nullptr;
    count_ = used_bytes_ = 0;
    std::memset(bucket_, 0, sizeof bucket_);
}

abi::StringEntry* StringTable::at(std::uint32_t id) const noexcept {
    return reinterpret_cast<abi::StringEntry*>(reinterpret_cast<std::byte*>(header_) +
                                               header_->arena_offset + offset_[id]);
}

std::uint32_t StringTable::add(const StringKey& key) noexcept {
    const char* text = key.text;
    std::uint32_t bytes = static_cast<std::uint32_t>(::strnlen(text, abi::kMaxStringBytes + 1));
    const bool cut = bytes > abi::kMaxStringBytes;
    if (cut) bytes = whole_characters(text, abi::kMaxStringBytes);
    std::uint32_t place = hash_of(key, bytes) % kBuckets;
    for (; bucket_[place] != 0; place = (place + 1) % kBuckets)
        if (same(*at(bucket_[place]), key, bytes)) return bucket_[place];
    if (cut) count(header_->truncated_strings);
    const std::uint32_t needed =
        static_cast<std::uint32_t>(sizeof(abi::StringEntry)) + ((bytes + 7) & ~7u);
    if (count_ >= kMaxStrings || used_bytes_ + needed > header_->arena_bytes) {
        count(header_->dropped_strings);
        return 0;
    }
    const std::uint32_t id = ++count_;
    offset_[id] = used_bytes_;
    bucket_[place] = static_cast<std::uint16_t>(id);
    abi::StringEntry* e = at(id);
    *e = {bytes, key.domain, key.color, key.flags};
    std::memcpy(e + 1, text, bytes);
    used_bytes_ += needed;
    std::atomic_ref(header_->arena_published).store(used_bytes_, std::memory_order_release);
    std::atomic_ref(header_->string_count).store(id, std::memory_order_release);
    return id;
}

const abi::StringEntry* StringTable::entry(std::uint32_t id) const noexcept {
    if (header_ == nullptr || id == 0) return nullptr;
    return id <= std::atomic_ref(header_->string_count).load(std::memory_order_acquire) ? at(id)
                                                                                        : nullptr;
}

void StringTable::copy_text(std::uint32_t id,
                            char (&out)[abi::kMaxStringBytes + 1]) const noexcept {
    out[0] = '\0';
    const abi::StringEntry* e = entry(id);
    if (e == nullptr) return;
    std::memcpy(out, e + 1, e->bytes);
    out[e->bytes] = '\0';
}

}  // namespace gs::detail
