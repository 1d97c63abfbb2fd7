// Selector: the engine's part that selects Gaussians by shapes on the screen, by colour, ids and
// neighbours, and marks the selection as hidden or locked.
#pragma once

#include <optional>
#include <vector>

#include "app/session/parts/editor.h"

namespace gs {

/// A shape over the picture; places and radius in fractions of its width and height.
struct ScreenShape {
    enum class Kind { rectangle, lasso, brush };
    Kind kind = Kind::rectangle;
    std::vector<ScreenPoint> points;  ///< two corners; the corners of a line; a path
    double radius = 0;                ///< of a brush, in widths
};
enum class NeighbourStep { grow, shrink, connected };

class Selector final : public PartWith<Viewer, Editor> {
  public:
    using PartWith::PartWith;

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
    /// Sets `set` and clears `clear` in every row with all bits of `of`. `verb` is reported with
    /// the number of changed rows. Reports an error if `of` needs selected rows and there are none.
    void mark(const Verb& verb, std::uint8_t of, std::uint8_t set, std::uint8_t clear);
    /// Shows only the selection.
    void solo();

    void scene_changed(SceneChange change) override {
        if (change == SceneChange::scene || change == SceneChange::restarted)
            ctx_.jobs.drop("select");
    }
};

}  // namespace gs
