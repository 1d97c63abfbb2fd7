// `gausscope lab check-log`: checks logs of time to quality and prints their result.
#include <fmt/core.h>

#include <map>

#include "app/cli/common.h"
#include "app/cli/machine.h"
#include "app/cli/report.h"
#include "app/cli/train/lab.h"
#include "app/lab/benchmark_log.h"
#include "app/lab/capture_hashes.h"
#include "base/try.h"
#include "renderer/scene/lost_views.h"
#include "trainer/loss/metrics.h"
#include "trainer/run/run_files.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

Json result_json(const std::string& file, const lab::BenchmarkResult& r) {
    Json out{{"file", file},
             {"scene", r.scene},
             {"seed", r.seed},
             {"status", r.status},
             {"target_psnr", r.target_db},
             {"psnr", number(r.psnr)},
             {"steps", r.steps},
             {"seconds", number(r.seconds)},
             {"commit", r.commit},
             {"backend", r.backend},
             {"processor", r.processor},
             {"host", r.host},
             {"threads", r.threads}};
    for (const auto& [key, hash] : r.hashes) out[key] = hash;
    return out;
}

}  // namespace

Result<Json> about_benchmark(const Trainer& trainer, const std::string& capture_path,
                             const std::string& backend) {
    const Capture& capture = trainer.capture();
    GS_TRY(const lab::CaptureHashes hashes, lab::hashes_of(capture));
    Json settings = settings_json(trainer.settings());
    settings.erase("seed");
    Json names = Json::array();
    if (!capture.view_indices(true).empty())
        for (const std::size_t view : scored_views(capture))
            names.push_back(capture.views[view].name);
    const Json machine = machine_json(-1);
    const Camera& camera = capture.views.front().camera;
    return Json{{"program", machine["program"]},
                {"commit", machine["commit"]},
                {"backend", backend},
                {"host", machine["host"]},
                {"processor", machine["processor"]},
                {"threads", machine["threads"]},
                {"capture", capture_path},
                {"photos", capture.views.size()},
                {"width", camera.width},
                {"height", camera.height},
                {"photos_hash", hashes.photos},
                {"masks_hash", hashes.masks},
                {"masked", hashes.masked},
                {"points_hash", hashes.points},
                {"cameras_hash", hashes.cameras},
                {"trained_on", trainable_views(capture).size()},
                {"held_out", std::move(names)},
                {"seed", static_cast<std::uint64_t>(trainer.settings().seed)},
                {"settings", std::move(settings)}};
}

Result<int> check_benchmark_logs(const std::vector<std::string>& files, const std::string& suite,
                                 const CommonArguments& common) {
    GS_TRY(const lab::Suite known, lab::read_suite(suite));
    Json out{{"command", "lab check-log"}, {"logs", Json::array()}, {"results", Json::array()}};
    std::map<std::string, std::vector<lab::BenchmarkResult>> by_scene;
    bool broken = false;
    for (const std::string& file : files) {
        const auto checked = lab::check_benchmark_log(file, known);
        if (!checked && checked.error().kind != ErrorKind::malformed)
            return tl::unexpected(checked.error());
        broken |= !checked;
        if (checked) {
            by_scene[checked->scene].push_back(*checked);
            out["logs"].push_back(result_json(file, *checked));
        } else {
            fmt::print("refused: {}\n", checked.error().text());
            out["logs"].push_back({{"file", file}, {"refused", checked.error().text()}});
        }
    }
    for (const auto& [scene, results] : by_scene) {
        const auto score = lab::benchmark_score(results);
        Json row{{"scene", scene},
                 {"seconds", score ? number(*score) : Json(nullptr)},
                 {"why", score ? Json(nullptr) : Json(score.error().text())}};
        if (score)
            fmt::print("{}: {:.1f} s to {:g} dB, median of {} seeds\n", scene, *score,
                       results.front().target_db, results.size());
        else
            fmt::print("{}: no result yet: {}\n", scene, score.error().text());
        if (results.front().unchecked) {
            std::string hashes;
            for (const auto& [key, hash] : results.front().hashes)
                hashes += fmt::format("\n  {} = {}", key, hash);
            fmt::print(
                "{}: {} has no hashes of this scene, so its photos were not compared; to "
                "compare others with these, add{}\n",
                scene, suite, hashes);
        }
        out["results"].push_back(std::move(row));
    }
    if (common.json) print_json(out);
    return broken ? kGate : kDone;
}

}  // namespace gs::cli
