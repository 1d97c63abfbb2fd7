// StreamedLevels: the engine's part for streamed sets: for each new view it is decided which region
// is drawn at which level (levels.h); where that differs from what is shown, files are read and the
// model is gathered as a task, and shown when it is ready.
#pragma once

#include "app/session/lent.h"
#include "app/session/levels.h"
#include "app/session/scene_doctor.h"
#include "app/session/viewer.h"

namespace gs {

class StreamedLevels {
  public:
    StreamedLevels(Lent lent, const Viewer& viewer, SceneDoctor& doctor)
        : lent_(std::move(lent)), viewer_(viewer), doctor_(doctor) {}

    /// Another scene is open, or none. A set is shown at its coarsest first.
    void begin();
    /// For what is looked at now. True: levels are being read for it.
    bool choose();

  private:
    struct Gathered {
        LoadedScene scene;
        LevelChoice choice;
        LevelFiles files;
    };
    void show(Gathered gathered);
    void publish();

    Lent lent_;
    const Viewer& viewer_;
    SceneDoctor& doctor_;
    LevelChoice shown_, refused_;  // refused: could not be read, or was cancelled
    LevelFiles files_;
};

}  // namespace gs
