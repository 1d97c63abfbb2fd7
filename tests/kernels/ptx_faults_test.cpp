// Every kind of fault is found where it is planted, with the place, and correct code has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/ptx_program.h"

namespace gs::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kBuffer = ".shared .align 16 .b8 buffer[512];";
/// %r0: the buffer, %r2: this thread's word in it.
const std::string kMine =
    "mov.u32 %r0, buffer;\nshl.b32 %r1, %t, 2;\nadd.s32 %r2, %r0, %r1;\nxor.b32 %r4, %r1, 4;\n"
    "add.s32 %r4, %r4, %r0;\n";

PtxRun run_body(const std::string& body, unsigned threads = 32, const Options& options = {}) {
    return run_ptx(ptx_program(body, kBuffer), {1, threads}, {1, 2, 3, 4}, 128, options);
}

TEST(PtxFaults, OutsideEveryRegion) {
    const PtxRun run = run_body("add.s64 %d0, %in, 16;\n.loc 1 77 3\nld.global.u32 %r5, [%d0];");
    ASSERT_THAT(run.kinds(), ElementsAre(FaultKind::out_of_bounds));
    const Fault& fault = run.report.faults[0];
    EXPECT_EQ(fault.source.file, "kernel.cu");
    EXPECT_EQ(fault.source.line, 77);
    EXPECT_GT(fault.source.ptx_line, 10);
    EXPECT_EQ(fault.count, 32u);
    EXPECT_THAT(fault.text(), HasSubstr("byte 16 of in (16 bytes)"));
    EXPECT_THAT(run_body("st.global.u32 [%in+-4], %t;").kinds(),
                ElementsAre(FaultKind::out_of_bounds));
    EXPECT_THAT(run_body("ld.param.u64 %d0, [k_param_0+16];").kinds(),
                ElementsAre(FaultKind::out_of_bounds));
    // The last words of a vector.
    EXPECT_THAT(run_body("ld.global.v2.u32 {%r5, %r6}, [%in+16];").kinds(),
                ElementsAre(FaultKind::out_of_bounds));
}

TEST(PtxFaults, OutsideItsSharedArray) {
    EXPECT_THAT(run_body(kMine + "st.shared.u32 [%r2+508], %t;").kinds(),
                ElementsAre(FaultKind::out_of_bounds));
    EXPECT_THAT(run_body(kMine + "st.shared.u32 [%r2+-4], %t;").kinds(),
                ElementsAre(FaultKind::out_of_bounds));
    EXPECT_THAT(run_body(kMine + "st.shared.u32 [%r2+384], %t;").kinds(), IsEmpty());
}

TEST(PtxFaults, MisalignedForItsWidth) {
    EXPECT_THAT(run_body("ld.global.v2.u32 {%r5, %r6}, [%in+4];").kinds(),
                ElementsAre(FaultKind::misaligned));
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%in+2];").kinds(),
                ElementsAre(FaultKind::misaligned));
    EXPECT_THAT(run_body(kMine + "st.shared.v4.u32 [%r0+8], {%r1, %r1, %r1, %r1};").kinds(),
                ElementsAre(FaultKind::misaligned));
}

TEST(PtxFaults, ValuesThatNobodyWrote) {
    // Loaded and dropped: nothing. Stored, deciding, addressing: a fault.
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%mine];").kinds(), IsEmpty());
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%mine];\nst.global.u32 [%mine], %r5;").kinds(),
                ElementsAre(FaultKind::uninitialised));
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%mine];\nadd.s32 %r6, %r5, 1;\n"
                         "setp.eq.s32 %p0, %r6, 3;\n@%p0 bra $end;\n$end:")
                    .kinds(),
                ElementsAre(FaultKind::uninitialised));
    EXPECT_THAT(run_body(kMine + "ld.shared.u32 %r5, [%r2];\nst.global.u32 [%mine], %r5;").kinds(),
                ElementsAre(FaultKind::uninitialised));
    EXPECT_THAT(run_body("ld.global.u64 %d0, [%out];\nld.global.u32 %r5, [%d0];").kinds(),
                ElementsAre(FaultKind::uninitialised));
    EXPECT_THAT(run_body("setp.eq.s32 %p0, %r9, 3;\nvote.sync.any.pred %p1, %p0, -1;").kinds(),
                ElementsAre(FaultKind::uninitialised));
    // From a lane that nobody named.
    EXPECT_THAT(
        run_body("shfl.sync.idx.b32 %r5, %t, %r9, 31, -1;\nst.global.u32 [%mine], %r5;").kinds(),
        ElementsAre(FaultKind::uninitialised));
    // A choice that does not take it, an `and` that is false without it.
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%mine];\nsetp.lt.u32 %p0, %t, 99;\n"
                         "selp.b32 %r6, 1, %r5, %p0;\nst.global.u32 [%mine], %r6;")
                    .kinds(),
                IsEmpty());
    EXPECT_THAT(run_body("ld.global.u32 %r5, [%mine];\nsetp.gt.u32 %p0, %t, 99;\n"
                         "setp.eq.s32 %p1, %r5, 3;\nand.pred %p2, %p0, %p1;\n@%p2 bra $end;\n$end:")
                    .kinds(),
                IsEmpty());
}

TEST(PtxFaults, RacesBetweenWarps) {
    const std::string across = "xor.b32 %r5, %r1, 128;\nadd.s32 %r5, %r5, %r0;\n";
    const std::string write = "st.shared.u32 [%r2], %t;\n", read = "ld.shared.u32 %r6, [%r5];\n";
    for (std::uint64_t seed : {0, 1, 2, 3}) {
        const Options order{.seed = seed};
        EXPECT_THAT(run_body(kMine + across + write + "bar.sync 0;\n" + read, 64, order).kinds(),
                    IsEmpty());
        const auto raced = run_body(kMine + across + write + read, 64, order).kinds();
        EXPECT_THAT(raced, testing::Contains(FaultKind::shared_race)) << seed;
        // Read, then written by another warp, with no barrier between.
        EXPECT_THAT(run_body(kMine + across + write + "bar.sync 0;\n" + read +
                                 "add.s32 %r7, %t, 1;\nst.shared.u32 [%r2], %r7;",
                             64, order)
                        .kinds(),
                    testing::Each(FaultKind::shared_race));
    }
    // All write one word: a race, but not when they write the same.
    EXPECT_THAT(run_body(kMine + "st.shared.u32 [%r0], %t;", 64).kinds(),
                ElementsAre(FaultKind::shared_race));
    EXPECT_THAT(run_body(kMine + "mov.u32 %r5, 9;\nst.shared.u32 [%r0], %r5;", 64).kinds(),
                IsEmpty());
    // Atomics do not race with one another, but with a plain store before them they do.
    const std::string zero =
        "setp.ne.s32 %p0, %t, 0;\n@%p0 bra $add;\nmov.u32 %r5, 0;\nst.shared.u32 [%r0], %r5;\n"
        "$add:\n";
    const std::string add = "atom.shared.add.u32 %r6, [%r0], 1;\n";
    EXPECT_THAT(run_body(kMine + zero + "bar.sync 0;\n" + add, 64).kinds(), IsEmpty());
    EXPECT_THAT(run_body(kMine + zero + add, 64).kinds(),
                testing::Contains(FaultKind::shared_race));
    // A barrier of the warp orders the store before the atomics of its own lanes alone.
    EXPECT_THAT(run_body(kMine + zero + add).kinds(), testing::Contains(FaultKind::shared_race));
    EXPECT_THAT(run_body(kMine + zero + "bar.warp.sync -1;\n" + add).kinds(), IsEmpty());
    EXPECT_THAT(run_body(kMine + zero + "bar.warp.sync -1;\n" + add, 64).kinds(),
                testing::Contains(FaultKind::shared_race));
}

TEST(PtxFaults, RacesBetweenLanes) {
    const std::string write = "st.shared.u32 [%r2], %t;\n", read = "ld.shared.u32 %r6, [%r4];\n";
    EXPECT_THAT(run_body(kMine + write + "bar.warp.sync -1;\n" + read).kinds(), IsEmpty());
    const PtxRun raced = run_body(kMine + write + read);
    ASSERT_THAT(raced.kinds(), ElementsAre(FaultKind::shared_race));
    EXPECT_THAT(raced.report.faults[0].text(), HasSubstr("buffer, byte 4, which thread 1 wrote"));
    // A shuffle orders no memory.
    EXPECT_THAT(run_body(kMine + write + "shfl.sync.idx.b32 %r7, %t, 0, 31, -1;\n" + read).kinds(),
                ElementsAre(FaultKind::shared_race));
    EXPECT_THAT(run_body(kMine + write + "bar.warp.sync -1;\n" + read +
                         "add.s32 %r7, %t, 1;\nst.shared.u32 [%r2], %r7;")
                    .kinds(),
                ElementsAre(FaultKind::shared_race));
    // Nor does a barrier of one half for the other.
    const std::string low = "setp.gt.u32 %p0, %t, 15;\n@%p0 bra $high;\n";
    EXPECT_THAT(run_body(kMine + write + low +
                         "bar.warp.sync 0xffff;\nadd.s32 %r5, %r2, 64;\nld.shared.u32 %r6, "
                         "[%r5];\n$high:")
                    .kinds(),
                ElementsAre(FaultKind::shared_race));
    EXPECT_THAT(run_body(kMine + write +
                         "setp.gt.u32 %p0, %t, 15;\nselp.b32 %r5, 0xffff0000, 0xffff, %p0;\n"
                         "bar.warp.sync %r5;\nxor.b32 %r6, %r1, 64;\nadd.s32 %r6, %r6, %r0;\n"
                         "ld.shared.u32 %r7, [%r6];")
                    .kinds(),
                ElementsAre(FaultKind::shared_race));
    // All that are left are enough.
    EXPECT_THAT(run_body(kMine + write +
                         "setp.gt.u32 %p0, %t, 15;\n@%p0 ret;\nbar.warp.sync 0xffff;\n" + read)
                    .kinds(),
                IsEmpty());
    EXPECT_THAT(run_body(kMine + write + "ld.shared.u32 %r6, [%r2];").kinds(), IsEmpty());
    // What all lanes read at once, one writes.
    EXPECT_THAT(run_body(kMine + write +
                         "bar.sync 0;\nld.shared.u32 %r6, [%r0];\n"
                         "setp.ne.s32 %p0, %t, 0;\n@%p0 bra $end;\n"
                         "mov.u32 %r7, 5;\nst.shared.u32 [%r0], %r7;\n$end:")
                    .kinds(),
                ElementsAre(FaultKind::shared_race));
}

TEST(PtxFaults, BarriersThatNotAllReach) {
    const std::string low = "setp.lt.u32 %p0, %t, 16;\n", first = "setp.lt.u32 %p0, %t, 32;\n";
    EXPECT_THAT(run_body(low + "@%p0 bra $end;\nbar.sync 0;\n$end:").kinds(),
                ElementsAre(FaultKind::barrier_divergence));
    EXPECT_THAT(run_body(first + "@%p0 bra $end;\nbar.sync 0;\n$end:", 64).kinds(),
                ElementsAre(FaultKind::barrier_divergence));
    EXPECT_THAT(run_body(low + "@%p0 ret;\nbar.sync 0;", 32).kinds(),
                ElementsAre(FaultKind::barrier_divergence));
    EXPECT_THAT(
        run_body(".loc 1 5 0\n" + first +
                     "@%p0 bra $other;\nbar.sync 0;\nret;\n$other:\n.loc 1 6 0\nbar.sync 0;",
                 64)
            .kinds(),
        ElementsAre(FaultKind::barrier_divergence));
    EXPECT_THAT(run_body("bar.sync 0;", 64).kinds(), IsEmpty());
}

TEST(PtxFaults, MasksAndShuffles) {
    const std::string low = "setp.lt.u32 %p0, %t, 16;\n@%p0 bra $end;\n";
    EXPECT_THAT(run_body("shfl.sync.idx.b32 %r5, %t, 0, 31, 0x7fffffff;").kinds(),
                ElementsAre(FaultKind::bad_mask));
    EXPECT_THAT(run_body("vote.sync.any.pred %p0, %p1, 0xfffffffe;").kinds(),
                testing::Contains(FaultKind::bad_mask));
    EXPECT_THAT(run_body(low + "bar.warp.sync -1;\n$end:").kinds(),
                ElementsAre(FaultKind::absent_lane));
    EXPECT_THAT(run_body(low + "bar.warp.sync 0xffff0000;\n$end:").kinds(), IsEmpty());
    EXPECT_THAT(run_body("setp.lt.u32 %p0, %t, 16;\n@%p0 ret;\nbar.warp.sync -1;").kinds(),
                ElementsAre(FaultKind::absent_lane));
    EXPECT_THAT(run_body(low + "shfl.sync.idx.b32 %r5, %t, 3, 31, 0xffff0000;\n$end:").kinds(),
                ElementsAre(FaultKind::absent_source));
}

TEST(PtxFaults, TrapsAndLoopsWithoutEnd) {
    EXPECT_THAT(run_body("trap;").kinds(), ElementsAre(FaultKind::trap));
    EXPECT_THAT(
        run_body("$again:\nadd.s32 %r5, %t, 1;\nbra $again;", 32, {.most_instructions = 1000})
            .kinds(),
        ElementsAre(FaultKind::endless));
}

}  // namespace
}  // namespace gs::ptx
