// The executor computes every family of instructions as the PTX ISA document says, by values worked
// out by hand.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/kernels/ptx_program.h"

namespace gs::ptx {
namespace {

std::uint64_t f(float v) { return std::bit_cast<std::uint32_t>(v); }
std::uint64_t d(double v) { return std::bit_cast<std::uint64_t>(v); }
constexpr std::uint64_t kNan = 0x7fc00000u, kInf = 0x7f800000u;

/// `instruction` reads registers number 0, 1 and 2 of any width, which hold a, b and c (predicates:
/// whether they are not 0), and writes number 3.
struct Row {
    std::string instruction;
    std::uint64_t a, b, c, expected;
};

std::uint64_t value_of(const Row& row) {
    std::string body;
    for (int n = 0; n < 3; ++n) {
        const std::string k = std::to_string(n);
        body += "ld.global.u64 %d" + k + ", [%in+" + std::to_string(8 * n) + "];\n";
        body += "cvt.u32.u64 %r" + k + ", %d" + k + ";\ncvt.u16.u64 %h" + k + ", %d" + k + ";\n";
        body += "setp.ne.s64 %p" + k + ", %d" + k + ", 0;\n";
    }
    body += row.instruction + "\n";
    const auto writes = [&](const char* name) {
        return row.instruction.find(name) != std::string::npos;
    };
    if (writes("%p3")) body += "selp.b32 %r3, 1, 0, %p3;\n";
    if (writes("%h3")) body += "cvt.u32.u16 %r3, %h3;\n";
    if (!writes("%d3")) body += "cvt.u64.u32 %d3, %r3;\n";
    body += "st.global.u64 [%out], %d3;\n";
    std::vector<std::uint32_t> in;
    for (std::uint64_t v : {row.a, row.b, row.c}) {
        in.push_back(static_cast<std::uint32_t>(v));
        in.push_back(static_cast<std::uint32_t>(v >> 32));
    }
    const PtxRun run = run_ptx(ptx_program(body), {1, 1}, in, 2);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    return run.out.empty() ? 0 : run.out[0] | (static_cast<std::uint64_t>(run.out[1]) << 32);
}

void expect_rows(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        EXPECT_EQ(value_of(row), row.expected)
            << row.instruction << std::hex << " of " << row.a << ", " << row.b << ", " << row.c;
    }
}

TEST(PtxArithmetic, IntegersWrapAndWiden) {
    expect_rows({
        {"add.s32 %r3, %r0, %r1;", 0x7fffffff, 1, 0, 0x80000000},
        {"sub.s32 %r3, %r0, %r1;", 3, 5, 0, 0xfffffffe},
        {"add.s64 %d3, %d0, -1;", 0, 0, 0, ~0ull},
        {"mul.lo.s32 %r3, %r0, %r1;", 0x10001, 0x10001, 0, 0x20001},
        {"mul.hi.u32 %r3, %r0, %r1;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
        {"mul.hi.s32 %r3, %r0, %r1;", 0xffffffff, 7, 0, 0xffffffff},
        {"mul.wide.s32 %d3, %r0, %r1;", 0xffffffff, 2, 0, ~1ull},
        {"mul.wide.u32 %d3, %r0, 2;", 0xffffffff, 0, 0, 0x1fffffffe},
        {"mul.wide.u16 %r3, %h0, %h1;", 0xffff, 0xffff, 0, 0xfffe0001},
        {"mul.hi.u64 %d3, %d0, %d1;", ~0ull, 16, 0, 15},
        {"mad.lo.s32 %r3, %r0, %r1, %r2;", 3, 5, 7, 22},
        {"mad.wide.u32 %d3, %r0, %r1, %d2;", 0xffffffff, 2, 5, 0x200000003},
        {"div.s32 %r3, %r0, %r1;", 0xfffffff9, 2, 0, 0xfffffffd},
        {"div.u32 %r3, %r0, %r1;", 7, 0, 0, 0xffffffff},
        {"div.s32 %r3, %r0, %r1;", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"rem.s32 %r3, %r0, %r1;", 0xfffffff9, 2, 0, 0xffffffff},
        {"min.s32 %r3, %r0, %r1;", 0xffffffff, 1, 0, 0xffffffff},
        {"min.u32 %r3, %r0, %r1;", 0xffffffff, 1, 0, 1},
        {"max.s32 %r3, %r0, %r1;", 0xffffffff, 1, 0, 1},
        {"abs.s32 %r3, %r0;", 0xfffffffb, 0, 0, 5},
        {"neg.s32 %r3, %r0;", 5, 0, 0, 0xfffffffb},
    });
}

TEST(PtxArithmetic, BitsAndShifts) {
    expect_rows({
        {"shl.b32 %r3, %r0, %r1;", 1, 31, 0, 0x80000000},
        {"shl.b32 %r3, %r0, %r1;", 1, 32, 0, 0},
        {"shr.u32 %r3, %r0, %r1;", 0x80000000, 40, 0, 0},
        {"shr.s32 %r3, %r0, %r1;", 0x80000000, 40, 0, 0xffffffff},
        {"shr.s32 %r3, %r0, 1;", 0xfffffffd, 0, 0, 0xfffffffe},
        {"shr.u64 %d3, %d0, %r1;", 1ull << 40, 39, 0, 2},
        {"and.b32 %r3, %r0, %r1;", 0xff0f, 0x0ff0, 0, 0x0f00},
        {"or.b16 %h3, %h0, %h1;", 0xf000, 0x000f, 0, 0xf00f},
        {"xor.b64 %d3, %d0, %d1;", ~0ull, 1, 0, ~1ull},
        {"not.b32 %r3, %r0;", 0, 0, 0, 0xffffffff},
        {"popc.b32 %r3, %r0;", 0xf0f0, 0, 0, 8},
        {"popc.b64 %r3, %d0;", ~0ull, 0, 0, 64},
        {"clz.b32 %r3, %r0;", 0, 0, 0, 32},
        {"clz.b64 %r3, %d0;", 1, 0, 0, 63},
        {"brev.b32 %r3, %r0;", 1, 0, 0, 0x80000000},
        {"bfind.u32 %r3, %r0;", 0x10, 0, 0, 4},
        {"bfind.u32 %r3, %r0;", 0, 0, 0, 0xffffffff},
        {"bfind.shiftamt.u32 %r3, %r0;", 0x10, 0, 0, 27},
        {"bfind.s32 %r3, %r0;", 0xfffffff0, 0, 0, 3},
        {"bfi.b32 %r3, %r0, %r1, 8, 4;", 0xff, 0, 0, 0xf00},
        {"bfi.b32 %r3, %r0, %r1, 40, 4;", 0xff, 0x1234, 0, 0x1234},
        {"bfi.b64 %d3, %d0, %d1, 32, 32;", 7, 9, 0, 0x700000009},
        {"bfe.u32 %r3, %r0, %r1, %r2;", 0xabcd, 4, 8, 0xbc},
        {"bfe.s32 %r3, %r0, %r1, %r2;", 0xabcd, 4, 8, 0xffffffbc},
        {"prmt.b32 %r3, %r0, %r1, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
        {"lop3.b32 %r3, %r0, %r1, %r2, 0x96;", 0xf, 0x3c, 0xff, 0xf ^ 0x3c ^ 0xff},
        {"shf.l.wrap.b32 %r3, %r0, %r1, %r2;", 0x80000000, 1, 1, 3},
        {"shf.r.clamp.b32 %r3, %r0, %r1, %r2;", 5, 9, 32, 9},
        {"selp.b32 %r3, %r0, %r1, %p2;", 5, 6, 0, 6},
        {"mov.b64 %d3, {%r0, %r1};", 1, 2, 0, 0x200000001},
        {"mov.b64 {%r4, %r3}, %d0;", 0x500000001, 0, 0, 5},
        {"mov.b64 {_, %r3}, %d0;", 0x500000001, 0, 0, 5},
    });
}

TEST(PtxArithmetic, CarriesGoFromOneSumToTheNext) {
    expect_rows({
        {"add.cc.u32 %r4, %r0, %r1; addc.u32 %r3, %r2, 0;", 0xffffffff, 1, 5, 6},
        {"add.cc.u32 %r4, %r0, %r1; addc.cc.u32 %r5, %r0, 0; addc.u32 %r3, 0, 0;", 0xffffffff, 1, 0,
         1},
        {"sub.cc.u32 %r4, %r0, %r1; subc.u32 %r3, %r2, 0;", 0, 1, 5, 4},
        {"sub.cc.u32 %r4, %r0, %r1; subc.u32 %r3, %r2, 0;", 1, 1, 5, 5},
        {"mad.lo.cc.u32 %r4, %r0, %r1, %r2; madc.hi.u32 %r3, %r0, %r1, 0;", 0x80000000, 3,
         0x80000000, 2},
    });
}

TEST(PtxArithmetic, FloatsRoundAsTheyAreTold) {
    const float tiny = 0x1p-140f;
    const double exact = 1.0 + 0x1p-24;  // a fused product that two roundings would lose
    expect_rows({
        {"add.f32 %r3, %r0, %r1;", f(1.0f), f(0x1p-24f), 0, f(1.0f)},
        {"add.rp.f32 %r3, %r0, %r1;", f(1.0f), f(0x1p-30f), 0, f(std::nextafter(1.0f, 2.0f))},
        {"add.rm.f32 %r3, %r0, %r1;", f(1.0f), f(-0x1p-30f), 0, f(std::nextafter(1.0f, 0.0f))},
        {"fma.rn.f32 %r3, %r0, %r1, %r2;", f(1.0f + 0x1p-12f), f(1.0f + 0x1p-12f),
         f(-1.0f - 0x1p-11f), f(0x1p-24f)},
        {"mul.f32 %r3, %r0, %r1;", f(1.0f + 0x1p-12f), f(1.0f + 0x1p-12f), 0, f(1.0f + 0x1p-11f)},
        {"fma.rm.f32 %r3, %r0, %r1, %r2;", f(1.0f), f(1.0f), f(-0x1p-40f),
         f(std::nextafter(1.0f, 0.0f))},
        {"fma.rn.f64 %d3, %d0, %d1, %d2;", d(exact), d(exact), d(-1.0), d(0x1p-23 + 0x1p-48)},
        {"mul.f32 %r3, %r0, %r1;", f(tiny), f(1.0f), 0, f(tiny)},
        {"mul.ftz.f32 %r3, %r0, %r1;", f(-tiny), f(1.0f), 0, f(-0.0f)},
        {"add.ftz.f32 %r3, %r0, %r1;", f(tiny), f(1.0f), 0, f(1.0f)},
        {"mul.ftz.f32 %r3, %r0, %r1;", f(0x1p-100f), f(0x1p-40f), 0, f(0.0f)},
        {"div.rn.f32 %r3, %r0, %r1;", f(1.0f), f(3.0f), 0, f(1.0f / 3.0f)},
        {"div.rn.f32 %r3, %r0, %r1;", f(1.0f), f(0.0f), 0, kInf},
        {"div.approx.ftz.f32 %r3, %r0, %r1;", f(6.0f), f(3.0f), 0, f(2.0f)},
        {"rcp.rn.f32 %r3, %r0;", f(3.0f), 0, 0, f(1.0f / 3.0f)},
        {"sqrt.rn.f32 %r3, %r0;", f(2.0f), 0, 0, f(std::sqrt(2.0f))},
        {"rsqrt.approx.f32 %r3, %r0;", f(4.0f), 0, 0, f(0.5f)},
        {"ex2.approx.ftz.f32 %r3, %r0;", f(-3.0f), 0, 0, f(0.125f)},
        {"ex2.approx.f32 %r3, %r0;", f(-200.0f), 0, 0, f(0.0f)},
        {"lg2.approx.f32 %r3, %r0;", f(8.0f), 0, 0, f(3.0f)},
        {"sqrt.rn.f64 %d3, %d0;", d(2.0), 0, 0, d(std::sqrt(2.0))},
        {"rcp.approx.ftz.f64 %d3, %d0;", d(3.0), 0, 0, d(1.0 / 3.0) & 0xffffffff00000000u},
        {"min.f32 %r3, %r0, %r1;", kNan, f(2.0f), 0, f(2.0f)},
        {"max.f32 %r3, %r0, %r1;", f(-0.0f), f(0.0f), 0, f(0.0f)},
        {"abs.f32 %r3, %r0;", f(-2.0f), 0, 0, f(2.0f)},
        {"neg.f64 %d3, %d0;", d(2.0), 0, 0, d(-2.0)},
        {"mov.f32 %r3, 0f3F800000;", 0, 0, 0, f(1.0f)},
        {"mov.f64 %d3, 0d3FF8000000000000;", 0, 0, 0, d(1.5)},
    });
}

TEST(PtxArithmetic, ComparisonsKnowWhatIsNoNumber) {
    expect_rows({
        {"setp.lt.f32 %p3, %r0, %r1;", f(1.0f), f(2.0f), 0, 1},
        {"setp.lt.f32 %p3, %r0, %r1;", kNan, f(2.0f), 0, 0},
        {"setp.ltu.f32 %p3, %r0, %r1;", kNan, f(2.0f), 0, 1},
        {"setp.ne.f32 %p3, %r0, %r1;", kNan, kNan, 0, 0},
        {"setp.neu.f32 %p3, %r0, %r1;", kNan, kNan, 0, 1},
        {"setp.nan.f32 %p3, %r0, %r0;", kNan, 0, 0, 1},
        {"setp.num.f32 %p3, %r0, %r0;", kInf, 0, 0, 1},
        {"setp.gt.ftz.f32 %p3, %r0, 0f00000000;", f(0x1p-140f), 0, 0, 0},
        {"setp.gt.f32 %p3, %r0, 0f00000000;", f(0x1p-140f), 0, 0, 1},
        {"setp.lt.s32 %p3, %r0, %r1;", 0xffffffff, 1, 0, 1},
        {"setp.lt.u32 %p3, %r0, %r1;", 0xffffffff, 1, 0, 0},
        {"setp.ge.u64 %p3, %d0, %d1;", 1ull << 40, 5, 0, 1},
        {"setp.lt.u16 %p3, %h0, %h1;", 0x10001, 2, 0, 1},
        {"setp.eq.b32 %p3, %r0, 7;", 7, 0, 0, 1},
        {"setp.eq.and.s32 %p3, %r0, 7, %p1;", 7, 0, 0, 0},
        {"setp.eq.or.s32 %p3, %r0, 7, %p1;", 8, 1, 0, 1},
        {"setp.lt.s32 %p4|%p3, %r0, %r1;", 1, 2, 0, 0},
        {"and.pred %p3, %p0, !%p1;", 1, 0, 0, 1},
        {"or.pred %p3, %p0, %p1;", 0, 0, 0, 0},
        {"xor.pred %p3, %p0, %p1;", 1, 1, 0, 0},
        {"not.pred %p3, %p0;", 0, 0, 0, 1},
    });
}

TEST(PtxArithmetic, ConversionsSaturateAndExtend) {
    expect_rows({
        {"cvt.rzi.s32.f32 %r3, %r0;", f(-2.7f), 0, 0, 0xfffffffe},
        {"cvt.rni.s32.f32 %r3, %r0;", f(2.5f), 0, 0, 2},
        {"cvt.rmi.s32.f32 %r3, %r0;", f(-2.1f), 0, 0, 0xfffffffd},
        {"cvt.rpi.s32.f32 %r3, %r0;", f(2.1f), 0, 0, 3},
        {"cvt.rzi.s32.f32 %r3, %r0;", f(1e20f), 0, 0, 0x7fffffff},
        {"cvt.rzi.u32.f32 %r3, %r0;", f(-5.0f), 0, 0, 0},
        {"cvt.rzi.u32.f32 %r3, %r0;", f(4294967296.0f), 0, 0, 0xffffffff},
        {"cvt.rzi.s32.f32 %r3, %r0;", kNan, 0, 0, 0},
        {"cvt.rzi.u64.f64 %d3, %d0;", d(1e18), 0, 0, 1000000000000000000ull},
        {"cvt.rn.f32.s32 %r3, %r0;", 0xffffffff, 0, 0, f(-1.0f)},
        {"cvt.rn.f32.u32 %r3, %r0;", 0xffffffff, 0, 0, f(4294967296.0f)},
        {"cvt.rz.f32.u32 %r3, %r0;", 0xffffffff, 0, 0, 0x4f7fffff},
        {"cvt.rn.f32.u64 %r3, %d0;", 1ull << 40, 0, 0, f(0x1p40f)},
        {"cvt.f64.f32 %d3, %r0;", f(0.1f), 0, 0, d(static_cast<double>(0.1f))},
        {"cvt.rn.f32.f64 %r3, %d0;", d(0.1), 0, 0, f(0.1f)},
        {"cvt.rpi.f32.f32 %r3, %r0;", f(1.2f), 0, 0, f(2.0f)},
        {"cvt.rmi.f32.f32 %r3, %r0;", f(-1.2f), 0, 0, f(-2.0f)},
        {"cvt.sat.f32.f32 %r3, %r0;", f(-1.2f), 0, 0, f(0.0f)},
        {"cvt.sat.f32.f32 %r3, %r0;", kNan, 0, 0, f(0.0f)},
        {"cvt.s64.s32 %d3, %r0;", 0xfffffffe, 0, 0, ~1ull},
        {"cvt.u64.u32 %d3, %r0;", 0xfffffffe, 0, 0, 0xfffffffe},
        {"cvt.u16.u32 %h3, %r0;", 0x12345, 0, 0, 0x2345},
        {"cvt.s32.s8 %r3, %r0;", 0x1ff, 0, 0, 0xffffffff},
        {"cvt.u32.u8 %r3, %r0;", 0x1ff, 0, 0, 0xff},
        {"cvt.f32.f16 %r3, %h0;", 0x3c00, 0, 0, f(1.0f)},
        {"cvt.rn.f16.f32 %h3, %r0;", f(1.0f), 0, 0, 0x3c00},
        {"cvt.rn.f16.f32 %h3, %r0;", f(65520.0f), 0, 0, 0x7c00},
        {"cvt.rn.f16.f32 %h3, %r0;", f(2049.0f), 0, 0, 0x6800},
        {"cvt.rn.f16.f32 %h3, %r0;", kNan, 0, 0, 0x7fff},
    });
}

}  // namespace
}  // namespace gs::ptx
