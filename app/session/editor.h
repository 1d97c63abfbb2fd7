// Editor: the engine's part that selects and edits Gaussians: their flags (selected, hidden,
// locked) and undoable edits of the selection. It works between two steps and replaces the shared
// model: a scene without a trainer gets another model, a run is edited through its trainer. Owned
// by the engine; commands call it there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/shown_tint.h"
#include "app/session/viewer.h"
#include "renderer/edit/questions.h"
#include "renderer/edit/row_change.h"
#include "renderer/scene/transform.h"
#include "trainer/run_edit.h"

namespace gs {

/// A shape over the picture; places and radius in fractions of its width and height.
struct ScreenShape {
    enum class Kind { rectangle, lasso, brush };
    Kind kind = Kind::rectangle;
    std::vector<ScreenPoint> points;  ///< two corners; the corners of a line; a path
    double radius = 0;                ///< of a brush, in widths
};
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
    TakenRows taken{};                    ///< of a run: removed rows, and
    Flags taken_flags{};                  ///< their flags
    std::uint64_t before = 0, after = 0;  ///< numbers of the models

    std::uint64_t bytes() const {
        return rows.bytes() + flags.bytes() + name.label.capacity() + name.past.capacity() +
               (whole.model ? whole.model->bytes() : 0) + whole.flags.capacity() + taken.bytes() +
               taken_flags.capacity();
    }
};

enum class NeighbourStep { grow, shrink, connected };
/// How to recolour the selection: multiply base colours, or set them and remove view dependence.
enum class Recolor { multiply, set };
/// Flags of the Gaussians `after`, where those of the Gaussians `before` were `flags`.
Flags moved_flags(const Flags& flags, const std::vector<std::uint32_t>& before,
                  const std::vector<std::uint32_t>& after);

class Editor final : public EnginePart {
  public:
    Editor(EngineContext ctx, Viewer& viewer, ShownTint& tint)
        : ctx_(std::move(ctx)), viewer_(viewer), tint_(tint) {}

    // ---- selection
    using Question = std::function<Hits(const GaussianModel&)>;
    void select(const Selecting& how, const Question& question);
    /// `shown`: as in the viewport. `only_seen`: skip Gaussians behind surfaces.
    void select_on_screen(const Selecting& how, const Shown& shown, const ViewRequest& request,
                          const ScreenShape& shape, bool only_seen);
    /// Selects by the colour at this place of the picture (fractions of its size).
    void select_color_at(const Selecting& how, const Shown& shown, const ViewRequest& request,
                         double x, double y, float tolerance);
    /// False, with an error reported: an unknown row; the selection is unchanged.
    bool select_rows(const Selecting& how, const std::vector<std::uint64_t>& rows);
    /// Selects the subject of an edit: only these rows, or without any the current selection.
    /// False, with an error reported: an unknown row, or rows of the model after another `step`.
    bool choose(const std::vector<std::uint64_t>& rows, std::optional<std::uint64_t> step);
    void select_neighbours(NeighbourStep step, double reach);
    void invert();

    // ---- edits
    /// Sets `set` and clears `clear` in every row with all bits of `of`. `verb` is reported with
    /// the number of changed rows. Reports an error if `of` needs selected rows and there are none.
    void mark(const Verb& verb, std::uint8_t of, std::uint8_t set, std::uint8_t clear);
    /// Shows only the selection.
    void solo();
    void remove();
    void duplicate();
    /// `linear` about the middle of the selection's bounds, then `shift` (world units).
    void transform(const Verb& verb, const Mat3d& linear, Vec3d shift);
    void recolor(Recolor how, Vec3f color);
    /// Deletes Gaussians outside the box.
    void crop(const ClipBox& box);
    /// Only the selected Gaussians; null, with an error reported, if there are none.
    std::shared_ptr<const GaussianModel> selected_model();

    // ---- the engine's
    /// Another scene or a restarted run discards the edits, except locks.
    void scene_changed(SceneChange change) override;
    /// After steps of training, flags stay with their Gaussians.
    void before_picture(const Shown*) override { follow_rows(); }
    /// The open scene was written to a file.
    void exported();
    /// Adopts the replaced model in `shown`, by a fix or not, as an edit named `label`.
    void adopt_whole(LoadedScene shown, const std::optional<Fix>& fix, std::string label);
    std::uint64_t locked() const { return count_flags(flags_).locked; }
    /// Applied fixes, oldest first.
    const std::vector<Fix>& fixes() const { return fixes_; }
    bool unsaved() const;
    /// Called after the whole model was replaced, for example by a fix or its undo.
    std::function<void()> on_whole_change;

  private:
    void follow_rows();
    std::string why_not() const;
    bool may_edit();
    void take_names();
    bool any_selected();
    bool end_live();
    std::vector<std::uint32_t> editable_rows(const Verb& verb);
    void remove_rows(EditName name, std::vector<std::uint32_t> rows);
    void make(EditName name, RowChange rows, const std::function<Flags(const Flags&)>& flags);
    void record(EditStep step);
    bool toggle(EditStep& step, bool back);
    bool toggle_parts(EditStep& step, bool back);
    void changed_whole(const std::optional<Fix>& fix, bool back);
    bool change_rows(EditStep& step);
    bool change_run(EditStep& step);
    void follow_presence(EditStep& step, bool goes, bool first);
    bool sync_locks(const std::string& what, const Flags& before);
    bool change_whole(WholeChange& change);
    void show();

    EngineContext ctx_;
    Viewer& viewer_;
    ShownTint& tint_;
    Flags flags_;                       // by row; empty: none of any row
    std::optional<Flags> before_live_;  // flags_ shows what a shape would select
    std::vector<Fix> fixes_;
    std::uint64_t changes_ = 0;  // by the user: what was asked before one is not answered after
    // For a run: ids of the rows of flags_, and their step.
    std::vector<std::uint32_t> ids_;
    std::uint64_t followed_ = 0;
    // Numbers of models: of the newest one made, the shown one, and the one in a file.
    std::uint64_t models_ = 0, model_ = 0, saved_ = 0;
};

}  // namespace gs
