#include "trainer/adam/lazy_adam.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "trainer/adam/mip_filter.h"

namespace gs {
namespace {

constexpr std::size_t kBlocksPerTask = 64;

std::size_t block_values(int planes) { return static_cast<std::size_t>(planes) * kBlock; }

}  // namespace

AdamState initial_adam_state(const GaussianModel& model, std::uint32_t batch, bool compact) {
    AdamState state;
    state.batch = batch;
    state.planes = kShRest;
    const std::size_t values = model.capacity / kBlock * block_values(model.planes());
    if (compact)
        state.codes.resize(values);
    else
        state.moments.resize(2 * values, 0.0f);
    state.last_step.resize(model.capacity, 0u);
    for (auto& table : state.pending) table = {0.0};
    return state;
}

math::AdamMoments moments_of(const AdamState& state, int model_planes, std::size_t row, int plane) {
    const std::size_t first = row / kBlock * block_values(model_planes) + block_values(plane),
                      lane = row % kBlock;
    if (!state.codes.empty()) return math::decode_moments(state.codes[first + lane]);
    const float* m = state.moments.data() + 2 * first + lane;
    return {m[0], m[kBlock]};
}

LazyAdam::LazyAdam(const GaussianModel& model, AdamState& state,
                   std::span<const std::uint32_t> tags)
    : state_(&state), tags_(tags), model_planes_(model.planes()) {
    CHECK(state_->last_step.size() == model.capacity);
    const std::size_t values = model.capacity / kBlock * block_values(model_planes_);
    CHECK(state_->codes.empty() ? state_->moments.size() == 2 * values
                                : state_->codes.size() == values && tags.size() == model.capacity);
    tables_.refresh(*state_);
}

// Reading and stepping share one view; the const functions only ever read through it.
adam::Block LazyAdam::block_of(const GaussianModel& model, std::size_t block) const {
    adam::Block b{};
    b.values = const_cast<float*>(model.values.data()) + block * kBlock;
    b.stride = model.capacity;
    if (state_->codes.empty()) {
        b.moments = state_->moments.data() + 2 * block * block_values(model_planes_);
    } else {
        b.codes = state_->codes.data() + block * block_values(model_planes_);
        b.tags = tags_.data() + block * kBlock;
        b.seed = state_->seed;
    }
    b.last_step = state_->last_step.data() + block * kBlock;
    b.base = state_->base;
    b.steps = state_->steps;
    for (int g = 0; g < kLearningGroups; ++g)
        b.pending[g] = tables_.pending(static_cast<std::size_t>(g)).data();
    b.decay1 = tables_.decay1().data();
    b.decay2 = tables_.decay2().data();
    return b;
}

void LazyAdam::begin_step(GaussianModel& model, const LearningRates& rates, int planes) {
    if (AdamTables::must_settle(*state_, rates)) {
        state_->planes = std::min(std::max(state_->planes, planes), model_planes_);
        flush(model);
        state_->highest = rates;
    }
    tables_.begin_step(*state_, rates, planes, model_planes_);
    if (!bounds_valid_) refresh_bounds(model);
}

std::uint32_t LazyAdam::apply(GaussianModel& model, const BlockGradients& gradients,
                              std::uint32_t locked) {
    const adam::Block block = block_of(model, gradients.block);
    const std::uint32_t skipped = adam::apply(block, tables_.step(), gradients, locked);
    const std::size_t first = gradients.block * kBlock;
    bounds_[gradients.block] = bound(block, gradients.block, std::min(kBlock, model.count - first));
    return skipped;
}

void LazyAdam::end_step() { tables_.end_step(*state_); }

void LazyAdam::add_to_values(
    GaussianModel& model,
    const std::function<bool(const adam::Block&, std::size_t, std::size_t)>& change) {
    parallel_for(model.blocks(), kBlocksPerTask, [&](std::size_t index) {
        const adam::Block block = block_of(model, index);
        const std::size_t first = index * kBlock, lanes = std::min(kBlock, model.count - first);
        if (change(block, first, lanes) && bounds_valid_)
            bounds_[index] = bound(block, index, lanes);
    });
}

void LazyAdam::flush(GaussianModel& model) {
    bounds_valid_ = false;
    if (state_->steps != state_->base) {
        parallel_for(model.blocks(), kBlocksPerTask, [&](std::size_t block) {
            if (!current(block)) adam::settle(block_of(model, block), state_->planes);
        });
        std::fill(state_->last_step.begin(), state_->last_step.end(), state_->steps);
    }
    tables_.restart(*state_);
}

void LazyAdam::refresh_bounds(const GaussianModel& model) {
    drift_ = AdamTables::drift(*state_);
    bounds_.resize_discard(model.blocks());
    parallel_for(model.blocks(), kBlocksPerTask, [&](std::size_t block) {
        bounds_[block] =
            bound(block_of(model, block), block, std::min(kBlock, model.count - block * kBlock));
    });
    bounds_valid_ = true;
}

/// sqrt(s^2 + f^2) is s + f at most.
BlockBounds LazyAdam::bound(const adam::Block& block, std::size_t index, std::size_t lanes) const {
    BlockBounds out = adam::bounds(block, drift_, lanes);
    if (filter_.empty()) return out;
    const float* filter = filter_.data() + index * kBlock;
    out.radius += math::kBoundSigmas * 1.0001f * *std::max_element(filter, filter + lanes);
    return out;
}

void LazyAdam::unfilter(const GaussianModel& model, BlockGradients& gradients) const {
    alignas(64) float planes[kGeometryPlanes * kBlock];
    read(model, gradients.block, 0, kGeometryPlanes, planes);
    filter_block_vjp(planes, filter_.data() + gradients.block * kBlock, gradients);
}

bool LazyAdam::current(std::size_t block) const {
    const std::uint32_t* last = state_->last_step.data() + block * kBlock;
    return std::all_of(last, last + kBlock,
                       [&](std::uint32_t step) { return step == state_->steps; });
}

void LazyAdam::read(const GaussianModel& model, std::size_t block, int first, int count,
                    float* out) const {
    const int moving = std::clamp(state_->planes - first, 0, count);
    if (moving > 0) adam::catch_up(block_of(model, block), first, moving, out);
    for (int p = moving; p < count; ++p)
        std::memcpy(out + static_cast<std::size_t>(p) * kBlock,
                    model.plane(first + p) + block * kBlock, kBlock * sizeof(float));
}

BlockView LazySource::geometry(std::size_t block, float* scratch) {
    // Every plane of a block is a cache line in a page of its own, which no processor foresees: the
    // next block's are on their way while this one is worked on.
    const float* next = model_.values.data() + (block + 1) * kBlock;
    const std::size_t planes = static_cast<std::size_t>(plane_count(sh_degree_));
    for (std::size_t p = 0; p < planes; ++p) __builtin_prefetch(next + p * model_.capacity);
    const std::span<const float> filter = adam_.filter();
    if (filter.empty() && adam_.current(block))
        return {model_.values.data() + block * kBlock, model_.capacity};
    adam_.read(model_, block, 0, kGeometryPlanes, scratch);
    if (!filter.empty()) filter_block(scratch, filter.data() + block * kBlock);
    return {scratch, kBlock};
}

BlockView LazySource::sh(std::size_t block, float* scratch) {
    if (adam_.current(block)) return {model_.plane(kSh0) + block * kBlock, model_.capacity};
    adam_.read(model_, block, kSh0, plane_count(sh_degree_) - kSh0, scratch);
    return {scratch, kBlock};
}

}  // namespace gs
