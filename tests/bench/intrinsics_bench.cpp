// What refining intrinsics is worth: the focal lengths and k1 of a capture's cameras are disturbed
// in memory by a known amount, and trained with and without refinement, as are the given ones.
//   build/tests/intrinsics_bench CAPTURE DOWNSCALE STEPS [RUN,RUN.. [SETTING=VALUE ...]]
// RUN: given, given+ (refined), wrong (f 2 % longer, half of k1), wrong+. Of each: PSNR of training
// and held-out photos, how far f and k1 are from the given ones, and how far that moves the picture
// (root mean square over it, px).
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "renderer/scene/camera_lens.h"
#include "tests/bench/trained.h"

namespace gs {
namespace {

struct Wanted {
    const char* name;
    bool disturbed, refined;
};
constexpr Wanted kRuns[] = {{"given", false, false},
                            {"given+", false, true},
                            {"wrong", true, false},
                            {"wrong+", true, true}};

/// Of directions that the true lens has in the picture.
double picture_error(const Camera& found, const Camera& truth) {
    const math::Lens<double> lens = math::make_point_lens(truth);
    const CameraPixels pixels(found);
    double sum = 0, n = 0;
    for (int i = 0; i < 20; ++i)
        for (int k = 0; k < 20; ++k) {
            const Vec2<double> at{(i + 0.5) / 20 * truth.width, (k + 0.5) / 20 * truth.height};
            const auto ray = math::lens_ray(lens, at);
            const Vec2<double> seen = pixels.pixel_of(ray.direction);
            if (!ray.valid || std::isnan(seen.x)) continue;
            sum += (seen.x - at.x) * (seen.x - at.x) + (seen.y - at.y) * (seen.y - at.y);
            ++n;
        }
    return std::sqrt(sum / n);
}

void run(const Capture& given, const Wanted& wanted, double steps, const NamedValues& more) {
    auto capture = std::make_shared<Capture>(given);
    for (View& view : capture->views)
        if (wanted.disturbed) {
            view.camera.fx *= 1.02;
            view.camera.fy *= 1.02;
            view.camera.distortion[0] *= 0.5;
        }
    NamedValues values{{"steps", steps}, {"refine_intrinsics", wanted.refined ? 1.0 : 0.0}};
    values.insert(values.end(), more.begin(), more.end());
    const Trained trained = train(capture, values);
    Trainer& trainer = *trained.trainer;
    const std::vector<std::size_t> training = given.view_indices(false);
    const Camera &truth = given.views[training.front()].camera,
                 found = trainer.camera_of(training.front());
    fmt::print("{:7} training {:.2f} dB, held out {:.2f} dB; f {:+.3f} %, distortion", wanted.name,
               trainer.evaluate(training).psnr, trainer.evaluate(given.view_indices(true)).psnr,
               100 * (found.fx / truth.fx - 1));
    for (std::size_t i = 0; i < 4; ++i)
        fmt::print(" {:+.4f}", found.distortion[i] - truth.distortion[i]);
    fmt::print(", picture {:.3f} px; {:.0f} s\n", picture_error(found, truth), trained.seconds);
    std::fflush(stdout);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 4) {
        fmt::print("intrinsics_bench CAPTURE DOWNSCALE STEPS [RUN,RUN.. [SETTING=VALUE ...]]\n");
        return 2;
    }
    const Capture capture = capture_at(argv[1], std::atoi(argv[2]));
    const std::string which = fmt::format(",{},", argc > 4 ? argv[4] : "given,given+,wrong,wrong+");
    for (const Wanted& wanted : kRuns)
        if (which.find(fmt::format(",{},", wanted.name)) != std::string::npos)
            run(capture, wanted, std::atof(argv[3]), values_from(argc, argv, 5));
    return 0;
}
