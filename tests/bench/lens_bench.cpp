// What training through lenses and shutters is worth: a capture's photos as they are, and resampled
// to pinholes; with a rolling shutter also its global twin, where the folder holds images_global/.
//   build/tests/lens_bench CAPTURE DOWNSCALE STEPS [FOLD:]SEED ...
// A line a run: PSNR and SSIM of the held-out photos as they were taken (of a rolling shutter: of
// the twin's), PSNR of each. FOLD: photos FOLD, FOLD + 8, ... are held out instead of the first.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/images/image_io.h"
#include "renderer/raster/rasterizer.h"
#include "tests/bench/trained.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

/// The same moments seen by a global shutter at half the read-out.
Capture twin_of(Capture capture) {
    for (View& view : capture.views) {
        view.camera.shutter = Shutter::global;
        const fs::path file =
            fs::path(capture.path) / "images_global" / fs::path(view.name).filename();
        auto photo = read_image(file);
        if (!photo || photo->width != view.photo.width || photo->channels != 3) {
            fmt::print("{}\n", photo ? file.string() + ": shrunk photos have no twin here"
                                     : photo.error().text());
            std::exit(2);
        }
        view.photo = std::move(*photo);
    }
    return capture;
}

void hold_out(Capture& capture, std::size_t fold) {
    for (std::size_t i = 0; i < capture.views.size(); ++i) capture.views[i].test = i % 8 == fold;
}

void run(const char* name, const Capture& photos, const Capture& truth, double steps, double seed) {
    const Trained trained =
        train(std::make_shared<const Capture>(photos), {{"steps", steps}, {"seed", seed}});
    Trainer& trainer = *trained.trainer;
    const auto rasterizer = make_cpu_rasterizer();
    RenderOptions options = trainer.render_options();
    options.gradients = options.depth = false;
    const Evaluation score =
        evaluate_model(trainer.model(), truth, truth.view_indices(true), *rasterizer, options);
    fmt::print("{:10} seed {} {:6.2f} dB {:.4f} SSIM, {:6} Gaussians, {:5.1f} ms |", name, seed,
               score.psnr, score.ssim, trainer.gaussian_count(), 1000 * trained.seconds / steps);
    for (const ImageScore& image : score.images) fmt::print(" {:.2f}", image.psnr);
    fmt::print("\n");
    std::fflush(stdout);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 5) {
        fmt::print("lens_bench CAPTURE DOWNSCALE STEPS [FOLD:]SEED ...\n");
        return 2;
    }
    const int downscale = std::atoi(argv[2]);
    const double steps = std::atof(argv[3]);
    Capture native = capture_at(argv[1], downscale, false),
            straight = capture_at(argv[1], downscale, true);
    const bool rolling = native.views.front().camera.rolling();
    Capture truth = rolling ? twin_of(native) : native;
    for (int i = 4; i < argc; ++i) {
        const std::string text = argv[i];
        const std::size_t colon = text.find(':');
        if (colon != std::string::npos)
            for (Capture* capture : {&native, &straight, &truth})
                hold_out(*capture, static_cast<std::size_t>(std::atoi(text.c_str())));
        const double seed = std::atof(text.c_str() + (colon == std::string::npos ? 0 : colon + 1));
        if (rolling) run("twin", truth, truth, steps, seed);
        run("native", native, truth, steps, seed);
        run(rolling ? "one pose" : "resampled", straight, truth, steps, seed);
    }
    return 0;
}
