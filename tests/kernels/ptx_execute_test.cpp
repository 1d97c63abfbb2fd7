// The executor's memory, branches, barriers, collectives, calls and counts, by small programs.
#include <gtest/gtest.h>

#include <bit>

#include "tests/kernels/ptx_program.h"
#include "tests/support/ptx/mutants.h"

namespace gs::ptx {
namespace {

TEST(PtxExecute, LoadsExtendAndVectorsTakeTheirParts) {
    const std::vector<std::uint32_t> in{0x80ff0102, 5, 6, 7};
    const PtxRun run =
        run_ptx(ptx_program("ld.global.u8 %r0, [%in+2];\nst.global.u32 [%out], %r0;\n"
                            "ld.global.s8 %r1, [%in+3];\nst.global.u32 [%out+4], %r1;\n"
                            "ld.global.v4.u32 {%r2, _, %r3, %r4}, [%in];\n"
                            "st.global.v2.u32 [%out+8], {%r3, %r4};\n"
                            "ld.global.u16 %h0, [%in];\nst.global.u8 [%out+16], %h0;\n"
                            "cvta.to.global.u64 %d0, %in;\nld.u32 %r5, [%d0+4];\n"
                            "st.global.u32 [%out+20], %r5;"),
                {1, 1}, in, 6);
    EXPECT_TRUE(run.report.faults.empty());
    EXPECT_EQ(run.out, (std::vector<std::uint32_t>{0xff, 0xffffff80, 6, 7, 2, 5}));
    EXPECT_EQ(run.out_written[16], 1);
    EXPECT_EQ(run.out_written[17], 0);
}

TEST(PtxExecute, LanesThatPartMeetAgain) {
    // A loop of as many turns as the lane's number, an early end for the odd ones.
    const PtxRun run = run_ptx(ptx_program(R"(
        mov.u32 %r0, 0;
        mov.u32 %r1, 0;
$again:
        setp.ge.u32 %p0, %r0, %t;
        @%p0 bra $done;
        add.s32 %r0, %r0, 1;
        add.s32 %r1, %r1, %r0;
        bra.uni $again;
$done:
        vote.sync.ballot.b32 %r2, %p0, -1;
        and.b32 %r3, %t, 1;
        setp.eq.s32 %p1, %r3, 1;
        @%p1 ret;
        st.global.u32 [%mine], %r1;)"),
                               {1, 32}, {0}, 32);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    for (std::uint32_t n = 0; n < 32; ++n) {
        EXPECT_EQ(run.out[n], n % 2 == 0 ? n * (n + 1) / 2 : 0) << n;
        EXPECT_EQ(run.out_written[n * 4], n % 2 == 0);
    }
    // 31 turns of five instructions in one warp, whichever lanes are still there.
    Counts turns;
    for (const auto& i : run.report.instructions) {
        if (i.opcode == "add.s32") turns += i.counts;
    }
    EXPECT_EQ(turns.issued, 2u * 31u);
    EXPECT_EQ(turns.lanes, 2u * 31u * 32u / 2u);
}

TEST(PtxExecute, CollectivesOfAWarp) {
    const PtxRun run = run_ptx(ptx_program(R"(
        shfl.sync.bfly.b32 %r0|%p0, %t, 1, 31, -1;
        shfl.sync.up.b32 %r1|%p1, %t, 2, 0, -1;
        shfl.sync.down.b32 %r2, %t, 2, 31, -1;
        shfl.sync.idx.b32 %r3, %t, 5, 31, -1;
        setp.lt.u32 %p2, %t, 4;
        vote.sync.ballot.b32 %r4, %p2, -1;
        vote.sync.any.pred %p3, %p2, -1;
        vote.sync.all.pred %p4, %p2, -1;
        selp.b32 %r5, 1, 0, %p3;
        selp.b32 %r6, 1, 0, %p4;
        selp.b32 %r7, 1, 0, %p1;
        mad.lo.s32 %r8, %t, 24, 0;
        cvt.u64.u32 %d0, %r8;
        add.s64 %d0, %d0, %out;
        st.global.v2.u32 [%d0], {%r0, %r1};
        st.global.v2.u32 [%d0+8], {%r2, %r3};
        add.s32 %r4, %r4, %r5;
        add.s32 %r6, %r6, %r7;
        st.global.v2.u32 [%d0+16], {%r4, %r6};)"),
                               {1, 32}, {0}, 32 * 6);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    for (std::uint32_t n = 0; n < 32; ++n) {
        const std::uint32_t* row = run.out.data() + n * 6;
        EXPECT_EQ(row[0], n ^ 1u);
        EXPECT_EQ(row[1], n < 2 ? n : n - 2);
        EXPECT_EQ(row[2], n > 29 ? n : n + 2);
        EXPECT_EQ(row[3], 5u);
        EXPECT_EQ(row[4], 0xfu + 1u);
        EXPECT_EQ(row[5], n < 2 ? 0u : 1u);
    }
}

TEST(PtxExecute, BarriersCountAndSharedMemoryGoesRound) {
    const PtxRun run = run_ptx(ptx_program(R"(
        mov.u32 %r0, buffer;
        shl.b32 %r1, %t, 2;
        add.s32 %r2, %r0, %r1;
        st.shared.u32 [%r2], %t;
        bar.sync 0;
        xor.b32 %r3, %t, 63;
        shl.b32 %r3, %r3, 2;
        add.s32 %r3, %r3, %r0;
        ld.shared.u32 %r4, [%r3];
        setp.lt.u32 %p0, %t, 10;
        bar.red.popc.u32 %r5, 0, %p0;
        bar.red.and.pred %p1, 0, %p0;
        bar.red.or.pred %p2, 0, %p0;
        selp.b32 %r6, 100, 0, %p1;
        selp.b32 %r7, 1000, 0, %p2;
        add.s32 %r4, %r4, %r6;
        add.s32 %r4, %r4, %r7;
        mad.lo.s32 %r4, %r5, 10000, %r4;
        st.global.u32 [%mine], %r4;)",
                                           ".shared .align 4 .b8 buffer[256];"),
                               {1, 64}, {0}, 64);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    for (std::uint32_t n = 0; n < 64; ++n) EXPECT_EQ(run.out[n], 101000u + (n ^ 63u));
}

TEST(PtxExecute, AtomicsOfAllLanesArrive) {
    const PtxRun run = run_ptx(ptx_program(R"(
        mov.u32 %r9, 0;
        setp.ne.s32 %p0, %t, 0;
        @%p0 bra $ready;
        st.global.v4.u32 [%out], {%r9, %r9, %r9, %r9};
        st.global.v2.u32 [%out+16], {%r9, %r9};
$ready:
        bar.sync 0;
        atom.global.add.u32 %r0, [%out], 2;
        atom.global.max.u32 %r1, [%out+4], %t;
        atom.global.or.b32 %r2, [%out+8], %t;
        cvt.rn.f32.u32 %r3, %t;
        red.global.add.f32 [%out+12], %r3;
        atom.global.cas.b32 %r4, [%out+16], 0, 7;
        atom.global.exch.b32 %r5, [%out+20], 9;)"),
                               {2, 64}, {0}, 6);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    EXPECT_EQ(run.out[0], 128u);  // the second block resets it
    EXPECT_EQ(run.out[1], 63u);
    EXPECT_EQ(run.out[2], 63u);
    EXPECT_EQ(run.out[3], std::bit_cast<std::uint32_t>(63.0f * 32.0f));
    EXPECT_EQ(run.out[4], 7u);
    EXPECT_EQ(run.out[5], 9u);
    EXPECT_EQ(run.report.total.atomics, 2u * 64u * 6u);
}

TEST(PtxExecute, AtomicsFlushDenormalsInGlobalMemoryAlone) {
    // A denormal added to zero, and the difference of two normal numbers that is one.
    const PtxRun run = run_ptx(ptx_program(R"(
        mov.u32 %r0, 0;
        mov.u32 %r1, 0x00c00000;
        mov.u32 %r2, cell;
        st.shared.u32 [%r2], %r0;
        st.global.v2.u32 [%out], {%r0, %r1};
        mov.u32 %r3, 0x00400000;
        mov.u32 %r4, 0x80800000;
        red.global.add.f32 [%out], %r3;
        atom.global.add.f32 %r5, [%out+4], %r4;
        atom.shared.add.f32 %r6, [%r2], %r3;
        ld.shared.u32 %r7, [%r2];
        st.global.v2.u32 [%out+8], {%r5, %r7};)",
                                           ".shared .align 4 .b8 cell[4];"),
                               {1, 1}, {0}, 4);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    EXPECT_EQ(run.out, (std::vector<std::uint32_t>{0, 0, 0x00c00000, 0x00400000}));
}

TEST(PtxExecute, CallsLocalMemoryAndTables) {
    const std::string functions = R"(
.global .align 4 .u32 table[4] = {10, 20, 30, 40};
.func (.param .b32 result) pick(.param .b32 which)
{
.local .align 4 .b8 kept[16];
.reg .b32 %a<9>;
.reg .b64 %l<9>;
.reg .pred %q<2>;
ld.param.b32 %a1, [which];
mov.u64 %l1, kept;
cvta.local.u64 %l1, %l1;
and.b32 %a2, %a1, 3;
mul.wide.u32 %l2, %a2, 4;
add.s64 %l3, %l1, %l2;
st.u32 [%l3], %a1;
setp.lt.u32 %q1, %a1, 16;
@%q1 bra $low;
mov.u64 %l4, table;
add.s64 %l4, %l4, %l2;
ld.global.u32 %a3, [%l4];
st.param.b32 [result+0], %a3;
ret;
$low:
ld.u32 %a4, [%l3];
st.param.b32 [result+0], %a4;
ret;
}
)";
    const std::string call =
        "{\n.reg .b32 temp;\n.param .b32 p0;\nst.param.b32 [p0+0], %r1;\n.param .b32 q0;\n"
        "call.uni (q0),\npick,\n(\np0\n);\nld.param.b32 %r2, [q0+0];\n}\n";
    const PtxRun run =
        run_ptx(ptx_program("mov.u32 %r1, %t;\n" + call + "add.s32 %r3, %r2, 100;\n" + call +
                                "add.s32 %r3, %r3, %r2;\nst.global.u32 [%mine], %r3;",
                            "", functions),
                {1, 32}, {0}, 32);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    for (std::uint32_t n = 0; n < 32; ++n) {
        EXPECT_EQ(run.out[n], 100u + 2u * (n < 16 ? n : 10u + n % 4u * 10u)) << n;
    }
}

TEST(PtxExecute, CostsAreCountedByLine) {
    const PtxRun run = run_ptx(ptx_program(R"(
        .loc 1 7 0
        shl.b32 %r1, %t, 7;
        mov.u32 %r0, buffer;
        add.s32 %r2, %r0, %r1;
        .loc 1 8 0
        st.shared.u32 [%r2], %t;
        .loc 1 9 5
        st.global.u32 [%mine], %t;)",
                                           ".shared .align 16 .b8 buffer[4096];"),
                               {1, 32}, {0}, 32);
    for (const Fault& fault : run.report.faults) ADD_FAILURE() << fault.text();
    ASSERT_GE(run.report.by_line().size(), 3u);
    for (const LineCounts& line : run.report.by_line()) {
        if (line.line == 8) {
            EXPECT_EQ(line.file, "kernel.cu");
            EXPECT_EQ(line.counts.issued, 1u);
            EXPECT_EQ(line.counts.wavefronts, 32u);  // every lane on bank 0
            EXPECT_EQ(line.counts.conflicts, 31u);
        }
        if (line.line == 9) {
            EXPECT_EQ(line.counts.sectors, 4u);
        }
    }
}

TEST(PtxExecute, IntrinsicsCountToTheLineThatCallsThem) {
    std::string text = ptx_program(R"(
        .loc 2 373 9, function_name $f, inlined_at 1 41 5
        add.s32 %r1, %t, 1;
        .loc 1 42 5
        .loc 2 378 9, function_name $f, inlined_at 1 42 5
        .loc 2 373 9, function_name $g, inlined_at 2 378 9
        add.s32 %r2, %t, 1;
        .loc 1 0 5
        add.s32 %r3, %t, 1;)");
    text.insert(text.find(".file 1"), ".file 2 \"/opt/cuda/targets/x/include/intrinsics.hpp\"\n");
    const PtxRun run = run_ptx(text, {1, 32}, {0}, 1);
    std::vector<int> lines;
    for (const InstructionCounts& i : run.report.instructions) {
        if (i.opcode == "add.s32") lines.push_back(i.line);
    }
    EXPECT_EQ(lines, (std::vector<int>{41, 42, 42}));
}

TEST(PtxExecute, WhatItDoesNotKnowIsAnErrorWithItsLine) {
    const auto module = Module::parse(ptx_program("frobnicate.u32 %r1, %r2;"), "test.ptx");
    ASSERT_TRUE(module.has_value());
    const auto kernel = module->find("k");
    ASSERT_FALSE(kernel.has_value());
    EXPECT_NE(kernel.error().text().find("frobnicate.u32"), std::string::npos);
    EXPECT_TRUE(kernel.error().line.has_value());
    const auto wide = Module::parse(ptx_program("add.s32 %r1, %d2, 1;"), "test.ptx");
    EXPECT_FALSE(wide->find("k").has_value());
    EXPECT_FALSE(wide->find("absent").has_value());
    EXPECT_FALSE(Module::parse("int main() {}", "test.cpp").has_value());
    EXPECT_FALSE(Module::parse(ptx_program("bra $nowhere;"), "test.ptx")->find("k").has_value());
    EXPECT_FALSE(Module::read("/nowhere/a.ptx").has_value());
}

TEST(PtxExecute, MutantsLackOneThingEach) {
    const auto module =
        Module::parse(ptx_program("bar.sync 0;\nshfl.sync.idx.b32 %r0, %t, 0, 31, -1;\n"
                                  "bar.warp.sync -1;\nbar.red.or.pred %p0, 0, %p1;"),
                      "test.ptx");
    const auto kernel = module->find("k");
    ASSERT_TRUE(kernel.has_value());
    const std::vector<Mutant> mutants = mutants_of(*kernel);
    ASSERT_EQ(mutants.size(), 3u);
    EXPECT_EQ(mutants[0].what, "bar.sync removed");
    Memory memory;
    const std::vector<std::byte> parameters(16);
    const Report masked =
        execute(mutated(*kernel, mutants[1]), {1, 32}, parameters, memory, {.stop_at_fault = true});
    ASSERT_EQ(masked.faults.size(), 1u);
    EXPECT_EQ(masked.faults[0].kind, FaultKind::bad_mask);
    EXPECT_EQ(masked.total.issued, mutants[1].instruction + 1);
}

}  // namespace
}  // namespace gs::ptx
