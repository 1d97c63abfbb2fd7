#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/results.h"
#include "base/log.h"
#include "renderer/io/splats/splat_io.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;

// A splat file does not say how long it was trained; the metrics that train wrote beside it do.
Json steps_of(const fs::path& scene) {
    const auto text = read_text_file(scene.parent_path() / "metrics.json", 64 << 20);
    if (!text) return nullptr;
    const Json metrics = Json::parse(*text, nullptr, false);
    if (!metrics.is_object() || !metrics.contains("steps") || !metrics.contains("files"))
        return nullptr;
    const Json splats =
        metrics["files"].is_object() ? metrics["files"].value("splats", Json()) : Json();
    const bool same =
        splats.is_string() && fs::path(splats.get<std::string>()).filename() == scene.filename();
    return same ? metrics["steps"] : Json(nullptr);
}

}  // namespace

int run_eval(const Arguments& arguments) {
    const EvalArguments& a = arguments.eval;
    auto loading = a.loading;
    loading.background = a.picture.background;
    const auto options = capture_options(loading, arguments.common);
    if (!options) return report(options.error());
    auto picture = picture_options(a.picture);
    if (!picture) return report(picture.error());
    auto rasterizer = make_rasterizer(arguments.common);
    if (!rasterizer) return report(rasterizer.error());
    catch_interrupts();
    const auto scene = read_splats(a.scene);
    if (!scene) return report(scene.error());
    for (const std::string& note : scene->notes) log_info("{}: {}", a.scene, note);
    picture->antialiased |= scene->model.antialiased;
    const auto capture = load_with_progress(a.capture, *options);
    if (!capture) return report(capture.error());
    auto views = (*capture)->view_indices(true);
    if (a.all_views) {
        views.resize((*capture)->views.size());
        for (std::size_t i = 0; i < views.size(); ++i) views[i] = i;
    }
    if (views.empty())
        return report({ErrorKind::usage,
                       a.capture,
                       "there are no test views",
                       "add --all, --test-every N or --test-views",
                       {},
                       {}});

    ProgressLine progress("evaluate");
    const auto begin = std::chrono::steady_clock::now();
    const Evaluation result =
        evaluate_model(scene->model, **capture, views, **rasterizer, *picture,
                       [&](std::string_view, std::size_t done, std::size_t total) {
                           progress.update(done, total, "");
                           return !interrupted();
                       });
    progress.finish();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    print_scores(result);
    if (arguments.common.json) {
        Json out{{"command", "eval"},
                 {"scene", a.scene},
                 {"capture", a.capture},
                 {"backend", (*rasterizer)->name()},
                 {"steps", steps_of(a.scene)},
                 {"seconds", seconds},
                 {"gaussians", scene->model.count},
                 {"profile", name_of(picture->compatibility)}};
        out["test"] = score_json(result);
        print_json(out);
    }
    if (result.images.size() == views.size()) return kDone;
    fmt::print(stderr, "error: stopped after {} of {} photos\n", result.images.size(),
               views.size());
    return kFailed;
}

}  // namespace gs::cli
