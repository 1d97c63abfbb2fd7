// GaussianBlame: for every Gaussian, the sum over the pixels of photos of its weight times the
// error there, by a rasterizer's own backward. The weights of a picture do not depend on colours,
// so a copy of the model is drawn whose colours are all the same gray (colour = 0.5 + C0 sh0 with
// sh0 = 0, far from where negative colours are cut off). Of that picture d colour / d sh0 is C0 x
// weight in every channel, so with values v as the picture's gradient the gradient of sh0 is C0
// sum(weight v), exactly and for three values at once: the error, 1, and picture - photo.
#pragma once

#include <memory>
#include <vector>

#include "renderer/problems/problem.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"

namespace gs {

class GaussianBlame {
  public:
    struct Sums {
        float error = 0, weight = 0, excess = 0;
        float worst = 0;           ///< largest sum of errors in one photo
        std::uint32_t view = 0;    ///< that photo
        std::uint32_t photos = 0;  ///< with kSeenWeight and more
        float nearness = 0;        ///< least depth over the photo's typical one; 0: not seen
    };

    /// `rasterizer` outlives it. `options`: as the model is drawn.
    GaussianBlame(const GaussianModel& model, Rasterizer& rasterizer, const RenderOptions& options);
    /// Adds photo `index`, which `drawn` shows with this error. `depth`: typical_depth() of it.
    void add(const View& view, std::size_t index, const RenderResult& drawn, const ImageF& error,
             float depth);
    /// By row.
    const std::vector<Sums>& sums() const { return sums_; }

  private:
    GaussianModel gray_;
    Rasterizer& rasterizer_;
    RenderOptions options_;
    std::unique_ptr<ParameterSource> source_;
    std::unique_ptr<ForwardState> state_;
    RenderResult result_;
    PixelGradients values_;
    std::vector<Sums> sums_;
};

/// Those with the largest sums of errors, `most` at most.
std::vector<BlamedGaussian> most_blamed(const GaussianModel& model,
                                        const std::vector<GaussianBlame::Sums>& sums,
                                        std::size_t most);

}  // namespace gs
