#include "trainer/run/run_alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trainer/settings/schedule.h"
#include "trainer/settings/strategy.h"

namespace gs {
namespace {

constexpr std::size_t kShortestWindow = 50, kMostWindows = 10, kFewestWindows = 4;
// Beyond the scatter of the windows, a rise of less than a tenth is not worth a word.
constexpr double kSigmas = 3, kLeastRise = 1.1, kLeastFall = 0.5 /* dB */;

}  // namespace

RunAlarms::RunAlarms(std::size_t views) : window_(std::max(views, kShortestWindow)) {}

void RunAlarms::forget() {
    const std::size_t window = window_;
    *this = RunAlarms(window);
}

std::optional<std::string> RunAlarms::look_at(const StepReport& report,
                                              const TrainingSettings& settings) {
    if (opacity_reset_due(settings, report.step) || report.round.reduced > 0) {
        quiet_until_ = report.step + 3 * window_;
        best_psnr_ = kNotMeasured;
    }
    const std::size_t most = peak_gaussians(settings);
    const bool full = report.gaussians >= most;
    if (full && !std::exchange(reported_full_, true))
        return fmt::format("the limit of {} Gaussians is reached (max_gaussians{})", most,
                           static_cast<double>(most) > settings.max_gaussians ? " x overgrow" : "");
    reported_full_ = full;
    if (report.measured_step == 0) return std::nullopt;
    if (!std::isfinite(report.loss)) {
        if (std::exchange(reported_nan_, true)) return std::nullopt;
        return std::string("the loss is not a number");
    }
    reported_nan_ = false;
    // Losses of photos of another size cannot be compared.
    if (std::exchange(divisor_, report.measured_divisor) != report.measured_divisor) {
        means_.clear();
        sum_ = 0;
        summed_ = 0;
        reported_worse_ = false;
    }
    return look_at_loss(report.loss, report.step);
}

/// Photos differ, so means over a round of them are compared: with the mean and the scatter of
/// the rounds before.
std::optional<std::string> RunAlarms::look_at_loss(double loss, std::uint64_t step) {
    sum_ += loss;
    if (++summed_ < window_) return std::nullopt;
    const double mean = sum_ / static_cast<double>(summed_);
    sum_ = 0;
    summed_ = 0;
    if (step < quiet_until_) {
        means_.clear();
        return std::nullopt;
    }
    double before = 0, spread = 0;
    for (const double m : means_) before += m / static_cast<double>(means_.size());
    for (const double m : means_)
        spread += (m - before) * (m - before) / static_cast<double>(means_.size() - 1);
    const bool worse = means_.size() >= kFewestWindows && mean > kLeastRise * before &&
                       mean > before + kSigmas * std::sqrt(spread);
    // What is said stays out of what is compared with: it is said again only after it was over.
    if (worse && std::exchange(reported_worse_, true)) return std::nullopt;
    if (worse)
        return fmt::format("the loss rose from {:.4g} to {:.4g} (means of {} steps)", before, mean,
                           window_);
    reported_worse_ = false;
    means_.push_back(mean);
    if (means_.size() > kMostWindows) means_.pop_front();
    return std::nullopt;
}

std::optional<std::string> RunAlarms::look_at(const Evaluation& evaluation) {
    if (!std::isfinite(evaluation.psnr)) return std::nullopt;
    const double best = best_psnr_;
    if (!(evaluation.psnr <= best)) best_psnr_ = evaluation.psnr;
    if (!(evaluation.psnr < best - kLeastFall)) return std::nullopt;
    best_psnr_ = evaluation.psnr;  // said again when it falls as much once more
    return fmt::format("the test photos fell from {:.2f} to {:.2f} dB", best, evaluation.psnr);
}

}  // namespace gs
