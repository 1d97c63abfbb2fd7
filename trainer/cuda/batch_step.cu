#include "trainer/cuda/batch_step.h"

#include "renderer/device/cuda/launch.h"
#include "trainer/cuda/batch_sink.cuh"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

struct StepBatchParams {
    ModelView model;
    const StepInputs* inputs;
    const RunFlags* flags;
    BatchView batch;
    float share;  ///< 1 / views
    math::AdamBetas<float> betas;
};
/// A thread per row. Several planes are read before the first of them is stored, as a load waits
/// behind a store.
template <bool kCoded>
GS_KERNEL(kThreads, 2)
void step_batch(StepBatchParams p) {
    const LazyView& lazy = p.model.lazy;
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (row >= p.model.count || p.flags->halted != 0 || p.batch.seen[row] == 0) return;
    const std::uint32_t last = lazy.last_step[row], age = lazy.clock->steps - last;
    const float* slept =
        lazy.pending + static_cast<std::size_t>(last - lazy.clock->base) * kPendingColumns;
    const float decay1 = lazy.decay[2 * age], decay2 = lazy.decay[2 * age + 1],
                epsilon = p.inputs->epsilon;
    const RowMoments<kCoded> moments(lazy, row);
    const std::uint32_t rounding = rounding_of<kCoded>(lazy, row, lazy.clock->steps + 1);
    constexpr int kAtOnce = 6;
    const int planes = p.inputs->planes;
    for (int first = 0; first < planes; first += kAtOnce) {
        math::AdamCell<float> cells[kAtOnce];
        float gradients[kAtOnce], pending[kAtOnce], rates[kAtOnce];
        GS_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
            const int plane = min(first + i, planes - 1), group = learning_group(plane);
            const std::uint64_t at = static_cast<std::uint64_t>(plane) * p.model.stride + row;
            const auto [m, v] = moments.of(plane);
            cells[i] = {p.model.values[at], m, v};
            gradients[i] = p.batch.sums[at] * p.share;
            pending[i] = slept[group];
            rates[i] = p.inputs->rates[group];
        }
        GS_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
            const int plane = first + i;
            if (plane >= planes) break;
            const auto awake = math::adam_settled(cells[i], pending[i], decay1, decay2);
            const auto next = math::adam_step(awake, gradients[i], rates[i], epsilon, p.betas);
            p.model.values[static_cast<std::uint64_t>(plane) * p.model.stride + row] = next.value;
            moments.put(plane, {next.m, next.v}, rounding);
        }
    }
    lazy.last_step[row] = lazy.clock->steps + 1;
    p.batch.seen[row] = 0;
}

}  // namespace

BatchView DeviceBatch::of(const BatchPart& part, std::size_t rows, int planes) {
    const std::size_t values = rows * static_cast<std::size_t>(planes);
    open_ |= seen_.size() != rows || sums_.size() != values;
    sums_.resize_discard(values, stream_);
    seen_.resize_discard(rows, stream_);
    if (part.first() && open_) fill_bytes(seen_.data(), 0, rows * sizeof(std::uint32_t), stream_);
    open_ = !part.last();
    return {sums_.data(), seen_.data()};
}

void launch_add_view(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                     const ModelView& model, const StepInputs* inputs, const RunFlags* flags,
                     const StatisticsView& statistics, float* motion, const BatchView& batch) {
    const BatchSink sink{inputs, flags, frame.counts, statistics, batch};
    const auto run = [&]<class Sink>(const Sink& to) {
        launch_project_backward<Sink, true>(stream, "add_view", limits, {frame, model, to});
    };
    const bool coded = model.lazy.coded();
    if (motion == nullptr) return coded ? run(CodedBatchSink{sink}) : run(sink);
    fill_bytes(motion, 0, 6 * model.stride * sizeof(float), stream);
    const BatchMotionSink moving{sink, motion};
    coded ? run(CodedBatchMotionSink{moving}) : run(moving);
}

void launch_step_batch(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                       const RunFlags* flags, const BatchView& batch, std::uint32_t views) {
    launch(stream, "step_batch", grid_for(model.count, kThreads),
           model.lazy.coded() ? step_batch<true> : step_batch<false>,
           StepBatchParams{model, inputs, flags, batch, 1.0f / static_cast<float>(views),
                           math::adam_betas_float(views)});
}

}  // namespace gs::cuda
