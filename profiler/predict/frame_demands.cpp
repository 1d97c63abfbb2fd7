// Our kernels as demands: which kernel and loop of the table of costs runs how often for a frame's
// counts. Loops are found by what they do (the walk over splats is the innermost one with the
// exponentials), not by number, so a kernel that changes keeps its row;
// tests/unit/predict_test.cpp holds every kernel named here to the table. Bytes are the cost
// model's, with what layouts add to them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "profiler/predict/block_schedule.h"
#include "profiler/predict/counted_kernel.h"
#include "profiler/predict/demand.h"
#include "profiler/predict/world_demands.h"

namespace gs {
namespace {

constexpr std::uint32_t kItem = 1024;         ///< isects of a work item at most
constexpr double kBackwardBatch = 28;         ///< live isects of the 32 that backward stages
constexpr double kBackwardInstructions = 70;  ///< of a splat of a sub-tile, 60 to 100
constexpr double kSplatArithmetic = 15;       ///< FP32 instructions that blend one splat
constexpr double kEmitted = 1024, kCountedRanks = 2048;  ///< a block's, as in raster/cuda/frame.h
/// Of fox at 2 to 8 tiles a Gaussian: Gaussians with boxes of over 32 tiles, an isect; the most
/// rows of tiles of 32 Gaussians over the mean of all.
constexpr double kLargeBoxes = 0.004, kMostRows = 1.8;
constexpr double kWarpsAnIsect = 1.6;        ///< near, of an isect that nobody counted
constexpr double kSeldom = 0.1;              ///< loops of blend that only ended tiles enter
constexpr double kRowSectors = 64.0 / 48.0;  ///< 48-byte rows at random places: sectors of 32
constexpr double kGatherSector = 32;         ///< bytes that a word at a random place moves
constexpr double kCompacted = 8 * 256;       ///< a block's, as there
constexpr int kDepthPasses = 4;
/// Of exposure and colour (trainer/cuda/appearance.cu): a pixel's planes, kernels, blocks that add
/// up, at most; of poses (adam_kernels.cu) numbers a Gaussian, blocks that add each up.
constexpr double kLookBytes = 72, kLookLaunches = 3, kLookBlocks = 128, kMotionParts = 6,
                 kMotionBlocks = 128;
constexpr double kLensNumbers = 14;  ///< of a camera (renderer/math), each a sum in double
constexpr double kPlacedBytes = 52;  ///< of a Gaussian: its geometry, and where its isects are
constexpr double kPoints = 7;        ///< of a Gaussian by the unscented transform
constexpr double kLossRun = 0.83;    ///< of the loss, executed: all but what its edges skip

/// The counts of a frame that the kernels' costs are multiplied by, guessed where they were not
/// counted.
struct Counts {
    double near, open, group_tests, batches, live_isects, live_sub_tiles, items;
    bool counted;

    explicit Counts(const FrameWork& f) {
        counted = std::isfinite(f.near) && std::isfinite(f.open);
        const auto or_else = [](double value, double guess) {
            return std::isfinite(value) ? value : guess;
        };
        // Without counts of warps: from pairs, which on the CPU are whole rows of 16; without these
        // from lists, as in scenes that were counted.
        const double pairs =
            or_else(f.evaluated, kWarpsAnIsect * kWarpThreads / (f.cuda ? 1.0 : 1.4) * f.isects);
        near = or_else(f.near, pairs / kWarpThreads * (f.cuda ? 1.0 : 1.4));
        open = or_else(f.open, 0.97 * near);
        group_tests = or_else(f.group_tests, near / 16);
        batches = or_else(f.batches, f.tiles + f.isects / 256);
        live_isects = or_else(f.live_isects, 0.88 * f.isects);
        live_sub_tiles = or_else(f.live_sub_tiles, open);
        items = f.tiles + f.isects / kItem;
    }
};

/// Work items of blending, longest first; a tile's pairs are shared out by the isects of each.
std::vector<double> items_of(const std::vector<TileLoad>& tiles) {
    std::vector<double> out;
    for (const TileLoad& tile : tiles) {
        double left = tile.isects;
        const double each = tile.isects > 0 ? static_cast<double>(tile.pairs) / tile.isects : 0;
        for (; left > kItem; left -= kItem) out.push_back(each * kItem);
        out.push_back(each * left + 32);  // an empty tile ends at once, but not in no time
    }
    std::ranges::sort(out, std::greater<>());
    return out;
}

/// How much later the last block of blending ends than even work would.
double imbalance_of(const PredictedWork& work, const GpuDevice& gpu, int resident,
                    const LoopCost* walk) {
    const std::vector<double> items = items_of(work.tiles);
    double sum = 0;
    for (const double item : items) sum += item;
    if (!(sum > 0)) return 1;
    // One block's eight warps, two a scheduler, against a multiprocessor that is full: a warp
    // issues its loop's instructions in the clocks of their fixed waits.
    const CodeCost code = code_of(walk);
    const double alone = code.stall > 0 ? std::min(1.0, 2 * code.issue / code.stall) : 0.5;
    const int places = static_cast<int>(gpu.multiprocessors);
    return std::max(1.0, makespan(items, {places, resident, alone}) * places / sum);
}

/// 1, 2, 4 or 8: how far a walk is unrolled.
double splats_a_turn(double work) {
    return std::exp2(std::round(std::log2(std::clamp(work, 1.0, 8.0))));
}

/// Of the loop around an unrolled walk half runs in the mean: what draws two or one more.
CodeCost with_left_over(const LoopCost& loop, double splats) {
    const double run =
        splats > 1 && loop.code.issue > 0 ? 0.5 * (1 + loop.code.least / loop.code.issue) : 1;
    return loop.code * run;
}

/// Tiles of several items: every item's picture is read, and what was before it written. A
/// pixel that ends within an item has its warp blend that item again, once in the mean.
void composite(StageDemand& d, const CountedKernel& k, const PredictedWork& work,
               double near_splats) {
    double tiles = 0, items = 0, longest = 0;
    for (const TileLoad& tile : work.tiles) {
        if (tile.isects <= kItem) continue;
        const double own = std::ceil(tile.isects / static_cast<double>(kItem));
        tiles += 1, items += own, longest = std::max(longest, own);
    }
    if (tiles == 0) return;
    const LoopCost* const again = k.loop_with(&CodeCost::fp32, true);
    CodeCost of_item, of_tile = k.outside();
    for (const LoopCost& loop : k.loops())
        if (again != nullptr && loop.number == again->parent)
            of_item = loop.code;
        else if (k.lies_in(again, loop))
            of_tile += loop.code;
    const CodeCost turn = code_of(again);
    // Of 32 splats these come near a warp's pixels.
    const double near =
                     std::min(1.0, near_splats / (kBlockWarps * std::max(1.0, work.frame.isects))),
                 drawn = turn.issue > 0
                             ? (turn.least + near * (turn.issue - turn.least)) / turn.issue
                             : 0,
                 turns = kItem / kWarpThreads, n = work.batch;
    k.run_code(d, of_tile, tiles, n);
    d.executed += of_item * (items * kBlockWarps * n);
    d.executed += turn * (drawn * turns * tiles * kBlockWarps * n);
    d.wait_rounds +=
        (of_item.rounds * longest + turn.rounds * turns) * std::ceil(tiles / k.places()) * n;
    // Written by blend, read, written as sums: four floats a pixel.
    d.bytes += 3 * 16 * 256 * items * n;
}

class Frame {
  public:
    Frame(const PredictedWork& work, const KernelCosts& costs, const GpuDevice& gpu)
        : work_(work), f_(work.frame), counts_(work.frame), costs_(costs), gpu_(gpu) {}

    std::vector<StageDemand> demands() {
        project();
        sort();
        emit();
        ranges();
        blend();
        if (work_.sky) add_sky_drawn(out_.back(), work_, costs_, gpu_);
        if (f_.training && work_.beams.rays > 0) out_.push_back(beam_demand(work_, costs_, gpu_));
        if (f_.training) loss();
        if (f_.gradients) {
            blend_backward();
            project_backward();
        } else if (work_.packed) {
            pack();
        }
        return std::move(out_);
    }

  private:
    CountedKernel kernel(std::initializer_list<const char*> names) const {
        return {costs_, gpu_, names};
    }
    StageDemand& add(Stage stage, double bytes, double working_set) {
        StageDemand& d = out_.emplace_back();
        d.stage = stage;
        d.bytes = bytes * work_.batch;
        d.working_set = working_set;
        for (const StageLaunches& l : stage_launches(f_.gradients))
            if (l.stage == stage) d.launches = l.launches * work_.batch;
        return d;
    }
    double layout_bytes(Stage stage) const {
        FrameWork cuda = f_;
        cuda.cuda = true;
        return stage_work(cuda, stage).bytes;
    }
    double planes() const { return 11 + 3 * (f_.sh_degree + 1.0) * (f_.sh_degree + 1.0); }
    double model_bytes() const { return f_.gaussians * planes() * (f_.training ? 12 : 4); }

    void project() {
        StageDemand& d =
            add(Stage::project, layout_bytes(Stage::cull) + layout_bytes(Stage::project),
                model_bytes());
        run_projection(d, projection("project", f_.training ? "<true, false*" : "<false, false*"));
    }
    /// A projection's kernel: of pinholes, of any camera, or by seven points.
    CountedKernel projection(const char* name, const char* arguments) const {
        const char* way = work_.unscented ? "_unscented" : work_.lens ? "_lens" : "";
        return kernel({fmt::format("{}{}{}", name, way, arguments).c_str()});
    }
    /// Chunks of 256 that hold a candidate; the degrees that are not used are skipped. Most of what
    /// seven points take is a loop over them.
    void run_projection(StageDemand& d, const CountedKernel& k) {
        const LoopCost* const points =
            work_.unscented ? k.loop_with(&CodeCost::issue, false) : nullptr;
        CodeCost code = k.all();
        for (const LoopCost& loop : k.loops())
            if (points != nullptr && (&loop == points || k.lies_in(&loop, *points)))
                code += loop.code * (kPoints - 1);
        k.run_code(d, code, f_.candidates / 256, work_.batch, std::min(1.0, (planes() + 40) / 99));
    }
    void sort() {
        StageDemand& d =
            add(Stage::sort, layout_bytes(Stage::sort), f_.isects * 12 + f_.visible * 16);
        kernel({"compact"}).run(d, std::ceil(f_.gaussians / kCompacted), work_.batch);
        const int by_tile = tile_passes(f_.tiles);
        d.launches += by_tile * work_.batch;
        const CountedKernel pass = kernel({"radix_pass<unsigned int>"});
        pass.run_passes(d, f_.visible, kDepthPasses * work_.batch);
        (f_.tiles <= 65535 ? kernel({"radix_pass<unsigned short>"}) : pass)
            .run_passes(d, f_.isects, by_tile * work_.batch);
    }
    void emit() {
        StageDemand& d =
            add(Stage::emit, layout_bytes(Stage::emit), f_.isects * 8 + f_.visible * 48);
        const CountedKernel k = kernel({"emit<unsigned short>", "emit<*"});
        if (!(f_.visible > 0)) return;
        // A block lists kEmitted isects: a thread takes a Gaussian and goes over its rows of tiles,
        // a warp one with too large a box, a row a lane; then every isect finds its row. `turns`:
        // of warps that have Gaussians.
        const double n = work_.batch, blocks = std::ceil(f_.isects / kEmitted),
                     rows = 0.5 + std::sqrt(f_.isects / f_.visible),
                     turns = f_.visible / kWarpThreads + blocks,
                     large = kLargeBoxes * f_.isects + blocks;
        const LoopCost *const large_rows = k.loop_with(&CodeCost::fp32, true),
                              *const own_rows = k.loop_with(&CodeCost::issue, true, large_rows);
        for (const LoopCost& loop : k.loops()) {
            const bool of_large = &loop == large_rows || k.lies_in(large_rows, loop);
            const double trips = of_large            ? large
                                 : &loop == own_rows ? turns * rows * kMostRows
                                                     : turns + blocks * kBlockWarps;
            d.executed += loop.code * (trips * n);
        }
        d.executed += k.outside() * (blocks * kBlockWarps * n);
        kernel({"count"}).run(d, std::ceil(f_.visible / kCountedRanks), work_.batch);
        // Their boxes and, of large ones, splats lie at random places.
        d.bytes += f_.visible * (kGatherSector - 12) * n;
        const double waves = std::ceil(blocks / k.places());
        d.wait_rounds += k.all().rounds * waves;
        d.wait_clocks += k.all().stall;
        d.counted = k.there();
    }
    void ranges() {
        StageDemand& d =
            add(Stage::ranges, layout_bytes(Stage::ranges) * (f_.gradients ? 2 : 1), f_.isects * 8);
        const double n = work_.batch, blocks = std::ceil(f_.tiles / kBlockThreads);
        // Each turn of a search leaves an eighth of the keys; a warp more finds a block's end.
        const double turns = std::ceil(std::log2(std::max(2.0, f_.isects)) / 3);
        const CountedKernel find = kernel({"find_ranges"});
        const CodeCost turn = code_of(find.loop_with(&CodeCost::issue, true));
        find.run_code(d, find.outside(), blocks, n);
        d.executed += turn * (turns * blocks * (kBlockWarps + 1) * n);
        d.wait_rounds += turn.rounds * turns * n;
        // Every block adds up what all have counted, a few of them at once.
        const CountedKernel items = kernel({"make_items"});
        const CodeCost sums = code_of(items.loop_with(&CodeCost::global_load, true));
        const double sum_turns = sums.global_load > 0 ? std::ceil(blocks / sums.global_load) : 0;
        items.run_code(d, items.outside(), blocks, n);
        d.executed += sums * (sum_turns * blocks * kBlockWarps * n);
        d.wait_rounds += sums.rounds * sum_turns * n;
        if (!f_.gradients) return;
        kernel({"look_up_slots"}).run(d, std::ceil(f_.isects / kBlockThreads), n);
        d.again_bytes = f_.isects * (kGatherSector - 4) * n;  // slots lie at random places
        d.again_set = f_.visible * 4;
    }
    void blend() {
        StageDemand& d =
            add(Stage::blend, layout_bytes(Stage::blend), f_.visible * 48 + f_.isects * 4);
        const CountedKernel k = f_.gradients
                                    ? kernel({"blend<(Depths)0, false, true, (Measured)0>",
                                              "blend<(Depths)0, false, true*", "blend<*"})
                                    : kernel({"blend<(Depths)0, false, false, (Measured)0>",
                                              "blend<(Depths)0, false, false*", "blend<*"});
        // The walk over splats has the most arithmetic, as many splats a turn as that makes; the
        // test of 32 has the reciprocals.
        const LoopCost* walk = k.loop_with(&CodeCost::fp32, true);
        const LoopCost* test = k.loop_with(&CodeCost::special, false, walk);
        const double n = work_.batch;
        const double splats = splats_a_turn(code_of(walk).fp32 / kSplatArithmetic);
        d.executed += walked(walk, splats) * n;
        if (test != nullptr)
            d.executed += with_left_over(*test, splats) * (counts_.group_tests * n);
        for (const LoopCost& loop : k.loops())
            if (&loop != walk && &loop != test)
                d.executed += loop.code * (kBlockWarps * n *
                                           (k.lies_in(walk, loop) || k.lies_in(test, loop)
                                                ? counts_.batches
                                                : counts_.items * kSeldom));
        d.executed += k.outside() * (counts_.items * kBlockWarps * n);
        gather(d, counts_.batches * 256);
        // Each batch waits for its slots, then for its splats, while the other blocks blend.
        d.wait_rounds = 2 * counts_.batches * n / k.places();
        d.imbalance = imbalance_of(work_, gpu_, k.resident(), walk);
        d.counted = counts_.counted && walk != nullptr;
        composite(d, kernel({"composite<(Depths)0, false>", "composite<*"}), work_, counts_.near);
    }
    /// The walk over near splats, `splats` of them a turn. One at a time takes the shortest way
    /// through where nothing is open; several are drawn without asking, and what is left over of a
    /// group's list, half a turn in the mean, is drawn by code of the test's loop.
    CodeCost walked(const LoopCost* walk, double splats) const {
        if (splats > 1)
            return code_of(walk) *
                   std::max(0.0, (counts_.near - (splats - 1) / 2 * counts_.group_tests) / splats);
        const double issue = std::max(1.0, code_of(walk).issue),
                     skipped = std::max(0.0, counts_.near - counts_.open);
        return code_of(walk) * (counts_.open + skipped * code_of(walk).least / issue);
    }
    /// Splats are gathered by every batch that has them, and count in the layouts' bytes once.
    void gather(StageDemand& d, double splats) const {
        d.again_bytes = std::max(0.0, splats - f_.visible) * 48 * work_.batch;
        d.again_set = f_.visible * 48;
    }
    void loss() {
        StageDemand& d = add(Stage::loss, layout_bytes(Stage::loss), f_.pixels * 27);
        // A block a channel of 32 x 32 pixels.
        kernel({"photo_loss"}).run(d, 3 * f_.pixels / 1024, work_.batch, kLossRun);
        if (work_.sky) add_sky_learned(d, work_, costs_, gpu_);
        if (!work_.look) return;
        // The picture as the photo's camera would show it, and back: planes read and written.
        const double blocks = std::ceil(f_.pixels / kBlockThreads);
        d.bytes += f_.pixels * kLookBytes * work_.batch;
        d.launches += kLookLaunches * work_.batch;
        kernel({"show_look"}).run(d, blocks, work_.batch);
        const CountedKernel pull = kernel({"pull_look"});
        pull.run_striding(d, std::min(blocks, kLookBlocks), f_.pixels, work_.batch);
        kernel({"step_look"}).run(d, 1, work_.batch);
    }
    void blend_backward() {
        StageDemand& d =
            add(Stage::blend_backward, layout_bytes(Stage::blend_backward) + live_rows(),
                f_.visible * 48 + f_.isects * 52);
        gather(d, counts_.live_isects);
        const CountedKernel k =
            kernel({"blend_backward<false, false>", "blend_backward<false*", "blend_backward<*"});
        // The walk has the most arithmetic; it may be there more than once, unrolled.
        const LoopCost* walk = k.loop_with(&CodeCost::fp32, true);
        const auto walks = [&](const LoopCost& loop) {
            return walk != nullptr && loop.innermost && loop.parent == walk->parent &&
                   loop.code.fp32 >= 0.9 * walk->code.fp32;
        };
        const double splats = splats_a_turn(code_of(walk).issue / kBackwardInstructions);
        const double copies = static_cast<double>(std::ranges::count_if(k.loops(), walks));
        const double n = work_.batch,
                     batches = counts_.live_isects / kBackwardBatch + counts_.items,
                     left_over = (splats - 1) / 2 * kBlockWarps * batches,
                     turns = std::max(0.0, counts_.live_sub_tiles - left_over) / splats;
        for (const LoopCost& loop : k.loops())
            if (walks(loop))
                d.executed += loop.code * (turns / copies * n);
            else if (k.lies_in(walk, loop))
                d.executed += with_left_over(loop, splats) * (kBlockWarps * batches * n);
            else
                d.executed += loop.code * (kBlockWarps * counts_.items * n);
        d.executed += k.outside() * (counts_.items * kBlockWarps * n);
        // Slots and splats are fetched a batch ahead: one wait a batch is left.
        d.wait_rounds = batches * n / k.places();
        d.imbalance = imbalance_of(work_, gpu_, k.resident(), walk);
        d.counted = counts_.counted && walk != nullptr;
    }
    /// What the layouts' bytes of rows are off by: only live isects have one, in whole sectors.
    double live_rows() const { return (counts_.live_isects * kRowSectors - f_.isects) * 48; }
    /// Ends in Adam, or without training in gradients that are stored.
    void project_backward() {
        if (f_.training && adds_views(work_)) return project_backward_of_batch();
        StageDemand& d =
            add(Stage::project_backward,
                layout_bytes(Stage::project_backward) + layout_bytes(Stage::adam) + live_rows(),
                model_bytes() + f_.isects * 48);
        const CountedKernel k = backward_kernel();
        run_projection(d, k);
        if (!f_.training) {  // all that could be stored is cleared first
            d.bytes += f_.gaussians * (planes() + 3) * 4 * work_.batch;
            d.launches = 2 * work_.batch;
            return;
        }
        // Its gradients' pass reads the parameters and moments of 256 Gaussians; the sink reads
        // them again, with two thirds of the waits.
        d.again_bytes = f_.visible * planes() * 12 * work_.batch;
        d.again_set = k.places() * 256 * planes() * 12;
        d.again_rounds = d.wait_rounds * 2 / 3;
        d.wait_rounds -= d.again_rounds;
        kernel({"refresh_bounds<false>"}).run(d, f_.candidates / 256, work_.batch);
        correct_cameras(d);
    }
    /// What the photos say of their cameras.
    void correct_cameras(StageDemand& d) {
        sum_motions(d);
        if (!work_.intrinsics) return;
        // Before Adam each Gaussian's rows are summed once more; a block adds up what all left.
        const double chunks = std::ceil(f_.visible / kBlockThreads), n = work_.batch;
        run_projection(
            d, kernel({work_.lens ? "sum_intrinsics_lens<false>" : "sum_intrinsics<false>"}));
        const CountedKernel add = kernel({"add_intrinsics"});
        add.run(d, 1, n);
        const CodeCost turn = code_of(add.loop_with(&CodeCost::global_load, true));
        const double turns = std::ceil(chunks / kBlockThreads) - 1;
        d.executed += turn * (kLensNumbers * turns * kBlockWarps * n);
        d.wait_rounds += turn.rounds * kLensNumbers * turns * n;
        d.bytes += (f_.visible * kPlacedBytes + 2 * chunks * kLensNumbers * 8) * n;
        d.again_bytes += counts_.live_isects * kRowSectors * 48 * n;
        d.launches += 2 * n;
    }
    void sum_motions(StageDemand& d) {
        if (!work_.poses) return;
        // Six sums over all Gaussians: cleared, left by those in view, added up.
        d.bytes += kMotionParts * (2 * f_.gaussians + f_.visible) * 4 * work_.batch;
        d.launches += 3 * work_.batch;
        kernel({"sum_motion<float>"})
            .run_striding(d, kMotionParts * kMotionBlocks, kMotionParts * f_.gaussians,
                          work_.batch);
        kernel({"sum_motion<double>"}).run(d, kMotionParts, work_.batch);
    }
    CountedKernel backward_kernel() const {
        return projection("project_backward", !f_.training  ? "<StoringSink*"
                                              : work_.poses ? "<AdamMotionSink*"
                                                            : "<AdamSink*");
    }
    /// Each view adds its gradients to the batch's; then every row that any showed takes its step.
    void project_backward_of_batch() {
        constexpr double kAdded = 8, kStepped = 28;  // bytes a parameter
        const double shown = rows_shown();
        StageDemand& d = add(
            Stage::project_backward,
            layout_bytes(Stage::project_backward) + live_rows() + f_.visible * planes() * kAdded,
            model_bytes() + f_.isects * 48 + f_.gaussians * planes() * 4);
        d.bytes += shown * planes() * kStepped;
        d.launches += 2 - work_.batch;  // bounds once, and the step
        // Uncounted work costs as much as the kernel that steps at once.
        const CountedKernel own =
            projection("project_backward", work_.poses ? "<BatchMotionSink*" : "<BatchSink*");
        run_projection(d, own.there() ? own : backward_kernel());
        for (const char* name : {"step_batch<false>", "refresh_bounds<false>"})
            kernel({name}).run(d, shown / 256, 1);
        correct_cameras(d);
    }
    /// Rows that any view of a batch shows, or its beams meet, as if what one shows had nothing to
    /// do with another.
    double rows_shown() const {
        if (!(f_.gaussians > 0)) return 0;
        const double share = std::min(1.0, f_.visible / f_.gaussians),
                     unmet = 1 - std::min(1.0, work_.beams.listed / f_.gaussians);
        return f_.gaussians * (1 - unmet * std::pow(1 - share, work_.batch));
    }
    void pack() {
        StageDemand& d = add(Stage::pack, f_.pixels * 16, f_.pixels * 16);
        kernel({"pack_rgba"}).run(d, f_.pixels / 256, work_.batch);
    }

    const PredictedWork& work_;
    const FrameWork& f_;
    Counts counts_;
    const KernelCosts& costs_;
    const GpuDevice& gpu_;
    std::vector<StageDemand> out_;
};

}  // namespace

int tile_passes(double tiles) { return static_cast<int>(std::ceil(std::log2(tiles + 1) / 8)); }

std::span<const StageLaunches> stage_launches(bool training) {
    static constexpr StageLaunches kFrame[] = {{Stage::project, 4}, {Stage::sort, 1 + kDepthPasses},
                                               {Stage::emit, 2},    {Stage::ranges, 2},
                                               {Stage::blend, 2},   {Stage::pack, 1}};
    static constexpr StageLaunches kStep[] = {
        {Stage::project, 4},        {Stage::sort, 1 + kDepthPasses},
        {Stage::emit, 2},           {Stage::ranges, 3},
        {Stage::blend, 2},          {Stage::loss, 2},
        {Stage::blend_backward, 1}, {Stage::project_backward, 3}};
    return training ? std::span<const StageLaunches>(kStep) : kFrame;
}

std::vector<StageDemand> frame_demands(const PredictedWork& work, const KernelCosts& costs,
                                       const GpuDevice& gpu) {
    return Frame(work, costs, gpu).demands();
}

}  // namespace gs
