// What masks are worth: a square that moves from photo to photo is pasted into every second
// training photo, in memory, and the capture is trained clean, with the square, and with the square
// masked.
//   build/tests/mask_bench CAPTURE DOWNSCALE STEPS [SEEDS [SETTING=VALUE ...]]
// A line a run: PSNR of the held-out photos, which have no square, and the Gaussians; then the mean
// loss against clean photos of the same seed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "renderer/scene/capture.h"
#include "tests/bench/trained.h"

namespace gs {
namespace {

constexpr double kSide = 0.3;  // of the photo's shorter side: a person nearby
enum class Square { none, seen, masked };
constexpr const char* kNames[] = {"clean", "with the square", "masked"};

void paste(View& view, std::size_t number, bool masked) {
    const int width = view.photo.width, height = view.photo.height,
              side = static_cast<int>(kSide * std::min(width, height));
    // Golden ratios: everywhere, never twice.
    const auto place = [&](double ratio, int room) {
        const double at = static_cast<double>(number) * ratio;
        return static_cast<int>((at - std::floor(at)) * (room - side));
    };
    const int x0 = place(0.618034, width), y0 = place(0.414214, height);
    if (masked && view.mask.empty())
        view.mask = Image8{width, height, 1, std::vector<std::uint8_t>(view.photo.pixels(), 255)};
    for (int y = y0; y < y0 + side; ++y)
        for (int x = x0; x < x0 + side; ++x) {
            const std::size_t i = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                  static_cast<std::size_t>(x);
            const bool stripe = (x - x0) * 8 / side % 2 == (y - y0) * 4 / side % 2;
            view.photo.bytes[3 * i] = stripe ? 200 : 40;
            view.photo.bytes[3 * i + 1] = stripe ? 60 : 30;
            view.photo.bytes[3 * i + 2] = stripe ? 50 : 90;
            if (masked) view.mask.bytes[i] = 0;
        }
}

double run(const Capture& clean, Square square, double seed, NamedValues values) {
    auto capture = std::make_shared<Capture>(clean);
    std::size_t trained_on = 0;
    for (View& view : capture->views)
        if (!view.test && ++trained_on % 2 == 0 && square != Square::none)
            paste(view, trained_on, square == Square::masked);
    values.emplace_back("seed", seed);
    const Trained trained = train(capture, values);
    const double psnr = trained.trainer->evaluate(capture->view_indices(true)).psnr;
    fmt::print("seed {} {:16} {:6.2f} dB, {:6} Gaussians\n", seed,
               kNames[static_cast<std::size_t>(square)], psnr, trained.trainer->gaussian_count());
    std::fflush(stdout);
    return psnr;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
    using namespace gs;
    if (argc < 4) {
        fmt::print("mask_bench CAPTURE DOWNSCALE STEPS [SEEDS [SETTING=VALUE ...]]\n");
        return 2;
    }
    const Capture capture = capture_at(argv[1], std::atoi(argv[2]));
    const int seeds = argc > 4 ? std::atoi(argv[4]) : 1;
    NamedValues values = values_from(argc, argv, 5);
    values.emplace_back("steps", std::atof(argv[3]));
    double seen = 0, masked = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        const double clean = run(capture, Square::none, seed, values);
        seen += (run(capture, Square::seen, seed, values) - clean) / seeds;
        masked += (run(capture, Square::masked, seed, values) - clean) / seeds;
    }
    fmt::print("against clean photos: {:+.2f} dB with the square, {:+.2f} dB masked\n", seen,
               masked);
    return 0;
}
