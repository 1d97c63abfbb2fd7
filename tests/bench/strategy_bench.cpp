// What strategies and their settings are worth beside each other, on the CPU.
//   build/tests/strategy_bench CAPTURE DOWNSCALE "SETTING=VALUE ..." ["SETTING=VALUE ..." ...]
// A line a run: PSNR and SSIM over the test photos, PSNR over the training photos, which varies
// less from seed to seed, PSNR over the test photos at a quarter of the size, Gaussians, seconds of
// the processor, settings.
#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <string>

#include "tests/bench/trained.h"

namespace gs {
namespace {

/// "strategy=1 steps=2000".
NamedValues values_of(const std::string& run) {
    NamedValues out;
    std::istringstream words(run);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) {
            fmt::print("{}: SETTING=VALUE was expected\n", word);
            std::exit(2);
        }
        out.emplace_back(word.substr(0, equals), std::atof(word.c_str() + equals + 1));
    }
    return out;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void run(const std::shared_ptr<const Capture>& capture, const Capture& smaller,
         const std::string& settings) {
    const double before = processor_seconds();
    const Trained trained = train(capture, values_of(settings));
    const double seconds = processor_seconds() - before;
    const Evaluation score = trained.trainer->evaluate(capture->view_indices(true));
    const Evaluation quarter =
        evaluate_model(trained.trainer->model(), smaller, smaller.view_indices(true),
                       trained.trainer->rasterizer(), trained.trainer->render_options());
    const Evaluation learned = trained.trainer->evaluate(capture->view_indices(false));
    fmt::print(
        "{:.3f} dB  ssim {:.4f}  {:.3f} dB trained  {:.3f} dB at a quarter  {:>8} Gaussians  "
        "{:6.1f} s  {}\n",
        score.psnr, score.ssim, learned.psnr, quarter.psnr, trained.trainer->gaussian_count(),
        seconds, settings);
    std::fflush(stdout);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print("strategy_bench CAPTURE DOWNSCALE \"SETTING=VALUE ...\" ...\n");
        return 2;
    }
    const int downscale = std::atoi(argv[2]);
    const auto capture =
        std::make_shared<const gs::Capture>(gs::capture_at(argv[1], downscale, /*undistort=*/true));
    const gs::Capture smaller = gs::capture_at(argv[1], 4 * downscale, /*undistort=*/true);
    for (int i = 3; i < argc; ++i) gs::run(capture, smaller, argv[i]);
}
