#include "trainer/lazy_adam.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "renderer/base/check.h"
#include "renderer/device/parallel.h"

namespace gs {
namespace {

// Terms of r^256 = 2e-12 and smaller no longer change a table entry in float.
constexpr std::size_t kLiveEntries = 256;
// Tables stay short: everything is settled at least this often.
constexpr std::uint32_t kLongestSleep = 1024;
constexpr std::size_t kBlocksPerTask = 64;

double ratio() { return adam::kBeta1 / std::sqrt(adam::kBeta2); }
std::size_t block_floats(int planes) { return static_cast<std::size_t>(planes) * 2 * kBlock; }

}  // namespace

LazyAdam::LazyAdam(const GaussianModel& model) : model_planes_(model.planes()) {
    state_.planes = kShRest;
    state_.moments.resize(model.capacity / kBlock * block_floats(model_planes_), 0.0f);
    state_.last_step.resize(model.capacity, 0u);
    for (auto& table : state_.pending) table = {0.0};
    refresh_tables();
}

LazyAdam::LazyAdam(const GaussianModel& model, AdamState state)
    : state_(std::move(state)), model_planes_(model.planes()) {
    CHECK(state_.last_step.size() == model.capacity);
    CHECK(state_.moments.size() == model.capacity / kBlock * block_floats(model_planes_));
    refresh_tables();
}

// Reading and stepping share one view; the const functions only ever read through it.
adam::Block LazyAdam::block_of(const GaussianModel& model, std::size_t block) const {
    adam::Block b{};
    b.values = const_cast<float*>(model.values.data()) + block * kBlock;
    b.stride = model.capacity;
    b.moments = const_cast<float*>(state_.moments.data()) + block * block_floats(model_planes_);
    b.last_step = const_cast<std::uint32_t*>(state_.last_step.data()) + block * kBlock;
    b.base = state_.base;
    b.steps = state_.steps;
    for (int g = 0; g < kLearningGroups; ++g) b.pending[g] = pending_[static_cast<std::size_t>(g)].data();
    b.decay1 = decay1_.data();
    b.decay2 = decay2_.data();
    return b;
}

void LazyAdam::refresh_tables() {
    const std::size_t entries = state_.pending[0].size();
    for (std::size_t g = 0; g < pending_.size(); ++g) {
        // Entries that sleepers of long ago use have stopped changing.
        const std::size_t known = pending_[g].size(),
                          first = known > entries ? 0 : known - std::min(known, kLiveEntries);
        pending_[g].resize(entries);
        for (std::size_t i = first; i < entries; ++i) pending_[g][i] = static_cast<float>(state_.pending[g][i]);
    }
    for (std::size_t age = decay1_.size(); age < entries; ++age) {
        const double decay = std::pow(adam::kBeta1, static_cast<double>(age));
        decay1_.push_back(decay < 1e-30 ? 0.0f : static_cast<float>(decay));  // no denormals
        decay2_.push_back(static_cast<float>(std::pow(adam::kBeta2, static_cast<double>(age))));
    }
}

void LazyAdam::begin_step(GaussianModel& model, const LearningRates& rates, int planes) {
    state_.planes = std::min(std::max(state_.planes, planes), model_planes_);
    bool raised = false;
    for (std::size_t g = 0; g < rates.size(); ++g) raised |= rates[g] > state_.highest[g];
    if (raised || state_.steps - state_.base >= kLongestSleep) {
        flush(model);
        state_.highest = rates;
    }
    const double t = static_cast<double>(state_.steps) + 1;
    const double correction = std::sqrt(1 - std::pow(adam::kBeta2, t));
    for (std::size_t g = 0; g < rates.size(); ++g)
        step_.rate[g] = static_cast<float>(rates[g] * correction / (1 - std::pow(adam::kBeta1, t)));
    step_.epsilon = static_cast<float>(static_cast<double>(adam::kEpsilon) * correction);
    step_.planes = state_.planes;
    if (!bounds_valid_) refresh_bounds(model);
}

std::uint32_t LazyAdam::apply(GaussianModel& model, const BlockGradients& gradients) {
    const adam::Block block = block_of(model, gradients.block);
    const std::uint32_t skipped = adam::apply(block, step_, gradients);
    const std::size_t first = gradients.block * kBlock;
    bounds_[gradients.block] = adam::bounds(block, drift_, std::min(kBlock, model.count - first));
    return skipped;
}

void LazyAdam::end_step() {
    const double r = ratio();
    for (std::size_t g = 0; g < state_.pending.size(); ++g) {
        std::vector<double>& table = state_.pending[g];
        double term = static_cast<double>(step_.rate[g]);
        const std::size_t live = std::min(table.size(), kLiveEntries);
        for (std::size_t age = 1; age <= live; ++age) table[table.size() - age] += (term *= r);
        table.push_back(0.0);
    }
    ++state_.steps;
    refresh_tables();
}

void LazyAdam::flush(GaussianModel& model) {
    bounds_valid_ = false;
    state_.highest = {};
    if (state_.steps == state_.base) return;
    parallel_for(model.blocks(), kBlocksPerTask, [&](std::size_t block) {
        if (!current(block)) adam::settle(block_of(model, block), state_.planes);
    });
    std::fill(state_.last_step.begin(), state_.last_step.end(), state_.steps);
    state_.base = state_.steps;
    for (auto& table : state_.pending) table = {0.0};
    refresh_tables();
}

void LazyAdam::refresh_bounds(const GaussianModel& model) {
    // Sum over all future steps of c_t r^(t-s), with c_t at most the highest rate (the bias corrections never exceed 1
    // together).
    const double horizon = ratio() / (1 - ratio());
    drift_.means = static_cast<float>(state_.highest[kGroupMeans] * horizon);
    drift_.scales = static_cast<float>(state_.highest[kGroupScales] * horizon);
    bounds_.resize_discard(model.blocks());
    parallel_for(model.blocks(), kBlocksPerTask, [&](std::size_t block) {
        bounds_[block] = adam::bounds(block_of(model, block), drift_, std::min(kBlock, model.count - block * kBlock));
    });
    bounds_valid_ = true;
}

bool LazyAdam::current(std::size_t block) const {
    const std::uint32_t* last = state_.last_step.data() + block * kBlock;
    return std::all_of(last, last + kBlock, [&](std::uint32_t step) { return step == state_.steps; });
}

void LazyAdam::read(const GaussianModel& model, std::size_t block, int first, int count, float* out) const {
    const int moving = std::clamp(state_.planes - first, 0, count);
    if (moving > 0) adam::catch_up(block_of(model, block), first, moving, out);
    for (int p = moving; p < count; ++p)
        std::memcpy(out + static_cast<std::size_t>(p) * kBlock, model.plane(first + p) + block * kBlock,
                    kBlock * sizeof(float));
}

void LazyAdam::rearrange(const GaussianModel& model, std::span<const std::uint32_t> source,
                         std::span<const std::uint8_t> keep) {
    CHECK(state_.steps == state_.base && source.size() <= model.capacity && keep.size() == source.size());
    const std::size_t per_block = block_floats(model_planes_);
    scratch_.resize_discard(source.size());
    for (std::size_t plane = 0; plane < static_cast<std::size_t>(2 * model_planes_); ++plane) {
        const auto at = [&](std::size_t row) -> float& {
            return state_.moments[row / kBlock * per_block + plane * kBlock + row % kBlock];
        };
        parallel_for(source.size(), 4096,
                     [&](std::size_t row) { scratch_[row] = keep[row] != 0 ? at(source[row]) : 0.0f; });
        parallel_for(source.size(), 4096, [&](std::size_t row) { at(row) = scratch_[row]; });
        for (std::size_t row = source.size(); row % kBlock != 0; ++row) at(row) = 0.0f;
    }
    std::fill(state_.last_step.begin(), state_.last_step.end(), state_.steps);
    bounds_valid_ = false;
}

bool LazyAdam::grow(std::size_t capacity) {
    const std::size_t before = state_.last_step.size();
    try {
        state_.last_step.resize(capacity, state_.steps);
        state_.moments.resize(capacity / kBlock * block_floats(model_planes_), 0.0f);
    } catch (const std::bad_alloc&) {
        state_.last_step.resize(std::min(before, state_.last_step.size()));
        return false;
    }
    return true;
}

void LazyAdam::clear_moments(int plane) {
    const std::size_t per_block = block_floats(model_planes_);
    for (std::size_t block = 0; block < state_.moments.size() / per_block; ++block)
        std::fill_n(&state_.moments[block * per_block + static_cast<std::size_t>(plane) * 2 * kBlock], 2 * kBlock,
                    0.0f);
}

std::size_t LazyAdam::bytes() const {
    return state_.moments.capacity_bytes() + state_.last_step.capacity_bytes() + bounds_.capacity_bytes() +
           scratch_.capacity_bytes();
}

BlockView LazySource::geometry(std::size_t block, float* scratch) {
    if (adam_.current(block)) return {model_.values.data() + block * kBlock, model_.capacity};
    adam_.read(model_, block, 0, kGeometryPlanes, scratch);
    return {scratch, kBlock};
}

BlockView LazySource::sh(std::size_t block, float* scratch) {
    if (adam_.current(block)) return {model_.plane(kSh0) + block * kBlock, model_.capacity};
    adam_.read(model_, block, kSh0, plane_count(sh_degree_) - kSh0, scratch);
    return {scratch, kBlock};
}

}  // namespace gs
