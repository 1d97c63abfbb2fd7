// RunPlots: data of a run's plots and tables: curves, marks, a row per camera. (The run
// itself is in trainer/run/run.h.) Owned by the engine, published as copies; bounded, because
// neighbouring points are merged when a curve gets long.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "panels/state/snapshot.h"
#include "trainer/trainer.h"

namespace gs {

class RunPlots {
  public:
    void begin(std::vector<CameraRow> rows);
    void add_step(const StepReport& report);
    /// A number that a trainer of another process logs.
    void add_logged(std::uint64_t step, const std::string& name, double value);
    void add_evaluation(const Evaluation& evaluation);
    /// Where the run has the cameras by now.
    void take_poses(const Trainer& trainer);
    void add_mark(std::uint64_t step, std::string text, bool alarm = false);
    std::size_t marks() const { return curves_.marks.size(); }

    std::shared_ptr<const Curves> curves() const { return std::make_shared<const Curves>(curves_); }
    std::shared_ptr<const std::vector<CameraRow>> cameras() const {
        return std::make_shared<const std::vector<CameraRow>>(rows_);
    }
    double mean_step_ms() const;  ///< of the last 50 steps
    const Evaluation& last_evaluation() const { return evaluation_; }

  private:
    void add_round(const StepReport& report);
    void add_photo(std::uint64_t step, const MeasuredPhoto& photo);

    Curves curves_;
    std::vector<CameraRow> rows_;
    Evaluation evaluation_;
    std::deque<double> recent_ms_;
    struct Sum {
        double loss = 0, psnr = 0, milliseconds = 0;
        std::uint64_t steps = 0, losses = 0, psnrs = 0;  // how many were reported
    } sum_;  // of the steps since the last point on the curves
    std::uint64_t stride_ = 1;
};

}  // namespace gs
