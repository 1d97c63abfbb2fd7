// CountedKernel: a kernel of the table of costs and what running it adds to a stage's demand
// (frame_demands.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>

#include "profiler/predict/demand.h"

namespace gs {

inline constexpr double kBlockThreads = 256, kBlockWarps = 8, kWarpThreads = 32;  ///< of a block

inline constexpr double kSortedPart =
    3072;                                 ///< pairs of a block of a pass, as in raster/cuda/frame.h
inline constexpr double kSeenAtOnce = 8;  ///< earlier blocks that such a block looks at in one wait
/// Slots that the barriers of a pass leave unused, over those they use: CUB's, which is made
/// alike, left as many on an H100 (2026-11-23); ours has not been measured.
inline constexpr double kPassUnused = 1;

inline CodeCost code_of(const LoopCost* loop) { return loop != nullptr ? loop->code : CodeCost{}; }

/// A kernel of the table, by the first of `names` that is there. Absent: all costs are 0.
class CountedKernel {
  public:
    CountedKernel(const KernelCosts& costs, const GpuDevice& gpu,
                  std::initializer_list<const char*> names)
        : gpu_(gpu) {
        for (const char* name : names)
            if (found_ = costs.find(gpu.architecture.code, name); found_ != nullptr) break;
    }
    bool there() const { return found_ != nullptr; }
    CodeCost all() const { return there() ? found_->code : CodeCost{}; }
    CodeCost outside() const { return there() ? found_->outside : CodeCost{}; }
    std::span<const LoopCost> loops() const {
        return there() ? std::span<const LoopCost>(found_->loops) : std::span<const LoopCost>();
    }
    /// Blocks of 256 threads that a multiprocessor has space for, and the whole GPU.
    int resident() const {
        return resident_blocks(gpu_.architecture, static_cast<int>(kBlockThreads),
                               there() ? found_->registers : 0, there() ? found_->shared_bytes : 0);
    }
    double places() const { return gpu_.multiprocessors * resident(); }
    /// The loop with the most of it, of those without loops inside where `innermost`; null: none.
    const LoopCost* loop_with(double CodeCost::*most, bool innermost,
                              const LoopCost* but = nullptr) const {
        const LoopCost* best = nullptr;
        for (const LoopCost& loop : loops())
            if (&loop != but && (!innermost || loop.innermost) && loop.code.*most > 0 &&
                (best == nullptr || loop.code.*most > best->code.*most))
                best = &loop;
        return best;
    }
    /// Whether `inner` is in `outer`, at any depth.
    bool lies_in(const LoopCost* inner, const LoopCost& outer) const {
        for (int number = inner != nullptr ? inner->parent : 0; number != 0;) {
            if (number == outer.number) return true;
            const auto next = std::ranges::find(loops(), number, &LoopCost::number);
            number = next == loops().end() ? 0 : next->parent;
        }
        return false;
    }

    /// Adds `blocks` that each run it once, every loop once through, `times` over; the rounds of
    /// waits of these follow each other.
    void run(StageDemand& d, double blocks, double times, double share = 1) const {
        run_code(d, all(), blocks, times, share);
    }
    /// The same of `code` in place of its own.
    void run_code(StageDemand& d, const CodeCost& code, double blocks, double times,
                  double share = 1) const {
        d.executed += code * (blocks * kBlockWarps * share * times);
        d.wait_rounds += code.rounds * share * (times * std::ceil(blocks / places()));
        if (blocks > 0) d.wait_clocks += code.stall * share;
        d.counted = d.counted && there();
    }
    /// Adds `blocks` that go through `each` things together, a thread one a turn.
    void run_striding(StageDemand& d, double blocks, double each, double times) const {
        const CodeCost turn = code_of(loop_with(&CodeCost::issue, false));
        const double turns = std::max(1.0, each / (blocks * kBlockThreads));
        run(d, blocks, times);
        d.executed += turn * ((turns - 1) * blocks * kBlockWarps * times);
        d.wait_rounds += turn.rounds * (turns - 1) * times;
    }
    /// Adds `passes` of a sort of `pairs`, one behind the other.
    void run_passes(StageDemand& d, double pairs, double passes) const {
        const double blocks = std::ceil(pairs / kSortedPart), resident = places();
        const double waves = std::ceil(blocks / resident);
        d.executed += all() * (blocks * kBlockWarps * passes);
        d.executed.issue += kPassUnused * all().issue * blocks * kBlockWarps * passes;
        // Of blocks that begin together the k-th wait lets k * kSeenAtOnce more know where theirs
        // goes; later ones find it known.
        const double looks = std::sqrt(2 * std::min(blocks, resident) / kSeenAtOnce);
        d.wait_rounds += (all().rounds * waves + looks) * passes;
        d.wait_clocks += blocks > 0 ? all().stall * passes : 0;
        d.counted = d.counted && there();
    }

  private:
    const GpuDevice& gpu_;
    const KernelCost* found_ = nullptr;
};

}  // namespace gs
