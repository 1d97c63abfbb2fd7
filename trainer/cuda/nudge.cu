#include "trainer/cuda/nudge.h"

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "trainer/density/row_identity.h"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

/// A row after the step under way, as nudge_row() sees it. Who was visible has been stepped; the
/// tables do not know this step yet, so for a sleeper its last term is added here.
template <bool kCoded>
class NudgedRow {
  public:
    GS_DEVICE NudgedRow(const ModelView& model, std::uint32_t row, const StepInputs& in)
        : values_(model.values + row), stride_(model.stride), moments_(model.lazy, row) {
        const LazyView& lazy = model.lazy;
        const std::uint32_t last = lazy.last_step[row], age = lazy.clock->steps + 1 - last;
        decay2_ = lazy.decay[2 * age + 1];
        const float ratio = age == 0 ? 0.0f : lazy.decay[2 * age] * rsqrtf(decay2_);
        const float* slept = lazy.pending + static_cast<std::size_t>((age == 0 ? last - 1 : last) -
                                                                     lazy.clock->base) *
                                                kPendingColumns;
        GS_UNROLL
        for (int group = 0; group < kGroups; ++group)
            pending_[group] = age == 0 ? 0.0f : slept[group] + in.rates[group] * ratio;
    }
    GS_DEVICE float now(int plane) const {
        return values_[static_cast<std::size_t>(plane) * stride_] -
               moments_.direction(plane) * pending_[learning_group(plane)];
    }
    GS_DEVICE float square(int plane) const { return moments_.of(plane).v * decay2_; }
    GS_DEVICE void add(int plane, float by) {
        values_[static_cast<std::size_t>(plane) * stride_] += by;
    }

  private:
    static constexpr int kGroups = learning_group(kOpacityLogits) + 1;
    float* values_;
    std::uint64_t stride_;
    RowMoments<kCoded> moments_;
    float pending_[kGroups];
    float decay2_;
};

struct NudgeParams {
    ModelView model;
    const StepInputs* inputs;
    const RunFlags* flags;
    const std::uint32_t* tags;
};
template <bool kCoded>
GS_KERNEL(kThreads, 4)
void nudge(NudgeParams p) {
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (row >= p.model.count || p.flags->go == 0) return;
    const std::uint32_t tag = p.tags[row];
    if (locked_tag(tag)) return;
    NudgedRow<kCoded> nudged(p.model, row, *p.inputs);
    const float* rates = p.inputs->rates;
    (void)nudge_row(nudged, p.inputs->nudge,
                    {rates[learning_group(kOpacityLogits)], rates[learning_group(kLogScales)]},
                    id_of_tag(tag));
}

}  // namespace

void launch_nudge(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                  const RunFlags* flags, const std::uint32_t* tags) {
    launch(stream, "nudge", grid_for(model.count, kThreads),
           model.lazy.coded() ? nudge<true> : nudge<false>,
           NudgeParams{model, inputs, flags, tags});
}

}  // namespace gs::cuda
