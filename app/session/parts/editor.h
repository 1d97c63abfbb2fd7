// Editor: the engine's part that keeps the Gaussians' flags (selected, hidden, locked) and makes
// undoable edits of flags and rows. It works between two steps and replaces the shared model: a
// scene without a trainer gets another model, a run is edited through its trainer. Commands reach
// it through Selector (selector.h) and RowEdits (row_edits.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/run_rows.h"
#include "app/session/shown_tint.h"
#include "app/session/viewer.h"
#include "renderer/edit/questions.h"
#include "renderer/edit/row_change.h"

namespace gs {

/// How hits of a question change the selection.
struct Selecting {
    std::string name;  ///< "rectangle"
    SelectMode mode = SelectMode::replace;
    bool live = false;  ///< shown while the mouse is still held, and in no history
};
/// "1 Gaussian", "12,345 Gaussians".
std::string counted_gaussians(std::uint64_t count);
/// An edit's name as the history and messages give it: "delete", "deleted".
struct Verb {
    std::string_view now, past;
};
struct EditName {
    std::string label, past;  ///< "delete 120 Gaussians", "deleted 120 Gaussians"
};
EditName named(const Verb& verb, std::uint64_t gaussians);

/// A fix by the doctor.
struct Fix {
    std::string name;                  ///< empty: all
    std::vector<std::string> changes;  ///< one line each
};
/// A replacement of the whole model: the other model and its flags.
struct WholeChange {
    std::shared_ptr<const GaussianModel> model;  ///< null: nothing changes
    Flags flags{};
    std::optional<Fix> fix{};
};
/// An edit in the history: its differences.
struct EditStep {
    EditName name;
    RowChange rows{};
    FlagChange flags{};  ///< after the rows have changed
    WholeChange whole{};
    RemovedRows removed{};                ///< of a run
    std::uint64_t before = 0, after = 0;  ///< numbers of the models

    std::uint64_t bytes() const {
        return rows.bytes() + flags.bytes() + name.label.capacity() + name.past.capacity() +
               (whole.model ? whole.model->bytes() : 0) + whole.flags.capacity() +
               removed.arrays.bytes() + removed.flags.capacity();
    }
};

class Editor final : public PartWith<Viewer, ShownTint> {
  public:
    using PartWith::PartWith;

    using Question = std::function<Hits(const GaussianModel&)>;
    void select(const Selecting& how, const Question& question);
    /// Makes an undoable edit: changes rows, then flags (empty: none of them).
    void make(EditName name, RowChange rows, const std::function<Flags(const Flags&)>& flags);
    /// Adopts the replaced model in `shown`, by a fix or not, as an edit named `label`.
    void adopt_whole(LoadedScene shown, const std::optional<Fix>& fix, std::string label);

    /// Brings flags() up to date. False, with an error reported: nothing can be edited.
    bool may_edit();
    /// The same, and ends the preview of a shape. `of_selection`: an error if nothing is selected.
    bool begin(bool of_selection);
    const Flags& flags() const { return flags_; }
    /// Only the selected Gaussians; null, with an error reported, if there are none.
    std::shared_ptr<const GaussianModel> selected_model();
    /// Of the rows of a run.
    const std::vector<std::uint32_t>& ids() const { return rows_.ids(); }
    /// Counts selections and edits by the user.
    std::uint64_t changes() const { return changes_; }
    /// Applied fixes, oldest first.
    const std::vector<Fix>& fixes() const { return fixes_; }
    /// The open scene was written to a file.
    void exported();
    bool unsaved() const;
    /// Called after the whole model was replaced, for example by a fix or its undo.
    std::function<void()> on_whole_change;

    /// Another scene or a restarted run discards the edits, except locks.
    void scene_changed(SceneChange change) override;
    /// After steps of training, flags stay with their Gaussians.
    void before_picture(const Shown*) override { follow_rows(); }

  private:
    void follow_rows();
    std::string why_not() const;
    void end_live();
    void record(EditStep step);
    bool toggle(EditStep& step, bool back);
    bool toggle_parts(EditStep& step, bool back);
    void changed_whole(const std::optional<Fix>& fix, bool back);
    bool change_rows(EditStep& step);
    bool sync_locks(const std::string& what, const Flags& before);
    bool change_whole(WholeChange& change);
    void show();

    RunRows rows_;                      // of flags_, in a run
    Flags flags_;                       // by row; empty: none of any row
    std::optional<Flags> before_live_;  // flags_ shows what a shape would select
    std::vector<Fix> fixes_;
    std::uint64_t changes_ = 0;  // what was asked before one is not answered after
    // Numbers of models: of the newest one made, the shown one, and the one in a file.
    std::uint64_t models_ = 0, model_ = 0, saved_ = 0;
};

}  // namespace gs
