#include "app/session/gradient_picture.h"

#include <algorithm>
#include <cmath>

#include "trainer/loss/loss.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

void size_of_error(const ImageF& picture, const Image8& photo, const Image8& mask, ImageF& out) {
    out.resize(picture.width, picture.height, 3);
    for (int c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < picture.pixels(); ++i)
            out.plane(c)[i] = !mask.empty() && mask.bytes[i] == 0
                                  ? 0.0f
                                  : std::abs(std::clamp(picture.plane(c)[i], 0.0f, 1.0f) -
                                             static_cast<float>(
                                                 photo.bytes[3 * i + static_cast<std::size_t>(c)]) /
                                                 255);
}

}  // namespace

GradientPicture::Drawn GradientPicture::draw(LoadedScene& scene, const GaussianModel& model,
                                             const Camera& camera, RenderOptions options,
                                             const Image8& photo, const Image8& mask,
                                             Upstream upstream, GradientSink& sink,
                                             RenderResult& result) {
    std::unique_ptr<ParameterSource> resting;
    Rasterizer& rasterizer = scene.trainer ? scene.trainer->rasterizer() : *scene.rasterizer;
    if (scene.trainer) {
        resting = rasterizer.source_of(model);
        if (!state_) state_ = rasterizer.make_state();
    }
    ParameterSource& source = resting ? *resting : *scene.source;
    ForwardState& state = resting ? *state_ : *scene.state;
    options.tint = nullptr;
    options.gradients = !camera.orthographic();
    rasterizer.forward(source, camera, options, state, result);
    result.backward_costs = {};
    if (!options.gradients) return {false, "no gradients with parallel rays"};
    if (upstream == Upstream::error && photo.empty())
        return {false, "go to a capture camera: an error needs a photo"};
    PixelGradients gradients;
    if (upstream == Upstream::error) {
        size_of_error(result.color, photo, mask, gradients.color);
    } else if (photo.empty()) {
        gradients.color.resize(camera.width, camera.height, 3);
        gradients.color.values.fill(1.0f);
    } else {
        const double dssim = scene.trainer ? scene.trainer->settings().lambda_dssim
                                           : TrainingSettings().lambda_dssim;
        photo_loss(result.color, photo, mask, dssim, &gradients.color);
    }
    rasterizer.backward(source, camera, options, state, result, gradients, sink);
    result.backward_costs = state.backward_costs();
    return {true, upstream == Upstream::error ? "error against the photo"
                  : photo.empty()             ? "gradient of every pixel: 1"
                                              : "gradient of the loss against the photo"};
}

}  // namespace gs
