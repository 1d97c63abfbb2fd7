#include "app/session/parts/run_plots.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr std::size_t kMostCurvePoints = 4096, kMostRowPoints = 256, kRecentSteps = 50;

/// Halves a curve: each pair becomes its mean.
void merge_pairs(std::vector<CurvePoint>& curve) {
    for (std::size_t i = 0; i + 1 < curve.size(); i += 2)
        curve[i / 2] = {curve[i + 1].step, 0.5f * (curve[i].value + curve[i + 1].value)};
    curve.resize(curve.size() / 2);
}

void append(std::vector<CurvePoint>& curve, std::uint64_t step, double value, std::size_t limit) {
    if (curve.size() >= limit) merge_pairs(curve);
    curve.push_back({static_cast<float>(step), static_cast<float>(value)});
}

/// Skip missing scores (of a photo that is masked out entirely).
void append_known(std::vector<CurvePoint>& curve, std::uint64_t step, double value,
                  std::size_t limit) {
    if (std::isfinite(value)) append(curve, step, value, limit);
}

}  // namespace

void RunPlots::begin(std::vector<CameraRow> rows) {
    *this = RunPlots();
    rows_ = std::move(rows);
}

void RunPlots::add_step(const StepReport& report) {
    recent_ms_.push_back(report.milliseconds);
    if (recent_ms_.size() > kRecentSteps) recent_ms_.pop_front();
    // Of a batch the photos are known with their losses.
    if (report.batch == 1 && report.view < rows_.size()) ++rows_[report.view].times_sampled;
    add_round(report);
    // A device reports a step's loss later; until then there is nothing to show.
    if (report.measured_step != 0) {
        if (report.photos.empty())
            add_photo(report.measured_step,
                      {report.measured_view, report.loss, report.l1, report.ssim, report.psnr});
        for (const MeasuredPhoto& photo : report.photos) {
            add_photo(report.measured_step, photo);
            if (photo.view < rows_.size()) ++rows_[photo.view].times_sampled;
        }
        sum_.loss += report.loss;
        ++sum_.losses;
        if (std::isfinite(report.psnr)) sum_.psnr += report.psnr, ++sum_.psnrs;
    }
    sum_.milliseconds += report.milliseconds;
    if (++sum_.steps < stride_ || sum_.losses == 0) return;
    // Step curves are merged together, and the stride doubles once.
    if (curves_.loss.size() >= kMostCurvePoints) {
        for (auto* curve : {&curves_.loss, &curves_.train_psnr, &curves_.gaussians,
                            &curves_.step_ms, &curves_.lr_means})
            merge_pairs(*curve);
        stride_ *= 2;
    }
    const auto mean = [](double sum, std::uint64_t n) { return sum / static_cast<double>(n); };
    append_known(curves_.loss, report.step, mean(sum_.loss, sum_.losses), kMostCurvePoints);
    append_known(curves_.train_psnr, report.step, mean(sum_.psnr, sum_.psnrs), kMostCurvePoints);
    append(curves_.gaussians, report.step, static_cast<double>(report.gaussians), kMostCurvePoints);
    append(curves_.step_ms, report.step, mean(sum_.milliseconds, sum_.steps), kMostCurvePoints);
    append_known(curves_.lr_means, report.step, report.lr_means, kMostCurvePoints);
    sum_ = Sum();
}

void RunPlots::add_round(const StepReport& report) {
    if (!report.densified) return;
    const DensityReport& r = report.round;
    const auto add = [&](std::vector<CurvePoint>& curve, std::size_t count) {
        append(curve, report.step, static_cast<double>(count), kMostCurvePoints);
    };
    add(curves_.rounds.target, r.target);
    add(curves_.rounds.cloned, r.cloned);
    add(curves_.rounds.split, r.split);
    add(curves_.rounds.added, r.added);
    add(curves_.rounds.relocated, r.relocated);
    add(curves_.rounds.pruned, r.pruned);
}

void RunPlots::add_photo(std::uint64_t step, const MeasuredPhoto& photo) {
    if (photo.view >= rows_.size()) return;
    CameraRow& row = rows_[photo.view];
    row.loss = photo.loss;
    row.psnr = photo.psnr;
    row.ssim = photo.ssim;
    row.measured_step = step;
    append_known(row.loss_history, step, photo.loss, kMostRowPoints);
    append_known(row.psnr_history, step, photo.psnr, kMostRowPoints);
}

void RunPlots::add_logged(std::uint64_t step, const std::string& name, double value) {
    constexpr std::size_t kMostNames = 24;
    for (const auto& [known, curve] :
         {std::pair("psnr", &Curves::train_psnr), std::pair("test_psnr", &Curves::test_psnr),
          std::pair("test_ssim", &Curves::test_ssim), std::pair("lr_means", &Curves::lr_means)})
        if (name == known) return append_known(curves_.*curve, step, value, kMostCurvePoints);
    auto& logged = curves_.logged;
    auto at = std::ranges::find(logged, name, &LoggedCurve::name);
    if (at == logged.end() && logged.size() == kMostNames) return;
    if (at == logged.end()) at = logged.insert(at, {name, {}});
    append_known(at->points, step, value, kMostCurvePoints);
}

void RunPlots::add_evaluation(const Evaluation& evaluation) {
    evaluation_ = evaluation;
    append_known(curves_.test_psnr, evaluation.step, evaluation.psnr, kMostCurvePoints);
    append_known(curves_.test_ssim, evaluation.step, evaluation.ssim, kMostCurvePoints);
    for (const ImageScore& score : evaluation.images) {
        if (score.view >= rows_.size()) continue;
        CameraRow& row = rows_[score.view];
        row.psnr = score.psnr;
        row.ssim = score.ssim;
        row.loss = score.l1;
        row.measured_step = evaluation.step;
        append_known(row.psnr_history, evaluation.step, score.psnr, kMostRowPoints);
        append_known(row.loss_history, evaluation.step, score.l1, kMostRowPoints);
    }
}

void RunPlots::take_poses(const Trainer& trainer) {
    for (CameraRow& row : rows_) row.camera = trainer.camera_of(row.view);
}

void RunPlots::add_mark(std::uint64_t step, std::string text, bool alarm) {
    curves_.marks.push_back({step, std::move(text), alarm});
}

double RunPlots::mean_step_ms() const {
    double sum = 0;
    for (const double ms : recent_ms_) sum += ms;
    return recent_ms_.empty() ? 0.0 : sum / static_cast<double>(recent_ms_.size());
}

}  // namespace gs
