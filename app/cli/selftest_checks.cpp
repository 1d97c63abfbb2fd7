#include "app/cli/selftest_checks.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "app/cli/proof_scene.h"
#include "app/cli/verify.h"
#include "renderer/device/parallel.h"
#include "renderer/io/image_io.h"
#include "renderer/io/splat_io.h"
#include "renderer/reference/loss.h"
#include "renderer/reference/rasterize.h"
#include "trainer/loss.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

constexpr double kLossLimit = 1e-5;

struct Variation {
    const char* name;
    int width, height;
    ProofScene scene;
    RenderOptions options;
};

std::vector<Variation> variations(bool quick) {
    const std::size_t n = quick ? 200 : 1500;
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

CheckRow check_against_reference(const Variation& v) {
    const auto rasterizer = make_cpu_rasterizer();
    const Verification r = verify_frame(
        make_proof_model(v.scene), make_proof_camera(v.scene.seed, 0, v.width, v.height), v.options, *rasterizer, true);
    return {"CPU", v.name,
            fmt::format("colour {:.1e}, alpha {:.1e} (limit {:.0e}), gradient {:.1e} (limit {:.0e})", r.color, r.alpha,
                        kColorLimit, r.gradient, kGradientLimit),
            r.ok()};
}

reference::Image reference_image(const ImageF& image) {
    reference::Image out{image.width, image.height, 3, std::vector<double>(3 * image.pixels())};
    for (std::size_t i = 0; i < image.pixels(); ++i)
        for (std::size_t c = 0; c < 3; ++c) out.values[3 * i + c] = image.values[c * image.pixels() + i];
    return out;
}

CheckRow check_loss() {
    const auto rasterizer = make_cpu_rasterizer();
    ImageF pictures[2];
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
    const auto truth = reference::loss_l1_dssim(reference_image(pictures[0]), reference_image(to_float(photo)), 0.2);
    double difference = 0, norm = 0;
    const std::size_t n = gradient.pixels();
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < 3; ++c) {
            const double t = truth.gradient[3 * i + c], d = gradient.values[c * n + i] - t;
            difference += d * d;
            norm += t * t;
        }
    const double value = std::abs(terms.loss - truth.value) / truth.value, relative = std::sqrt(difference / norm);
    return {"CPU", "loss and its gradient",
            fmt::format("value {:.1e} (limit {:.0e}), gradient {:.1e} (limit {:.0e})", value, kLossLimit, relative,
                        kGradientLimit),
            value <= kLossLimit && relative <= kGradientLimit};
}

// A capture made from random Gaussians, to train on.
std::shared_ptr<const Capture> proof_capture() {
    auto capture = std::make_shared<Capture>();
    capture->name = "selftest";
    const GaussianModel model = make_proof_model({400, 1, 30});
    const auto rasterizer = make_cpu_rasterizer();
    ModelSource source(model);
    const auto state = rasterizer->make_state();
    RenderResult result;
    for (std::uint64_t i = 0; i < 4; ++i) {
        View view;
        view.name = fmt::format("{}.png", i);
        view.camera = make_proof_camera(30, i, 96, 72);
        rasterizer->forward(source, view.camera, {}, *state, result);
        view.photo = to_bytes(result.color);
        view.test = i == 0;
        capture->views.push_back(std::move(view));
    }
    for (std::size_t i = 0; i < model.count; i += 2) {
        const Vec3f p = model.mean(i);
        capture->points.push_back({{p.x + 0.02f, p.y, p.z}, {120, 130, 140}});
    }
    return capture;
}

bool same_bits(const GaussianModel& a, const GaussianModel& b) {
    if (a.count != b.count || a.sh_degree != b.sh_degree) return false;
    for (int p = 0; p < a.planes(); ++p)
        if (std::memcmp(a.plane(p), b.plane(p), a.count * sizeof(float)) != 0) return false;
    return true;
}

CheckRow check_determinism(bool quick) {
    const int steps = quick ? 30 : 150, before = thread_count();
    TrainingSettings settings = scaled_to_steps(TrainingSettings(), steps);
    settings.densify_from = 10;
    settings.densify_every = 10;
    const auto capture = proof_capture();
    std::vector<GaussianModel> models;
    double first_loss = 0, last_loss = 0;
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        auto trainer = Trainer::create(capture, settings, make_cpu_rasterizer());
        if (!trainer) return {"CPU", "training", trainer.error().text(), false};
        for (int i = 0; i < steps; ++i) {
            last_loss = (*trainer)->step().loss;
            if (i == 0) first_loss = last_loss;
        }
        models.push_back((*trainer)->model());
    }
    set_thread_count(before);
    const bool same = same_bits(models[0], models[1]) && same_bits(models[0], models[2]);
    return {"CPU", "training: same bits with 1, 2, 4 threads",
            fmt::format("{}; loss {:.4f} -> {:.4f} in {} steps", same ? "identical" : "they differ", first_loss,
                        last_loss, steps),
            same && last_loss < first_loss};
}

CheckRow check_poison() {
    GaussianModel model = make_proof_model({256, 3, 40});
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 1e-42f};
    for (std::size_t i = 0; i < 128; ++i) model.at(static_cast<int>(i) % model.planes(), 2 * i) = bad[i % 6];
    const auto rasterizer = make_cpu_rasterizer();
    ModelSource source(model);
    const auto state = rasterizer->make_state();
    RenderResult result;
    rasterizer->forward(source, make_proof_camera(40, 0, 96, 64), {}, *state, result);
    std::size_t not_finite = 0;
    for (const float v : result.color.values) not_finite += std::isfinite(v) ? 0 : 1;
    return {"CPU", "poison values draw nothing",
            fmt::format("{} of {} values are not finite", not_finite, result.color.values.size()), not_finite == 0};
}

CheckRow check_file() {
    const GaussianModel model = make_proof_model({1000, 3, 50});
    std::error_code error;
    const fs::path path = fs::temp_directory_path(error) / fmt::format("gausscope-selftest-{}.ply", getpid());
    const auto written = write_splats(path, model);
    if (!written) return {"CPU", "splat file there and back", written.error().text(), false};
    const auto back = read_splats(path);
    fs::remove(path, error);
    if (!back) return {"CPU", "splat file there and back", back.error().text(), false};
    const bool same = same_bits(model, back->model);
    return {"CPU", "splat file there and back", same ? "identical" : "it differs", same};
}

// Differences need a smooth picture: without the cut at alpha_min nothing jumps.
CheckRow check_reference_gradient() {
    const Camera camera = make_proof_camera(60, 0, 24, 18);
    reference::Parameters scene(make_proof_model({12, 2, 60, 0.1f, 0.4f}));
    reference::Options options;
    options.alpha_min = 0;
    options.alpha_max = 1;
    options.transmittance_min = 0;
    const auto weight = [](std::size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
    const auto loss = [&] {
        const auto picture = reference::render(scene, camera, options);
        double sum = 0;
        for (std::size_t i = 0; i < picture.color.size(); ++i) sum += weight(i) * picture.color[i];
        return sum;
    };
    const auto picture = reference::render(scene, camera, options);
    reference::PictureGradient upstream;
    for (std::size_t i = 0; i < picture.color.size(); ++i) upstream.color.push_back(weight(i));
    const auto gradient = reference::render_backward(scene, camera, options, picture, upstream).parameters;
    double difference = 0, norm = 0;
    for (std::size_t k = 0; k < scene.values.size(); k += 3) {
        const double kept = scene.values[k], h = 1e-5;
        scene.values[k] = kept + h;
        const double above = loss();
        scene.values[k] = kept - h;
        const double numeric = (above - loss()) / (2 * h);
        scene.values[k] = kept;
        difference += (numeric - gradient.values[k]) * (numeric - gradient.values[k]);
        norm += numeric * numeric;
    }
    const double relative = std::sqrt(difference / norm);
    return {"reference", "gradients against differences", fmt::format("relative {:.1e} (limit 1e-05)", relative),
            relative <= 1e-5};
}

}  // namespace

void add_cpu_checks(CheckList& list, bool quick) {
    for (const Variation& v : variations(quick)) list.push_back([v] { return check_against_reference(v); });
    list.push_back(check_loss);
    list.push_back(check_poison);
    list.push_back([quick] { return check_determinism(quick); });
    list.push_back(check_file);
}

void add_reference_checks(CheckList& list) { list.push_back(check_reference_gradient); }

}  // namespace gs::cli
