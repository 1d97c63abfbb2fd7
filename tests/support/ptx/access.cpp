// ld, st, atom and red: where bytes lie, whether they may be touched, what that costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "tests/support/ptx/block.h"
#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/lanewise.h"

namespace gs::ptx {
namespace {

/// Bytes found for one lane.
struct Place {
    std::byte* at = nullptr;          ///< null: a fault, reported
    std::uint8_t* written = nullptr;  ///< marks of a region or of local memory; null: all are
    bool in_shared = false;
    bool read_only = false;
};

std::string near_address(const Memory& memory, std::uint64_t address, std::size_t bytes) {
    const Region* region = memory.near(address);
    if (region == nullptr) return fmt::format("{} bytes at {:#x}", bytes, address);
    return fmt::format("{} bytes at {:#x}, byte {} of {} ({} bytes)", bytes, address,
                       address - region->address, region->name, region->bytes.size());
}

/// Finds what a lane reads or writes.
class Finder {
  public:
    Finder(Warp& warp, const Instruction& i, Access access)
        : warp_(warp), i_(i), access_(access), size_(std::size_t{i.bytes} * i.count) {
        const std::uint32_t poison = warp.poisoned(i.a) & warp.active;
        if (poison != 0)
            warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "addresses");
        lanes = warp.active & ~poison;
        if (i.a.width == 8) {
            const auto* base = warp.values<std::uint64_t>(i.a);
            for (int lane = 0; lane < kLanes; ++lane) {
                address[lane] = base[lane] + static_cast<std::uint64_t>(i.offset);
            }
        } else {
            const auto* base = warp.values<std::uint32_t>(i.a);
            for (int lane = 0; lane < kLanes; ++lane) {
                address[lane] = base[lane] + static_cast<std::uint32_t>(i.offset);
            }
        }
        // Generic addresses of a warp are in one space, but for code that chooses between two.
        if (lanes != 0) count_passes();
    }

    /// `value`: what is to be written there.
    Place find(int lane, const std::byte* value, bool several = false) {
        const std::uint64_t at = address[lane];
        const Space space = space_of(at);
        if (space == Space::shared) {
            return {warp_.block.shared.access(warp_, lane, at & ~kWindowMask, size_, access_, value,
                                              several),
                    nullptr, true, false};
        }
        if (at % size_ != 0) {
            warp_.fault(FaultKind::misaligned, lane, near_address(warp_.block.memory, at, size_));
            return {};
        }
        if (space == Space::local) return in_local(lane, at - kLocalWindow);
        if (space == Space::parameter) return in_parameters(lane, at - kParameterWindow);
        if ((at & kWindowMask) == kStaticWindow) return in_statics(lane, at);
        Region* region = warp_.block.memory.find(at, size_);
        if (region == nullptr) return outside(lane);
        const std::size_t offset = static_cast<std::size_t>(at - region->address);
        return {region->bytes.data() + offset,
                region->written.empty() ? nullptr : region->written.data() + offset, false, false};
    }

    /// All lanes use one address of shared memory.
    bool one_shared_address() const {
        if (i_.space != Space::shared || lanes == 0) return false;
        const std::uint64_t first = address[std::countr_zero(lanes)];
        bool same = true;
        for_lanes(lanes, [&](int lane) { same = same && address[lane] == first; });
        return same;
    }

    std::uint32_t lanes;
    std::uint64_t address[kLanes];

  private:
    Space space_of(std::uint64_t at) const {
        if (i_.space != Space::generic) return i_.space;
        switch (at & kWindowMask) {
            case kSharedWindow:
                return Space::shared;
            case kLocalWindow:
                return Space::local;
            case kParameterWindow:
                return Space::parameter;
            default:
                return Space::global;
        }
    }

    Place outside(int lane) {
        warp_.fault(FaultKind::out_of_bounds, lane,
                    near_address(warp_.block.memory, address[lane], size_));
        return {};
    }
    Place in_local(int lane, std::uint64_t at) {
        const std::uint64_t number = at >> kArrayShift;
        if (number < 1 || number > warp_.program.local.size()) return outside(lane);
        const Array& array = warp_.program.local[static_cast<std::size_t>(number) - 1];
        if (at < array.address || at - array.address + size_ > array.bytes) return outside(lane);
        const std::size_t offset = static_cast<std::size_t>(lane) * warp_.program.local_bytes +
                                   static_cast<std::size_t>(array.at + at - array.address);
        return {warp_.local.data() + offset, warp_.local_written.data() + offset, false, false};
    }
    Place in_parameters(int lane, std::uint64_t at) {
        const auto& parameters = warp_.block.parameters;
        if (access_ != Access::read || at > parameters.size() || size_ > parameters.size() - at) {
            return outside(lane);
        }
        return {const_cast<std::byte*>(parameters.data()) + at, nullptr, false, true};
    }
    Place in_statics(int lane, std::uint64_t at) {
        for (const Array& array : warp_.program.statics) {
            if (at < array.address || at - array.address + size_ > array.bytes) continue;
            if (access_ != Access::read) break;
            const auto* bytes = reinterpret_cast<const std::byte*>(array.values.data());
            return {const_cast<std::byte*>(bytes) + (at - array.address), nullptr, false, true};
        }
        return outside(lane);
    }

    /// Sectors of global memory, or passes over the banks of shared memory.
    void count_passes() {
        const Space space = space_of(address[std::countr_zero(lanes)]);
        if (space == Space::shared) {
            const BankPasses passes = bank_passes(address, lanes, size_);
            warp_.counts->wavefronts += static_cast<std::uint64_t>(passes.passes);
            warp_.counts->conflicts += static_cast<std::uint64_t>(passes.passes - passes.least);
        }
        if (space != Space::global) return;
        std::array<std::uint64_t, kLanes> sectors;
        std::size_t count = 0;
        bool ascending = true;
        for_lanes(lanes, [&](int lane) {
            const std::uint64_t sector = address[lane] / 32;
            if (count > 0 && sectors[count - 1] == sector) return;
            ascending = ascending && (count == 0 || sectors[count - 1] < sector);
            sectors[count++] = sector;
        });
        if (!ascending) {
            const auto end = sectors.begin() + static_cast<long>(count);
            std::sort(sectors.begin(), end);
            count = static_cast<std::size_t>(std::unique(sectors.begin(), end) - sectors.begin());
        }
        warp_.counts->sectors += count;
    }

    Warp& warp_;
    const Instruction& i_;
    const Access access_;
    const std::size_t size_;
};

bool all_written(const Warp& warp, const Place& place, std::size_t from, std::size_t bytes) {
    if (place.in_shared) return warp.block.shared.written(place.at + from, bytes);
    if (place.written == nullptr) return true;
    const std::uint8_t* marks = place.written + from;
    if (bytes == 4) {
        std::uint32_t all;
        std::memcpy(&all, marks, sizeof all);
        return all == 0x01010101u;
    }
    return std::find(marks, marks + bytes, std::uint8_t{0}) == marks + bytes;
}

void mark(const Warp& warp, const Place& place, std::size_t from, std::size_t bytes, bool written) {
    if (place.in_shared) {
        warp.block.shared.set_written(place.at + from, bytes, written);
    } else if (place.written != nullptr) {
        std::fill_n(place.written + from, bytes, static_cast<std::uint8_t>(written));
    }
}

std::uint64_t extended(const Instruction& i, const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, i.bytes);
    if (!i.is_signed || i.bytes == 8) return value;
    const int unused = 64 - i.bytes * 8;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

/// The elements of one lane; `unwritten` gathers its bit for each that nobody wrote.
void take(Warp& warp, const Instruction& i, int lane, const Place& place,
          std::array<std::uint32_t, 4>& unwritten) {
    for (std::size_t n = 0; n < i.count; ++n) {
        const Slot to = i.elements[n];
        if (to.width == kNoOperand) continue;
        if (place.at == nullptr) {  // nothing more about it: one fault is enough
            warp.set_value(to, lane, 0);
            continue;
        }
        const std::byte* from = place.at + n * i.bytes;
        if (i.bytes == 4 && to.width == 4) {
            std::memcpy(warp.values<std::uint32_t>(to) + lane, from, 4);
        } else {
            warp.set_value(to, lane, extended(i, from));
        }
        if (!all_written(warp, place, n * i.bytes, i.bytes)) unwritten[n] |= 1u << lane;
    }
}

void load(Warp& warp, const Instruction& i) {
    Finder finder(warp, i, Access::read);
    std::array<std::uint32_t, 4> unwritten{};
    if (finder.one_shared_address()) {
        const int first = std::countr_zero(finder.lanes);
        const Place place = finder.find(first, nullptr, std::popcount(finder.lanes) > 1);
        for_lanes(finder.lanes, [&](int lane) { take(warp, i, lane, place, unwritten); });
    } else {
        for_lanes(finder.lanes,
                  [&](int lane) { take(warp, i, lane, finder.find(lane, nullptr), unwritten); });
    }
    for (std::size_t n = 0; n < i.count; ++n) {
        if (i.elements[n].width != kNoOperand) warp.set_poison(i.elements[n], unwritten[n]);
    }
}

void store(Warp& warp, const Instruction& i) {
    Finder finder(warp, i, Access::write);
    for_lanes(finder.lanes, [&](int lane) {
        std::byte value[32];
        for (std::size_t n = 0; n < i.count; ++n) {
            const std::uint64_t one = warp.value(i.elements[n], lane);
            std::memcpy(value + n * i.bytes, &one, i.bytes);
        }
        const Place place = finder.find(lane, value);
        if (place.at == nullptr) return;
        std::memcpy(place.at, value, std::size_t{i.bytes} * i.count);
        for (std::size_t n = 0; n < i.count; ++n) {
            const bool written = ((warp.poisoned(i.elements[n]) >> lane) & 1) == 0;
            mark(warp, place, n * i.bytes, i.bytes, written);
            if (!written && !place.in_shared && finder.address[lane] < kSharedWindow) {
                warp.fault(FaultKind::uninitialised, lane, "is stored");
            }
        }
    });
}

enum class Change { add, least, most, both, either, one, exchange, compare, increment, decrement };

template <Change C, class T>
T changed(T old, T b, T c) {
    switch (C) {
        case Change::add:
            return static_cast<T>(old + b);
        case Change::least:
            return b < old ? b : old;
        case Change::most:
            return old < b ? b : old;
        case Change::exchange:
            return b;
        case Change::compare:
            return old == b ? c : old;
        case Change::increment:
            return old >= b ? T{0} : static_cast<T>(old + 1);
        case Change::decrement:
            return old == 0 || old > b ? b : static_cast<T>(old - 1);
        default:
            break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (C == Change::both) return old & b;
        if (C == Change::either) return old | b;
        if (C == Change::one) return old ^ b;
    }
    return old;
}

/// Lane after lane, the lowest first.
template <Change C, class T>
void atomically(Warp& warp, const Instruction& i) {
    Finder finder(warp, i, Access::atomic);
    warp.counts->atomics += static_cast<std::uint64_t>(std::popcount(warp.active));
    const std::uint32_t poison = (warp.poisoned(i.b) | warp.poisoned(i.c)) & finder.lanes;
    if (poison != 0) {
        warp.fault(FaultKind::uninitialised, std::countr_zero(poison), "changes memory");
    }
    for_lanes(finder.lanes, [&](int lane) {
        const Place place = finder.find(lane, nullptr);
        if (place.at == nullptr) return;
        if (!all_written(warp, place, 0, sizeof(T))) {
            warp.fault(FaultKind::uninitialised, lane, "is changed");
        }
        T old;
        std::memcpy(&old, place.at, sizeof old);
        T fresh = changed<C, T>(old, warp.values<T>(i.b)[lane], warp.values<T>(i.c)[lane]);
        // In global memory single precision flushes denormals, whatever the code says (PTX ISA,
        // atom and red); in shared memory it does not.
        if constexpr (std::is_same_v<T, float>)
            if (C == Change::add && !place.in_shared)
                fresh = flushed(flushed(old) + flushed(warp.values<T>(i.b)[lane]));
        std::memcpy(place.at, &fresh, sizeof fresh);
        mark(warp, place, 0, sizeof fresh, true);
        if (i.d.width != kNoOperand) {
            warp.values<T>(i.d)[lane] = old;
            warp.set_poison_of_lane(i.d, lane, false);
        }
    });
}

template <Change C>
Handler of_type(std::string_view type) {
    if (type == "u32" || type == "b32") return atomically<C, std::uint32_t>;
    if (type == "s32") return atomically<C, std::int32_t>;
    if (type == "u64" || type == "b64") return atomically<C, std::uint64_t>;
    if (type == "s64") return atomically<C, std::int64_t>;
    if (C == Change::add && type == "f32") return atomically<C, float>;
    if (C == Change::add && type == "f64") return atomically<C, double>;
    return nullptr;
}

}  // namespace

Handler load_form(Space) { return load; }
Handler store_form(Space space) { return space == Space::parameter ? nullptr : store; }

Handler atomic_form(std::string_view operation, std::string_view type) {
    if (operation == "add") return of_type<Change::add>(type);
    if (operation == "min") return of_type<Change::least>(type);
    if (operation == "max") return of_type<Change::most>(type);
    if (operation == "and") return of_type<Change::both>(type);
    if (operation == "or") return of_type<Change::either>(type);
    if (operation == "xor") return of_type<Change::one>(type);
    if (operation == "exch") return of_type<Change::exchange>(type);
    if (operation == "cas") return of_type<Change::compare>(type);
    if (operation == "inc") return of_type<Change::increment>(type);
    if (operation == "dec") return of_type<Change::decrement>(type);
    return nullptr;
}

}  // namespace gs::ptx
