// Lab: running suites, recorded runs, quality against size and time, and comparisons of runs
// (docs/lab.md). Click a run to open it, or its worst photo. A tab of the workspace;
// lab_comparison.cpp draws the comparison.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/lab_state.h"
#include "panels/widgets/plot.h"

namespace gs {

struct LabPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string suite = "smoke", label, captures;  ///< of the next run
    std::string database;                          ///< as typed; empty: the current one
    std::string a, b;                              ///< of the next comparison; empty: the first two
    std::string scene;                             ///< the plot's scene; empty: the newest run's
    bool comparison = false;                       ///< shown in place of the runs
    bool over_time = false;                        ///< the plot's x: seconds, not Gaussians
    PlotRange range;

  private:
    /// Runs that differ by their seeds: dots of one colour.
    struct Kind {
        std::string name;
        std::vector<CurvePoint> points;  // gaps between them: dots alone
    };
    void draw_head(const LabState& lab, const Snapshot& snapshot, Commands& commands);
    void draw_suite(const LabState& lab);
    void draw_database(const LabState& lab, Commands& commands);
    void draw_runs(const LabState& lab, const Snapshot& snapshot, Commands& commands) const;
    void draw_plot(const LabState& lab);
    void draw_comparison(const LabState& lab, Commands& commands);
    void shape(const std::shared_ptr<const LabState>& lab);

    // The drawn dots and their inputs.
    std::vector<Kind> kinds_;
    double first_ = 0, last_ = 1;
    std::shared_ptr<const LabState> shaped_;
    std::string shaped_scene_;
    bool shaped_over_time_ = false;
};

}  // namespace gs
