// Shared code of the checks, and the checks of the CPU and the reference.
#include "app/cli/check/selftest_checks.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "app/cli/check/proof_scene.h"
#include "base/parallel.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/reference/rasterize.h"
#include "trainer/trainer.h"

namespace gs::cli {

const char* label_of(const Backend& backend) { return backend.cuda ? "CUDA" : "CPU"; }

CheckRow compared(const char* backend, std::string name, const std::vector<ComparisonRow>& rows,
                  const std::string& before) {
    return {backend, std::move(name), before + comparison_text(rows), all_passed(rows)};
}

// A capture made from random Gaussians, to train on.
std::shared_ptr<const Capture> proof_capture(const SelftestEffort& effort) {
    auto capture = std::make_shared<Capture>();
    capture->name = "selftest";
    const GaussianModel model =
        make_proof_model({std::min<std::size_t>(400, effort.gaussians), 1, 30});
    const auto rasterizer = make_cpu_rasterizer();
    ModelSource source(model);
    const auto state = rasterizer->make_state();
    RenderResult result;
    for (std::uint64_t i = 0; i < 4; ++i) {
        View view;
        view.name = fmt::format("{}.png", i);
        view.camera = make_proof_camera(30, i, static_cast<int>(96 * effort.picture),
                                        static_cast<int>(72 * effort.picture));
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

std::unique_ptr<Rasterizer> rasterizer_of(const Backend& backend) {
    auto rasterizer = backend.make_rasterizer();
    if (!rasterizer) throw std::runtime_error(rasterizer.error().text());
    return std::move(*rasterizer);
}
std::unique_ptr<TrainingBackend> training_of(const Backend& backend) {
    auto training = backend.make_training();
    if (!training) throw std::runtime_error(training.error().text());
    return std::move(*training);
}

namespace {

CheckRow check_determinism(const SelftestEffort& effort) {
    const int steps = effort.steps, before = thread_count();
    TrainingSettings settings = scaled_to_steps(TrainingSettings(), steps);
    settings.densify_from = 10;
    settings.densify_every = 10;
    const auto capture = proof_capture(effort);
    std::vector<GaussianModel> models;
    double first_loss = 0, last_loss = 0;
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        auto trainer = Trainer::create(capture, settings, make_cpu_training());
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
            fmt::format("{}; loss {:.4f} -> {:.4f} in {} steps", same ? "identical" : "they differ",
                        first_loss, last_loss, steps),
            same && last_loss < first_loss};
}

CheckRow check_file() {
    const GaussianModel model = make_proof_model({1000, 3, 50});
    std::error_code error;
    const fs::path path =
        fs::temp_directory_path(error) / fmt::format("gausscope-selftest-{}.ply", getpid());
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
    const auto gradient =
        reference::render_backward(scene, camera, options, picture, upstream).parameters;
    ComparisonRow row{"relative", 1e-5, Measure::l2};
    for (std::size_t k = 0; k < scene.values.size(); k += 3) {
        const double kept = scene.values[k], h = 1e-5;
        scene.values[k] = kept + h;
        const double above = loss();
        scene.values[k] = kept - h;
        row.add((above - loss()) / (2 * h), gradient.values[k]);
        scene.values[k] = kept;
    }
    if (!(row.norm > 0)) row.add_lengths(0, row.values, "gradients:");
    return compared("reference", "gradients against differences", {row});
}

}  // namespace

void add_cpu_checks(CheckList& list, const SelftestEffort& effort) {
    list.push_back([effort] { return check_determinism(effort); });
    list.push_back(check_file);
}

void add_reference_checks(CheckList& list) { list.push_back(check_reference_gradient); }

}  // namespace gs::cli
