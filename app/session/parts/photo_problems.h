// ProblemFinder: finds where the scene disagrees with its photos, one photo a turn so that training
// and pictures continue meanwhile: all photos (problems.find), or one place in every photo that
// sees it (problems.point). It uses the model from the time of the command, with a rasterizer of
// its own. Owned by the engine; commands call it there.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/parts/selector.h"
#include "app/session/viewer.h"
#include "panels/state/photo_problems.h"
#include "renderer/problems/problem_search.h"
#include "renderer/problems/same_point.h"

namespace gs {

class ProblemFinder final : public PartWith<Viewer, Selector, SceneDoctor> {
  public:
    using PartWith::PartWith;

    // ---- commands
    void find();
    /// The place that pixel (x, y) of what `request` shows is of; fractions of its width and
    /// height.
    void point(const ViewRequest& request, double x, double y);
    /// Marks number `index` (from 0) of a list; a Gaussian or floater is turned to, as
    /// view.gaussian does. Photos are gone to by the command.
    void go(ProblemKind kind, std::size_t index);
    /// Selects the Gaussians of number `index` of the list of Gaussians or floaters.
    void select(ProblemKind kind, std::size_t index);
    /// Cancels the search and forgets its results.
    void clear();

    void scene_changed(SceneChange change) override {
        if (change != SceneChange::scene) forget();  // its rasterizer must go before the scene
    }

  private:
    /// Of all photos, or of one place.
    struct Search {
        std::unique_ptr<Rasterizer> rasterizer;  // outlives what looks
        std::shared_ptr<const GaussianModel> model;
        std::uint64_t step = 0;
        std::vector<std::uint32_t> ids{};  // of a run's rows; empty: no run
        std::optional<ProblemSearch> photos{};
        std::optional<PointSearch> place{};
        double seconds = 0;
    };
    void forget();
    bool may_look(const char* what);
    std::shared_ptr<Search> prepare();
    void start(std::shared_ptr<Search> search);
    void take(Search& search, std::uint64_t command);
    bool is_there(ProblemKind kind, std::size_t index);
    std::vector<std::uint64_t> rows_now(std::span<const std::uint32_t> rows) const;
    std::vector<std::uint64_t> rows_of(ProblemKind kind, std::size_t index);
    void publish();

    bool of_photos_ = false;                // the newest search
    std::vector<std::uint32_t> found_ids_;  // of the found problems: Search::ids
    PhotoProblems shown_;
};

}  // namespace gs
