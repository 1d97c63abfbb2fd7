#include "profiler/inject/payloads.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "profiler/inject/handles.h"
#include "profiler/inject/names.h"
#include "profiler/inject/schemas.h"

namespace gs::inject {
namespace {

using namespace nvtx;

constexpr int kMostLevels = 4;       ///< of structs in structs
constexpr int kMostSteps = 256;      ///< entries and elements looked at in all
constexpr std::uint64_t kShown = 8;  ///< elements of an array
constexpr std::size_t kNoSize = ~std::size_t{0};

std::size_t scalar_size(std::uint64_t type) {
    switch (type) {
        case kEntryChar:
        case kEntryUchar:
        case kEntryInt8:
        case kEntryUint8:
        case kEntryChar8:
        case kEntryByte:
            return 1;
        case kEntryShort:
        case kEntryUshort:
        case kEntryInt16:
        case kEntryUint16:
        case kEntryChar16:
        case kEntryFloat16:
        case kEntryBf16:
            return 2;
        case kEntryInt:
        case kEntryUint:
        case kEntryInt32:
        case kEntryUint32:
        case kEntryFloat:
        case kEntryFloat32:
        case kEntryTf32:
        case kEntryWchar:
        case kEntryChar32:
        case kEntryCategory:
        case kEntryColor:
        case kEntryPid32:
        case kEntryTid32:
            return 4;
        case kEntryLongdouble:
        case kEntryInt128:
        case kEntryUint128:
        case kEntryFloat128:
            return 16;
        default:
            return (type >= kEntryLong && type <= kEntryUlonglong) || type == kEntryInt64 ||
                           type == kEntryUint64 || type == kEntryDouble || type == kEntrySize ||
                           type == kEntryAddress || type == kEntryFloat64 || type == kEntryScope ||
                           type == kEntryPid64 || type == kEntryTid64 ||
                           type == kEntryRegisteredString
                       ? 8
                       : 0;
    }
}
bool is_signed(std::uint64_t type) { return type <= kEntryInt64 && type % 2 == 1; }
bool is_text(std::uint64_t type) { return type == kEntryString || type == kEntryStringUtf8; }
bool is_character(std::uint64_t type) {
    return is_text(type) || type == kEntryChar || type == kEntryChar8;
}

std::uint64_t whole_at(const std::byte* at, std::size_t bytes, bool with_sign) {
    std::uint64_t out = 0;
    std::memcpy(&out, at, bytes);  // little endian
    const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
    if (!with_sign || unused == 0) return out;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(out << unused) >> unused);
}

class Reader {
  public:
    Reader(std::uint32_t domain, PayloadValues& out) : domain_(domain), out_(out) {}

    void read(const PayloadData& data) {
        Schema* const schema = find_schema(domain_, data.schema);
        std::size_t size = data.size;
        if (data.payload == nullptr) return;
        const auto* const base = static_cast<const std::byte*>(data.payload);
        if (schema != nullptr) {
            if (size == kNoSize) size = schema->size;
            if (schema->readable) take_struct(*schema, base, size);
            return;
        }
        SchemaEntry alone{.type = data.schema};
        if (is_character(alone.type)) alone.flags = kEntryZeroTerminated;
        if (size == kNoSize) size = is_character(alone.type) ? 0 : scalar_size(alone.type);
        take(alone, base, size, 1);
    }

  private:
    struct Numbers {
        std::uint64_t value[kMostEntries];  ///< of entries that may be lengths
    };

    /// How far it reaches, kNoSize: unknown.
    std::size_t take_struct(Schema& schema, const std::byte* base, std::size_t size) {
        if (++level_ > kMostLevels) return --level_, kNoSize;
        Numbers numbers;
        std::size_t end = 0;
        for (std::uint32_t i = 0; i < schema.count && end != kNoSize; ++i) {
            SchemaEntry& entry = schema.entries[i];
            const std::size_t at = place_of_entry(schema, i, end);
            if (at > size) {
                end = kNoSize;
                break;
            }
            const std::uint64_t count = count_of(entry, i, numbers);
            const std::size_t used = take(entry, base + at, size - at, count);
            const bool number = used <= 8 && used != 0 && used == scalar_size(entry.type);
            numbers.value[i] = number ? whole_at(base + at, used, false) : 0;
            end = used == kNoSize ? kNoSize : at + used;
        }
        --level_;
        if (schema.size != 0) return schema.size <= size ? schema.size : kNoSize;
        return end;
    }

    std::size_t place_of_entry(const Schema& schema, std::uint32_t i, std::size_t after) {
        constexpr std::size_t kMostAligned = 4096;
        const SchemaEntry& entry = schema.entries[i];
        if (i == 0 || entry.offset != 0) return entry.offset;
        std::size_t align = std::max<std::size_t>(alignment_of(entry, 0), 1);
        if (schema.pack != 0) align = std::min(align, schema.pack);
        if (!std::has_single_bit(align) || align > kMostAligned) return kNoSize;
        return (after + align - 1) & ~(align - 1);
    }

    std::size_t alignment_of(const SchemaEntry& entry, int level) {
        if ((entry.flags & kEntryPointers) != 0) return sizeof(void*);
        if (const std::size_t size = scalar_size(entry.type)) return size;
        const Schema* const inner = find_schema(domain_, entry.type);
        if (inner == nullptr || level == kMostLevels || --steps_ < 0) return 1;
        if (inner->is_enum) return inner->size;
        std::size_t most = 1;
        for (std::uint32_t i = 0; i < inner->count; ++i)
            most = std::max(most, alignment_of(inner->entries[i], level + 1));
        return inner->pack != 0 ? std::min(most, inner->pack) : most;
    }

    static std::uint64_t count_of(const SchemaEntry& entry, std::uint32_t i, const Numbers& known) {
        switch (entry.flags & kEntryArrays) {
            case kEntryFixedArray:
                return entry.detail;
            case kEntryLengthIndex:
                return entry.detail < i ? known.value[entry.detail] : 0;
            case 0:
                return is_text(entry.type) ? entry.detail : 1;
            default:  // to its end
                return ~std::uint64_t{0};
        }
    }

    /// Takes `count` elements, or up to a zero; the bytes they have, kNoSize: what follows cannot
    /// be found.
    std::size_t take(SchemaEntry& entry, const std::byte* at, std::size_t room,
                     std::uint64_t count) {
        if ((entry.flags & kEntryPointers) != 0)
            return room >= sizeof(void*) ? sizeof(void*) : kNoSize;
        const std::uint64_t array = entry.flags & kEntryArrays;
        if (array > kEntryLengthIndex) return kNoSize;
        const bool open_end = array == kEntryZeroTerminated;
        if (is_text(entry.type) || (is_character(entry.type) && array != 0))
            return take_text(entry, at, room, open_end ? room : count, open_end);
        std::size_t used = 0;
        for (std::uint64_t n = 0; n < count; ++n) {
            if (--steps_ < 0) return kNoSize;
            const std::size_t more = take_element(entry, at + used, room - used, n < kShown);
            if (more == kNoSize || more > room - used) return kNoSize;
            const bool zero = open_end && std::all_of(at + used, at + used + more, [](std::byte b) {
                                  return b == std::byte{0};
                              });
            used += more;
            if (zero || more == 0) break;
            const std::size_t plain = scalar_size(entry.type);
            if (!open_end && plain != 0 && n + 1 >= kShown)  // the rest at once
                return count <= room / plain ? count * plain : kNoSize;
        }
        return used;
    }

    std::size_t take_text(SchemaEntry& entry, const std::byte* at, std::size_t room,
                          std::uint64_t most, bool open_end) {
        if (most > room || --steps_ < 0) return kNoSize;
        const auto* const text = reinterpret_cast<const char*>(at);
        const std::size_t length = ::strnlen(text, most);
        add(entry, name_id({text, length}, 0, 0), abi::kPayloadIsName);
        return open_end ? std::min<std::size_t>(length + 1, room) : most;
    }

    std::size_t take_element(SchemaEntry& entry, const std::byte* at, std::size_t room,
                             bool shown) {
        if (const std::size_t size = scalar_size(entry.type)) {
            if (size > room) return kNoSize;
            if (shown) take_scalar(entry, at, size);
            return size;
        }
        Schema* const inner = find_schema(domain_, entry.type);
        if (inner == nullptr) return kNoSize;
        if (inner->is_enum) return take_enum(entry, *inner, at, room, shown);
        if (inner->readable) return take_struct(*inner, at, room);
        return inner->size != 0 && inner->size <= room ? inner->size : kNoSize;
    }

    void take_scalar(SchemaEntry& entry, const std::byte* at, std::size_t size) {
        const std::uint64_t type = entry.type;
        if (type == kEntryFloat || type == kEntryFloat32 || type == kEntryTf32) {
            float value = 0;
            std::memcpy(&value, at, sizeof value);
            add(entry, std::bit_cast<std::uint64_t>(double{value}), abi::kPayloadIsDouble);
        } else if (type == kEntryDouble || type == kEntryFloat64) {
            add(entry, whole_at(at, size, false), abi::kPayloadIsDouble);
        } else if (type == kEntryRegisteredString) {
            StringSlot* slot =
                string_slot(reinterpret_cast<String>(whole_at(at, sizeof(void*), false)));
            if (slot != nullptr) add(entry, name_of(*slot, 0), abi::kPayloadIsName);
        } else if (size <= 8 && type != kEntryFloat16 && type != kEntryBf16) {
            const bool with_sign = is_signed(type);
            add(entry, whole_at(at, size, with_sign), with_sign ? abi::kPayloadIsSigned : 0);
        }
    }

    std::size_t take_enum(SchemaEntry& entry, Schema& e, const std::byte* at, std::size_t room,
                          bool shown) {
        if (e.size == 0 || e.size > 8 || e.size > room) return kNoSize;
        const std::uint64_t value = whole_at(at, e.size, false);
        const auto known =
            std::find_if(e.entries, e.entries + e.count, [&](const SchemaEntry& one) {
                return whole_at(reinterpret_cast<const std::byte*>(&one.detail), e.size, false) ==
                       value;
            });
        if (shown && known != e.entries + e.count)
            add(entry, known->name(), abi::kPayloadIsName);
        else if (shown)
            add(entry, value, 0);
        return e.size;
    }

    void add(SchemaEntry& entry, std::uint64_t bits, std::uint16_t flags) {
        if ((entry.flags & kEntryMessage) != 0 && flags == abi::kPayloadIsName) {
            out_.message = static_cast<StringId>(bits);
            return;
        }
        if (out_.count == PayloadValues::kMostValues) return;
        RangeValue& value = out_.values[out_.count++];
        value = {entry.name(), flags, bits};
        const bool number = (flags & abi::kPayloadIsName) == 0;
        if (number && entry.tells_bytes && !told_bytes_) {
            out_.main = &value;
            told_bytes_ = true;
        } else if (!told_bytes_) {
            out_.main = number && out_.count == 1 ? &value : nullptr;
        }
    }

    std::uint32_t domain_;
    PayloadValues& out_;
    int level_ = 0, steps_ = kMostSteps;
    bool told_bytes_ = false;
};

}  // namespace

void read_payloads(std::uint32_t domain, std::span<const PayloadData> payloads,
                   PayloadValues& out) noexcept {
    Reader reader(domain, out);
    for (const PayloadData& data : payloads) reader.read(data);
}

}  // namespace gs::inject
