// Values: the engine's part that colours Gaussians by a number: works the number out where the
// viewport asks for it, of the model, of the run's arrays, or of the gradients at this camera;
// tells its histogram, and says the colours to ShownTint. Owned by the engine.
#pragma once

#include <memory>
#include <optional>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "panels/state/gaussian_values.h"
#include "renderer/edit/flags.h"

namespace gs {

class Values final : public EnginePart {
  public:
    Values(EngineContext context, Viewer& viewer, ShownTint& tint)
        : context_(std::move(context)), viewer_(viewer), tint_(tint) {}

    /// Before a picture of `request` is drawn: its colours are those it asks for.
    void follow(const Shown& shown, const ViewRequest& request);
    /// Which rows of the model as it is now have a value in the range that `request` asks for;
    /// nothing, and an error is told, where there are no values.
    std::optional<Hits> within(const Shown& shown, const ViewRequest& request);
    /// After steps of training: where rows are other Gaussians now, the colours are theirs.
    void before_picture(const Shown* shown) override;
    void scene_changed(SceneChange change) override {
        if (change != SceneChange::closing) clear();
    }
    void give_up() override { clear(); }

  private:
    void clear();
    void find(const Shown& shown, const ViewRequest& request);
    void paint(const ColorBy& wanted);

    EngineContext context_;
    Viewer& viewer_;
    ShownTint& tint_;
    /// What the values are of.
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
