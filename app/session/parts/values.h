// Values: the engine's part that colours Gaussians by a number: it computes the number for the
// viewport, from the model, from the run's arrays, or from the gradients at this camera, publishes
// its histogram, and passes the colours to ShownTint. Owned by the engine.
#pragma once

#include <optional>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "panels/state/gaussian_values.h"
#include "renderer/edit/flags.h"

namespace gs {

class Values final : public PartWith<Viewer, ShownTint> {
  public:
    using PartWith::PartWith;

    /// Sets the colours for the next picture of `request`.
    void follow(const Shown& shown, const ViewRequest& request);
    /// Rows of the current model whose value is in the range of `request`; empty, with an error
    /// reported, if there are no values.
    std::optional<Hits> within(const Shown& shown, const ViewRequest& request);
    /// After steps of training: where rows are other Gaussians now, the colours are theirs.
    void before_picture(const Shown* shown) override;
    void scene_changed(SceneChange change) override {
        if (change != SceneChange::closing) clear();
    }
    /// Gaussians have their own colours again.
    void clear();

  private:
    void find(const Shown& shown, const ViewRequest& request);
    void paint(const ColorBy& wanted);

    /// Identifies the values.
    struct Key {
        GaussianValue value = GaussianValue::none;
        std::uint64_t step = 0, request = 0;
        bool operator==(const Key&) const = default;
    } key_;
    ColorBy painted_;
    GaussianValues found_;
    Buffer<float> by_row_;
    std::uint64_t rows_ = 0;      // of the model that they were found in
    std::uint64_t followed_ = 0;  // steps done when rows were followed last
};

}  // namespace gs
