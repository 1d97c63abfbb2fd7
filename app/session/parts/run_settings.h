// RunSettings: the hyper-parameters of the session, and of the open run: checks edits of them,
// makes them undoable and publishes the rows of the Training panel. A part of the engine.
#pragma once

#include <optional>
#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/run_progress.h"
#include "app/session/parts/training.h"

namespace gs {

class RunSettings final : public PartWith<Training, RunProgress> {
  public:
    RunSettings(EngineContext ctx, Training& training, RunProgress& progress)
        : PartWith(std::move(ctx), training, progress) {
        publish();
    }

    /// Also gives the settings whose default depends on it their new one (with_setting()).
    void set(const std::string& name, double value);
    /// Trains only inside the box, and removes Gaussians outside now; no box: ends the crop. False,
    /// with an error reported: this crop is not possible.
    bool crop(const std::optional<ClipBox>& box);

    /// Takes the settings of another run, or of the snapshot that the run went back to.
    void scene_changed(SceneChange change) override;

  private:
    void edit_undoably(const NamedValues& values);
    bool edit(const NamedValues& values);
    Result<TrainingSettings> changed_by(const NamedValues& values) const;
    Result<void> check_crop(const TrainingSettings& changed) const;
    void publish();

    std::optional<TrainingSettings> asked_;  // while a run has ones that were fitted to splats
};

}  // namespace gs
