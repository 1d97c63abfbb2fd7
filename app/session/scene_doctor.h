// SceneDoctor: the engine's doctoring part: examining what is open, mending splats and taking that
// back, each as a task beside pictures and training, and looking at one Gaussian. The
// model as it was opened is kept while a mended one is shown. Owned by the engine; commands call it
// there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/session/lent.h"
#include "app/session/viewer.h"
#include "panels/state/scene_state.h"

namespace gs {

struct Mended;

class SceneDoctor {
  public:
    SceneDoctor(Lent lent, Viewer& viewer) : lent_(std::move(lent)), viewer_(viewer) {}

    /// Examines the scene (and the model of a training run as it is now).
    void examine();
    /// Mends what is called `name`, or everything when empty. Splats that do not train.
    void fix(const std::string& name);
    /// Takes the last mending back.
    void undo();
    /// Looks at one Gaussian; answered through SessionView::marked.
    void mark(std::uint64_t row);
    void unmark() { lent_.tell.changed().marked = nullptr; }

    /// Examines. `asked`: by the user, so a large model of a run may be copied for it.
    void start(bool asked);
    /// Examines unless that was done, or goes on.
    void start_first();
    /// The scene goes.
    void forget();
    /// `model` was written to a file.
    void exported(const std::shared_ptr<const GaussianModel>& model);
    /// Rows of the model are others now.
    void forget_rows();

  private:
    void start_mending(std::vector<std::string> fixes, const char* verb);
    void adopt_report(DoctorReport report);
    void adopt(Mended mended, std::vector<std::string> fixes, const char* verb,
               std::uint64_t command);
    void publish();
    /// Why not; empty: it may.
    std::string may_mend() const;

    Lent lent_;
    Viewer& viewer_;
    DoctorReport report_;
    struct {
        std::shared_ptr<const GaussianModel> original;  // as it was opened; null: nothing is mended
        std::vector<std::string> fixes, changes;
        std::shared_ptr<const GaussianModel> exported;  // newest that is in a file
    } mended_;
};

}  // namespace gs
