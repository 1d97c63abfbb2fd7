// SceneDoctor: the engine's doctoring part: examining what is open, mending splats and taking that
// back, and looking at one Gaussian. Examining and mending are tasks beside pictures and training;
// a mending is a step of the editor's history. Owned by the engine; commands call it there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/session/editor.h"
#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "panels/state/scene_state.h"

namespace gs {

struct Mended;

class SceneDoctor final : public EnginePart {
  public:
    SceneDoctor(EngineContext context, Viewer& viewer, Editor& editor)
        : context_(std::move(context)), viewer_(viewer), editor_(editor) {}

    /// Examines the scene (and the model of a training run as it is now).
    void examine();
    /// Mends what is called `name`, or everything when empty. Splats that do not train.
    void fix(const std::string& name);
    /// Takes the last mending back.
    void undo();
    /// Looks at one Gaussian; answered through SessionView::marked.
    void mark(std::uint64_t row);
    void unmark() { context_.tell.changed().marked = nullptr; }

    /// Examines. `asked`: by the user, so a large model of a run may be copied for it.
    void start(bool asked);
    /// Examines unless that was done, or goes on.
    void start_first();
    void scene_changed(SceneChange change) override;
    /// What is open was written to a file.
    void exported();
    /// A mending came into force, or was taken back.
    void mendings_changed();

  private:
    /// Ids in the report are of other Gaussians now.
    void forget_rows();
    void adopt_report(DoctorReport report);
    void adopt(Mended mended, const std::string& name, std::uint64_t command);
    void publish();
    /// Why not; empty: it may.
    std::string may_mend() const;

    EngineContext context_;
    Viewer& viewer_;
    Editor& editor_;
    DoctorReport report_;
};

}  // namespace gs
