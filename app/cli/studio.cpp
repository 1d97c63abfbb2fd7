#include "app/cli/studio.h"

#include <nlohmann/json.hpp>
#include <span>

#include "app/backend/limits.h"
#include "app/backend/ranks.h"
#include "app/backend/stage_times.h"
#include "app/cli/common.h"
#include "app/cli/train/train_settings.h"
#include "app/commands/commands.h"
#include "app/studio/preferences.h"
#include "app/studio/saved_views.h"
#include "app/studio/studio.h"
#include "app/window/window.h"
#include "base/file.h"
#include "base/try.h"
#include "renderer/device/cuda/device.h"
#include "renderer/doctor/doctor.h"
#include "trainer/checkpoint.h"
#include "trainer/run/run_folder.h"

namespace gs::cli {
namespace {

constexpr std::uint64_t kMostSnapshots = std::uint64_t{4} << 30;  // bytes

std::optional<DeviceMemory> device_memory(int device) {
    const auto memory = cuda_memory(device);
    if (!memory) return std::nullopt;
    return DeviceMemory{memory->total_bytes, memory->free_bytes, memory->held_bytes};
}

/// The studio's options that depend on the backend.
void use_backend(const Backend& backend, StudioOptions& studio) {
    studio.session.backend = backend.name;
    studio.session.on_device = backend.cuda;
    studio.session.make_rasterizer = backend.make_rasterizer;
    studio.session.make_training = backend.make_training;
    studio.session.run.set_profiling = backend.set_profiling;
    studio.session.run.stage_times = newest_stage_times;
    studio.session.limits = [device = backend.device](bool again) {
        return machine_ceilings(device, config_folder() / "ceilings.json", again);
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
    if (const auto device = cuda_device_info(backend.device)) {
        studio.machine.device = device->name;
        studio.machine.cuda_device = device->index;
    }
    studio.machine.make_interop = make_cuda_texture_interop;
    studio.machine.memory = [device = backend.device] { return device_memory(device); };
    studio.session.free_device_bytes = [device = backend.device] {
        const auto memory = device_memory(device);
        return memory ? memory->free_bytes : 0;
    };
}

/// The GPU that drives the display: pictures reach the screen from it without passing through the
/// host. -1: unknown, or there is no choice.
int display_device(const CommonArguments& common) {
    if (common.headless || common.backend == "cpu") return -1;
    if (const auto devices = cuda_devices(); !devices || devices->size() < 2) return -1;
    const auto window = open_window({.visible = false});  // an OpenGL context is what can be asked
    if (!window) return -1;
    for (const int device : cuda_devices_of_opengl())
        if (cuda_device_info(device)) return device;
    return -1;
}

Result<Backend> backend_for_window(const CommonArguments& common) {
    return choose_backend(common.backend, common.device ? *common.device : display_device(common));
}

Result<void> check_paths(const ViewArguments& a) {
    std::vector<std::string> paths{a.path, a.compare};
    paths.insert(paths.end(), a.traces.begin(), a.traces.end());
    for (const std::string& path : paths)
        if (!path.empty() && !path_exists(path))
            return fail(ErrorKind::not_found, path, "no such file or folder", "check the path");
    return {};
}

/// The first path may also be a trace.
void use_traces(const ViewArguments& a, StudioOptions& studio) {
    studio.traces = a.traces;
    if (studio.contents.kind != PathKind::trace) return;
    studio.traces.insert(studio.traces.begin(), a.path);
    studio.contents = {};
}

void train_in(StudioOptions& studio, const RunOptions& training) {
    studio.train = true;
    RunOptions& run = studio.session.run = training;
    studio.overwrite = std::exchange(run.overwrite, false);  // what is opened first, no later run
    studio.trace = std::exchange(run.trace, fs::path()).string();
}

/// Before the window opens: the folder that was asked for can be this run's.
Result<void> try_folder(const ViewArguments& a) {
    if (!a.training) return {};
    const auto steps = checkpoint_steps(a.path);
    const auto silent = [](LogLevel, const std::string&) {};
    GS_TRY(const RunFolder taken, RunFolder::take(a.output, steps ? a.path : "", steps.value_or(0),
                                                  a.training->overwrite, silent));
    return {};
}

}  // namespace

Result<std::vector<LapseCamera>> lapse_cameras(const std::string& names, const fs::path& run,
                                               const Capture& capture) {
    std::vector<Camera> photos;
    for (const View& view : capture.views) photos.push_back(view.camera);
    const std::string of_capture = find_contents(capture.path).run_folder.string();
    auto saved = read_views(views_file(of_capture, capture.path, config_folder()));
    if (!run.empty())
        for (SavedView& view : read_views(views_file(run.string(), {}, {})))
            saved.push_back(std::move(view));
    return choose_lapse_cameras(names, saved_lapse_cameras(saved, photos), capture);
}

Result<StudioOptions> studio_options(const ViewArguments& a, const CommonArguments& common) {
    GS_TRY(const auto given, given_settings(a.settings, a.loading.background, common));
    GS_TRY(const auto settings, make_settings(given));
    GS_TRY(auto options, capture_options(a.loading, common));
    options.background = background_of(settings);
    GS_TRY(const TrainingSettings of_run, settings_of(a.path, given));
    report_lidar_choices(of_run, given, checkpoint_steps(checkpoint_in(a.path)), a.loading);
    GS_TRY(Backend backend, backend_for_window(common));
    if (a.training) {
        GS_TRY(backend,
               on_all_ranks(std::move(backend), common.device || common.backend == "cuda"));
    }
    StudioOptions studio{.contents = find_contents(a.path),
                         .capture = a.capture,
                         .compare = a.compare,
                         .attach = a.attach,
                         .stacks_hz = a.stacks_hz};
    use_traces(a, studio);
    studio.headless = common.headless;
    studio.script = a.window.script;
    studio.width = a.window.width;
    studio.height = a.window.height;
    studio.scale = a.window.scale;
    studio.session.run.evaluate_every = kStudioEvaluateEvery;
    if (a.training) train_in(studio, *a.training);
    use_backend(backend, studio);
    studio.settings = given;
    studio.backend = common.backend;
    studio.session.settings = settings;
    studio.session.capture = options;
    studio.session.output_dir = a.output;
    studio.session.run.snapshot_budget = [] {
        return std::min(kMostSnapshots, available_host_bytes() / 2);
    };
    return studio;
}

Result<int> open_studio(const ViewArguments& a, const CommonArguments& common) {
    GS_TRY(StudioOptions studio, studio_options(a, common));
    GS_TRY_VOID(check_paths(a));
    if (!a.compare.empty() && a.path.empty())
        return fail(ErrorKind::usage, "", "--compare needs a scene to compare with",
                    "gausscope view A --compare B");
    std::optional<NewFolders> made;
    if (!a.output.empty()) {
        GS_TRY(made, prepare_output_folder(a.output));
        GS_TRY_VOID(try_folder(a));
    }
    catch_interrupts();
    studio.interrupted = interrupted;
    return run_studio(studio, all_commands());
}

}  // namespace gs::cli
