// ProblemFinder: finds where the scene disagrees with its photos, one photo a turn so that training
// and pictures continue meanwhile: all photos (problems.find), or one place in every photo that
// sees it (problems.point). It uses the model from the time of the command, with a rasterizer of
// its own. Owned by the engine; commands call it there.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/session/editor.h"
#include "app/session/engine_context.h"
#include "app/session/scene_doctor.h"
#include "app/session/viewer.h"
#include "panels/state/photo_problems.h"
#include "renderer/problems/problem_search.h"
#include "renderer/problems/same_point.h"

namespace gs {

class ProblemFinder final : public EnginePart {
  public:
    ProblemFinder(EngineContext ctx, Viewer& viewer, Editor& editor, SceneDoctor& doctor)
        : ctx_(std::move(ctx)), viewer_(viewer), editor_(editor), doctor_(doctor) {}

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
    bool cancel(const std::string& name) override;
    /// Cancels the search and forgets its results.
    void clear();

    void scene_changed(SceneChange change) override {
        if (change != SceneChange::scene) forget();  // its rasterizer must go before the scene
    }
    void give_up() override { (void)cancel({}); }
    /// Looks at one photo.
    bool work(const Shown& shown) override;
    void describe(Published& view) const override;
    std::uint64_t done(std::uint64_t carried_out) const override {
        return command_ > 0 ? std::min(carried_out, command_ - 1) : carried_out;
    }

  private:
    void forget();
    bool is_due(const Shown& shown) const;
    bool may_look(const char* what);
    bool prepare();
    void begin(std::uint64_t command);
    void end(const std::string& told);
    bool is_there(ProblemKind kind, std::size_t index);
    std::vector<std::uint64_t> rows_now(std::span<const std::uint32_t> rows) const;
    std::vector<std::uint64_t> rows_of(ProblemKind kind, std::size_t index);
    void tell_found();
    void tell_point();
    void publish();

    EngineContext ctx_;
    Viewer& viewer_;
    Editor& editor_;
    SceneDoctor& doctor_;
    std::unique_ptr<Rasterizer> rasterizer_;  // outlives what looks
    std::shared_ptr<const GaussianModel> model_;
    std::optional<ProblemSearch> search_;
    std::optional<PointSearch> point_;
    /// Of a run's rows, while `search_` looks and then of what it found; empty: no run.
    std::vector<std::uint32_t> search_ids_, found_ids_;
    std::uint64_t command_ = 0;  // of the running search; 0: none
    std::uint64_t step_ = 0;
    double seconds_ = 0;
    std::chrono::steady_clock::time_point begun_{};
    struct {
        std::chrono::steady_clock::time_point end{};
        double seconds = 0;
    } last_;  // photo that was looked at
    PhotoProblems shown_;
};

}  // namespace gs
