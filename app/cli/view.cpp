#include <span>

#include "app/backend/limits.h"
#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/train_settings.h"
#include "app/commands/preferences.h"
#include "app/studio/studio.h"
#include "profiler/files/trace_file.h"
#include "renderer/device/cuda/device.h"

namespace gs::cli {
namespace {

std::optional<DeviceMemory> device_memory() {
    const auto memory = cuda_memory();
    if (!memory) return std::nullopt;
    return DeviceMemory{memory->total_bytes, memory->free_bytes, memory->held_bytes};
}

/// Everything of the studio that depends on what computes.
void use_backend(const Backend& backend, StudioOptions& studio) {
    studio.session.backend = backend.name;
    studio.session.on_device = backend.cuda;
    studio.session.make_rasterizer = backend.make_rasterizer;
    studio.session.make_training = backend.make_training;
    studio.session.set_profiling = backend.set_profiling;
    studio.session.limits = [cuda = backend.cuda](bool again) {
        return machine_ceilings(cuda, config_folder() / "ceilings.json", again);
    };
    studio.machine.costs = [cuda = backend.cuda](std::span<const StageStats> times,
                                                 const FrameCost& cost, const Ceilings& limits,
                                                 bool training) {
        FrameWork work =
            frame_work(cost.counters, cost.width, cost.height, cost.sh_degree, cuda, training);
        work.gradients = training;
        return stage_costs(times, work, limits);
    };
    if (!backend.cuda) return;
    if (const auto device = cuda_device_info()) {
        studio.machine.device = device->name;
        studio.machine.cuda_device = device->index;
    }
    studio.machine.make_interop = make_cuda_texture_interop;
    studio.machine.memory = device_memory;
    studio.session.free_device_bytes = [] {
        const auto memory = device_memory();
        return memory ? memory->free_bytes : 0;
    };
}

Result<void> check_paths(const ViewArguments& a) {
    std::vector<std::string> paths{a.path, a.compare};
    paths.insert(paths.end(), a.traces.begin(), a.traces.end());
    std::error_code error;
    for (const std::string& path : paths)
        if (!path.empty() && !fs::exists(path, error))
            return fail(ErrorKind::not_found, path, "there is nothing of this name",
                        "check the path");
    return {};
}

/// The first path may be a trace, too.
void use_traces(const ViewArguments& a, StudioOptions& studio) {
    studio.traces = a.traces;
    if (!is_trace_file(a.path)) return;
    studio.traces.insert(studio.traces.begin(), a.path);
    studio.path.clear();
}

}  // namespace

int run_view(const Arguments& arguments) {
    const ViewArguments& a = arguments.view;
    const bool training = arguments.command == "train";
    auto given = given_settings(a.settings, a.loading.background, arguments.common);
    if (!given) return report(given.error());
    const auto settings = make_settings(*given);
    if (!settings) return report(settings.error());
    auto options = capture_options(a.loading, arguments.common);
    if (!options) return report(options.error());
    options->background = {static_cast<float>(settings->background_r),
                           static_cast<float>(settings->background_g),
                           static_cast<float>(settings->background_b)};
    const auto backend = backend_of(arguments.common);
    if (!backend) return report(backend.error());
    std::error_code error;
    if (auto there = check_paths(a); !there) return report(there.error());
    if (!a.compare.empty() && a.path.empty())
        return report({ErrorKind::usage,
                       "",
                       "--compare needs something to compare with",
                       "gausscope view A --compare B",
                       {},
                       {}});
    if (!a.output.empty())
        if (auto ready = prepare_output_folder(a.output); !ready) return report(ready.error());

    StudioOptions studio;
    studio.path = a.path;
    studio.capture = a.capture;
    studio.compare = a.compare;
    studio.attach = a.attach;
    use_traces(a, studio);
    studio.train = training;
    studio.headless = arguments.common.headless;
    studio.script = a.script;
    studio.trace = training ? arguments.train.trace : "";
    studio.width = a.width;
    studio.height = a.height;
    studio.scale = a.scale;
    use_backend(*backend, studio);
    studio.session.settings = *settings;
    studio.session.capture = *options;
    studio.session.output_dir = a.output;
    if (training) {
        if (arguments.train.eval_every > 0)
            studio.session.evaluate_every = arguments.train.eval_every;
        studio.session.checkpoint_every = arguments.train.save_every;
        // A checkpoint opened beside its capture goes on where it stopped.
        const fs::path newest = fs::path(a.output) / "checkpoint.gsc";
        const std::string& resume = arguments.train.resume;
        if (!resume.empty() && (resume != "auto" || fs::exists(newest, error))) {
            studio.capture = a.path;
            studio.path = resume == "auto" ? newest.string() : resume;
        }
    }
    catch_interrupts();
    studio.interrupted = interrupted;
    return run_studio(studio);
}

}  // namespace gs::cli
