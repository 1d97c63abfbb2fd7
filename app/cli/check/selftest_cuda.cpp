// Checks of the CUDA device and backend, compared with the CPU backend.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "app/cli/check/proof_scene.h"
#include "app/cli/check/selftest_checks.h"
#include "base/rng.h"
#include "renderer/device/cuda/device.h"
#include "renderer/device/cuda/primitives_check.h"
#include "renderer/raster/cuda/lists_check.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

constexpr double kSameLoss = 1e-3;   ///< relative, first steps
constexpr double kSameEnd = 0.02;    ///< relative, after all steps: rounding has grown
constexpr double kSameRound = 1e-5;  ///< largest difference of parameters after a density round

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
std::string dotted(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CheckRow check_device(int index) {
    const auto device = cuda_device_info(index);
    if (!device) return {"CUDA", "device", device.error().text(), false, false};
    const auto memory = cuda_memory(index);
    if (!memory) return {"CUDA", "device", memory.error().text(), false};
    return {"CUDA", "device",
            fmt::format("{}: {}, sm_{}{}, {} multiprocessors, {} MHz, {:.0f} of {:.0f} MiB free, "
                        "driver {}, runtime {}",
                        index, device->name, device->compute_major, device->compute_minor,
                        device->multiprocessors,
                        device->clock_khz > 0 ? std::to_string(device->clock_khz / 1000) : "?",
                        mebibytes(memory->free_bytes), mebibytes(memory->total_bytes),
                        dotted(device->driver_version), dotted(device->runtime_version)),
            true};
}

/// All that are visible, one after the other: --device chooses among them.
CheckRow check_listing() {
    const auto devices = cuda_devices();
    if (!devices) return {"CUDA", "devices", devices.error().text(), false};
    std::string names;
    for (const CudaListing& device : *devices)
        names += (names.empty() ? "" : "; ") + describe(device);
    return {"CUDA", "devices", names, true};
}

CheckRow check_primitives(std::size_t items, int index) {
    const auto r = check_cuda_primitives(items, 70, index);
    if (!r) return {"CUDA", "sort, scan, sum", r.error().text(), false};
    return {"CUDA", "sort, scan, sum",
            fmt::format("{} items: {} places sorted wrong, {} scanned wrong, sum {:.0e} off, {}",
                        r->items, r->wrong_sorted, r->wrong_scanned, r->sum_error,
                        r->same_twice ? "same twice" : "not the same twice"),
            r->wrong_sorted == 0 && r->wrong_scanned == 0 && r->sum_error < 1e-12 && r->same_twice};
}

/// The kernels that frames are sorted with; those above are of density control.
CheckRow check_sorts(std::size_t items, int index) {
    const auto r = check_cuda_sorts(items, 72, index);
    if (!r) return {"CUDA", "sorts of a frame", r.error().text(), false};
    return {"CUDA", "sorts of a frame",
            fmt::format("{} pairs by depth: {} places wrong; {} by tile: {} wrong", r->by_depth,
                        r->wrong_by_depth, r->by_tile, r->wrong_by_tile),
            r->wrong_by_depth == 0 && r->wrong_by_tile == 0};
}

Result<std::unique_ptr<TrainingBackend>> cpu_training() { return make_cpu_training(); }

/// Loss by step, and Gaussians at the end.
struct Run {
    std::map<std::uint64_t, double> losses;
    std::size_t gaussians = 0;
    std::string error;
};
Run train(std::shared_ptr<const Capture> capture, const TrainingSettings& settings,
          Result<std::unique_ptr<TrainingBackend>> backend) {
    Run run;
    if (!backend) {
        run.error = backend.error().text();
        return run;
    }
    auto trainer = Trainer::create(std::move(capture), settings, std::move(*backend));
    if (!trainer) {
        run.error = trainer.error().text();
        return run;
    }
    while (!(*trainer)->finished())
        if (const StepReport report = (*trainer)->step(); report.measured_step != 0)
            run.losses[report.measured_step] = report.loss;
    run.gaussians = (*trainer)->gaussian_count();
    return run;
}

CheckRow check_losses(const Backend& backend, const SelftestEffort& effort) {
    const auto capture = proof_capture(effort);
    TrainingSettings settings = scaled_to_steps(TrainingSettings(), effort.steps);
    settings.densify_from =
        settings.steps;  // a Gaussian more or less would hide what this looks for
    settings.opacity_reset_every = 0;
    const Run ours = train(capture, settings, backend.make_training()),
              cpu = train(capture, settings, cpu_training());
    if (!ours.error.empty() || !cpu.error.empty())
        return {"CUDA", "losses as on the CPU", ours.error + cpu.error, false};
    ComparisonRow first{"at first", kSameLoss}, last{"later", kSameEnd};
    for (const auto& [step, loss] : ours.losses) {
        const auto other = cpu.losses.find(step);
        if (other == cpu.losses.end()) continue;
        (step <= 10 ? first : last).add(1, loss / other->second);
    }
    const std::size_t steps = first.values + last.values;
    CheckRow row =
        compared("CUDA", "losses as on the CPU", {first, last}, fmt::format("{} steps: ", steps));
    row.passed = row.passed && steps > 5;
    return row;
}

/// Statistics that call for clones, splits and prunes of every kind.
RunArrays before_a_round(std::size_t count) {
    RunArrays arrays = new_run(make_proof_model({count, 1, 33, 0.005f, 0.5f}));
    DensityStatistics& s = arrays.statistics;
    for (std::size_t i = 0; i < count; ++i) {
        s.views[i] = static_cast<float>(random_bits(34, 0, i) % 5);
        s.gradient_sum[i] = s.views[i] * 6e-4f * random_uniform(34, 1, i);
        s.radius_px[i] = 40 * random_uniform(34, 2, i);
        if (i % 17 == 0) arrays.model.at(kOpacityLogits, i) = -7;  // hardly there
    }
    return arrays;
}

CheckRow check_density(const Backend& backend, const SelftestEffort& effort) {
    const auto capture = proof_capture(effort);
    const std::size_t count = std::max<std::size_t>(effort.gaussians, 64);
    GaussianModel models[2];
    DensityReport reports[2];
    for (int k = 0; k < 2; ++k) {
        auto training = k == 0 ? backend.make_training() : cpu_training();
        if (!training)
            return {"CUDA", "density round as on the CPU", training.error().text(), false};
        (*training)->start(capture, before_a_round(count));
        reports[k] = (*training)->densify_and_prune(TrainingSettings(), 5.0, true);
        models[k] = (*training)->model();
    }
    const auto &a = reports[0], &b = reports[1];
    ComparisonRow parameters{"parameters", kSameRound};
    for (int p = 0; p < models[0].planes(); ++p)
        parameters.add_all(std::span(models[1].plane(p), models[1].count),
                           std::span(models[0].plane(p), models[0].count));
    CheckRow row = compared("CUDA", "density round as on the CPU", {parameters},
                            fmt::format("{} cloned, {} split, {} pruned; CPU {}, {}, {}; ",
                                        a.cloned, a.split, a.pruned, b.cloned, b.split, b.pruned));
    row.passed = row.passed && a.cloned == b.cloned && a.split == b.split && a.pruned == b.pruned &&
                 a.cloned > 0 && a.split > 0 && a.pruned > 0;
    return row;
}

// Checks that a rasterizer and a run release their memory.
CheckRow check_leak(const Backend& backend, const SelftestEffort& effort) {
    const auto held = [&] {
        const auto memory = cuda_memory(backend.device);
        return memory ? memory->held_bytes : ~std::uint64_t{0};
    };
    const std::uint64_t before = held();
    std::uint64_t during = 0;
    for (int round = 0; round < 3; ++round) {
        auto rasterizer = backend.make_rasterizer();
        auto training = backend.make_training();
        if (!rasterizer || !training)
            return {"CUDA", "memory is released", "the backend could not be made", false};
        const GaussianModel model = make_proof_model({effort.gaussians, 3, 35});
        const auto source = (*rasterizer)->source_of(model);
        const auto state = (*rasterizer)->make_state();
        RenderResult result;
        (*rasterizer)->forward(*source, make_proof_camera(35, 0, 64, 48), {}, *state, result);
        (*training)->start(proof_capture(effort), before_a_round(effort.gaussians));
        during = std::max(during, held());
    }
    const std::uint64_t after = held();
    return {"CUDA", "memory is released",
            fmt::format("{:.1f} MiB before, {:.1f} at work, {:.1f} after", mebibytes(before),
                        mebibytes(during), mebibytes(after)),
            after == before && during > before};
}

}  // namespace

void add_cuda_checks(CheckList& list, const Backend& backend, const SelftestEffort& effort) {
    const Backend* b = &backend;
    const int device = backend.device;
    list.push_back(check_listing);
    list.push_back([device] { return check_device(device); });
    list.push_back([device, effort] { return check_primitives(effort.sorted, device); });
    list.push_back([device, effort] { return check_sorts(effort.sorted, device); });
    list.push_back([b, effort] { return check_losses(*b, effort); });
    list.push_back([b, effort] { return check_density(*b, effort); });
    list.push_back([b, effort] { return check_leak(*b, effort); });
}

}  // namespace gs::cli
