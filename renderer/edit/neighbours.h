// Neighbours: which Gaussians lie near those that are selected, to let a selection grow, shrink, or
// take everything that hangs together with it. Asked by the editor, on a thread of its own.
#pragma once

#include <memory>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/edit/flags.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// A row reaches others whose centres lie nearer than `reach` times its size: the geometric mean of
/// its standard deviations. Of those in reach the nearest kMostNeighbours count.
inline constexpr std::size_t kMostNeighbours = 24;

/// Centres and sizes of a model, and a tree over them; about 40 bytes a row. Rows whose centre is
/// no number have no neighbours.
class Neighbours {
  public:
    explicit Neighbours(const GaussianModel& model);
    ~Neighbours();
    Neighbours(Neighbours&&) noexcept;

    /// Hidden rows neither reach nor are reached; the answers are what is selected then.
    /// One step outwards: the selected and what they reach.
    Hits grown(const Flags& flags, double reach) const;
    /// One step inwards: the selected that reach no row that is not selected.
    Hits shrunk(const Flags& flags, double reach) const;
    /// Steps outwards until nothing more is reached. Errors: cancelled.
    Result<Hits> connected(const Flags& flags, double reach, const Progress& progress) const;

  private:
    struct Tree;
    std::unique_ptr<Tree> tree_;
};

}  // namespace gs
