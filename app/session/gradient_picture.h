// GradientPicture: a picture of the scene with the gradients of its Gaussians, and the cost of
// both. For maps of backward, and for the costs and error shares of single Gaussians. It draws the
// current model; a run's optimizer is neither used nor changed.
#pragma once

#include <memory>
#include <string>

#include "app/session/loading.h"

namespace gs {

/// The function whose gradients are taken.
enum class Upstream {
    loss,   ///< the loss against the photo; without one as if that of every pixel were 1
    error,  ///< sum of weight x |picture - photo|: d picture is the error's size; needs a photo
};

class GradientPicture {
  public:
    struct Drawn {
        bool gradients = false;
        std::string note;  ///< their function, or why there are none
    };
    /// Fills `result`, its backward_costs included where options.costs; `sink` gets the gradients.
    /// `model`: the scene's, every pending step applied. `photo`: of the picture's size, or empty;
    /// `mask` alike: where it is 0, the picture counts nowhere.
    /// The tint of `options` is left out: gradients are of what is.
    Drawn draw(LoadedScene& scene, const GaussianModel& model, const Camera& camera,
               RenderOptions options, const Image8& photo, const Image8& mask, Upstream upstream,
               GradientSink& sink, RenderResult& result);
    /// Releases the rasterizer when the scene closes.
    void forget() { state_ = nullptr; }

  private:
    std::unique_ptr<ForwardState> state_;  // of a trainer's rasterizer
};

}  // namespace gs
