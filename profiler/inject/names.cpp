#include "profiler/inject/names.h"

#include <pthread.h>

#include <cstring>

#include "base/record/service_words.h"
#include "base/record/strings.h"

namespace gs::inject {
namespace {

/// Open addressing; slots are only ever filled, under a lock, and read without one.
struct Slot {
    std::uint64_t hash;
    StringId id;
    std::uint32_t domain;
    std::atomic<const abi::StringEntry*> entry;  ///< written last; null: the slot is free
};
constexpr std::uint32_t kSlots = 16384;
constexpr std::uint32_t kMostNames = kSlots / 2;  // so that a search ends soon
static_assert(detail::StringTable::kMaxStrings <= kMostNames);
constinit Slot slots[kSlots] = {};
constinit std::atomic<std::uint32_t> used{0};
constinit std::atomic<bool> full{false};
constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct Locked {
    Locked() noexcept { ::pthread_mutex_lock(&lock); }
    ~Locked() { ::pthread_mutex_unlock(&lock); }
};

__extension__ using Wide = unsigned __int128;

/// Multiply and fold, eight bytes at a time: a name of 13 bytes takes two steps.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(const Text& text, StringId domain) {
    std::uint64_t h = mix(text.bytes, domain);
    const char* at = text.data;
    std::size_t left = text.bytes;
    std::uint64_t word = 0;
    for (; left > 8; left -= 8, at += 8) {
        std::memcpy(&word, at, 8);
        h = mix(h, word);
    }
    word = 0;
    std::memcpy(&word, at, left);
    return mix(h, word);
}

/// The slot that holds the name, or the free one where it belongs.
Slot& find(const Text& text, StringId domain, std::uint64_t hash) {
    for (std::uint64_t place = hash;; ++place) {
        Slot& slot = slots[place % kSlots];
        const abi::StringEntry* entry = slot.entry.load(std::memory_order_acquire);
        if (entry == nullptr) return slot;
        if (slot.hash == hash && slot.domain == domain && entry->bytes == text.bytes &&
            std::memcmp(entry + 1, text.data, text.bytes) == 0)
            return slot;
    }
}

bool arena_half_full() {
    abi::RingHeader* h = detail::ring_header();
    return used.load(std::memory_order_relaxed) > kMostNames / 2 ||
           std::atomic_ref(h->arena_published).load(std::memory_order_relaxed) > h->arena_bytes / 2;
}

/// `text` with every run of digits replaced by '#', in `out`; true when there were any.
bool without_digits(const Text& text, char (&out)[abi::kMaxStringBytes + 1], std::size_t& bytes) {
    bool found = false, in_digits = false;
    bytes = 0;
    for (std::size_t i = 0; i < text.bytes; ++i) {
        const bool digit = text.data[i] >= '0' && text.data[i] <= '9';
        found |= digit;
        if (!digit || !in_digits) out[bytes++] = digit ? '#' : text.data[i];
        in_digits = digit;
    }
    return found;
}

StringId add(const Text& text, StringId domain, std::uint32_t color, std::uint64_t hash) {
    const Locked held;
    Slot& slot = find(text, domain, hash);
    if (slot.entry.load(std::memory_order_relaxed) != nullptr) return slot.id;
    char copy[abi::kMaxStringBytes + 1];
    std::memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    const StringId id = register_string(copy, domain, color);
    const abi::StringEntry* entry = detail::string_entry(id);
    if (entry == nullptr) {
        full.store(true, std::memory_order_relaxed);
        return 0;
    }
    used.fetch_add(1, std::memory_order_relaxed);
    slot.hash = hash;
    slot.id = id;
    slot.domain = domain;
    slot.entry.store(entry, std::memory_order_release);
    return id;
}

StringId add_shortened(const Text& text, StringId domain, std::uint32_t color) {
    char copy[abi::kMaxStringBytes + 1];
    std::size_t bytes = 0;
    if (!without_digits(text, copy, bytes)) return 0;
    const Text shorter{copy, bytes};
    const std::uint64_t hash = hash_of(shorter, domain);
    const Slot& known = find(shorter, domain, hash);
    detail::count(&abi::RingHeader::truncated_strings);
    if (known.entry.load(std::memory_order_acquire) != nullptr) return known.id;
    return full.load(std::memory_order_relaxed) ? 0 : add(shorter, domain, color, hash);
}

/// Cut where a UTF-8 character ends.
std::size_t cut(const char* text, std::size_t bytes) {
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    return bytes;
}

[[gnu::noinline]] StringId name_id_slow(Text text, StringId domain, std::uint32_t color) {
    if (detail::ring_header() == nullptr) return 0;
    if (text.bytes > abi::kMaxStringBytes) {
        text.bytes = cut(text.data, abi::kMaxStringBytes);
        const std::uint64_t hash = hash_of(text, domain);
        const Slot& known = find(text, domain, hash);
        if (known.entry.load(std::memory_order_acquire) != nullptr) return known.id;
        detail::count(&abi::RingHeader::truncated_strings);
    }
    const std::uint64_t start = read_ticks();
    StringId id = arena_half_full() ? add_shortened(text, domain, color) : 0;
    if (id == 0 && !full.load(std::memory_order_relaxed))
        id = add(text, domain, color, hash_of(text, domain));
    if (id == 0) detail::count(&abi::RingHeader::dropped_strings);
    add_service_ticks(read_ticks() - start);
    return id;
}

}  // namespace

Text text_of(const char* text) noexcept {
    if (text == nullptr) return {};
    return {text, ::strnlen(text, abi::kMaxStringBytes + 1)};
}

Narrow::Narrow(const wchar_t* text) noexcept {
    for (; text != nullptr && *text != L'\0'; ++text) {
        auto c = static_cast<std::uint32_t>(*text);
        if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
        const std::size_t needed = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (bytes_ + needed > abi::kMaxStringBytes) return;
        static constexpr unsigned char kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (std::size_t i = needed; i-- > 1; c >>= 6)
            text_[bytes_ + i] = static_cast<char>(0x80 | (c & 0x3F));
        text_[bytes_] = static_cast<char>(kLead[needed] | c);
        bytes_ += needed;
    }
}

StringId name_id(const Text& text, StringId domain, std::uint32_t color) noexcept {
    if (text.bytes == 0) return 0;
    if (text.bytes <= abi::kMaxStringBytes) {
        const Slot& slot = find(text, domain, hash_of(text, domain));
        if (slot.entry.load(std::memory_order_acquire) != nullptr) return slot.id;
    }
    return name_id_slow(text, domain, color);
}

void name_category(const Text& text, StringId domain, std::uint32_t number) noexcept {
    if (text.bytes == 0 || number == 0 || detail::ring_header() == nullptr) return;
    char copy[abi::kMaxStringBytes + 1];
    const std::size_t bytes =
        text.bytes > abi::kMaxStringBytes ? cut(text.data, abi::kMaxStringBytes) : text.bytes;
    std::memcpy(copy, text.data, bytes);
    copy[bytes] = '\0';
    register_category(copy, domain, number);
}

void forget_names() noexcept { ::pthread_mutex_init(&lock, nullptr); }

}  // namespace gs::inject
