// RunProgress: what the studio shows of a run: curves, a row per photo, time lapse, learned
// corrections, and curves of other runs. A part of the engine; Training reports steps to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/run_plots.h"

namespace gs {

class RunProgress final : public PartWith<> {
  public:
    using PartWith::PartWith;

    // ---- commands
    /// Draws pose corrections as arrows, or not; no value: toggles.
    void show_pose_arrows(std::optional<bool> on);
    /// Draws the curves of the run in this folder behind the present run's.
    void show_other(const std::string& folder);
    /// Empty: all of them go.
    void hide_other(const std::string& name);

    // ---- Training's
    const RunPlots& plots() const { return plots_; }
    /// After each step of the run, and each photo of its evaluation. `step`: null: none.
    void follow(Run& run, const StepReport* step);
    void add_evaluation(const Evaluation& evaluation);
    /// For a training in another process.
    RunPlots& followed_plots() {
        curves_.changed = true;
        return plots_;
    }
    /// Publishes everything soon: the run has paused or ended.
    void rest();
    /// Shows the present curves as those of another run, in `folder`.
    void keep_as_other(const std::string& folder);
    /// With the settings in which they differ from the present run.
    void publish_others();
    void publish_lapse();

    /// The curves of a resumed run start with their earlier content.
    void scene_changed(SceneChange change) override;
    /// Curves and rows of cameras. True: something was.
    bool publish_when_due(bool training);
    bool is_restless() const override {
        return curves_.changed || cameras_.changed || lapse_.changed;
    }

  private:
    void publish_looks();

    RunPlots plots_;
    struct Other {
        OtherCurves shown;
        std::optional<TrainingSettings> settings;
    };
    std::vector<Other> others_;
    bool pose_arrows_ = true;
    Paced curves_, cameras_, lapse_;
    std::uint64_t lapse_taken_ = 0;  // pictures that are shown
};

}  // namespace gs
