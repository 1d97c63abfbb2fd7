// StreamedLevels: the engine's part for streamed sets: for each new view it chooses a level for
// every region (levels.h); if that differs from the shown levels, a task reads the files and
// gathers the model, which is shown when ready. During a film, the film's camera decides.
#pragma once

#include "app/session/engine_context.h"
#include "app/session/levels.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/viewer.h"

namespace gs {

class StreamedLevels final : public PartWith<Viewer, SceneDoctor> {
  public:
    using PartWith::PartWith;

    /// A set is shown at its coarsest first.
    void scene_changed(SceneChange change) override;
    /// Chooses levels for the viewport, unless a film is in progress. True: levels are being read.
    bool choose();
    enum class For { ready, reading, refused };
    /// Chooses levels for another picture instead of the viewport's until choose_for_viewport().
    /// refused: they could not be read, which is reported, or that was cancelled.
    For choose_for(const ViewRequest& picture);
    void choose_for_viewport();

  private:
    struct Gathered {
        LoadedScene scene;
        LevelChoice choice;
        LevelFiles files;
    };
    void show(Gathered gathered);
    void publish();
    LevelChoice wanted() const;
    const std::optional<ViewRequest>& decides() const {
        return picture_ ? picture_ : the<Viewer>().request();
    }

    LevelChoice shown_, refused_;  // refused: could not be read, or was cancelled
    LevelFiles files_;
    std::optional<ViewRequest> picture_;  // of a film; none: the viewport's decides
};

}  // namespace gs
