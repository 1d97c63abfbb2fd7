// What the executor counts of a frame is what the frame's own counters say, on every backend: the
// same decisions in the PTX, in the emulator and on the CPU, counted in three ways. Prints what
// every kernel of the frame cost. And what a step of training pays for a 3D filter that it does
// not have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "app/cli/cases/runs.h"
#include "app/cli/cases/scenes.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/support/ptx/cost_table.h"
#include "tests/support/ptx_launches/launch_executor.h"
#include "tests/support/required.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::ptx {
namespace {

std::string line_of(std::string_view path, int number) {
    std::ifstream file{std::string(path)};
    std::string line;
    for (int n = 0; n < number && std::getline(file, line); ++n) {
    }
    return line;
}

/// How often warps issued the opcode in the kernels whose name begins so, on lines of source that
/// hold the text.
std::uint64_t issued(const std::map<std::string, Report>& reports, std::string_view kernel,
                     std::string_view opcode, std::string_view text) {
    std::uint64_t sum = 0;
    for (const auto& [name, report] : reports) {
        if (!name.starts_with(kernel)) continue;
        for (const InstructionCounts& i : report.instructions) {
            const bool here = i.opcode == opcode && i.counts.issued > 0 &&
                              line_of(i.file, i.line).find(text) != std::string::npos;
            if (here) sum += i.counts.issued;
        }
    }
    return sum;
}

constexpr std::uint64_t kLanesOfAWarp = 32;

RenderCounters drawn(Rasterizer& rasterizer, const cli::CaseScene& scene, bool counters) {
    const RenderOptions options{.counters = counters, .warps = counters};
    RenderResult result;
    const auto state = rasterizer.make_state();
    const auto source = rasterizer.source_of(scene.model);
    rasterizer.forward(*source, scene.camera, options, *state, result);
    return result.counters;
}

TEST(PtxCounts, OfBlendingAreTheFramesOwn) {
    if (std::string_view(GAUSSCOPE_PTX_FOLDER).empty()) {
        GTEST_SKIP() << "no PTX: this build found no nvcc";
    }
    // Sides of whole tiles: every lane has a pixel of the picture.
    const cli::CaseScene scene = cli::case_scene(3000, 1, 160, 112, 5);
    const auto rasterizer = required(make_cuda_rasterizer(0));
    RenderCounters counted;
    {  // The kernels that count leave the same counts when they are executed, bit for bit.
        LaunchExecutor executor(GAUSSCOPE_PTX_FOLDER);
        counted = drawn(*rasterizer, scene, true);
        EXPECT_EQ(executor.take_complaints(), "");
    }
    LaunchExecutor executor(GAUSSCOPE_PTX_FOLDER);
    drawn(*rasterizer, scene, false);
    EXPECT_EQ(executor.take_complaints(), "");
    const auto reports = executor.costs();
    fmt::print("{}", cost_table(reports));
    // A ballot for each 32 splats that a warp tests, a comparison for each that it walks, a power
    // of two for those that are open for a pixel.
    EXPECT_EQ(issued(reports, "blend<", "vote.sync.ballot.b32", "__ballot_sync(kAllLanes, near)"),
              counted.warps.group_tests);
    const std::uint64_t near =
        issued(reports, "blend<", "setp.le.ftz.f32", "open = power >= s.floor");
    EXPECT_EQ(near, counted.warps.near);
    EXPECT_EQ(near * kLanesOfAWarp, counted.evaluated_pairs);
    EXPECT_EQ(issued(reports, "blend<", "ex2.approx.ftz.f32", ""), counted.warps.open);
    EXPECT_GT(counted.warps.open, 1000u);
    // The CPU decides alike but for the rounding of its sums.
    const RenderCounters on_cpu = drawn(*make_cpu_rasterizer(), scene, true);
    const auto alike = [](std::uint64_t one, std::uint64_t other) {
        return std::abs(static_cast<double>(one) / static_cast<double>(other) - 1) < 1e-3;
    };
    EXPECT_PRED2(alike, on_cpu.blended_pairs, counted.blended_pairs);
    EXPECT_PRED2(alike, on_cpu.warps.batches, counted.warps.batches);
    EXPECT_PRED2(alike, on_cpu.warps.group_tests, counted.warps.group_tests);
    EXPECT_PRED2(alike, on_cpu.warps.near, counted.warps.near);
    EXPECT_PRED2(alike, on_cpu.warps.open, counted.warps.open);
    EXPECT_PRED2(alike, on_cpu.warps.live_isects, counted.warps.live_isects);
    EXPECT_PRED2(alike, on_cpu.warps.live_sub_tiles, counted.warps.live_sub_tiles);
    // What sorting and listing take: of 32 pairs and pass, of 32 isects, in blocks that are not
    // full.
    const auto of_32 = [&](const char* kernel, std::uint64_t count) {
        return static_cast<double>(reports.at(kernel).total.issued * kLanesOfAWarp) /
               static_cast<double>(count);
    };
    EXPECT_LT(of_32("radix_pass<unsigned int>", 4 * counted.visible), 95);
    EXPECT_LT(of_32("radix_pass<unsigned short>", counted.isects), 105);
    EXPECT_LT(of_32("emit<unsigned short>", counted.isects), 160);
}

/// What two steps without a 3D filter, or through one, issue in the kernels that know of filters.
struct FilterWork {
    std::uint64_t asking = 0;  ///< whether there is a filter, and its use
    std::uint64_t all = 0;
};
FilterWork filter_work(bool filtered) {
    constexpr std::size_t kRows = 600;
    const auto backend = make_cuda_training(0);
    const auto capture = cli::case_capture(48, 32);
    RunArrays run = cli::fresh_run(cli::case_scene(kRows, 2, 48, 32, 9).model);
    if (filtered) run.filter.resize(run.model.capacity, 0.02f);
    LaunchExecutor executor(GAUSSCOPE_PTX_FOLDER);
    (*backend)->start(capture, std::move(run));
    for (const std::uint64_t step : {0u, 1u})
        (*backend)->step(cli::case_plan(*capture, 1 + step, step, 2));
    (void)(*backend)->arrays();
    EXPECT_EQ(executor.take_complaints(), "");
    FilterWork out;
    for (const auto& [name, report] : executor.costs()) {
        if (!name.starts_with("project") && !name.starts_with("refresh_bounds")) continue;
        for (const InstructionCounts& i : report.instructions) {
            if (i.counts.issued == 0) continue;
            const std::string line = line_of(i.file, i.line);
            out.all += i.counts.issued;
            if (i.file.ends_with("mip_filter.h") || line.find("filter") != line.npos)
                out.asking += i.counts.issued;
        }
    }
    return out;
}

/// A run without a filter pays for the question alone, and under 1 %.
TEST(PtxCounts, ARunWithoutAFilterOnlyAsks) {
    if (std::string_view(GAUSSCOPE_PTX_FOLDER).empty()) {
        GTEST_SKIP() << "no PTX: this build found no nvcc";
    }
    const FilterWork without = filter_work(false), through = filter_work(true);
    fmt::print("instructions that warps issued: {} of {} ask for a filter; through one {} of {}\n",
               without.asking, without.all, through.asking, through.all);
    EXPECT_GT(without.asking, 0u);
    EXPECT_LT(without.asking * 100, without.all);
    EXPECT_GT(through.asking, 2 * without.asking);
}

}  // namespace
}  // namespace gs::ptx
