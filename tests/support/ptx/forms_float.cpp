// Arithmetic on f32 and f64. `.approx` forms are rounded correctly, or as well as the C library
// does: inside the bounds that the PTX ISA document gives them (2 ulp for ex2, 1 for rcp and sqrt).
#include <cfenv>
#include <cmath>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/lanewise.h"

namespace gs::ptx {
namespace {

template <auto F, class... S>
void flushing(Warp& warp, const Instruction& i) {
    lanewise<[](S... s) { return flushed(F(flushed(s)...)); }, float, S...>(warp, i);
}

/// Under the rounding that the instruction's mode says. Only for what the processor or the C
/// library rounds by its own.
template <Handler H>
void rounding(Warp& warp, const Instruction& i) {
    std::fesetround(i.mode);
    H(warp, i);
    std::fesetround(FE_TONEAREST);
}

template <class T>
T least(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}
template <class T>
T greatest(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a < b ? b : a;
}

float clamp(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
double upper(double v) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0xffffffff00000000u);
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kDiv = [](auto a, auto b) { return a / b; };
constexpr auto kFma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto kRcp = [](auto a) { return decltype(a)(1) / a; };
constexpr auto kSqrt = [](auto a) { return std::sqrt(a); };

/// The name without a rounding, and with each of them: add.f32, add.rn.f32, add.rz.f32 ...
template <auto F, class T, class... S>
void add_rounded(Forms& forms, const std::string& name, const std::string& type, bool bare) {
    constexpr Handler plain = lanewise<F, T, S...>;
    Form nearest{plain, nullptr, widths_of<T, S...>()};
    Form directed{rounding<plain>, nullptr, nearest.widths};
    if constexpr (std::is_same_v<T, float>) {
        constexpr Handler flush = flushing<F, S...>;
        nearest.run_ftz = flush;
        directed.run_ftz = rounding<flush>;
    }
    if (bare) forms[name + "." + type] = nearest;
    forms[name + ".rn." + type] = nearest;
    for (const auto& [word, mode] :
         {std::pair{".rz.", FE_TOWARDZERO}, std::pair{".rm.", FE_DOWNWARD},
          std::pair{".rp.", FE_UPWARD}}) {
        directed.mode = mode;
        forms[name + word + type] = directed;
    }
}

template <class T>
void add_both(Forms& forms, const std::string& type) {
    add_rounded<kAdd, T, T, T>(forms, "add", type, true);
    add_rounded<kSub, T, T, T>(forms, "sub", type, true);
    add_rounded<kMul, T, T, T>(forms, "mul", type, true);
    add_rounded<kDiv, T, T, T>(forms, "div", type, false);
    add_rounded<kFma, T, T, T, T>(forms, "fma", type, false);
    add_rounded<kFma, T, T, T, T>(forms, "mad", type, false);
    add_rounded<kRcp, T, T>(forms, "rcp", type, false);
    add_rounded<kSqrt, T, T>(forms, "sqrt", type, false);
}

/// One form of f32, with and without .ftz.
template <auto F, class... S>
void add_single(Forms& forms, const std::string& name) {
    forms[name] = {lanewise<F, float, S...>, flushing<F, S...>, widths_of<float, S...>()};
}
template <auto F, class... S>
void add_double(Forms& forms, const std::string& name) {
    forms[name] = {lanewise<F, double, S...>, nullptr, widths_of<double, S...>()};
}

/// The sine unit works on its argument reduced in single precision; glibc is nearer.
void add_approximate(Forms& forms) {
    add_single<[](float a) { return std::exp2(a); }, float>(forms, "ex2.approx.f32");
    add_single<[](float a) { return std::log2(a); }, float>(forms, "lg2.approx.f32");
    add_single<[](float a) { return std::sin(a); }, float>(forms, "sin.approx.f32");
    add_single<[](float a) { return std::cos(a); }, float>(forms, "cos.approx.f32");
    add_single<[](float a) { return std::tanh(a); }, float>(forms, "tanh.approx.f32");
    add_single<[](float a) { return std::sqrt(a); }, float>(forms, "sqrt.approx.f32");
    add_single<kRcp, float>(forms, "rcp.approx.f32");
    add_single<kDiv, float, float>(forms, "div.approx.f32");
    add_single<kDiv, float, float>(forms, "div.full.f32");
    add_single<[](float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); },
               float>(forms, "rsqrt.approx.f32");
    // Of doubles the hardware works on the upper word alone; programs refine what it gives.
    add_double<[](double a) { return upper(1.0 / upper(a)); }, double>(forms, "rcp.approx.f64");
    add_double<[](double a) { return upper(1.0 / std::sqrt(upper(a))); }, double>(
        forms, "rsqrt.approx.f64");
    for (const char* name : {"rcp.approx.f64", "rsqrt.approx.f64"}) {
        forms[name].run_ftz = forms[name].run;  // .ftz is its only form
    }
}

}  // namespace

void add_float_forms(Forms& forms) {
    add_both<float>(forms, "f32");
    add_both<double>(forms, "f64");
    add_approximate(forms);
    add_single<least<float>, float, float>(forms, "min.f32");
    add_single<greatest<float>, float, float>(forms, "max.f32");
    add_double<least<double>, double, double>(forms, "min.f64");
    add_double<greatest<double>, double, double>(forms, "max.f64");
    add_single<[](float a) { return std::fabs(a); }, float>(forms, "abs.f32");
    add_double<[](double a) { return std::fabs(a); }, double>(forms, "abs.f64");
    add_single<[](float a) { return -a; }, float>(forms, "neg.f32");
    add_double<[](double a) { return -a; }, double>(forms, "neg.f64");
    // d takes the sign of a and the rest of b.
    add_single<[](float a, float b) { return std::copysign(b, a); }, float, float>(forms,
                                                                                   "copysign.f32");
    add_double<[](double a, double b) { return std::copysign(b, a); }, double, double>(
        forms, "copysign.f64");
    // Saturating forms that nvcc makes of __saturatef and of products that it may clamp.
    add_single<[](float a, float b) { return clamp(a + b); }, float, float>(forms, "add.sat.f32");
    add_single<[](float a, float b) { return clamp(a * b); }, float, float>(forms, "mul.sat.f32");
    add_single<[](float a, float b, float c) { return clamp(std::fma(a, b, c)); }, float, float,
               float>(forms, "fma.rn.sat.f32");
}

}  // namespace gs::ptx
