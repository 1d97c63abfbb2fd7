// What correcting poses is worth: a capture's training poses are disturbed in memory by a known
// amount, and trained with and without correction, as are the given ones.
//   build/tests/pose_bench CAPTURE DOWNSCALE STEPS [all | RUN,RUN.. [DEGREES SHARE [SEED
//   [SETTING=VALUE ...]]]]
// RUN: given, given+ (corrected, too), wrong, wrong+. Of each: PSNR of the training photos, of the
// held-out photos from where the capture has them, and from where the model has them
// (trainer/run/pose_alignment.h); how wrong the poses of the training photos are before and after
// (root mean squares after the best similarity), also beside what given+ found: the given poses of
// a real capture are not the truth.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "renderer/io/captures/capture_io.h"
#include "renderer/raster/rasterizer.h"
#include "tests/bench/trained.h"
#include "tests/support/disturbed_poses.h"
#include "trainer/density/init.h"
#include "trainer/run/pose_alignment.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

struct Wanted {
    const char* name;
    bool noise, corrects;
};
constexpr Wanted kRuns[] = {{"given", false, false},
                            {"given+", false, true},
                            {"wrong", true, false},
                            {"wrong+", true, true}};

std::vector<Camera> cameras_of(const Capture& capture, const std::vector<std::size_t>& views) {
    std::vector<Camera> out;
    for (const std::size_t v : views) out.push_back(capture.views[v].camera);
    return out;
}

/// The held-out photos from where the model has them.
double aligned_psnr(Trainer& trainer) {
    return evaluate_aligned(trainer.model(), trainer.capture(),
                            trainer.capture().view_indices(true), trainer.rasterizer(),
                            trainer.render_options())
        .psnr;
}

/// What it found. `own`: what was found from the given poses, where that is known.
std::vector<Camera> run(const Capture& given, const Wanted& wanted, const PoseNoise& noise,
                        double steps, const NamedValues& more, const std::vector<Camera>& own) {
    auto capture = std::make_shared<Capture>(given);
    const double extent = static_cast<double>(scene_extent_of(given));
    const std::vector<std::size_t> training = given.view_indices(false);
    const std::vector<Camera> truth = cameras_of(given, training);
    if (wanted.noise) disturb_poses(*capture, noise, extent);
    NamedValues values{{"steps", steps}, {"refine_poses", wanted.corrects ? 1.0 : 0.0}};
    values.insert(values.end(), more.begin(), more.end());
    const Trained trained = train(capture, values);
    Trainer& trainer = *trained.trainer;
    std::vector<Camera> found;
    for (const std::size_t v : training) found.push_back(trainer.camera_of(v));
    const auto tell = [&](const char* what, const std::vector<Camera>& from,
                          const std::vector<Camera>& to) {
        const PoseErrors e = pose_errors(from, to);
        fmt::print("  {} {:.4f} deg {:.4f} %", what, e.degrees, 100 * e.move / extent);
    };
    fmt::print(
        "{:7} training {:.2f} dB, held out {:.2f} dB, aligned {:.2f} dB, {} Gaussians, {:.0f} s\n",
        wanted.name, trainer.evaluate(training).psnr,
        trainer.evaluate(given.view_indices(true)).psnr, aligned_psnr(trainer),
        trainer.gaussian_count(), trained.seconds);
    tell("errors before", cameras_of(*capture, training), truth);
    tell("after", found, truth);
    if (wanted.noise && !own.empty()) {
        tell("; to what is found from the given poses: before", cameras_of(*capture, training),
             own);
        tell("after", found, own);
    }
    fmt::print("\n");
    std::fflush(stdout);
    return found;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 4) {
        fmt::print(
            "pose_bench CAPTURE DOWNSCALE STEPS [all | RUN,RUN.. [DEGREES SHARE [SEED "
            "[SETTING=VALUE ...]]]]\n");
        return 2;
    }
    const Capture capture = capture_at(argv[1], std::atoi(argv[2]));
    const std::string which = "," + std::string(argc > 4 ? argv[4] : "all") + ",";
    PoseNoise noise;
    if (argc > 6) noise.degrees = std::atof(argv[5]), noise.share = std::atof(argv[6]);
    if (argc > 7) noise.seed = static_cast<std::uint64_t>(std::atoi(argv[7]));
    const NamedValues more = values_from(argc, argv, 8);
    std::vector<Camera> own;
    for (const Wanted& wanted : kRuns) {
        if (which != ",all," && which.find(fmt::format(",{},", wanted.name)) == std::string::npos)
            continue;
        auto found = run(capture, wanted, noise, std::atof(argv[3]), more, own);
        if (wanted.corrects && !wanted.noise) own = std::move(found);
    }
    return 0;
}
