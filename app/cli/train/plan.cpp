// `gausscope plan`: what a training would need, before it begins.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "app/backend/training_plan.h"
#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/train/blocks.h"
#include "app/cli/train/plan.h"
#include "app/cli/train/train_settings.h"
#include "base/format.h"
#include "base/log.h"
#include "base/try.h"
#include "profiler/predict/gpu_device.h"
#include "renderer/device/cuda/device.h"
#include "renderer/doctor/doctor.h"
#include "trainer/checkpoint.h"
#include "trainer/density/init.h"
#include "trainer/run/run_files.h"

namespace gs::cli {
namespace {

struct PlanArguments : TrainArguments {
    std::string gpu;
    double memory_gib = 0, host_memory_gib = 0;
};

void add_options(CLI::App& app, PlanArguments& a) {
    add_train_options(app, a);
    add_value(app, "--gpu NAME", a.gpu,
              "plan for this GPU, named as in `predict --list` [the one that would be used here]")
        ->group("Plan");
    add_given(app, "--memory GIB", a.memory_gib, number_from(0.1, 1e5),
              "the GPU's memory [what is free; of a named GPU, all]")
        ->group("Plan");
    add_given(app, "--host-memory GIB", a.host_memory_gib, number_from(0.1, 1e6),
              "the host's memory [what is free]")
        ->group("Plan");
}

/// Where it would train: the memory there, and the GPU's name; none: on the CPU.
struct TrainingPlace {
    std::string gpu;
    MemoryLimits free;
};
std::uint64_t bytes_of_gib(double gib) { return static_cast<std::uint64_t>(gib * (1ull << 30)); }
Result<TrainingPlace> where_it_trains(const PlanArguments& a, const CommonArguments& common) {
    TrainingPlace out;
    out.free.host =
        a.host_memory_gib > 0 ? bytes_of_gib(a.host_memory_gib) : available_host_bytes();
    if (!a.gpu.empty()) {
        GS_TRY(const std::vector<GpuDevice> named, gpu_devices_named(a.gpu));
        if (named.size() != 1)
            return fail(ErrorKind::usage, "", "--gpu takes one GPU", "gausscope predict --list");
        out.gpu = named[0].name;
        out.free.device = static_cast<std::uint64_t>(named[0].memory_gb * 1e9);
    } else {
        GS_TRY(const Backend backend, backend_of(common));
        if (backend.cuda) {
            out.gpu = backend.name;
            if (const auto memory = cuda_memory(backend.device))
                out.free.device = memory->free_bytes;
        }
    }
    if (a.memory_gib > 0) {
        if (out.gpu.empty()) out.gpu = fmt::format("a GPU with {:g} GiB", a.memory_gib);
        out.free.device = bytes_of_gib(a.memory_gib);
    }
    return out;
}

Table table_of_plan(const TrainingPlan& plan, bool device) {
    std::vector<PlannedMemory> rows = plan.memory;
    rows.push_back({"all", false, plan.at_first(false), plan.at_most(false)});
    if (device) rows.push_back({"all", true, plan.at_first(true), plan.at_most(true)});
    const auto with = [](std::uint64_t n) {
        return format_count(static_cast<double>(n)) + " Gaussians";
    };
    using Row = PlannedMemory;
    return table_of<Row>(
        std::move(rows),
        {{"what", "memory", nullptr, &Row::what},
         {"where", "of the", nullptr, [](auto& r) { return r.device ? "GPU" : "host"; }},
         {"first", "at first, " + with(plan.first), format_bytes, &Row::first},
         {"most", "at most, " + with(plan.most), format_bytes, &Row::most}});
}

struct PlannedBlock {
    std::uint64_t number;
    CaptureForecast capture;
    TrainingPlan plan;
    std::uint64_t host() const { return plan.at_most(false); }
    std::uint64_t device() const { return plan.at_most(true); }
    /// A second run for the seams, which are a run as large as the block.
    bool seams = true;
    std::uint64_t disk() const { return (seams ? 2 : 1) * plan.disk; }
};

/// What is free where results will be; nullopt: nobody knows.
std::optional<std::uint64_t> free_disk(const fs::path& output) {
    std::error_code error;
    fs::path folder = fs::absolute(output.empty() ? fs::path(".") : output);
    while (folder.has_relative_path() && !fs::exists(folder, error)) folder = folder.parent_path();
    const fs::space_info disk = fs::space(folder, error);
    return error ? std::nullopt : std::optional<std::uint64_t>(disk.available);
}

/// Each block is a training of its own; that of the most memory has to fit.
Result<int> plan_blocks(const PlanArguments& a, const TrainingSettings& settings,
                        const TrainingPlace& place, const CommonArguments& common) {
    const bool device = !place.gpu.empty();
    GS_TRY(const BlocksOfCapture parts, blocks_of_capture(a, settings, common));
    std::vector<PlannedBlock> blocks;
    bool fit = true;
    for (const TrainedBlock& trained : parts.runs) {
        RunOptions run;
        run.loading = parts.loading;
        narrow(trained, run);
        GS_TRY(CaptureForecast capture, forecast_capture(find_capture(a.capture), run.loading));
        capture.points = trained.points;
        blocks.push_back(
            {blocks.size() + 1, capture,
             plan_training(capture, settings, device, std::max<std::uint64_t>(1, a.run.keep.last)),
             a.seam_steps.value_or(1) > 0});
        fit = fit && fits(blocks.back().plan, place.free);
    }
    using Row = PlannedBlock;
    std::vector<ColumnOf<Row>> columns{
        {"block", "block", format_count, &Row::number},
        {"photos", "photos", format_count, [](auto& r) { return r.capture.photos; }},
        {"points", "points", format_count, [](auto& r) { return r.capture.points; }},
        {"most_gaussians", "Gaussians", format_count, [](auto& r) { return r.plan.most; }},
        {"host_bytes", "host memory", format_bytes, &Row::host},
        {"disk_bytes", "disk", format_bytes, &Row::disk}};
    std::uint64_t disk = 0;
    for (const PlannedBlock& block : blocks) disk += block.disk();
    const auto disk_free = free_disk(a.output);
    if (device) columns.push_back({"device_bytes", "GPU memory", format_bytes, &Row::device});
    const Table table = table_of<Row>(std::move(blocks), std::move(columns));
    const Json out = {{"command", "plan"},
                      {"capture", a.capture},
                      {"gpu", device ? Json(place.gpu) : Json(nullptr)},
                      {"blocks", table_json(table)},
                      {"host_free_bytes", place.free.host},
                      {"device_free_bytes", place.free.device},
                      {"disk_bytes", disk},
                      {"disk_free_bytes", disk_free ? Json(*disk_free) : Json(nullptr)},
                      {"fits", fit}};
    fmt::print("{} in {} blocks, on {}; at most:\n\n", a.capture, a.blocks,
               device ? place.gpu : "the CPU");
    say_table(table);
    say("\nall on one disk: {disk_bytes:bytes} of {disk_free_bytes:bytes}", out);
    fmt::print("{}\n", fit ? "each fits"
                           : "not all fit: use smaller --max-gaussians, which "
                             "counts for each block");
    if (common.json) print_json(out);
    return fit ? kDone : kGate;
}

/// What is planned: a capture from its points, or a run from its checkpoint.
struct Planned {
    RunPhotos photos;
    TrainingSettings settings;
    std::string run;  ///< empty: it begins with the capture
    TrainingStart start{};
};

/// The run that is named, as CAPTURE or by --resume; without a path: none is.
PathContents run_of(const PlanArguments& a) {
    const bool automatic = a.resume == "auto", as_capture = a.resume.empty();
    PathContents out = find_contents(automatic ? a.output : as_capture ? a.capture : a.resume);
    const bool is_run = out.run || out.kind == PathKind::checkpoint;
    if (as_capture ? is_run && out.kind != PathKind::capture : is_run || !automatic) return out;
    return {};
}

Result<Planned> planned_of(const PlanArguments& a, const CommonArguments& common) {
    GS_TRY(const NamedValues given, given_settings(a.settings, a.loading.background, common));
    const PathContents run = run_of(a);
    if (run.path.empty()) {
        GS_TRY(const TrainingSettings settings, make_settings(given));
        GS_TRY(CaptureOptions loading, capture_options(a.loading, common));
        return Planned{{a.capture, std::move(loading)}, settings, {}};
    }
    const auto head = read_checkpoint_head(run.model());
    if (!head)
        return fail(ErrorKind::usage, run.path, "has no checkpoint to resume from",
                    "gausscope train CAPTURE --from SPLATS trains splats further");
    GS_TRY(TrainingSettings settings, settings_of(run.model(), given));
    const std::string photos = a.resume.empty() ? std::string() : a.capture;
    GS_TRY(RunPhotos from, photos_of(run, photos, a.loading, common, a.loading.background));
    return Planned{std::move(from), settings, run.path, {head->gaussians, head->steps}};
}

/// The run's settings that are not the defaults, and how far it is. `out` gets it all.
void say_run(const Planned& planned, Json& out) {
    const TrainingSettings& settings = planned.settings;
    out["run"] = planned.run;
    out["steps_done"] = planned.start.steps;
    out["gaussians"] = planned.start.gaussians;
    out["settings"] = settings_json(settings);
    say("{run}: step {steps_done} of {steps}, {gaussians} Gaussians", out);
    NamedValues named = changed_settings(settings);
    named.emplace(named.begin(), "strategy", static_cast<double>(settings.strategy));
    std::vector<std::string> words;
    for (const auto& [name, value] : named)
        words.push_back(fmt::format("{} {}", name, find_setting(name)->text(value)));
    fmt::print("settings: {}\n", fmt::join(words, ", "));
    if (static_cast<double>(planned.start.steps) >= settings.steps)
        fmt::print("all steps are done: more --steps continue it\n");
}

Result<int> plan_run(const PlanArguments& a, const Planned& planned, const TrainingPlace& place,
                     const CommonArguments& common) {
    const TrainingSettings& settings = planned.settings;
    Json out{{"command", "plan"}, {"steps", static_cast<std::uint64_t>(settings.steps)}};
    if (!planned.run.empty()) say_run(planned, out);
    const std::string& photos = planned.photos.capture;
    std::error_code ignored;
    if (!planned.run.empty() && !fs::exists(photos, ignored))
        return fail(ErrorKind::not_found, photos, "the photos of this run no longer exist",
                    fmt::format("name them: gausscope plan CAPTURE --resume {}", planned.run));
    GS_TRY(const CaptureForecast capture,
           forecast_capture(find_capture(photos), planned.photos.loading));
    const bool device = !place.gpu.empty();
    const TrainingPlan plan = plan_training(
        capture, settings, device, std::max<std::uint64_t>(1, a.run.keep.last), planned.start);
    const bool fit = fits(plan, place.free);
    const std::uint64_t most =
        fit ? plan.most : most_that_fit(capture, settings, device, place.free, planned.start);
    const auto disk_free = free_disk(a.output.empty() ? planned.run : a.output);
    const Table table = table_of_plan(plan, device);
    out.update(Json{{"capture", photos},
                    {"photos", capture.photos},
                    {"width", capture.width},
                    {"height", capture.height},
                    {"streamed_photo_bytes", capture.streamed_bytes},
                    {"gpu", device ? Json(place.gpu) : Json(nullptr)},
                    {"first_gaussians", plan.first},
                    {"most_gaussians", plan.most},
                    {"memory", table_json(table)},
                    {"host_bytes", plan.at_most(false)},
                    {"host_free_bytes", place.free.host},
                    {"device_bytes", plan.at_most(true)},
                    {"device_free_bytes", place.free.device},
                    {"disk_bytes", plan.disk},
                    {"disk_free_bytes", disk_free ? Json(*disk_free) : Json(nullptr)},
                    {"fits", fit},
                    {"most_that_fit", most}});
    say("{capture}: {photos} photos of up to {width} x {height}, {steps} steps", out);
    fmt::print("on {}\n\n", device ? place.gpu : "the CPU");
    say_table(table);
    say("\nhost: {host_bytes:bytes} of {host_free_bytes:bytes}; disk: {disk_bytes:bytes} of "
        "{disk_free_bytes:bytes}",
        out);
    if (device) say("GPU: {device_bytes:bytes} of {device_free_bytes:bytes}", out);
    if (capture.streamed_bytes > 0)
        say("{streamed_photo_bytes:bytes} of photos are read again when their turn comes", out);
    if (fit)
        fmt::print("it fits\n");
    else if (most > 0)
        say("it does not fit: --max-gaussians {most_that_fit} does", out);
    else
        fmt::print(
            "it does not fit from the first step on: --downscale 2 needs a quarter for "
            "photos, --photo-memory MIB limits them\n");
    if (common.json) print_json(out);
    return fit ? kDone : kGate;
}

Result<int> run(const PlanArguments& a, const CommonArguments& common) {
    const bool automatic = a.resume == "auto";
    if ((a.capture.empty() && a.resume.empty()) || !a.from.empty() ||
        (automatic && (a.capture.empty() || a.output.empty())))
        return fail(ErrorKind::usage, "",
                    "it plans trainings that begin with a capture's points or resume a run",
                    "gausscope plan CAPTURE or RUN, with the options of train");
    GS_TRY(const Planned planned, planned_of(a, common));
    GS_TRY(const TrainingPlace place, where_it_trains(a, common));
    if (a.blocks == 0) return plan_run(a, planned, place, common);
    if (planned.run.empty()) return plan_blocks(a, planned.settings, place, common);
    return fail(ErrorKind::usage, "", "--blocks cuts a capture; this is a run", "omit --blocks");
}

}  // namespace

Result<void> say_plan(const CaptureForecast& capture, const RunOptions& run,
                      const TrainingSettings& settings, bool on_device) {
    TrainingStart start;
    if (const auto head = read_checkpoint_head(run.resumed_from))
        start = {head->gaussians, head->steps};
    const TrainingPlan plan = plan_training(capture, settings, on_device, run.keep.last, start);
    const auto bytes = [](std::uint64_t n) { return format_bytes(static_cast<double>(n)); };
    const std::uint64_t needed = plan.at_first(false), host = total_host_bytes();
    if (host > 0 && needed > host)
        return fail(
            ErrorKind::usage, run.capture,
            fmt::format("the first step needs {} of memory, and this machine has {}", bytes(needed),
                        bytes(host)),
            "gausscope plan CAPTURE says what for; --downscale 2 needs a quarter for photos, "
            "--photo-memory MIB limits them");
    log_info("needs up to {}{} with {} Gaussians, {} on disk (gausscope plan says what for)",
             bytes(plan.at_most(on_device)), on_device ? " on the GPU" : "",
             format_count(static_cast<double>(plan.most)), bytes(plan.disk));
    return {};
}

Subcommand plan_command() {
    return subcommand<PlanArguments>(
        "plan", "say what a training would need of memory and disk",
        "  gausscope plan photos/                                with this machine's free memory\n"
        "  gausscope plan photos/ --gpu rtx4090 --max-gaussians 8e6\n"
        "  gausscope plan photos/ --config fast --memory 8       a GPU with 8 GiB\n"
        "  gausscope plan photos/ --blocks 4                     each of four blocks\n"
        "  gausscope plan runs/photos-2026-11-22-1               what continuing a run needs\n"
        "Estimates, with the options of `gausscope train`. Ends with 3 where it does not fit.\n",
        add_options, run);
}

}  // namespace gs::cli
