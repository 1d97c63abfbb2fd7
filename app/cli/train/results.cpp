#include "app/cli/train/results.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "profiler/analysis/machine_use.h"

namespace gs::cli {
namespace {

constexpr std::size_t kMostRows = 50;

}  // namespace

void print_scores(const Evaluation& evaluation) {
    if (evaluation.images.empty()) return;
    std::size_t width = 4;
    const auto shown = [](const std::string& name) { return shortened(name, kLongestName); };
    for (const ImageScore& s : evaluation.images) width = std::max(width, shown(s.name).size());
    const auto row = [&](const std::string& name, double psnr, double ssim, double fitted) {
        fmt::print("{:<{}}  {:>8}  {:>6}  {:>9}\n", shown(name), width, format_fixed(psnr, 3),
                   format_fixed(ssim, 4), format_fixed(fitted, 3));
    };
    // Fitted: the right half after a fit of its colours on the left one.
    fmt::print("{:<{}}   PSNR dB    SSIM  fitted dB\n", "photo", width);
    for (std::size_t i = 0; i < std::min(kMostRows, evaluation.images.size()); ++i)
        row(evaluation.images[i].name, evaluation.images[i].psnr, evaluation.images[i].ssim,
            evaluation.images[i].psnr_fitted);
    if (evaluation.images.size() > kMostRows)
        fmt::print("... and {} more\n", evaluation.images.size() - kMostRows);
    row("mean", evaluation.psnr, evaluation.ssim, evaluation.psnr_fitted);
    double counted = 0;
    std::size_t masked = 0;
    for (const ImageScore& s : evaluation.images) {
        counted += s.counted / static_cast<double>(evaluation.images.size());
        masked += s.counted < 1 ? 1 : 0;
    }
    if (masked > 0)
        fmt::print("{} of {} photos are masked: scores are of {:.1f} % of the pixels\n", masked,
                   evaluation.images.size(), 100 * counted);
}

void print_disturbance(const nlohmann::ordered_json& machine) {
    const auto& waited = machine["waited_of_all_time"];
    if (waited.is_number() && waited.get<double>() > kQuiet)
        fmt::print(
            "its threads waited {:.0f} % of the time for a CPU: times would be shorter on an idle "
            "machine\n",
            100 * waited.get<double>());
}

}  // namespace gs::cli
