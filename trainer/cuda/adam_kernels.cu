#include "trainer/cuda/adam_kernels.h"

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/project_backward.cuh"
#include "trainer/cuda/adam_sink.cuh"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = static_cast<int>(kBlock);

/// One block. Words are copied as they are; the rows of the table that changed are few.
GS_KERNEL(kThreads, 1)
void intake(IntakeParams p) {
    static_assert(sizeof(FrameConstants) % 4 == 0 && sizeof(LazyClock) == 16);
    const StepInputs& in = *p.inputs;
    if (p.frame != nullptr) {
        const auto* from = reinterpret_cast<const std::uint32_t*>(&in.frame);
        auto* to = reinterpret_cast<std::uint32_t*>(p.frame);
        for (std::size_t i = threadIdx.x; i < sizeof(FrameConstants) / 4; i += kThreads)
            to[i] = from[i];
    }
    if (threadIdx.x == 0) *p.clock = in.clock;
    float* rows = p.pending + static_cast<std::size_t>(in.first_row) * kPendingColumns;
    for (std::uint32_t i = threadIdx.x; i < in.rows * kPendingColumns; i += kThreads)
        rows[i] = p.rows[i];
}

struct BoundsParams {
    ModelView model;
    const StepInputs* inputs;
    Blocks blocks;
};

/// Smallest and largest over the 16 lanes of a block.
GS_DEVICE float block_min(float x) {
    for (int distance = kRows / 2; distance > 0; distance /= 2)
        x = fminf(x, __shfl_xor_sync(kAllLanes, x, distance));
    return x;
}
GS_DEVICE float block_max(float x) { return -block_min(-x); }

/// A thread per Gaussian, 16 lanes a block.
template <bool kCoded>
GS_KERNEL(kThreads, 4)
void refresh_bounds(BoundsParams p) {
    const ModelView& model = p.model;
    const LazyView& lazy = model.lazy;
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    const bool used = row < model.count;
    if (p.blocks == Blocks::touched) {
        const unsigned touched =
            __ballot_sync(kAllLanes, used && lazy.last_step[row] == lazy.clock->steps + 1);
        if (touched == 0) return;
        // The other half's block is refreshed along with it: the same values again.
    }
    float x[3] = {0, 0, 0}, reach = 0;
    if (used) {
        const RowMoments<kCoded> moments(lazy, row);
        const auto value = [&](int plane) {
            return model.values[static_cast<std::size_t>(plane) * model.stride + row];
        };
        const float drift = p.inputs->drift_means, growth = p.inputs->drift_scales;
        float largest = -1e30f, drifts[3];
        for (int i = 0; i < 3; ++i) {
            x[i] = value(kMeans + i);
            drifts[i] = moments.direction(kMeans + i) * drift;
            largest = fmaxf(
                largest, value(kLogScales + i) + fabsf(moments.direction(kLogScales + i)) * growth);
        }
        reach = math::adam_reach(drifts[0], drifts[1], drifts[2], largest);
        if (lazy.filter != nullptr) reach += math::kBoundSigmas * lazy.filter[row];
    }
    // Lanes that are not finite draw nothing and bound nothing.
    const float infinity = __int_as_float(0x7f800000);
    const bool counts = used && isfinite(x[0] + x[1] + x[2] + reach);
    float centre[3], square = 0;
    bool empty = false;
    for (int i = 0; i < 3; ++i) {
        const float lo = block_min(counts ? x[i] : infinity),
                    hi = block_max(counts ? x[i] : -infinity);
        empty = lo > hi;
        centre[i] = 0.5f * (lo + hi);
        square += (x[i] - centre[i]) * (x[i] - centre[i]);
    }
    const float radius = block_max(counts ? sqrtf(square) + reach : 0.0f);
    if (!used || row % kRows != 0) return;
    model.bounds[row / kRows] =
        empty ? BlockBounds{0, 0, 0, 0}
              : BlockBounds{centre[0], centre[1], centre[2], radius * 1.0001f};
}

struct SettleParams {
    ModelView model;
    const RunFlags* flags;
};
template <bool kCoded>
GS_KERNEL(kThreads, 4)
void settle_all(SettleParams p) {
    const LazyView& lazy = p.model.lazy;
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (row >= p.model.stride || p.flags->halted != 0) return;
    const std::uint32_t last = lazy.last_step[row], age = lazy.clock->steps - last;
    if (age == 0) return;
    const float* pending =
        lazy.pending + static_cast<std::size_t>(last - lazy.clock->base) * kPendingColumns;
    const float decay1 = lazy.decay[2 * age], decay2 = lazy.decay[2 * age + 1];
    const RowMoments<kCoded> moments(lazy, row);
    const std::uint32_t rounding = rounding_of<kCoded>(lazy, row, lazy.clock->steps);
    // Several planes are read before the first of them is stored, as a load waits behind a store.
    constexpr int kAtOnce = 6;
    const int planes = lazy.clock->planes;
    for (int first = 0; first < planes; first += kAtOnce) {
        math::AdamCell<float> cells[kAtOnce];
        float slept[kAtOnce];
        GS_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
            const int plane = min(first + i, planes - 1);
            const auto [m, v] = moments.of(plane);
            cells[i] = {p.model.values[static_cast<std::size_t>(plane) * p.model.stride + row], m,
                        v};
            slept[i] = pending[learning_group(plane)];
        }
        GS_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
            const int plane = first + i;
            if (plane >= planes) break;
            const auto settled = math::adam_settled(cells[i], slept[i], decay1, decay2);
            p.model.values[static_cast<std::size_t>(plane) * p.model.stride + row] = settled.value;
            moments.put(plane, {settled.m, settled.v}, rounding);
        }
    }
    lazy.last_step[row] = lazy.clock->steps;
}

struct ReadPlaneParams {
    ModelView model;
    int plane;
    float* out;  ///< [count]
};
template <bool kCoded>
GS_KERNEL(kThreads, 4)
void read_plane(ReadPlaneParams p) {
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (row < p.model.count) p.out[row] = ModelReader<true, kCoded>(p.model, row).plane(p.plane);
}

template <class T>
struct SumRowsParams {
    const T* from;  ///< [parts][stride]
    std::uint64_t stride;
    std::uint32_t rows, blocks;  ///< of each part; blocks that share them
    double* to;                  ///< [parts][blocks]
};
// Thread t of a part's b blocks adds every b * kThreads-th row from its own on; then the block's
// sums are added in halves: the same order always, on every device.
template <class T>
GS_KERNEL(kThreads, 4)
void sum_motion(SumRowsParams<T> p) {
    GS_SHARED(double, partial, kThreads);
    const T* from = p.from + blockIdx.x / p.blocks * p.stride;
    const std::uint32_t first = blockIdx.x % p.blocks * kThreads + threadIdx.x;
    double total = 0;
    for (std::uint32_t row = first; row < p.rows; row += p.blocks * kThreads)
        total += static_cast<double>(from[row]);
    partial[threadIdx.x] = total;
    __syncthreads();
    for (unsigned width = kThreads / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0) p.to[blockIdx.x] = partial[0];
}

}  // namespace

void launch_intake(const Stream& stream, const IntakeParams& params) {
    launch(stream, "step_intake", {1, kThreads}, intake, params);
}

void launch_adam_step(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                      const ModelView& model, const StepInputs* inputs, const RunFlags* flags,
                      const StatisticsView& statistics, float* motion) {
    const AdamSink sink{inputs, flags, frame.counts, statistics};
    const auto run = [&]<class Sink>(const Sink& to) {
        launch_project_backward<Sink, true>(stream, "adam_step", limits, {frame, model, to});
    };
    const bool coded = model.lazy.coded();
    if (motion == nullptr) return coded ? run(CodedAdamSink{sink}) : run(sink);
    fill_bytes(motion, 0, kMotionParts * model.stride * sizeof(float), stream);
    const AdamMotionSink moving{sink, motion};
    coded ? run(CodedAdamMotionSink{moving}) : run(moving);
}

void launch_sum_motion(const Stream& stream, const ModelView& model, float* motion,
                       StepResult* result) {
    // motion_floats() has as much behind the rows.
    auto* sums = reinterpret_cast<double*>(motion + kMotionParts * model.stride);
    launch(stream, "sum_motion", {kMotionParts * kMotionBlocks, kThreads}, sum_motion<float>,
           SumRowsParams<float>{motion, model.stride, model.count, kMotionBlocks, sums});
    launch(stream, "add_motion", {kMotionParts, kThreads}, sum_motion<double>,
           SumRowsParams<double>{sums, kMotionBlocks, kMotionBlocks, 1, result->motion});
}

void launch_bounds(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                   Blocks blocks) {
    launch(stream, "refresh_bounds", grid_for(model.count, kThreads),
           model.lazy.coded() ? refresh_bounds<true> : refresh_bounds<false>,
           BoundsParams{model, inputs, blocks});
}

void launch_settle(const Stream& stream, const ModelView& model, const RunFlags* flags) {
    launch(stream, "settle_all", grid_for(model.stride, kThreads),
           model.lazy.coded() ? settle_all<true> : settle_all<false>, SettleParams{model, flags});
}

void launch_read_plane(const Stream& stream, const ModelView& model, int plane, float* out) {
    launch(stream, "read_plane", grid_for(model.count, kThreads),
           model.lazy.coded() ? read_plane<true> : read_plane<false>,
           ReadPlaneParams{model, plane, out});
}

}  // namespace gs::cuda
