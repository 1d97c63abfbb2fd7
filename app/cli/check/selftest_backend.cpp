// Checks that every backend must pass.
#include <fmt/core.h>

#include <cmath>

#include "app/cli/cases/runs.h"
#include "app/cli/check/proof_scene.h"
#include "app/cli/check/selftest_checks.h"
#include "app/cli/check/verify.h"
#include "app/verify/gradient_store.h"
#include "renderer/io/images/image_io.h"
#include "renderer/reference/adam.h"
#include "renderer/reference/loss.h"
#include "renderer/reference/rasterize.h"
#include "trainer/loss/loss.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

constexpr double kLossLimit = 1e-5;
constexpr double kAdamLimit = 1e-3;  ///< of the way the parameters went

int side(int pixels, const SelftestEffort& effort) {
    return std::max(8, static_cast<int>(pixels * effort.picture));
}

struct Variation {
    const char* name;
    int width, height;
    ProofScene scene;
    RenderOptions options;
};

std::vector<Variation> variations(std::size_t n) {
    RenderOptions plain, white, smooth, gsplat, inria, degree1;
    white.background = {1, 1, 1};
    smooth.antialiased = true;
    gsplat.compatibility = Compatibility::gsplat;
    inria.compatibility = Compatibility::inria;
    degree1.sh_degree = 1;
    return {{"forward and backward", 160, 120, {n, 3, 1}, plain},
            {"white background, odd size", 97, 61, {n, 2, 2}, white},
            {"antialiased", 128, 96, {n, 3, 3, 0.004f, 0.1f}, smooth},
            {"profile gsplat", 128, 96, {n, 3, 4}, gsplat},
            {"profile inria", 128, 96, {n, 3, 5}, inria},
            {"degree limited to 1", 128, 96, {n, 3, 6}, degree1},
            {"crowded tile", 16, 16, {n, 0, 7, 0.2f, 0.6f}, plain}};
}

CheckRow check_against_reference(const Backend& backend, const Variation& v) {
    const auto rasterizer = rasterizer_of(backend);
    return compared(label_of(backend), v.name,
                    verify_frame(make_proof_model(v.scene),
                                 make_proof_camera(v.scene.seed, 0, v.width, v.height), v.options,
                                 *rasterizer, true)
                        .rows);
}

reference::Image reference_image(const ImageF& image) {
    reference::Image out{image.width, image.height, 3, std::vector<double>(3 * image.pixels())};
    for (std::size_t i = 0; i < image.pixels(); ++i)
        for (std::size_t c = 0; c < 3; ++c)
            out.values[3 * i + c] = image.values[c * image.pixels() + i];
    return out;
}

CheckRow check_loss(const Backend& backend, const SelftestEffort& effort) {
    const auto capture = proof_capture(effort);
    const GaussianModel model = make_proof_model({200, 1, 31});
    const auto training = training_of(backend);
    training->start(capture, new_run(model));
    StepOutcome outcome;
    for (std::uint64_t step = 0; outcome.step == 0 && step < 100;
         ++step)  // a device reports a few steps later
        outcome = training->step(case_plan(*capture, 1, step, 1));
    if (outcome.step != 1)
        return {label_of(backend), "loss", "the first step never reported its loss", false};
    const View& view = capture->views[1];
    reference::Options options;
    options.sh_degree = 1;
    const auto picture = reference::render(reference::Parameters(model), view.camera, options);
    const reference::Image drawn{view.camera.width, view.camera.height, 3, picture.color};
    const auto truth = reference::loss_l1_dssim(drawn, reference_image(to_float(view.photo)), 0.2);
    ComparisonRow row{"relative", kLossLimit, Measure::l2};
    row.add(truth.value, outcome.terms.loss);
    return compared(label_of(backend), "loss of a step", {row});
}

CheckRow check_loss_gradient() {
    ImageF pictures[2];
    const auto rasterizer = make_cpu_rasterizer();
    for (std::uint64_t k = 0; k < 2; ++k) {
        const GaussianModel model = make_proof_model({300, 1, 20 + k});
        ModelSource source(model);
        const auto state = rasterizer->make_state();
        RenderResult result;
        rasterizer->forward(source, make_proof_camera(20, 0, 83, 59), {}, *state, result);
        pictures[k] = std::move(result.color);
    }
    ImageF gradient;
    const Image8 photo = to_bytes(pictures[1]);
    const LossTerms terms = photo_loss(pictures[0], photo, {}, 0.2, &gradient);
    const auto truth = reference::loss_l1_dssim(reference_image(pictures[0]),
                                                reference_image(to_float(photo)), 0.2);
    ComparisonRow value{"value", kLossLimit, Measure::l2};
    value.add(truth.value, terms.loss);
    ComparisonRow slope = compare({"gradient", kGradientLimit, Measure::l2}, truth.gradient,
                                  reference_image(gradient).values);
    if (!(slope.norm > 0)) slope.add_lengths(0, slope.values, "gradients:");
    return compared("CPU", "loss and its gradient", {value, slope});
}

/// One dense step of the reference on gradients of the CPU's rasterizer: the mean of the views'.
void dense_step(reference::Parameters& parameters, reference::Adam& adam,
                const std::vector<StepPlan>& plans) {
    const auto rasterizer = make_cpu_rasterizer();
    const GaussianModel model = parameters.to_model();
    ModelSource source(model);
    reference::Parameters mean(parameters.count, parameters.sh_degree);
    for (const StepPlan& plan : plans) {
        const auto state = rasterizer->make_state();
        RenderResult result;
        rasterizer->forward(source, plan.camera, plan.options, *state, result);
        PixelGradients pixels;
        photo_loss(result.color, plan.view->photo, plan.view->mask, plan.lambda_dssim,
                   &pixels.color);
        GradientStore store(parameters);
        rasterizer->backward(source, plan.camera, plan.options, *state, result, pixels, store);
        for (std::size_t i = 0; i < mean.values.size(); ++i)
            mean.values[i] += store.gradients.values[i] / static_cast<double>(plans.size());
    }
    const LearningRates& r = plans.front().rates;
    adam.step(parameters, mean,
              {r[kGroupMeans], r[kGroupQuats], r[kGroupScales], r[kGroupOpacity], r[kGroupSh0],
               r[kGroupShRest]});
}

// Views that look past each other: what one step shows the next leaves alone, and it catches up
// later.
CheckRow check_adam(const Backend& backend, const SelftestEffort& effort, std::uint32_t batch) {
    auto capture = std::make_shared<Capture>(*proof_capture(effort));
    for (std::size_t v = 0; v < capture->views.size(); ++v)
        capture->views[v].camera.cx += (v % 2 == 0 ? 0.5 : -0.5) * capture->views[v].camera.width;
    const GaussianModel start = make_proof_model({160, 1, 32});
    const auto training = training_of(backend);
    RunArrays arrays = new_run(start);
    arrays.adam.batch = batch;
    training->start(capture, std::move(arrays));
    reference::Parameters dense(start);
    const reference::Parameters before(start);
    reference::Adam adam(dense);
    adam.beta1 = std::pow(adam.beta1, batch);
    adam.beta2 = std::pow(adam.beta2, batch);
    adam.epsilon /= std::sqrt(batch);
    std::uint64_t shown = 0;
    for (std::uint64_t step = 0; step < 12; ++step) {
        std::vector<StepPlan> plans;
        for (std::uint32_t i = 0; i < batch; ++i) {
            const std::size_t view = 1 + shown++ % (capture->views.size() - 1);  // 0 is a test view
            plans.push_back(case_plan(*capture, view, step, 1));
            plans.back().part = {i, batch};
            training->step(plans.back());
        }
        dense_step(dense, adam, plans);
    }
    const reference::Parameters lazy(training->model());
    ComparisonRow way{"of the way", kAdamLimit, Measure::l2};
    for (std::size_t i = 0; i < lazy.values.size(); ++i)
        way.add(dense.values[i] - before.values[i], lazy.values[i] - before.values[i]);
    if (!(way.norm > 0)) way.add_lengths(0, lazy.values.size(), "moved parameters:");
    return compared(label_of(backend),
                    batch == 1 ? "lazy Adam against a dense one"
                               : fmt::format("the same, {} views a step", batch),
                    {way}, "12 steps: ");
}

CheckRow check_poison(const Backend& backend, const SelftestEffort& effort) {
    GaussianModel model = make_proof_model({256, 3, 40});
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 1e-42f};
    for (std::size_t i = 0; i < 128; ++i)
        model.at(static_cast<int>(i) % model.planes(), 2 * i) = bad[i % 6];
    const auto rasterizer = rasterizer_of(backend);
    const auto source = rasterizer->source_of(model);
    const auto state = rasterizer->make_state();
    RenderResult result;
    rasterizer->forward(*source, make_proof_camera(40, 0, side(96, effort), side(64, effort)), {},
                        *state, result);
    std::size_t not_finite = 0;
    for (const float v : result.color.values) not_finite += std::isfinite(v) ? 0 : 1;
    return {label_of(backend), "poison values draw nothing",
            fmt::format("{} of {} values are not finite", not_finite, result.color.values.size()),
            not_finite == 0};
}

// The same run twice, density control included.
CheckRow check_same_twice(const Backend& backend, const SelftestEffort& effort) {
    TrainingSettings settings = scaled_to_steps(TrainingSettings(), effort.steps);
    settings.densify_from = effort.steps / 5;
    settings.densify_every = std::max(2, effort.steps / 5);
    const auto capture = proof_capture(effort);
    GaussianModel models[2];
    double loss = 0;
    for (GaussianModel& model : models) {
        auto trainer = Trainer::create(capture, settings, training_of(backend));
        if (!trainer)
            return {label_of(backend), "training twice: same bits", trainer.error().text(), false};
        for (int i = 0; i < effort.steps; ++i)
            if (const StepReport report = (*trainer)->step(); report.measured_step != 0)
                loss = report.loss;
        model = (*trainer)->model();
    }
    const bool same = same_bits(models[0], models[1]);
    return {label_of(backend), "training twice: same bits",
            fmt::format("{}; {} steps, {} Gaussians, loss {:.4f}",
                        same ? "identical" : "they differ", effort.steps, models[0].count, loss),
            same};
}

}  // namespace

void add_backend_checks(CheckList& list, const Backend& backend, const SelftestEffort& effort) {
    const Backend* b = &backend;
    for (Variation v : variations(effort.gaussians)) {
        v.width = side(v.width, effort);
        v.height = side(v.height, effort);
        list.push_back([b, v] { return check_against_reference(*b, v); });
    }
    if (!backend.cuda) list.push_back(check_loss_gradient);
    list.push_back([b, effort] { return check_loss(*b, effort); });
    list.push_back([b, effort] { return check_poison(*b, effort); });
    list.push_back([b, effort] { return check_adam(*b, effort, 1); });
    list.push_back([b, effort] { return check_adam(*b, effort, 2); });
    list.push_back([b, effort] { return check_same_twice(*b, effort); });
}

}  // namespace gs::cli
