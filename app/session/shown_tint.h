// ShownTint: merges all reasons to draw Gaussians differently into one tint for the rasterizers.
// The first reason counts: hidden, selected, a value (with its filter), the level of detail. Parts
// set reasons here by row of the shown model; only the viewer asks for the tint. The engine owns
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "app/session/engine_part.h"
#include "renderer/io/splats/level_store.h"
#include "renderer/maps/view.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/gaussian_tint.h"

namespace gs {

/// A number for each Gaussian, and the colours it is shown in. Non-finite values are as they are.
struct ShownValues {
    std::span<const float> by_row;
    double lo = 0, hi = 1;  ///< range of the colormap
    bool logarithmic = false;
    bool filter = false;  ///< what lies outside of the range is not drawn
    Colormap map = Colormap::viridis;
};

class ShownTint final : public EnginePart {
  public:
    enum Flag : std::uint8_t { kSelected = 1, kHidden = 2, kLocked = 4 };

    /// By row, bits of Flag; copied. Empty: none. Rows behind the last have none.
    void set_flags(std::span<const std::uint8_t> by_row);
    /// `by_row` is copied. Empty: none.
    void set_values(const ShownValues& values);
    /// Which rows are of which level of detail, and the model whose brightness they keep; asked
    /// for with every picture, and made when it is another `model` or forget() was called. Empty:
    /// as they are.
    void set_levels(const GaussianModel& model, std::span<const LevelRun> runs);
    /// Discards the reasons by row: rows are other Gaussians from now on.
    void forget();
    void scene_changed(SceneChange change) override {
        if (change == SceneChange::scene || change == SceneChange::model) forget();
    }

    /// Changes whenever a picture would change.
    std::uint64_t serial() const { return serial_; }
    /// The reasons merged; null: each Gaussian is shown as it is. About 1 ms a million rows and
    /// core when something has changed, nothing else.
    std::shared_ptr<const GaussianTint> tint();
    /// The same without colours: only what is hidden; null when nothing is.
    std::shared_ptr<const GaussianTint> hiding();

  private:
    std::size_t rows() const;

    std::uint64_t serial_ = 0;
    Buffer<std::uint8_t> flags_;
    Buffer<std::uint32_t> value_words_, level_words_;
    const GaussianModel* levels_of_ = nullptr;
    std::shared_ptr<const GaussianTint> tint_;    // of tint_serial_
    std::shared_ptr<const GaussianTint> hiding_;  // of hiding_serial_
    std::uint64_t tint_serial_ = 0, hiding_serial_ = 0;
};

}  // namespace gs
