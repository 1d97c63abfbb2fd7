#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/cli/add_value.h"
#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/train/lidar_sweeps.h"
#include "app/cli/train/results.h"
#include "app/cli/train/worst.h"
#include "app/paths/path_contents.h"
#include "base/choice.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/density/init.h"
#include "trainer/run/run_files.h"

namespace gs::cli {
namespace {

struct EvalArguments {
    std::string scene, capture;
    CaptureArguments loading;
    PictureArguments picture;
    bool all_views = false, fitted = false, lidar = false;
    int worst = 0;
    std::string rules = kScoreRuleNames[0];
};

void add_options(CLI::App& app, EvalArguments& a) {
    app.add_option("SCENE", a.scene, "splat file, checkpoint or a run's folder")->required();
    app.add_option("CAPTURE", a.capture, "capture with the photos [of a run: its own]");
    app.add_flag("--all", a.all_views, "score all photos, not only the test photos");
    app.add_flag("--fitted", a.fitted,
                 "also fit colours on each photo's left half and score its right half [if the run "
                 "learned exposures]");
    add_value(app, "--as NAME", a.rules, CLI::IsMember(kScoreRuleNames),
              "score by another trainer's rules of rounding and SSIM: inria, gsplat, nerfstudio");
    app.add_option("--worst", a.worst, "list the N worst regions, holes, floaters and Gaussians")
        ->check(whole_from(0, 10'000));
    app.add_flag("--lidar", a.lidar,
                 "also score lidar ranges: held-out columns, or all with --all, evaluated exactly "
                 "on the CPU");
    add_loading(app, a.loading);
    add_photo_memory(app, a.loading);
    add_picture(app, a.picture);
    add_exact(app, a.picture);
}

// A splat file does not say how long it was trained; the metrics that train wrote beside it do.
Json steps_of(const fs::path& scene) {
    if (const auto steps = checkpoint_steps(scene)) return *steps;
    const auto text = read_text_file(scene.parent_path() / "metrics.json", 64 << 20);
    if (!text) return nullptr;
    const Json metrics = json_or_discarded<Json>(*text);
    if (!metrics.is_object() || !metrics.contains("steps") || !metrics.contains("files"))
        return nullptr;
    const Json splats =
        metrics["files"].is_object() ? metrics["files"].value("splats", Json()) : Json();
    const bool same =
        splats.is_string() && fs::path(splats.get<std::string>()).filename() == scene.filename();
    return same ? metrics["steps"] : Json(nullptr);
}

/// The photos to score: the test photos, or all.
Result<std::vector<std::size_t>> views_of(const EvalArguments& a, const Capture& capture,
                                          const std::string& path) {
    auto views = capture.view_indices(true);
    if (a.all_views) {
        views.resize(capture.views.size());
        std::iota(views.begin(), views.end(), std::size_t{0});
    }
    if (views.empty())
        return fail(ErrorKind::usage, path, "the capture has no test views",
                    "add --all, --test-every N or --test-views");
    auto scored = without_blind(capture, views);
    const auto blind = blind_lost_views(capture);
    for (const std::size_t v : views)
        if (blind[v] != 0)
            log_warning("{}", about_blind(capture.views[v], "scoring",
                                          std::ranges::binary_search(scored, v)));
    return scored;
}

Result<std::unique_ptr<Rasterizer>> rasterizer_of(const EvalArguments& a,
                                                  const CommonArguments& common) {
    if (a.picture.exact && a.worst > 0)
        return fail(ErrorKind::usage, "", "--worst finds the faults of splatted pictures",
                    "omit --exact");
    GS_TRY(const Backend backend, picture_backend(a.picture, common));
    return backend.make_rasterizer();
}

int exit_code(const Evaluation& result, std::size_t asked) {
    if (result.images.size() == asked) return result.unread.count < asked ? kDone : kFailed;
    fmt::print(stderr, "error: stopped after {} of {} photos\n", result.images.size(), asked);
    return kFailed;
}

Result<int> run(const EvalArguments& a, const CommonArguments& common) {
    const PathContents what = find_contents(a.scene);
    GS_TRY(RunPhotos photos, photos_of(what, a.capture, a.loading, common, a.picture.background));
    GS_TRY(auto picture, picture_options(a.picture));
    picture.background = photos.loading.background;
    GS_TRY(const auto rasterizer, rasterizer_of(a, common));
    catch_interrupts();
    GS_TRY(auto scene, read_any_splats(what));
    for (const std::string& note : scene.notes) log_info("{}: {}", a.scene, note);
    draw_as_trained(scene, a.picture, picture);
    // Without one of its own, as in formats that have no place for it, it is less the capture's.
    if (!is_zero(scene.model.origin)) photos.loading.origin = scene.model.origin;
    photos.loading.late = true;
    GS_TRY(auto capture, load_with_progress(find_capture(photos.capture), photos.loading));
    if (picture.compatibility == Compatibility::tight)
        picture.near_plane = near_plane_for(static_cast<double>(scene_extent_of(*capture)));
    GS_TRY(const auto views, views_of(a, *capture, photos.capture));
    const std::size_t gaussians = scene.model.count;
    const auto [looks, cameras] = take_learned_views(what, *capture);
    const bool through_cameras = looks.mode == AppearanceMode::ppisp;
    if (through_cameras) log_info("scored with the vignettes and tone curves that the run learned");
    ProgressLine progress("evaluate", "evaluating {} photos");
    const auto begin = std::chrono::steady_clock::now();
    const Evaluation result =
        evaluate_model(scene.model, *capture, views, *rasterizer, picture,
                       looks.mode != AppearanceMode::none || a.fitted ? &looks : nullptr,
                       told_by(progress), *choice_named<ScoreRules>(kScoreRuleNames, a.rules));
    progress.finish();
    const double seconds = seconds_since(begin);
    print_scores(result);
    if (result.unread.count > 0) log_warning("{}", result.unread.words());
    Json lidar, worst;
    if (a.lidar) {
        GS_TRY(lidar, evaluate_sweeps(scene.model, *capture, a.all_views));
    }
    if (a.worst > 0 && result.images.size() == views.size())
        worst = tell_worst(std::make_shared<const GaussianModel>(std::move(scene.model)), capture,
                           views, *rasterizer, picture, static_cast<std::size_t>(a.worst));
    if (common.json) {
        Json out{{"command", "eval"},
                 {"scene", a.scene},
                 {"capture", photos.capture},
                 {"backend", rasterizer->name()},
                 {"steps", steps_of(what.model())},
                 {"seconds", seconds},
                 {"gaussians", gaussians},
                 {"profile", name_of(picture.compatibility)},
                 {"as", a.rules},
                 {"through", through_cameras ? "camera" : "nothing"},
                 {"cameras", cameras.empty() ? "given" : "corrected"},
                 {"projection", projection_of(a.picture, picture)}};
        out["test"] = score_json(result);
        if (!worst.is_null()) out["worst"] = worst;
        if (!lidar.is_null()) out["lidar"] = lidar;
        print_json(out);
    }
    return exit_code(result, views.size());
}

}  // namespace

Subcommand eval_command() {
    return subcommand<EvalArguments>(
        "eval", "score a scene against a capture's photos (PSNR and SSIM)",
        "  gausscope eval runs/photos-2026-11-22-1\n"
        "  gausscope eval out/point_cloud.ply photos/\n"
        "  gausscope eval out/point_cloud.ply photos/ --all --worst 20\n"
        "  gausscope eval theirs/ --as inria --profile inria\n"
        "  gausscope eval runs/drive-2026-11-23-1 --lidar\n"
        "  gausscope eval out/point_cloud.ply photos/ --downscale 3 --test-views 0012 --json\n",
        add_options, run);
}

}  // namespace gs::cli
