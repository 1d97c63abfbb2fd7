#include "trainer/pose_alignment.h"

#include <array>
#include <cmath>
#include <memory>

#include "base/record/scope.h"
#include "trainer/loss.h"
#include "trainer/metrics.h"
#include "trainer/pose_refinement.h"

namespace gs {
namespace {

constexpr double kFirstRate = 2e-3, kLastRate = 2e-5;  // x picture width a step
constexpr double kDssim = 0.2;

/// Keeps what the blocks say of the motion, and adds it up in their order.
class MotionSink final : public GradientSink {
  public:
    explicit MotionSink(std::size_t blocks) : parts_(blocks) {}
    void take(const BlockGradients& gradients) override {
        for (std::size_t i = 0; i < 6; ++i) parts_[gradients.block][i] = gradients.motion[i];
    }
    SceneMotion sum() const {
        double s[6] = {};
        for (const auto& part : parts_)
            for (std::size_t i = 0; i < 6; ++i) s[i] += static_cast<double>(part[i]);
        return {{s[0], s[1], s[2]}, {s[3], s[4], s[5]}};
    }

  private:
    std::vector<std::array<float, 6>> parts_;
};

/// A model at rest, drawn again and again.
struct Drawing {
    Rasterizer& rasterizer;
    ParameterSource& source;
    std::size_t blocks;
    RenderOptions options;
    std::unique_ptr<ForwardState> state;
    RenderResult picture{};
    PixelGradients gradients{};

    void draw(const Camera& camera) {
        rasterizer.forward(source, camera, options, *state, picture);
    }
};

Camera aligned_camera(const Capture& capture, std::size_t index, Drawing& drawing) {
    const View& view = capture.views[index];
    const std::size_t one[] = {index};
    PoseRefinement poses(capture, one);
    for (int i = 0; i < kAlignmentSteps; ++i) {
        const Camera camera = poses.camera(capture, index);
        drawing.draw(camera);
        const LossTerms terms = photo_loss(drawing.picture.color, view.photo, view.mask, kDssim,
                                           &drawing.gradients.color);
        if (!std::isfinite(terms.loss)) break;
        MotionSink sink(drawing.blocks);
        drawing.rasterizer.backward(drawing.source, camera, drawing.options, *drawing.state,
                                    drawing.picture, drawing.gradients, sink);
        const double share = static_cast<double>(i) / kAlignmentSteps;
        const double rate = kFirstRate * std::pow(kLastRate / kFirstRate, share);
        if (!poses.step(index, sink.sum(), rate * camera.width)) break;
    }
    return poses.camera(capture, index);
}

}  // namespace

Evaluation evaluate_aligned(const GaussianModel& model, const Capture& capture,
                            const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                            const RenderOptions& options, const Progress& progress) {
    const Span span(Stage::evaluation);
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    const auto source = rasterizer.source_of(model, bounds.span());
    Drawing drawing{rasterizer, *source, model.blocks(), options, rasterizer.make_state()};
    drawing.options.depth = drawing.options.median_depth = drawing.options.counters = false;
    drawing.options.gradients = drawing.options.motion = true;
    Evaluation out, scores;
    for (const std::size_t v : views) {
        const View& view = capture.views.at(v);
        if (progress && !progress("aligning " + view.name, scores.images.size(), views.size()))
            break;
        if (view.photo.empty() || view.photo.width != view.camera.width ||
            view.photo.height != view.camera.height)
            continue;
        drawing.draw(aligned_camera(capture, v, drawing));
        const PictureScore score = score_picture(drawing.picture.color, view.photo, view.mask);
        scores.images.push_back(
            {v, view.name, score.psnr, score.ssim, score.l1, score.psnr_fitted});
    }
    out.add(scores);
    return out;
}

}  // namespace gs
