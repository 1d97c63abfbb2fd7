#include "trainer/adam/batch_gradients.h"

#include <algorithm>

#include "trainer/adam/adam_block.h"

namespace gs {

void BatchGradients::begin(std::size_t blocks, int planes) {
    planes_ = static_cast<std::size_t>(planes);
    sums_.resize_discard(blocks * planes_ * kBlock);
    seen_.resize_discard(blocks);
    seen_.fill(0);
}

std::uint32_t BatchGradients::add(const BlockGradients& gradients, std::uint32_t locked) {
    const std::size_t block = gradients.block;
    const std::uint32_t added =
        adam::add_gradients(gradients, locked, static_cast<int>(planes_), seen_[block] == 0,
                            sums_.data() + block * planes_ * kBlock);
    seen_[block] |= added;
    return gradients.mask & ~locked & ~added;
}

bool BatchGradients::mean(std::size_t block, std::uint32_t views, BlockGradients& out) const {
    if (seen_[block] == 0) return false;
    out.block = block;
    out.mask = seen_[block];
    const float share = 1.0f / static_cast<float>(views);
    const float* from = sums_.data() + block * planes_ * kBlock;
    std::transform(from, from + planes_ * kBlock, &out.planes[0][0],
                   [&](float sum) { return sum * share; });
    return true;
}

}  // namespace gs
