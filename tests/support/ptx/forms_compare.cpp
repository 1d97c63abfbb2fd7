// Comparisons and predicates.
#include <cmath>
#include <type_traits>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/warp.h"

namespace gs::ptx {
namespace {

enum class Join : int { none, both, either, one };

template <class T>
T as_compared(T v, bool ftz) {
    if constexpr (std::is_same_v<T, float>) {
        if (ftz && !(std::fabs(v) >= 0x1p-126f) && !std::isnan(v)) return std::copysign(0.0f, v);
    }
    (void)ftz;
    return v;
}

/// p|q = F(a, b), !F(a, b), joined with predicate c as the instruction's mode says.
template <auto F, class T, bool Ftz>
void compare(Warp& warp, const Instruction& i) {
    const T *a = warp.values<T>(i.a), *b = warp.values<T>(i.b);
    std::uint32_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const bool holds = F(as_compared(a[lane], Ftz), as_compared(b[lane], Ftz));
        bits |= static_cast<std::uint32_t>(holds) << lane;
    }
    std::uint32_t poison = warp.poisoned(i.a) | warp.poisoned(i.b), opposite = ~bits;
    if (const Join join{i.mode}; join != Join::none) {
        const std::uint32_t c = warp.holds(i.c);
        poison |= warp.poisoned(i.c);
        if (join == Join::both) bits &= c, opposite &= c;
        if (join == Join::either) bits |= c, opposite |= c;
        if (join == Join::one) bits ^= c, opposite ^= c;
    }
    warp.set_predicate(i.d, bits);
    warp.set_poison(i.d, poison);
    if (i.e.width == kPredicate) {
        warp.set_predicate(i.e, opposite);
        warp.set_poison(i.e, poison);
    }
}

template <auto F, class T>
void add_comparison(Forms& forms, const std::string& name, const std::string& type) {
    Form form{compare<F, T, false>, nullptr, {kPredicate, sizeof(T), sizeof(T), kNoOperand}};
    if constexpr (std::is_same_v<T, float>) form.run_ftz = compare<F, T, true>;
    forms["setp." + name + "." + type] = form;
    form.widths[3] = kPredicate;
    for (const auto& [word, join] :
         {std::pair{".and.", Join::both}, std::pair{".or.", Join::either},
          std::pair{".xor.", Join::one}}) {
        form.mode = static_cast<int>(join);
        forms["setp." + name + word + type] = form;
    }
}

/// False where one is no number, as C++ compares: all but `ne`.
template <class T>
void add_ordered(Forms& forms, const std::string& type) {
    add_comparison<[](T a, T b) { return a == b; }, T>(forms, "eq", type);
    add_comparison<[](T a, T b) { return a < b; }, T>(forms, "lt", type);
    add_comparison<[](T a, T b) { return a <= b; }, T>(forms, "le", type);
    add_comparison<[](T a, T b) { return b < a; }, T>(forms, "gt", type);
    add_comparison<[](T a, T b) { return b <= a; }, T>(forms, "ge", type);
    add_comparison<[](T a, T b) { return a < b || b < a; }, T>(forms, "ne", type);
}

template <class T>
void add_unordered(Forms& forms, const std::string& type) {
    add_comparison<[](T a, T b) { return !(a < b || b < a); }, T>(forms, "equ", type);
    add_comparison<[](T a, T b) { return !(a == b); }, T>(forms, "neu", type);
    add_comparison<[](T a, T b) { return !(b <= a); }, T>(forms, "ltu", type);
    add_comparison<[](T a, T b) { return !(b < a); }, T>(forms, "leu", type);
    add_comparison<[](T a, T b) { return !(a <= b); }, T>(forms, "gtu", type);
    add_comparison<[](T a, T b) { return !(a < b); }, T>(forms, "geu", type);
    add_comparison<[](T a, T b) { return a == a && b == b; }, T>(forms, "num", type);
    add_comparison<[](T a, T b) { return a != a || b != b; }, T>(forms, "nan", type);
}

enum class Logic { both, either, one };

/// A part that is known to decide alone makes the rest of no account: (i < n && values[i] > 0).
template <Logic L>
void combine(Warp& warp, const Instruction& i) {
    const std::uint32_t a = warp.holds(i.a), b = warp.holds(i.b);
    const std::uint32_t pa = warp.poisoned(i.a), pb = warp.poisoned(i.b);
    std::uint32_t poison = pa | pb;
    if (L == Logic::both) poison &= ~((~a & ~pa) | (~b & ~pb));
    if (L == Logic::either) poison &= ~((a & ~pa) | (b & ~pb));
    warp.set_poison(i.d, poison);
    warp.set_predicate(i.d, L == Logic::both ? a & b : L == Logic::either ? a | b : a ^ b);
}

template <bool Negate>
void copy_predicate(Warp& warp, const Instruction& i) {
    warp.set_poison(i.d, warp.poisoned(i.a));
    warp.set_predicate(i.d, Negate ? ~warp.holds(i.a) : warp.holds(i.a));
}

}  // namespace

void add_compare_forms(Forms& forms) {
    add_ordered<std::uint16_t>(forms, "u16");
    add_ordered<std::uint16_t>(forms, "b16");
    add_ordered<std::int16_t>(forms, "s16");
    add_ordered<std::uint32_t>(forms, "u32");
    add_ordered<std::uint32_t>(forms, "b32");
    add_ordered<std::int32_t>(forms, "s32");
    add_ordered<std::uint64_t>(forms, "u64");
    add_ordered<std::uint64_t>(forms, "b64");
    add_ordered<std::int64_t>(forms, "s64");
    add_ordered<float>(forms, "f32");
    add_ordered<double>(forms, "f64");
    add_unordered<float>(forms, "f32");
    add_unordered<double>(forms, "f64");
    constexpr std::array<std::uint8_t, 4> three{kPredicate, kPredicate, kPredicate, kNoOperand};
    constexpr std::array<std::uint8_t, 4> two{kPredicate, kPredicate, kNoOperand, kNoOperand};
    forms["and.pred"] = {combine<Logic::both>, nullptr, three};
    forms["or.pred"] = {combine<Logic::either>, nullptr, three};
    forms["xor.pred"] = {combine<Logic::one>, nullptr, three};
    forms["not.pred"] = {copy_predicate<true>, nullptr, two};
    forms["mov.pred"] = {copy_predicate<false>, nullptr, two};
}

}  // namespace gs::ptx
