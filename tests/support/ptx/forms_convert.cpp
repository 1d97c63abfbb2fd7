// cvt: between integers, between floats, and from one to the other.
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/lanewise.h"

namespace gs::ptx {
namespace {

float flushed_of(float v, bool ftz) {
    return ftz && std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v;
}
double flushed_of(double v, bool) { return v; }

/// Registers may be wider than cvt's types: read by their low bytes, written extended by the sign
/// of D.
template <auto F, class D, class S, bool Ftz = false>
void convert(Warp& warp, const Instruction& i) {
    constexpr auto change = [](S s) -> D {
        if constexpr (!Ftz) return static_cast<D>(F(s));
        if constexpr (std::is_floating_point_v<S>) s = flushed_of(s, true);
        D d = static_cast<D>(F(s));
        if constexpr (std::is_floating_point_v<D>) d = flushed_of(d, true);
        return d;
    };
    warp.set_poison(i.d, warp.poisoned(i.a));
    if (i.a.width == sizeof(S) && i.d.width == sizeof(D)) {
        map_lanes<D>(warp, i.d, change, warp.values<S>(i.a));
        return;
    }
    for_lanes(warp.active, [&](int lane) {
        const std::uint64_t raw = warp.value(i.a, lane);
        S s;
        std::memcpy(&s, &raw, sizeof s);
        const D d = change(s);
        std::uint64_t out = 0;
        if constexpr (std::is_integral_v<D>) {
            out = static_cast<std::uint64_t>(static_cast<std::int64_t>(d));
        } else {
            std::memcpy(&out, &d, sizeof d);
        }
        warp.set_value(i.d, lane, out);
    });
}

/// Under the rounding that the instruction's mode says.
template <Handler H>
void rounding_convert(Warp& warp, const Instruction& i) {
    std::fesetround(i.mode);
    H(warp, i);
    std::fesetround(FE_TONEAREST);
}

constexpr std::array<std::uint8_t, 4> kConverts{kAnyWidth, kAnyWidth, kNoOperand, kNoOperand};

/// Rounded already; what does not fit becomes the nearest that does.
template <class D, class S>
D saturated(S v) {
    if (std::isnan(v)) {
        const bool wide = sizeof(D) == 8 || sizeof(S) == 8;
        return wide ? static_cast<D>(std::uint64_t{1} << (sizeof(D) * 8 - 1)) : D{0};
    }
    constexpr auto lowest = static_cast<S>(std::numeric_limits<D>::min());
    // The first that does not fit: a power of two, which every float has.
    const S beyond = std::ldexp(S{1}, std::numeric_limits<D>::digits);
    if (v < lowest) return std::numeric_limits<D>::min();
    if (v >= beyond) return std::numeric_limits<D>::max();
    return static_cast<D>(v);
}

template <class D, class S>
void add_float_to_integer(Forms& forms, const std::string& d, const std::string& s) {
    const std::string tail = "." + d + "." + s;
    const auto add = [&]<auto F>(const char* mode) {
        Form form{convert<F, D, S>, nullptr, kConverts};
        if constexpr (std::is_same_v<S, float>) form.run_ftz = convert<F, D, S, true>;
        forms[std::string("cvt.") + mode + tail] = form;
    };
    add.template operator()<[](S v) { return saturated<D>(std::nearbyint(v)); }>("rni");
    add.template operator()<[](S v) { return saturated<D>(std::trunc(v)); }>("rzi");
    add.template operator()<[](S v) { return saturated<D>(std::floor(v)); }>("rmi");
    add.template operator()<[](S v) { return saturated<D>(std::ceil(v)); }>("rpi");
}

template <class T>
void add_to_whole(Forms& forms, const std::string& type) {
    const auto add = [&]<auto F>(const char* mode) {
        Form form{convert<F, T, T>, nullptr, kConverts};
        if constexpr (std::is_same_v<T, float>) form.run_ftz = convert<F, T, T, true>;
        forms[std::string("cvt.") + mode + "." + type + "." + type] = form;
    };
    add.template operator()<[](T v) { return std::nearbyint(v); }>("rni");
    add.template operator()<[](T v) { return std::trunc(v); }>("rzi");
    add.template operator()<[](T v) { return std::floor(v); }>("rmi");
    add.template operator()<[](T v) { return std::ceil(v); }>("rpi");
}

/// What does not fit the new type is rounded: .rn, .rz, .rm, .rp.
template <class D, class S>
void add_inexact(Forms& forms, const std::string& d, const std::string& s) {
    constexpr auto same = [](S v) { return static_cast<D>(v); };
    Form form{rounding_convert<convert<same, D, S>>, nullptr, kConverts};
    if constexpr (std::is_floating_point_v<S>) {
        form.run_ftz = rounding_convert<convert<same, D, S, true>>;
    }
    for (const auto& [name, mode] : {std::pair{"rn", FE_TONEAREST}, std::pair{"rz", FE_TOWARDZERO},
                                     std::pair{"rm", FE_DOWNWARD}, std::pair{"rp", FE_UPWARD}}) {
        form.mode = mode;
        forms[std::string("cvt.") + name + "." + d + "." + s] = form;
    }
}

template <class D, class S>
void add_between_integers(Forms& forms, const std::string& d, const std::string& s) {
    forms["cvt." + d + "." + s] = {convert<[](S v) { return static_cast<D>(v); }, D, S>, nullptr,
                                   kConverts};
}

/// From one type of integer to every other, and to and from floats.
template <class S>
void add_of_source(Forms& forms, const std::string& s) {
    add_between_integers<std::uint8_t, S>(forms, "u8", s);
    add_between_integers<std::int8_t, S>(forms, "s8", s);
    add_between_integers<std::uint16_t, S>(forms, "u16", s);
    add_between_integers<std::int16_t, S>(forms, "s16", s);
    add_between_integers<std::uint32_t, S>(forms, "u32", s);
    add_between_integers<std::int32_t, S>(forms, "s32", s);
    add_between_integers<std::uint64_t, S>(forms, "u64", s);
    add_between_integers<std::int64_t, S>(forms, "s64", s);
    add_inexact<float, S>(forms, "f32", s);
    add_inexact<double, S>(forms, "f64", s);
    if constexpr (sizeof(S) > 1) {
        add_float_to_integer<S, float>(forms, s, "f32");
        add_float_to_integer<S, double>(forms, s, "f64");
    }
}

/// f16 is what registers of 16 bits hold.
void add_halves(Forms& forms) {
    constexpr auto widened = [](std::uint16_t bits) {
        return static_cast<float>(std::bit_cast<_Float16>(bits));
    };
    forms["cvt.f32.f16"] = {convert<widened, float, std::uint16_t>, nullptr, kConverts};
    constexpr auto narrowed = [](float v) {
        if (v != v) return std::uint16_t{0x7fff};  // every NaN
        return std::bit_cast<std::uint16_t>(static_cast<_Float16>(v));
    };
    forms["cvt.rn.f16.f32"] = {convert<narrowed, std::uint16_t, float>, nullptr, kConverts};
    forms["cvt.f32.f16"].run_ftz = forms["cvt.f32.f16"].run;  // no half is a denormal float
    forms["cvt.rn.f16.f32"].run_ftz = forms["cvt.rn.f16.f32"].run;
}

}  // namespace

void add_convert_forms(Forms& forms) {
    add_of_source<std::uint8_t>(forms, "u8");
    add_of_source<std::int8_t>(forms, "s8");
    add_of_source<std::uint16_t>(forms, "u16");
    add_of_source<std::int16_t>(forms, "s16");
    add_of_source<std::uint32_t>(forms, "u32");
    add_of_source<std::int32_t>(forms, "s32");
    add_of_source<std::uint64_t>(forms, "u64");
    add_of_source<std::int64_t>(forms, "s64");
    add_to_whole<float>(forms, "f32");
    add_to_whole<double>(forms, "f64");
    add_inexact<float, double>(forms, "f32", "f64");
    constexpr auto widened = [](float v) { return static_cast<double>(v); };
    forms["cvt.f64.f32"] = {convert<widened, double, float>, convert<widened, double, float, true>,
                            kConverts};
    constexpr auto clamped = [](float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; };
    forms["cvt.sat.f32.f32"] = {convert<clamped, float, float>,
                                convert<clamped, float, float, true>, kConverts};
    constexpr auto same = [](float v) { return v; };
    forms["cvt.f32.f32"] = {convert<same, float, float>, convert<same, float, float, true>,
                            kConverts};
    add_halves(forms);
}

const Form* find_form(std::string_view name) {
    static const Forms forms = [] {
        Forms all;
        add_float_forms(all);
        add_integer_forms(all);
        add_compare_forms(all);
        add_convert_forms(all);
        return all;
    }();
    const auto found = forms.find(std::string(name));
    return found == forms.end() ? nullptr : &found->second;
}

}  // namespace gs::ptx
