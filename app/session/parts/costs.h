// Costs: the engine's part that measures the cost of a picture: of the frame and a region of it, of
// the most expensive Gaussians, and how the picture and photos change without these. Measured on
// request; the photos one after the other between two steps. Owned by the engine.
#pragma once

#include <memory>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "panels/state/cost_report.h"

namespace gs {

class Costs final : public PartWith<Viewer> {
  public:
    using PartWith::PartWith;

    /// Measures the viewport without hidden Gaussians: forward and, if none is hidden, backward.
    void measure(const Shown& shown, const ViewRequest& request);
    /// Two corners, in fractions of the picture's width and height.
    struct Box {
        double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    };
    /// Measures the box of the current viewport. Reports an error if it contains no pixel.
    void region(const Shown& shown, const ViewRequest& request, const Box& box);
    /// Number of expensive Gaussians to list.
    void top(std::size_t count);
    /// Measures the savings and the photos' change without the `count` most expensive Gaussians.
    void without(const Shown& shown, const ViewRequest& request, std::size_t count);
    /// Measures this machine's limits, if unknown or if `again`; nothing else is computed
    /// meanwhile.
    void measure_limits(bool again);
    /// Discards the measurements.
    void clear();
    void scene_changed(SceneChange change) override {
        if (change != SceneChange::closing) clear();
    }

  private:
    void publish();
    Result<Jobs::Slice> measure_next(const Shown& shown);
    void tell_change();
    void list();
    void measure_photo(const Shown& shown, std::size_t view);
    bool follow_rows(const LoadedScene& scene);

    std::optional<CostReport> report_;
    std::size_t listed_ = 20;
    RenderResult measured_;               // the frame of report_
    std::vector<std::uint32_t> by_cost_;  // rows, most evaluated pairs first
    std::vector<std::size_t> photos_;     // still to be measured, last first
    double sum_ = 0, sum_without_ = 0;    // of what was, dB
    // Tints that hide what the viewport hid (null: nothing), and the most expensive as well.
    std::shared_ptr<const GaussianTint> hidden_, without_;
    // For a run: ids of the rows of both, and the step of the request.
    std::vector<std::uint32_t> ids_;
    std::uint64_t followed_ = 0;
};

}  // namespace gs
