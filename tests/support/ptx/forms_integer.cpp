// Integers and bits: sums, products, shifts, bit fields, carries; moves and choices of any type.
#include <bit>
#include <type_traits>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/lanewise.h"

namespace gs::ptx {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/// The type of twice the width and of the same sign.
template <class T>
using Twice = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, s32, u32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, s64, u64>,
                       std::conditional_t<std::is_signed_v<T>, s128, u128>>>;
/// Sums wrap around: unsigned, and wide enough not to become int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
constexpr int kBits = sizeof(T) * 8;

template <class T>
T wrapping_add(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T wrapping_sub(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
T low(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
T high(T a, T b) {
    return static_cast<T>((static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b)) >> kBits<T>);
}
template <class T>
Twice<T> whole(T a, T b) {
    return low(static_cast<Twice<T>>(a), static_cast<Twice<T>>(b));
}
/// What a GPU gives for a division by zero is all ones; of the smallest by -1, itself.
template <class T>
T quotient(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapping_sub<T>(0, a);
    return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
}
/// Shifts by the width or more leave nothing, or the sign.
template <class T>
T shifted_left(T a, u32 by) {
    return by >= kBits<T> ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << by);
}
template <class T>
T shifted_right(T a, u32 by) {
    if (by >= kBits<T>) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> by);
}
u32 reversed(u32 v) {
    v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
    v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
    return __builtin_bswap32(v);
}
/// Position of the highest set bit (of a negative number: clear bit), all ones where none.
template <class T>
u32 highest(T v) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(v < 0 ? ~v : v);
    return bits == 0 ? ~0u : static_cast<u32>(kBits<T> - 1 - std::countl_zero(bits));
}
template <class T>
u32 highest_shift(T v) {
    const u32 at = highest(v);
    return at == ~0u ? at : kBits<T> - 1 - at;
}
/// Bits [from, from + count) of a, with a's sign where it is signed.
template <class T>
T extracted(T a, u32 from, u32 count) {
    from &= 0xff;
    count &= 0xff;
    using U = std::make_unsigned_t<T>;
    if (count == 0) return 0;
    const U shifted = from >= kBits<T> ? U{0} : static_cast<U>(static_cast<U>(a) >> from);
    const bool fits = count < kBits<T>;
    const U mask = fits ? static_cast<U>((U{1} << count) - 1) : static_cast<U>(~U{0});
    U value = shifted & mask;
    const u32 last = from + count - 1 < kBits<T> ? from + count - 1 : kBits<T> - 1;
    if (std::is_signed_v<T> && ((static_cast<U>(a) >> last) & 1) != 0) {
        const u32 kept = last >= from ? last - from + 1 : 0;
        if (kept < kBits<T>) value = static_cast<U>(value | static_cast<U>(~U{0} << kept));
    }
    return static_cast<T>(value);
}
/// b with a's lowest `count` bits at `from`.
template <class T>
T inserted(T a, T b, u32 from, u32 count) {
    from &= 0xff;
    count &= 0xff;
    if (from >= kBits<T> || count == 0) return b;
    const T ones = count >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
    const T mask = static_cast<T>(ones << from);
    return static_cast<T>((b & ~mask) | ((a << from) & mask));
}
u32 permuted(u32 a, u32 b, u32 selector) {
    const u64 bytes = (static_cast<u64>(b) << 32) | a;
    u32 d = 0;
    for (int n = 0; n < 4; ++n) {
        const u32 choice = (selector >> (4 * n)) & 0xf;
        u32 byte = static_cast<u32>(bytes >> (8 * (choice & 7))) & 0xff;
        if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        d |= byte << (8 * n);
    }
    return d;
}
u32 looked_up(u32 a, u32 b, u32 c, u32 table) {
    u32 d = 0;
    for (u32 n = 0; n < 8; ++n) {
        if (((table >> n) & 1) == 0) continue;
        d |= ((n & 4) ? a : ~a) & ((n & 2) ? b : ~b) & ((n & 1) ? c : ~c);
    }
    return d;
}
template <bool Left, bool Wrap>
u32 funnel(u32 lower, u32 upper, u32 by) {
    const u32 n = Wrap ? by & 31 : (by > 32 ? 32 : by);
    const u64 both = (static_cast<u64>(upper) << 32) | lower;
    return Left ? static_cast<u32>((both << n) >> 32) : static_cast<u32>(both >> n);
}

/// Four sources: bfi and lop3. The fourth is elements[0].
template <auto F, class D, class A, class B, class C, class E>
void lanewise4(Warp& warp, const Instruction& i) {
    const Slot last = i.elements[0];
    warp.set_poison(
        i.d, warp.poisoned(i.a) | warp.poisoned(i.b) | warp.poisoned(i.c) | warp.poisoned(last));
    map_lanes<D>(warp, i.d, F, warp.values<A>(i.a), warp.values<B>(i.b), warp.values<C>(i.c),
                 warp.values<E>(last));
}

enum class Sum { add, sub, mad_lo, mad_hi };
/// Sums with the carry of the one before, or for the one after.
template <Sum S, bool In, bool Out>
void carrying(Warp& warp, const Instruction& i) {
    const u32 *a = warp.values<u32>(i.a), *b = warp.values<u32>(i.b);
    const bool third = S == Sum::mad_lo || S == Sum::mad_hi;
    const u32* c = third ? warp.values<u32>(i.c) : nullptr;
    u32* d = warp.values<u32>(i.d);
    warp.set_poison(i.d,
                    warp.poisoned(i.a) | warp.poisoned(i.b) | (third ? warp.poisoned(i.c) : 0));
    for_lanes(warp.active, [&](int lane) {
        const u64 in = In ? (warp.carry >> lane) & 1 : 0;
        u64 sum = 0;
        if constexpr (S == Sum::add) sum = static_cast<u64>(a[lane]) + b[lane] + in;
        if constexpr (S == Sum::sub) sum = static_cast<u64>(a[lane]) - b[lane] - in;
        if constexpr (S == Sum::mad_lo) sum = static_cast<u64>(a[lane] * b[lane]) + c[lane] + in;
        if constexpr (S == Sum::mad_hi)
            sum = static_cast<u64>(high(a[lane], b[lane])) + c[lane] + in;
        d[lane] = static_cast<u32>(sum);
        if (Out) {
            warp.carry =
                (warp.carry & ~(1u << lane)) | (static_cast<u32>(sum >> 32 != 0 ? 1 : 0) << lane);
        }
    });
}

template <Sum S>
void add_carrying(Forms& forms, const std::string& name, const std::string& with,
                  const std::string& part) {
    const auto widths = part.empty() ? widths_of<u32, u32, u32>() : widths_of<u32, u32, u32, u32>();
    for (const char* type : {".u32", ".s32", ".b32"}) {
        forms[name + part + ".cc" + type] = {carrying<S, false, true>, nullptr, widths};
        forms[with + part + ".cc" + type] = {carrying<S, true, true>, nullptr, widths};
        forms[with + part + type] = {carrying<S, true, false>, nullptr, widths};
    }
}

/// What every type of integer has.
template <class T>
void add_of_type(Forms& forms, const std::string& type) {
    forms["add." + type] = lanewise_form<wrapping_add<T>, T, T, T>();
    forms["sub." + type] = lanewise_form<wrapping_sub<T>, T, T, T>();
    forms["mul.lo." + type] = lanewise_form<low<T>, T, T, T>();
    forms["mul.hi." + type] = lanewise_form<high<T>, T, T, T>();
    forms["div." + type] = lanewise_form<quotient<T>, T, T, T>();
    forms["rem." + type] = lanewise_form<remainder<T>, T, T, T>();
    forms["min." + type] = lanewise_form<[](T a, T b) { return b < a ? b : a; }, T, T, T>();
    forms["max." + type] = lanewise_form<[](T a, T b) { return a < b ? b : a; }, T, T, T>();
    forms["shr." + type] = lanewise_form<shifted_right<T>, T, T, u32>();
    forms["mad.lo." + type] =
        lanewise_form<[](T a, T b, T c) { return wrapping_add(low(a, b), c); }, T, T, T, T>();
    forms["mad.hi." + type] =
        lanewise_form<[](T a, T b, T c) { return wrapping_add(high(a, b), c); }, T, T, T, T>();
    if constexpr (std::is_signed_v<T>) {
        forms["neg." + type] = lanewise_form<[](T a) { return wrapping_sub<T>(0, a); }, T, T>();
        forms["abs." + type] =
            lanewise_form<[](T a) { return a < 0 ? wrapping_sub<T>(0, a) : a; }, T, T>();
    }
    if constexpr (sizeof(T) < 8) {
        using W = Twice<T>;
        forms["mul.wide." + type] = lanewise_form<whole<T>, W, T, T>();
        forms["mad.wide." + type] =
            lanewise_form<[](T a, T b, W c) { return wrapping_add<W>(whole(a, b), c); }, W, T, T,
                          W>();
    }
    if constexpr (sizeof(T) > 2) {
        forms["bfind." + type] = lanewise_form<highest<T>, u32, T>();
        forms["bfind.shiftamt." + type] = lanewise_form<highest_shift<T>, u32, T>();
        forms["bfe." + type] = lanewise_form<extracted<T>, T, T, u32, u32>();
    }
}

/// What only counts bits.
template <class T>
void add_of_bits(Forms& forms, const std::string& type) {
    forms["and." + type] = lanewise_form<[](T a, T b) { return static_cast<T>(a & b); }, T, T, T>();
    forms["or." + type] = lanewise_form<[](T a, T b) { return static_cast<T>(a | b); }, T, T, T>();
    forms["xor." + type] = lanewise_form<[](T a, T b) { return static_cast<T>(a ^ b); }, T, T, T>();
    forms["not." + type] = lanewise_form<[](T a) { return static_cast<T>(~a); }, T, T>();
    forms["shl." + type] = lanewise_form<shifted_left<T>, T, T, u32>();
    forms["shr." + type] = lanewise_form<shifted_right<T>, T, T, u32>();
    if constexpr (sizeof(T) > 2) {
        forms["popc." + type] =
            lanewise_form<[](T a) { return static_cast<u32>(std::popcount(a)); }, u32, T>();
        forms["clz." + type] =
            lanewise_form<[](T a) { return static_cast<u32>(std::countl_zero(a)); }, u32, T>();
        forms["bfi." + type] = {lanewise4<inserted<T>, T, T, T, u32, u32>, nullptr,
                                widths_of<T, T, T, u32>()};
    }
}

/// d = p ? a : b; unwritten where the choice or the chosen is.
template <class T>
void choose(Warp& warp, const Instruction& i) {
    const u32 chosen = warp.holds(i.c);
    warp.set_poison(
        i.d, warp.poisoned(i.c) | (warp.poisoned(i.a) & chosen) | (warp.poisoned(i.b) & ~chosen));
    const T *a = warp.values<T>(i.a), *b = warp.values<T>(i.b);
    T* d = warp.values<T>(i.d);
    for (int lane = 0; lane < kLanes; ++lane) {
        const T value = (chosen >> lane) & 1 ? a[lane] : b[lane];
        d[lane] = (warp.active >> lane) & 1 ? value : d[lane];
    }
}

/// Moves and choices go by width alone.
template <class T>
void add_moves(Forms& forms, std::initializer_list<const char*> types) {
    for (const char* type : types) {
        forms[std::string("mov.") + type] = lanewise_form<[](T a) { return a; }, T, T>();
        forms[std::string("selp.") + type] = {
            choose<T>, nullptr, {sizeof(T), sizeof(T), sizeof(T), kPredicate}};
    }
}

/// An address in a window of the generic space, and back.
template <u64 Window>
void add_windows(Forms& forms, const std::string& space) {
    forms["cvta." + space + ".u64"] =
        lanewise_form<[](u64 a) { return (a & kWindowMask) == 0 ? a | Window : a; }, u64, u64>();
    forms["cvta.to." + space + ".u64"] =
        lanewise_form<[](u64 a) { return a & ~kWindowMask; }, u64, u64>();
}

}  // namespace

void add_integer_forms(Forms& forms) {
    add_of_type<s16>(forms, "s16");
    add_of_type<u16>(forms, "u16");
    add_of_type<s32>(forms, "s32");
    add_of_type<u32>(forms, "u32");
    add_of_type<s64>(forms, "s64");
    add_of_type<u64>(forms, "u64");
    add_of_bits<u16>(forms, "b16");
    add_of_bits<u32>(forms, "b32");
    add_of_bits<u64>(forms, "b64");
    add_moves<u16>(forms, {"b16", "u16", "s16"});
    add_moves<u32>(forms, {"b32", "u32", "s32", "f32"});
    add_moves<u64>(forms, {"b64", "u64", "s64", "f64"});
    forms["brev.b32"] = lanewise_form<reversed, u32, u32>();
    forms["prmt.b32"] = lanewise_form<permuted, u32, u32, u32, u32>();
    forms["lop3.b32"] = {lanewise4<looked_up, u32, u32, u32, u32, u32>, nullptr,
                         widths_of<u32, u32, u32, u32>()};
    forms["shf.l.wrap.b32"] = lanewise_form<funnel<true, true>, u32, u32, u32, u32>();
    forms["shf.l.clamp.b32"] = lanewise_form<funnel<true, false>, u32, u32, u32, u32>();
    forms["shf.r.wrap.b32"] = lanewise_form<funnel<false, true>, u32, u32, u32, u32>();
    forms["shf.r.clamp.b32"] = lanewise_form<funnel<false, false>, u32, u32, u32, u32>();
    add_carrying<Sum::add>(forms, "add", "addc", "");
    add_carrying<Sum::sub>(forms, "sub", "subc", "");
    add_carrying<Sum::mad_lo>(forms, "mad", "madc", ".lo");
    add_carrying<Sum::mad_hi>(forms, "mad", "madc", ".hi");
    constexpr auto same = [](u64 a) { return a; };
    for (const char* name :
         {"cvta.global.u64", "cvta.to.global.u64", "cvta.const.u64", "cvta.to.const.u64",
          "cvta.param.u64", "cvta.to.param.u64", "cvta.local.u64", "cvta.to.local.u64"}) {
        forms[name] = lanewise_form<same, u64, u64>();
    }
    add_windows<kSharedWindow>(forms, "shared");
}

}  // namespace gs::ptx
