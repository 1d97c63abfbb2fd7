// What training through lenses and shutters is worth: a capture's photos as they are, and resampled
// to pinholes; with a rolling shutter also its global twin, where the folder holds images_global/.
//   build/tests/lens_bench CAPTURE DOWNSCALE STEPS [SETTING=VALUE ...] [FOLD:]SEED ...
// A line a run: PSNR and SSIM of the held-out photos as they were taken (of a rolling shutter: of
// the twin's), PSNR of each. FOLD: photos FOLD, FOLD + 8, ... are held out instead of the first,
// and a shutter's run beside its twin is all there is; the last line then is their difference by
// photo.
#include <fmt/format.h>

#include <cmath>
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
Capture twin_of(Capture capture, int downscale) {
    for (View& view : capture.views) {
        view.camera.shutter = Shutter::global;
        const fs::path file =
            fs::path(capture.path) / "images_global" / fs::path(view.name).filename();
        auto photo = read_image(file);
        if (photo) *photo = shrink(*photo, downscale);
        if (!photo || photo->width != view.photo.width || photo->channels != 3) {
            fmt::print("{}\n", photo ? file.string() + ": not of the size of its rolling photo"
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

/// PSNR of each held-out photo.
std::vector<double> run(const char* name, const Capture& photos, const Capture& truth,
                        const NamedValues& values) {
    const Trained trained = train(std::make_shared<const Capture>(photos), values);
    Trainer& trainer = *trained.trainer;
    const auto rasterizer = make_cpu_rasterizer();
    RenderOptions options = trainer.render_options();
    options.gradients = options.depth = false;
    const Evaluation score =
        evaluate_model(trainer.model(), truth, truth.view_indices(true), *rasterizer, options);
    fmt::print("{:10} seed {:.0f} {:6.2f} dB {:.4f} SSIM, {:6} Gaussians, {:5.1f} ms |", name,
               values.back().second, score.psnr, score.ssim, trainer.gaussian_count(),
               1000 * trained.seconds / static_cast<double>(trainer.steps_done()));
    std::vector<double> out;
    for (const ImageScore& image : score.images) {
        fmt::print(" {:.2f}", image.psnr);
        out.push_back(image.psnr);
    }
    fmt::print("\n");
    std::fflush(stdout);
    return out;
}

/// Mean and its standard error, as if photos had nothing to do with each other.
void say_difference(const std::vector<double>& by_photo) {
    if (by_photo.size() < 2) return;
    const auto n = static_cast<double>(by_photo.size());
    double sum = 0, squares = 0;
    for (const double d : by_photo) sum += d;
    for (const double d : by_photo) squares += (d - sum / n) * (d - sum / n);
    fmt::print("native - twin: {:+.3f} dB, standard error {:.3f}, {} photos\n", sum / n,
               std::sqrt(squares / (n - 1) / n), by_photo.size());
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 5) {
        fmt::print("lens_bench CAPTURE DOWNSCALE STEPS [SETTING=VALUE ...] [FOLD:]SEED ...\n");
        return 2;
    }
    const int downscale = std::atoi(argv[2]);
    Capture native = capture_at(argv[1], downscale, false),
            straight = capture_at(argv[1], downscale, true);
    const bool rolling = native.views.front().camera.rolling();
    Capture truth = rolling ? twin_of(native, downscale) : native;
    NamedValues values{{"steps", std::atof(argv[3])}};
    int first = 4;
    for (; first < argc && std::string(argv[first]).find('=') != std::string::npos; ++first) {
        const NamedValues one = values_from(first + 1, argv, first);
        values.insert(values.end(), one.begin(), one.end());
    }
    std::vector<double> differences;
    for (int i = first; i < argc; ++i) {
        const std::string text = argv[i];
        const std::size_t colon = text.find(':');
        const bool folds = colon != std::string::npos;
        if (folds)
            for (Capture* capture : {&native, &straight, &truth})
                hold_out(*capture, static_cast<std::size_t>(std::atoi(text.c_str())));
        NamedValues with = values;
        with.emplace_back("seed", std::atof(text.c_str() + (folds ? colon + 1 : 0)));
        std::vector<double> twin;
        if (rolling) twin = run("twin", truth, truth, with);
        const std::vector<double> own = run("native", native, truth, with);
        for (std::size_t k = 0; k < twin.size(); ++k) differences.push_back(own[k] - twin[k]);
        if (!rolling || !folds) run(rolling ? "one pose" : "resampled", straight, truth, with);
    }
    say_difference(differences);
    return 0;
}
