// SceneDoctor: the engine's doctor: examines the open scene, fixes splats, undoes fixes, and marks
// one Gaussian. Examinations and fixes are background tasks; a fix is a step of the editor's
// history. Owned by the engine; commands call it there.
#pragma once

#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/editor.h"
#include "app/session/viewer.h"
#include "panels/state/scene_state.h"

namespace gs {

struct FixedScene;

class SceneDoctor final : public PartWith<Viewer, Editor> {
  public:
    using PartWith::PartWith;

    /// Examines the scene (and the model of a training run as it is now).
    void examine();
    /// Applies the fix called `name`, or all if empty. Only for splats that do not train.
    void fix(const std::string& name);
    /// Undoes the last fix.
    void undo();
    /// Looks at one Gaussian; answered through SessionView::marked.
    void mark(std::uint64_t row);
    void unmark() { ctx_.events.changed().marked = nullptr; }

    /// Examines. `asked`: by the user, so a large model of a run may be copied for it.
    void start(bool asked);
    /// Examines unless that is done or in progress.
    void start_first();
    void scene_changed(SceneChange change) override;
    /// The open scene was written to a file.
    void exported();
    /// A fix was applied or undone.
    void fixes_changed();

  private:
    /// Discards ids in the report, which now belong to other Gaussians.
    void forget_rows();
    void adopt_report(DoctorReport report);
    void adopt(FixedScene fixes, const std::string& name, std::uint64_t command);
    void publish();
    /// Why not; empty: it may.
    std::string why_not_fixable() const;

    DoctorReport report_;
};

}  // namespace gs
