#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "app/backend/beam_work.h"
#include "app/backend/counted_work.h"
#include "app/backend/frame_work.h"
#include "app/backend/measured_times.h"
#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/check/predict_report.h"
#include "app/cli/check/verify.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "base/json_write.h"
#include "base/try.h"
#include "profiler/predict/validation.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/camera_lens.h"
#include "trainer/lidar/lidar_beams.h"

namespace gs::cli {
namespace {

struct PredictArguments {
    std::string scene, gpus = "h200,rtx4090", capture, cameras, model, output;
    PictureArguments picture;  // how it is projected
    CaptureArguments loading;
    int views = 0, width = 0, height = 0, sh_degree = 3, batch = 1;
    double gaussians = 0, lidar_weight = 0, lidar_beams = TrainingSettings().lidar_beams,
           lidar_every = TrainingSettings().lidar_every;
    bool list = false, validation = false, poses = false, intrinsics = false, look = false,
         sky = false;
};

void add_options(CLI::App& app, PredictArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or run");
    add_value(app, "--gpu A,B", a.gpus,
              "GPUs to predict for, named as in --list, or all [h200,rtx4090]");
    app.add_flag("--list", a.list, "list the known GPUs and the source of each figure");
    app.add_flag("--validation", a.validation,
                 "compare predictions with published times and our own");
    add_value(app, "--capture DIR", a.capture, "count work from this capture's cameras");
    add_value(app, "--cameras FILE", a.cameras, "count work from the cameras in this JSON file");
    add_given(app, "--views N", a.views, whole_from(1, 10000),
              "number of cameras to use, evenly spread [8]");
    add_given(app, "--width PIXELS", a.width, picture_side(), "picture width");
    add_given(app, "--height PIXELS", a.height, picture_side(), "picture height");
    add_value(app, "--sh-degree N", a.sh_degree, whole_from(0, 3),
              "ignore spherical harmonics above this degree");
    add_given(app, "--gaussians N", a.gaussians, whole_from(1),
              "predict for N Gaussians: thinned to fewer, extrapolated to more");
    add_value(app, "--batch N", a.batch, whole_from(1, 1024), "views per frame or step [1]");
    add_value(app, "--projection NAME", a.picture.projection, CLI::IsMember({"auto", "ewa", "ut"}),
              "project by the lens's Jacobian (ewa), by seven points (ut), or as trained [auto]");
    app.add_flag("--refine-poses", a.poses, "predict training that corrects photo poses");
    app.add_flag("--refine-intrinsics", a.intrinsics,
                 "predict training that corrects the cameras' lenses");
    app.add_flag("--appearance", a.look, "predict training that learns exposure and colour");
    app.add_flag("--sky", a.sky,
                 "predict frames and training with a sky, as of scenes that have one");
    add_value(app, "--lidar-weight W", a.lidar_weight, number_from(0, 100),
              "predict training on --capture's lidar, counting its beams; 0 = photos only [0]");
    add_value(app, "--lidar-beams N", a.lidar_beams, whole_from(64, 10000000),
              fmt::format("approximate number of lidar rays per step [{}]", a.lidar_beams).c_str());
    add_value(app, "--lidar-every K", a.lidar_every, whole_from(1, 1000),
              "predict the mean of K steps, of which one has lidar rays [1]");
    add_value(app, "--model FILE", a.model, "counts from a file that -o wrote, instead of a scene");
    add_value(app, "-o,--output FILE", a.output,
              "write the counts to this file, for --model on another machine");
    add_loading(app, a.loading);
}

/// `capture`: where they are of one.
Result<std::vector<NamedCamera>> cameras_for(const PredictArguments& a,
                                             const CommonArguments& common,
                                             const GaussianModel& model,
                                             std::shared_ptr<const Capture>& capture) {
    if (!a.cameras.empty()) return read_cameras(a.cameras, model.origin);
    if (!a.capture.empty()) {
        GS_TRY(auto photos, photos_of(find_contents(a.scene), a.capture, a.loading, common));
        photos.loading.origin = model.origin;
        GS_TRY(capture, load_with_progress(find_capture(photos.capture), photos.loading));
        return cameras_of(*capture, false);
    }
    const int width = a.width > 0 ? a.width : 1920,
              height = a.height > 0 ? a.height : width * 9 / 16;
    return orbit_cameras(place_of(model), 16, width, height);
}

/// Gives each work the beams of a step.
Result<void> count_beams(const PredictArguments& a, const Capture* capture,
                         const GaussianModel& model, Compatibility compatibility,
                         std::vector<PredictedWork>& works) {
    LidarBeams beams;
    if (capture != nullptr) beams = LidarBeams(capture->lidars, capture->origin);
    if (beams.empty() || !beams.open())
        return fail(ErrorKind::usage, a.capture, "--lidar-weight needs the sweeps of a lidar",
                    "name a capture that has some with --capture");
    const TrainingSettings settings{.lidar_beams = a.lidar_beams};
    for (std::size_t step = 0; step < works.size(); ++step)
        if (const auto plan = beams.plan(settings, step))
            works[step].beams = beam_work(model, *plan, rules_of(compatibility));
    for (PredictedWork& work : works) work.beams.every = a.lidar_every;
    return {};
}

/// Draws and counts: the mean of the views.
Result<PredictedWork> counted(const PredictArguments& a, const CommonArguments& common,
                              PredictSubject& subject) {
    GS_TRY(const Backend backend, backend_of(common));
    GS_TRY(const auto rasterizer, backend.make_rasterizer());
    GS_TRY(auto scene, read_any_splats(find_contents(a.scene)));
    GS_TRY(RenderOptions options, picture_options(a.picture));
    draw_as_trained(scene, a.picture, options);
    GaussianModel model = std::move(scene.model);
    if (model.count == 0) return fail(ErrorKind::usage, a.scene, "the scene has no Gaussians");
    const auto wanted = static_cast<std::size_t>(a.gaussians);
    if (wanted > 0 && wanted < model.count) model = thinned(model, wanted);
    std::shared_ptr<const Capture> capture;
    GS_TRY(const auto all, cameras_for(a, common, model, capture));
    const auto cameras = spread(all, static_cast<std::size_t>(a.views > 0 ? a.views : 8));
    if (cameras.empty()) return fail(ErrorKind::usage, a.cameras, "contains no cameras");
    options.sh_degree = a.sh_degree;
    options.counters = options.warps = true;
    options.depth = options.gradients = false;
    const auto source = rasterizer->source_of(model);
    const auto state = rasterizer->make_state();
    RenderResult frame;
    std::vector<PredictedWork> works;
    ProgressLine progress("count");
    for (const NamedCamera& camera : cameras) {
        if (interrupted())
            return fail(ErrorKind::cancelled, "", "stopped before all views were counted", "");
        const Camera drawn = resized(camera.camera, a.width, a.height);
        rasterizer->forward(*source, drawn, options, *state, frame);
        works.push_back(
            predicted_work(frame, std::min(a.sh_degree, model.sh_degree), backend.cuda));
        works.back().lens = !draws_as_pinhole(drawn);
        works.back().unscented = options.projection == ProjectionMethod::ut;
        works.back().sky = !model.sky.empty();
        subject.sizes_differ =
            subject.sizes_differ ||
            (works.size() > 1 && (drawn.width != subject.width || drawn.height != subject.height));
        subject.width = std::max(subject.width, drawn.width);
        subject.height = std::max(subject.height, drawn.height);
        progress.update(works.size(), cameras.size(), camera.name);
    }
    progress.finish();
    if (a.lidar_weight > 0)
        GS_TRY_VOID(count_beams(a, capture.get(), model, options.compatibility, works));
    subject.views = works.size();
    subject.backend = rasterizer->name();
    return mean_work(works);
}

Result<PredictedWork> work_to_predict(const PredictArguments& a, const CommonArguments& common,
                                      PredictSubject& subject) {
    PredictedWork work;
    if (a.model.empty()) {
        GS_TRY(work, counted(a, common, subject));
    } else {
        constexpr std::uint64_t kMostBytes = 256u << 20;
        GS_TRY(const std::string text, read_text_file(a.model, kMostBytes));
        GS_TRY(work, work_of_json(text, a.model));
    }
    if (a.picture.projection != "auto") work.unscented = a.picture.projection == "ut";
    work.poses = a.poses;
    work.intrinsics = a.intrinsics;
    work.look = a.look;
    work.sky = work.sky || a.sky;
    WhatIf change{.batch = a.batch};
    if (a.gaussians > work.frame.gaussians || !a.model.empty()) change.gaussians = a.gaussians;
    if (!a.model.empty()) {
        change.width = a.width;
        change.height = a.height;
        if (a.sh_degree < work.frame.sh_degree) change.sh_degree = a.sh_degree;
    }
    return what_if(std::move(work), change);
}

Result<int> run(const PredictArguments& a, const CommonArguments& common) {
    catch_interrupts();
    if (a.list || a.validation) {
        const Json out =
            a.list ? tell_devices(gpu_devices())
                   : tell_validation(validate_model(published_times(), gpu_devices()),
                                     compare_measured(measured_times(), KernelCosts::built_in(),
                                                      gpu_devices(), published_fit()));
        if (common.json) print_json(out);
        return kDone;
    }
    if (a.scene.empty() == a.model.empty())
        return fail(ErrorKind::usage, "", "name a scene, or counts with --model",
                    "--list names the GPUs");
    if (!a.capture.empty() && !a.cameras.empty())
        return fail(ErrorKind::usage, a.cameras,
                    "cameras come from --capture or from --cameras, not from both");
    if (!a.model.empty() && (!a.capture.empty() || !a.cameras.empty() || a.views > 0))
        return fail(ErrorKind::usage, a.model, "counts are of the views they were made from",
                    "--capture, --cameras and --views go with a scene");
    if (!(a.lidar_weight > 0) && a.lidar_every > 1)
        return fail(ErrorKind::usage, "", "--lidar-every needs beams", "add --lidar-weight");
    if (!a.model.empty() && a.lidar_weight > 0)
        return fail(ErrorKind::usage, a.model, "--lidar-weight counts beams of a scene",
                    "counts made with it have them already");
    if (!a.model.empty() && (a.width > 0) != (a.height > 0))
        return fail(ErrorKind::usage, a.model, "scaling counts needs a whole size",
                    "--width and --height");
    GS_TRY(const auto gpus, gpu_devices_named(a.gpus));
    if (!a.output.empty()) GS_TRY_VOID(prepare_output_file(a.output));
    PredictSubject subject{.scene = a.scene.empty() ? a.model : a.scene};
    GS_TRY(const PredictedWork work, work_to_predict(a, common, subject));
    if (!a.output.empty())
        GS_TRY_VOID(write_text_file(a.output, json_text(json_of_work(work)) + "\n"));
    const Json out = predictions_json(subject, work, gpus);
    say_predictions(out);
    if (common.json) print_json(out);
    return kDone;
}

}  // namespace

Subcommand predict_command() {
    return subcommand<PredictArguments>(
        "predict", "predict a scene's frame and step times on other GPUs",
        "  gausscope predict scene.ply --gpu h200,rtx4090\n"
        "  gausscope predict scene.ply --capture photos/ --gpu all --json\n"
        "  gausscope predict scene.ply --width 3840 --sh-degree 1 --gaussians 500000\n"
        "  gausscope predict --list        GPUs and the source of every figure\n"
        "  gausscope predict --validation  published times beside what would have been said\n",
        add_options, run);
}

}  // namespace gs::cli
