#include "trainer/adam/adam_tables.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

double ratio(std::uint32_t batch) {
    const auto betas = math::adam_betas(batch);
    return betas.beta1 / std::sqrt(betas.beta2);
}

}  // namespace

bool AdamTables::must_settle(const AdamClock& clock, const LearningRates& rates) {
    bool raised = false;
    for (std::size_t g = 0; g < rates.size(); ++g) raised |= rates[g] > clock.highest[g];
    return raised || clock.steps - clock.base >= kLongestSleep;
}

void AdamTables::begin_step(AdamClock& clock, const LearningRates& rates, int planes,
                            int model_planes) {
    clock.planes = std::min(std::max(clock.planes, planes), model_planes);
    const double t = static_cast<double>(clock.steps) + 1;
    const auto betas = math::adam_betas(clock.batch);
    const double correction = std::sqrt(1 - std::pow(betas.beta2, t));
    for (std::size_t g = 0; g < rates.size(); ++g)
        step_.rate[g] = static_cast<float>(rates[g] * correction / (1 - std::pow(betas.beta1, t)));
    step_.epsilon = static_cast<float>(static_cast<double>(adam::kEpsilon) * correction /
                                       std::sqrt(static_cast<double>(clock.batch)));
    step_.betas = math::adam_betas_float(clock.batch);
    step_.planes = clock.planes;
}

void AdamTables::end_step(AdamClock& clock) {
    const double r = ratio(clock.batch);
    for (std::size_t g = 0; g < clock.pending.size(); ++g) {
        std::vector<double>& table = clock.pending[g];
        double term = static_cast<double>(step_.rate[g]);
        const std::size_t live = std::min(table.size(), kLiveEntries);
        for (std::size_t age = 1; age <= live; ++age) table[table.size() - age] += (term *= r);
        table.push_back(0.0);
    }
    ++clock.steps;
    refresh(clock);
}

void AdamTables::restart(AdamClock& clock) {
    clock.highest = {};
    if (clock.steps == clock.base) return;
    clock.base = clock.steps;
    for (auto& table : clock.pending) table = {0.0};
    refresh(clock);
}

void AdamTables::refresh(const AdamClock& clock) {
    const std::size_t entries = clock.pending[0].size();
    for (std::size_t g = 0; g < pending_.size(); ++g) {
        // Entries that sleepers of long ago use have stopped changing.
        const std::size_t known = pending_[g].size(),
                          first = known > entries ? 0 : known - std::min(known, kLiveEntries);
        pending_[g].resize(entries);
        for (std::size_t i = first; i < entries; ++i)
            pending_[g][i] = static_cast<float>(clock.pending[g][i]);
    }
    for (std::size_t age = decay1_.size(); age < entries; ++age) {
        decay1_.push_back(decay1(age, clock.batch));
        decay2_.push_back(decay2(age, clock.batch));
    }
}

adam::Drift AdamTables::drift(const AdamClock& clock) {
    // Sum over all future steps of c_t r^(t-s), with c_t at most the highest rate (the bias
    // corrections never exceed 1 together).
    const double r = ratio(clock.batch), horizon = r / (1 - r);
    return {static_cast<float>(clock.highest[kGroupMeans] * horizon),
            static_cast<float>(clock.highest[kGroupScales] * horizon)};
}

float AdamTables::decay1(std::size_t age, std::uint32_t batch) {
    const double decay = std::pow(math::adam_betas(batch).beta1, static_cast<double>(age));
    return decay < 1e-30 ? 0.0f : static_cast<float>(decay);  // no denormals
}
float AdamTables::decay2(std::size_t age, std::uint32_t batch) {
    return static_cast<float>(std::pow(math::adam_betas(batch).beta2, static_cast<double>(age)));
}

}  // namespace gs
