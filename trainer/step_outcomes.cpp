// Turns what a backend reports of its steps into their reports and hashes. A device reports late,
// and the views of a batch one by one.
#include <cmath>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/record/scope.h"
#include "renderer/io/captures/shrunk_capture.h"
#include "trainer/loss/metrics.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

/// A step's counters as curves of the trace, for the insights on tiles and intersections.
void record_counts(const RenderCounters& c, const Camera& camera) {
    if (c.isects == 0) return;
    static const StringId gaussians = register_string("Gaussians"),
                          visible = register_string("visible Gaussians"),
                          isects = register_string("intersections"),
                          longest = register_string("longest tile list"),
                          average = register_string("mean tile list");
    const auto tiles_along = [](int pixels) { return (pixels + kTileSize - 1) / kTileSize; };
    const double tiles =
        static_cast<double>(tiles_along(camera.width)) * tiles_along(camera.height);
    record_counter(gaussians, static_cast<double>(c.gaussians));
    record_counter(visible, static_cast<double>(c.visible));
    record_counter(isects, static_cast<double>(c.isects));
    record_counter(longest, c.longest_tile);
    record_counter(average, static_cast<double>(c.isects) / tiles);
}

}  // namespace

/// The same outcome is reported only once. A batch's are combined when the last arrives.
void Trainer::State::take(const StepOutcome& outcome, StepReport& report) {
    const std::pair place{outcome.step, outcome.part.index};
    if (outcome.step == 0 || place <= newest_outcome) return;
    newest_outcome = place;
    refined.add(outcome);
    record_counts(outcome.counters,
                  shrunk_camera(capture->views[outcome.view_index].camera, outcome.divisor));
    const bool sound = std::isfinite(outcome.terms.loss);
    if ((!sound || outcome.poisoned > 0) && !warned_poison) {
        warned_poison = true;
        log_warning("step {}: {} not finite on {}; their update is skipped (reported once)",
                    outcome.step,
                    sound ? fmt::format("gradients of {} Gaussians are", outcome.poisoned)
                          : std::string("the loss is"),
                    capture->views[outcome.view_index].name);
    }
    if (outcome.part.first()) measured.clear();
    measured.push_back({outcome.view_index, outcome.terms.loss, outcome.terms.l1,
                        outcome.terms.ssim, psnr_of(outcome.terms)});
    if (!outcome.part.last()) return;
    const auto mean = [&](double MeasuredPhoto::*value) {
        double sum = 0;
        for (const MeasuredPhoto& photo : measured) sum += photo.*value;
        return sum / static_cast<double>(measured.size());
    };
    report.measured_step = outcome.step;
    report.measured_view = outcome.view_index;
    report.measured_divisor = outcome.divisor;
    report.loss = mean(&MeasuredPhoto::loss);
    report.l1 = mean(&MeasuredPhoto::l1);
    report.ssim = mean(&MeasuredPhoto::ssim);
    report.psnr = mean(&MeasuredPhoto::psnr);
    report.lidar_m = outcome.lidar.range;
    report.counters = outcome.counters;
    report.photos.clear();
    if (outcome.part.several()) report.photos = measured;
}

std::uint64_t Trainer::State::hash_of_arrays() const {
    std::uint64_t out = 0;
    look_at_arrays(*backend, [&](const RunArrays& arrays) {
        out = hash_array(arrays.model.values.span());
        out = hash_array(arrays.adam.moments.span(), out);
        if (!arrays.adam.codes.empty()) out = hash_array(arrays.adam.codes.span(), out);
        out = hash_array(arrays.adam.last_step.span(), out);
        out = hash_array(arrays.appearance.values.span(), out);
        if (const Sky& sky = arrays.model.sky; !sky.empty())
            out = hash_array(std::span<const float>(sky.sh), out);
        if (!arrays.filter.empty()) out = hash_array(arrays.filter.span(), out);
    });
    return out;
}

namespace {

/// Of several views the hashes of a stage lie upon each other, in the views' order.
void fold(std::uint64_t& hash, std::uint64_t next) {
    if (next != 0) hash = hash == 0 ? next : hash64(hash) ^ next;
}

/// What a backend has reported of a step, into the step's row.
void fold_outcome(StepHashes& row, const StepOutcome& outcome) {
    for (std::size_t i = 0; i < kHashStages; ++i) fold(row.of[i], outcome.hashes.of[i]);
    const RenderCounters& c = outcome.counters;
    const std::uint64_t lists[] = {c.gaussians, c.visible, c.isects,
                                   static_cast<std::uint64_t>(c.longest_tile)};
    const double loss[] = {outcome.terms.loss, outcome.terms.l1, outcome.terms.ssim};
    fold(row[HashStage::lists], hash_array(std::span<const std::uint64_t>(lists)));
    fold(row[HashStage::loss], hash_array(std::span<const double>(loss)));
}

}  // namespace

/// What the backend does not report of the step is hashed from its arrays; what a device reports
/// late goes into the row it belongs to.
void Trainer::State::note_hashes(const StepPlan& plan, std::span<const StepOutcome> outcomes,
                                 bool changed) {
    HashedStep& row = hashed.emplace_back();
    row.missing = plan.part.count;
    row.hashes.step = plan.step + 1;
    row.hashes.view = plan.view_index;
    row.hashes.gaussians = backend->count();
    const bool reported_adam = outcomes.back().hashes[HashStage::adam] != 0;
    if (changed) row.hashes[HashStage::density] = hash_of_arrays();
    if (!reported_adam && !changed) row.hashes[HashStage::adam] = hash_of_arrays();
    for (const StepOutcome& outcome : outcomes)
        for (HashedStep& late : hashed) {
            if (late.hashes.step != outcome.step || late.missing == 0) continue;
            fold_outcome(late.hashes, outcome);
            --late.missing;
        }
}

void Trainer::hash_steps(bool on) { state_->hashes = on; }

std::vector<StepHashes> Trainer::take_hashes(bool all) {
    std::vector<StepHashes> out;
    auto& rows = state_->hashed;
    for (; !rows.empty() && (all || rows.front().missing == 0); rows.pop_front())
        out.push_back(rows.front().hashes);
    return out;
}

}  // namespace gs
