#include "trainer/run/pose_alignment.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/record/scope.h"
#include "trainer/density/init.h"
#include "trainer/loss/loss.h"
#include "trainer/loss/metrics.h"
#include "trainer/poses/pose_refinement.h"

namespace gs {
namespace {

constexpr double kSigma = 2;           // of PosePrior: a held-out pose is as wrong as it is
constexpr double kLastForgets = 0.05;  // of what is known, falling from all
constexpr double kDssim = 0.2;

/// Keeps what the blocks say of the motion.
class MotionSink final : public GradientSink {
  public:
    explicit MotionSink(std::size_t blocks) : parts(blocks) {}
    void take(const BlockGradients& gradients) override {
        std::copy_n(gradients.motion, 6, parts[gradients.block].begin());
    }
    std::vector<BlockMotion> parts;
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

Camera aligned_camera(const Capture& capture, std::size_t index, const Camera& given,
                      Drawing& drawing) {
    const LentPhoto lent = lend_photo(capture.views[index]);
    const std::size_t one[] = {index};
    PoseRefinement poses(capture, one);
    const PosePrior prior = pose_prior(kSigma, static_cast<double>(scene_extent_of(capture)));
    for (int i = 0; i < kAlignmentSteps; ++i) {
        const Camera camera = poses.camera(given, index);
        drawing.draw(camera);
        const LossTerms terms = photo_loss(drawing.picture.color, lent.photo(), lent.mask(), kDssim,
                                           &drawing.gradients.color);
        if (!std::isfinite(terms.loss)) break;
        MotionSink sink(drawing.blocks);
        drawing.rasterizer.backward(drawing.source, camera, drawing.options, *drawing.state,
                                    drawing.picture, drawing.gradients, sink);
        const double share = static_cast<double>(i) / kAlignmentSteps;
        if (!poses.step(index, motion_of(sink.parts), residual_of(terms), prior,
                        std::pow(kLastForgets, share)))
            break;
    }
    return poses.camera(given, index);
}

}  // namespace

Evaluation evaluate_aligned(const GaussianModel& model, const Capture& capture,
                            const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                            const RenderOptions& options, const Progress& progress,
                            const CameraOf& given) {
    const Span span(Stage::evaluation);
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    const auto source = rasterizer.source_of(model, bounds.span());
    Drawing drawing{rasterizer, *source, model.blocks(), options, rasterizer.make_state()};
    drawing.options.depth = drawing.options.median_depth = drawing.options.counters = false;
    drawing.options.gradients = drawing.options.motion = true;
    return score_views(
        capture, views,
        [&](std::size_t index) {
            const Camera camera = given ? given(index) : capture.views[index].camera;
            drawing.draw(aligned_camera(capture, index, camera, drawing));
            const LentPhoto lent = lend_photo(capture.views[index]);
            return score_picture(drawing.picture.color, lent.photo(), lent.mask());
        },
        progress, "aligning");
}

}  // namespace gs
