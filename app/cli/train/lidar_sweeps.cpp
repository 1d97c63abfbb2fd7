#include "app/cli/train/lidar_sweeps.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/paths/path_contents.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/lidar/lidar_log.h"
#include "renderer/maps/sweep_colors.h"
#include "renderer/rays/sweep_picture.h"
#include "renderer/rays/sweep_score.h"

namespace gs::cli {
namespace {

/// Calls drawn(sweep, image) for every readable sweep, until interrupted; reports and skips others.
template <class Drawn>
Result<Json> for_sweeps(const GaussianModel& model, const std::string& lidar, const char* doing,
                        Drawn&& drawn) {
    GS_TRY(const LidarLog log, open_lidar_log(lidar, model.origin));
    if (!log.posed) log_warning("{}: no lidar poses found; placed at the world's origin", lidar);
    ProgressLine progress(doing);
    const RasterRules rules = rules_of(Compatibility::tight);
    double milliseconds = 0;
    std::size_t done = 0;
    for (std::size_t i = 0; i < log.sweeps.size() && !interrupted(); ++i) {
        progress.update(i, log.sweeps.size(), "sweeps");
        const auto sweep = log.read(i);
        if (!sweep) {
            log_warning("sweep {} is skipped: {}", log.sweeps[i].name, sweep.error().text());
            continue;
        }
        const DrawnSweep one = draw_sweep(model, *sweep, log.world_from_sensor, rules);
        milliseconds += one.milliseconds;
        ++done;
        GS_TRY_VOID(drawn(*sweep, one.image));
    }
    progress.finish();
    if (done == 0) return fail(ErrorKind::malformed, lidar, "no sweep of the recording is usable");
    return Json{{"recording", lidar},
                {"format", log.format},
                {"sweeps_drawn", done},
                {"ms_mean", milliseconds / static_cast<double>(done)}};
}

}  // namespace

Result<int> render_lidar(const std::string& scene, const std::string& lidar,
                         const std::string& output, bool npy, const CommonArguments& common) {
    GS_TRY_VOID(on_rays(common, "--lidar", "omit --backend and --device"));
    GS_TRY(const auto made, prepare_output_folder(output));
    catch_interrupts();
    GS_TRY(const auto splats, read_any_splats(find_contents(scene)));
    Json images = Json::array();
    const auto draw = [&](const LidarSweep& sweep, const RayImage& drawn) -> Result<void> {
        std::string name = sweep.name + (npy ? "_range.npy" : "_range.png");
        std::replace(name.begin(), name.end(), ' ', '_');
        images.push_back(name);
        const fs::path file = fs::path(output) / name;
        return npy ? write_npy(file, sweep_planes(sweep, &drawn))
                   : write_png(file, sweep_picture(sweep, &drawn,
                                                   sweep_colors(SweepChannel::range, sweep)));
    };
    GS_TRY(Json drawn, for_sweeps(splats.model, lidar, "render", draw));
    drawn["images"] = images;
    fmt::print("{}: {} sweeps, {:.1f} ms each\n", output, images.size(),
               drawn["ms_mean"].get<double>());
    if (common.json)
        print_json({{"command", "render"},
                    {"scene", scene},
                    {"output", output},
                    {"gaussians", splats.model.count},
                    {"lidar", drawn}});
    return kDone;
}

namespace {

Result<Json> evaluate_recording(const GaussianModel& model, const std::string& lidar, bool all) {
    std::vector<SweepScore> scores;
    std::vector<float> differences;
    GS_TRY(Json out,
           for_sweeps(model, lidar, "lidar",
                      [&](const LidarSweep& sweep, const RayImage& drawn) -> Result<void> {
                          scores.push_back(score_sweep(sweep, drawn, all));
                          const auto of = range_differences(sweep, drawn, all);
                          differences.insert(differences.end(), of.begin(), of.end());
                          return {};
                      }));
    scores.push_back(score_sweeps(scores, std::move(differences)));
    const Table table = table_of<SweepScore>(
        std::span(scores), {{"sweep", "sweep", nullptr, &SweepScore::name},
                            {"returns", "returns", fixed<0>, &SweepScore::returns},
                            {"met", "met", fixed<0>, &SweepScore::met},
                            {"median_m", "median m", fixed<3>, &SweepScore::median_m},
                            {"within_10cm", "in 10 cm", format_share, &SweepScore::within_10cm},
                            {"chamfer_m", "Chamfer m", fixed<3>, &SweepScore::chamfer_m}});
    fmt::print("lidar, {}: {:.1f} ms a sweep\n",
               all ? "all columns" : "every fourth column, held out", out["ms_mean"].get<double>());
    say_table(table);
    Json rows = table_json(table);
    out["columns"] = all ? "all" : "held out";
    out["all"] = rows.back();
    rows.erase(rows.size() - 1);
    out["sweeps"] = rows;
    return out;
}

}  // namespace

Result<Json> evaluate_sweeps(const GaussianModel& model, const Capture& capture, bool all) {
    // Without any, opening the capture as one says what was looked for.
    if (capture.lidars.size() < 2)
        return evaluate_recording(
            model, capture.lidars.empty() ? capture.path : capture.lidars.front(), all);
    Json out = Json::array();
    for (const std::string& lidar : capture.lidars) {
        GS_TRY(out.emplace_back(), evaluate_recording(model, lidar, all));
    }
    return out;
}

}  // namespace gs::cli
