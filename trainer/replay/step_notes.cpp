#include "trainer/replay/step_notes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"

namespace gs {
namespace {

/// L2 over these planes of all visible rows.
double gradient_norm(const StepOutputs& out, int first, int end) {
    const std::size_t visible = out.lists.visible();
    double sum = 0;
    for (std::size_t i = static_cast<std::size_t>(first) * visible;
         i < static_cast<std::size_t>(end) * visible; ++i)
        sum += static_cast<double>(out.gradients[i]) * static_cast<double>(out.gradients[i]);
    return std::sqrt(sum);
}

}  // namespace

std::vector<std::string> step_notes(const CapturedStep& step) {
    const auto& [origin, in, out] = step;
    const auto count = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    const auto norm = [&](int first, int end) {
        return format_number(gradient_norm(out, first, end), 3);
    };
    return {
        fmt::format("step {} of {}, photo {}, {} x {} pixels", in.step + 1, origin.capture,
                    origin.view, in.camera.width, in.camera.height),
        fmt::format("by gausscope {} on {}, {}", origin.program, origin.backend, origin.machine),
        fmt::format("{} of {} Gaussians: the blocks that the view shows; {} visible, {} in tile "
                    "lists, {} with the optimizer's moments",
                    count(in.model.count), count(in.gaussians), count(out.lists.visible()),
                    count(out.lists.row_from_isect.size()), count(in.before.model.count)),
        fmt::format("loss {} (L1 {}, SSIM {}, {} dB)", format_number(out.terms.loss, 5),
                    format_number(out.terms.l1, 5), format_number(out.terms.ssim, 5),
                    format_number(-10 * std::log10(out.terms.mse), 4)),
        fmt::format("norms of the gradients: means {}, sizes {}, rotations {}, opacities {}, base "
                    "colours {}, means on the picture {}",
                    norm(kMeans, kLogScales), norm(kLogScales, kQuats),
                    norm(kQuats, kOpacityLogits), norm(kOpacityLogits, kSh0), norm(kSh0, kShRest),
                    norm(kGradientMeanX, kStepGradientPlanes)),
        "stored next to the run's results: " + origin.agreement,
    };
}

}  // namespace gs
