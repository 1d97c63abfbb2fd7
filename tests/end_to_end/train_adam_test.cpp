// Sixty real training steps (rasterizer, loss, backward, Adam) against the losses of an independent
// float64 program.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "renderer/raster/rasterizer.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "trainer/adam/lazy_adam.h"
#include "trainer/loss/loss.h"

namespace gs {
namespace {

using test::Array;
using test::Arrays;

GaussianModel initial_model(const Arrays& a) {
    const std::size_t n = a["init_means"].dim(0);
    GaussianModel model(n, 3);
    const auto planes = [&](const char* name, int first, int count) {
        const Array& values = a[name];
        for (std::size_t i = 0; i < n; ++i)
            for (int k = 0; k < count; ++k)
                model.at(first + k, i) = static_cast<float>(
                    values[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)]);
    };
    planes("init_means", kMeans, 3);
    planes("init_ls", kLogScales, 3);
    planes("init_quats", kQuats, 4);
    planes("init_lo", kOpacityLogits, 1);
    planes("init_sh0", kSh0, 3);
    planes("init_shN", kShRest, 45);
    return model;
}

class Sink final : public GradientSink {
  public:
    Sink(GaussianModel& model, LazyAdam& adam) : model_(model), adam_(adam) {}
    void take(const BlockGradients& gradients) override { adam_.apply(model_, gradients); }

  private:
    GaussianModel& model_;
    LazyAdam& adam_;
};

Camera camera_of(const Arrays& a, std::size_t index) {
    const Array view = a["viewmats"].slice(index), &k = a["K"];
    Camera camera{.width = static_cast<int>(a["width"].scalar()),
                  .height = static_cast<int>(a["height"].scalar()),
                  .fx = k[0],
                  .cx = k[2]};
    camera.fy = k[4];
    camera.cy = k[5];
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 3; ++c) camera.rotation.m[r][c] = view[4 * r + c];
    camera.translation = {view[3], view[7], view[11]};
    return camera;
}

ImageF target_of(const Arrays& a, std::size_t index) {
    const Array pixels = a["targets"].slice(index);
    ImageF image(static_cast<int>(pixels.dim(1)), static_cast<int>(pixels.dim(0)), 3);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        image.plane(static_cast<int>(i % 3))[i / 3] = static_cast<float>(pixels[i]);
    return image;
}

LearningRates rates_of(const Arrays& a) {
    LearningRates rates{};
    const std::map<std::string, int> groups{{"means", kGroupMeans}, {"quats", kGroupQuats},
                                            {"ls", kGroupScales},   {"lo", kGroupOpacity},
                                            {"sh0", kGroupSh0},     {"shN", kGroupShRest}};
    for (std::size_t i = 0; i < a["lr"].size(); ++i)
        rates[static_cast<std::size_t>(groups.at(a["lr_order"].texts[i]))] = a["lr"][i];
    return rates;
}

/// Largest difference of any parameter from the stored ones after some step.
double worst_parameter(const Arrays& a, const std::string& after, const GaussianModel& model,
                       const LazyAdam& adam) {
    struct Planes {
        const char* name;
        int first, count;
    };
    double worst = 0;
    for (const Planes& g : {Planes{"means", kMeans, 3},
                            {"ls", kLogScales, 3},
                            {"quats", kQuats, 4},
                            {"lo", kOpacityLogits, 1},
                            {"sh0", kSh0, 3},
                            {"shN", kShRest, 45}}) {
        const Array& expected = a[after + g.name];
        for (std::size_t i = 0; i < model.count; ++i) {
            alignas(64) float now[45 * kBlock];
            adam.read(model, i / kBlock, g.first, g.count, now);
            for (std::size_t k = 0; k < static_cast<std::size_t>(g.count); ++k)
                worst =
                    std::max(worst, std::abs(static_cast<double>(now[k * kBlock + i % kBlock]) -
                                             expected[i * static_cast<std::size_t>(g.count) + k]));
        }
    }
    return worst;
}

TEST(TrainAdam, LossesMatchTheReference) {
    GS_NEED_DATA("reference/train/train_adam.npz");
    const Arrays a = test::load_npz(test::data_path("reference/train/train_adam.npz"));
    const LearningRates rates = rates_of(a);
    std::vector<Camera> cameras;
    std::vector<ImageF> targets;
    for (std::size_t i = 0; i < a["viewmats"].dim(0); ++i) {
        cameras.push_back(camera_of(a, i));
        targets.push_back(target_of(a, i));
    }
    const auto rasterizer = make_cpu_rasterizer();
    const auto state = rasterizer->make_state();
    GaussianModel model = initial_model(a);
    AdamState moments = initial_adam_state(model);
    LazyAdam adam(model, moments);
    Sink sink(model, adam);
    const RenderOptions options{.depth = false};
    RenderResult picture;
    PixelGradients gradients;
    double worst = 0;
    for (std::size_t step = 0; step < a["loss"].size(); ++step) {
        const std::size_t view = step % cameras.size();
        adam.begin_step(model, rates, model.planes());
        LazySource source(model, adam, 3);
        rasterizer->forward(source, cameras[view], options, *state, picture);
        const LossTerms terms = photo_loss(picture.color, targets[view], {}, 0.2, &gradients.color);
        rasterizer->backward(source, cameras[view], options, *state, picture, gradients, sink);
        adam.end_step();
        const double relative = std::abs(terms.loss - a["loss"][step]) / a["loss"][step];
        worst = std::max(worst, relative);
        EXPECT_LT(relative, 1e-5) << "step " << step << ": " << terms.loss << " instead of "
                                  << a["loss"][step];
        const std::string after = "after" + std::to_string(step + 1) + "_";
        if (a.has(after + "means")) {
            const double difference = worst_parameter(a, after, model, adam);
            RecordProperty("difference_" + after, std::to_string(difference));
            EXPECT_LT(difference, 5e-4) << after;
        }
    }
    RecordProperty("worst_relative_loss", std::to_string(worst));
}

}  // namespace
}  // namespace gs
