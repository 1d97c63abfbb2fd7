// Plots: the run's curves over steps or time: loss, PSNR, SSIM, count, time per iteration, learning
// rate, and what a trainer of another process logs; marks of edits and alarms; other runs behind
// them. A tab of the workspace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/plot.h"

namespace gs {

struct PlotsPanel {
    /// From `kinds` on: Curves::logged.
    enum Kind : std::size_t { loss, psnr, ssim, count, speed, rate, kinds };
    enum Axis : std::size_t { steps, log_steps, time, axes };

    void draw(const Snapshot& snapshot, Commands& commands);

    std::vector<bool> shown{true, true, false, false, false, false};
    std::vector<bool> logarithmic{true, false, false, false, false, true};
    Axis axis = steps;
    float smoothing = 0;  ///< 0 to 0.99
    PlotRange range;

  private:
    /// A drawn curve.
    struct Line {
        std::string name;
        ImU32 color = 0;
        bool dots = false;
        std::vector<CurvePoint> points, low, high;
    };
    std::string button(std::size_t kind) const;
    std::string title(std::size_t kind) const;
    void shape(const Snapshot& snapshot);
    void draw_buttons(const Snapshot& snapshot, Commands& commands);
    void draw_more(const Snapshot& snapshot, Commands& commands);
    void draw_runs(const Snapshot& snapshot, Commands& commands);
    void draw_alarms();
    void draw_grid(const Snapshot& snapshot, Commands& commands);
    void draw_menu(std::size_t kind, const Snapshot& snapshot, Commands& commands);

    // The drawn curves and their inputs.
    std::vector<std::vector<Line>> lines_;
    std::vector<CurveMark> marks_;
    double first_ = 0, last_ = 1;
    std::shared_ptr<const Curves> curves_;
    std::shared_ptr<const std::vector<OtherCurves>> others_;
    Axis shaped_axis_ = steps;
    float shaped_smoothing_ = 0;
    std::string wanted_run_;
};

}  // namespace gs
