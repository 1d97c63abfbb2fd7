// A thread block for one channel of 32 x 32 pixels. Windows are as in trainer/loss/loss.cpp:
// separable, eleven taps, zero outside. Every sum along a column or a row is made in runs: a thread
// reads the values of a run once and adds each to all outputs that it is a tap of, in registers, so
// that a value is read (run + 10) / run times and not eleven. In turn, with a barrier between:
//   down columns of pixels, straight from device memory   -> four maps of sums, 42 x 52
//   along their rows, and the derivatives of SSIM         -> three maps, 42 x 42
//   along rows of those                                   -> three maps, 42 x 32
//   down their columns                                    -> gradient
// Threads of a warp take neighbouring columns in the first and last, so device memory is read and
// written in whole lines, and neighbouring rows in the others, whose odd strides put them in
// different banks of shared memory (place_along). All maps are in one piece of it, one over the
// other.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "trainer/cuda/loss.h"

namespace gs::cuda {
namespace {

constexpr int kReach = 5, kTaps = 2 * kReach + 1;
constexpr int kTile = 32, kMap = kTile + 2 * kReach, kInput = kTile + 4 * kReach, kThreads = 256;
constexpr int kChannels = 3;
/// Outputs of a thread in each of the four passes.
constexpr int kSumDown = 11, kSumAlong = 7, kSpreadAlong = 8, kSpreadDown = 4;
constexpr int kAhead = 7;  ///< pixels of a column read at once
static_assert((kSumDown + kTaps - 1) % kAhead == 0 && kMap % kSumAlong == 0 &&
              kTile % kSpreadAlong == 0 && kTile % kSpreadDown == 0);
static_assert((kMap + kSumDown - 1) / kSumDown * kInput <= kThreads &&
              kTile / kSpreadDown * kTile == kThreads);
/// Floats from one row of a map to the next: odd, so that rows are in different banks, and for
/// place_along() three runs of seven columns also are, for ten rows.
constexpr int kStride = 53, kSpreadStride = 33;
static_assert(kStride >= kInput && kSpreadStride >= kTile);
constexpr int kMapFloats = kMap * kStride, kSpread = kMap * kSpreadStride;
constexpr int kShared = 4 * kMapFloats > 3 * (kMapFloats + kSpread) ? 4 * kMapFloats
                                                                    : 3 * (kMapFloats + kSpread);

/// exp(-d^2 / (2 1.5^2)) divided by its sum, d = 0..5.
GS_DEVICE float tap(int distance) {
    static constexpr float kWindow[kReach + 1] = {0.266011724861794f,   0.213005537711254f,
                                                  0.109360689509700f,   0.0360007721284308f,
                                                  0.00759875813523919f, 0.00102838008447911f};
    return kWindow[distance];
}

/// Where a thread's run along a row begins; first < 0: it has none.
struct Place {
    int row, first;
};
/// The first 32 rows go to a warp for each of kRuns runs of kLength columns, the ten others to
/// further warps, kTogether runs to each.
template <int kRuns, int kLength, int kTogether>
GS_DEVICE Place place_along() {
    constexpr int kRest = kMap - kWarp;
    static_assert(kRuns + (kRuns + kTogether - 1) / kTogether <= kThreads / kWarp &&
                  kTogether * kRest <= kWarp);
    if (warp_id() < kRuns) return {lane_id(), warp_id() * kLength};
    const int among = lane_id() / kRest, run = (warp_id() - kRuns) * kTogether + among;
    return {kWarp + lane_id() % kRest, among < kTogether && run < kRuns ? run * kLength : -1};
}
GS_DEVICE Place sum_place() { return place_along<kMap / kSumAlong, kSumAlong, 3>(); }

/// Outputs of a thread, next to each other; output j has the inputs j .. j + 10 of its run.
template <int kCount>
struct Run {
    static constexpr int kInputs = kCount + kTaps - 1;
    float sum[kCount] = {};
    /// Of input i, a constant once loops are unrolled.
    GS_DEVICE void add(int i, float value) {
        GS_UNROLL
        for (int j = 0; j < kCount; ++j) {
            const int distance = i - j < kReach ? kReach - (i - j) : i - j - kReach;
            if (distance <= kReach) sum[j] += tap(distance) * value;
        }
    }
};

/// One channel of a tile. Pixels are x, y of the picture.
struct Tile {
    LossJob job;
    const std::uint8_t *photo, *mask;
    int width, height, channel, x0, y0;

    GS_DEVICE Tile(const LossJob& of, std::uint32_t block)
        : job(of),
          photo(of.inputs->photo),
          mask(of.inputs->mask),
          width(of.inputs->width),
          height(of.inputs->height),
          channel(static_cast<int>(block) % kChannels) {
        const int tile = static_cast<int>(block) / kChannels, across = (width + kTile - 1) / kTile;
        x0 = tile % across * kTile;
        y0 = tile / across * kTile;
    }
    /// May be negative, of pixels outside.
    GS_DEVICE std::ptrdiff_t pixel(int x, int y) const {
        return static_cast<std::ptrdiff_t>(y) * width + x;
    }
    /// Of the picture's and the gradient's channel.
    GS_DEVICE std::ptrdiff_t value(int x, int y) const {
        return static_cast<std::ptrdiff_t>(channel) * width * height + pixel(x, y);
    }
    /// Which of kCount pixels from x, y on to the right count, or of those from there down.
    template <bool kDown, int kCount>
    GS_DEVICE void counted(int x, int y, bool (&used)[kCount]) const {
        const int along = kDown ? y : x, length = kDown ? height : width, across = kDown ? x : y,
                  breadth = kDown ? width : height,
                  end = across >= 0 && across < breadth ? length - along : 0;
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) used[i] = i >= -along && i < end;
        if (mask == nullptr) return;
        const std::uint8_t* at = mask + pixel(x, y);
        GS_UNROLL
        for (int i = 0; i < kCount; ++i, at += kDown ? width : 1)
            used[i] = used[i] && __ldg(at) != 0;
    }
    /// Picture and photo at kCount pixels of a column, zero where nothing counts: all of them are
    /// read before the first is used.
    template <int kCount>
    GS_DEVICE void read(int x, int y, bool (&used)[kCount], float (&pictures)[kCount],
                        float (&photos)[kCount]) const {
        counted<true>(x, y, used);
        const float* picture_at = job.picture + value(x, y);
        const std::uint8_t* photo_at = photo + 3 * pixel(x, y) + channel;
        std::uint8_t bytes[kCount];
        GS_UNROLL
        for (int i = 0; i < kCount; ++i, picture_at += width, photo_at += 3 * width) {
            pictures[i] = used[i] ? *picture_at : 0.0f;
            bytes[i] = used[i] ? __ldg(photo_at) : std::uint8_t{0};
        }
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) photos[i] = static_cast<float>(bytes[i]) * (1.0f / 255.0f);
    }
};

/// Derivatives of one SSIM value; sums in E[x^2 + y^2].
struct SsimPoint {
    float ssim, d_mean, d_squares, d_product;
};
/// S = A1 A2 / (B1 B2), A1 = 2 mx my + C1, A2 = 2 (Exy - mx my) + C2, B1 = mx^2 + my^2 + C1,
/// B2 = Exx + Eyy - mx^2 - my^2 + C2.
GS_DEVICE SsimPoint ssim_point(float mx, float my, float squares, float product) {
    constexpr float c1 = 0.01f * 0.01f, c2 = 0.03f * 0.03f;
    const float mm = mx * my, m2 = mx * mx + my * my;
    const float a1 = 2.0f * mm + c1, a2 = 2.0f * (product - mm) + c2;
    const float b1 = m2 + c1, b2 = (squares - m2) + c2;
    const float inverse = __fdividef(1.0f, b1 * b2), s = a1 * a2 * inverse;
    const float s_over_b1 = s * inverse * b2, s_over_b2 = s * inverse * b1;
    return {s, 2.0f * (my * (a2 - a1) * inverse + mx * (s_over_b2 - s_over_b1)), -s_over_b2,
            2.0f * a1 * inverse};
}

/// Window sums down columns of x, y, x^2 + y^2 and x y.
template <class Shared>
GS_DEVICE void sum_down(const Tile& tile, Shared& sums) {
    const int thread = static_cast<int>(threadIdx.x), column = thread % kInput,
              first = thread / kInput * kSumDown;
    if (first >= kMap) return;
    const int x = tile.x0 - 2 * kReach + column, y = tile.y0 - 2 * kReach + first;
    Run<kSumDown> mx, my, squares, product;
    GS_UNROLL
    for (int begin = 0; begin < Run<kSumDown>::kInputs; begin += kAhead) {
        bool used[kAhead];
        float pictures[kAhead], photos[kAhead];
        tile.read(x, y + begin, used, pictures, photos);
        GS_UNROLL
        for (int i = 0; i < kAhead; ++i) {
            mx.add(begin + i, pictures[i]);
            my.add(begin + i, photos[i]);
            squares.add(begin + i, pictures[i] * pictures[i] + photos[i] * photos[i]);
            product.add(begin + i, pictures[i] * photos[i]);
        }
    }
    GS_UNROLL
    for (int j = 0; j < kSumDown; ++j) {
        if (first + j >= kMap) break;
        const int at = (first + j) * kStride + column;
        sums[at] = mx.sum[j];
        sums[kMapFloats + at] = my.sum[j];
        sums[2 * kMapFloats + at] = squares.sum[j];
        sums[3 * kMapFloats + at] = product.sum[j];
    }
}

/// Sums along rows of those, and the derivatives they give at the pixels of a run. Returns the SSIM
/// of those that are the tile's own.
template <class Shared>
GS_DEVICE float derive(const Tile& tile, const Shared& sums, SsimPoint (&points)[kSumAlong]) {
    const auto [row, first] = sum_place();
    if (first < 0) return 0.0f;
    Run<kSumAlong> mx, my, squares, product;
    GS_UNROLL
    for (int i = 0; i < Run<kSumAlong>::kInputs; ++i) {
        const int at = row * kStride + first + i;
        mx.add(i, sums[at]);
        my.add(i, sums[kMapFloats + at]);
        squares.add(i, sums[2 * kMapFloats + at]);
        product.add(i, sums[3 * kMapFloats + at]);
    }
    bool used[kSumAlong];
    tile.counted<false>(tile.x0 - kReach + first, tile.y0 - kReach + row, used);
    float ssim = 0;
    GS_UNROLL
    for (int j = 0; j < kSumAlong; ++j) {
        const int column = first + j;
        points[j] = ssim_point(mx.sum[j], my.sum[j], squares.sum[j], product.sum[j]);
        if (!used[j]) points[j] = {};
        const bool own =
            column >= kReach && column < kReach + kTile && row >= kReach && row < kReach + kTile;
        if (own) ssim += points[j].ssim;
    }
    return ssim;
}

/// Derivatives to shared memory, then their window sums along rows behind them.
template <class Shared>
GS_DEVICE void spread_along(const SsimPoint (&points)[kSumAlong], Shared& shared) {
    const Place mine = sum_place();
    if (mine.first >= 0) {
        GS_UNROLL
        for (int j = 0; j < kSumAlong; ++j) {
            const int at = mine.row * kStride + mine.first + j;
            shared[at] = points[j].d_mean;
            shared[kMapFloats + at] = points[j].d_squares;
            shared[2 * kMapFloats + at] = points[j].d_product;
        }
    }
    __syncthreads();
    const auto [row, first] = place_along<kTile / kSpreadAlong, kSpreadAlong, 2>();
    if (first < 0) return;
    GS_UNROLL
    for (int map = 0; map < 3; ++map) {
        Run<kSpreadAlong> run;
        GS_UNROLL
        for (int i = 0; i < Run<kSpreadAlong>::kInputs; ++i)
            run.add(i, shared[map * kMapFloats + row * kStride + first + i]);
        GS_UNROLL
        for (int j = 0; j < kSpreadAlong; ++j)
            shared[3 * kMapFloats + map * kSpread + row * kSpreadStride + first + j] = run.sum[j];
    }
}
/// The sums of one map down a column, of the gradient's rows first, first + 1 ..
template <class Shared>
GS_DEVICE Run<kSpreadDown> spread_down(const Shared& shared, int map, int column, int first) {
    Run<kSpreadDown> run;
    GS_UNROLL
    for (int i = 0; i < Run<kSpreadDown>::kInputs; ++i)
        run.add(i, shared[3 * kMapFloats + map * kSpread + (first + i) * kSpreadStride + column]);
    return run;
}

/// Sums of |x - y| and (x - y)^2 of the thread's own pixels; their gradient is stored.
template <class Shared>
GS_DEVICE float2 finish_tile(const Tile& tile, const Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x), column = thread % kTile,
              first = thread / kTile * kSpreadDown, x = tile.x0 + column, y = tile.y0 + first;
    bool used[kSpreadDown];
    float pictures[kSpreadDown], photos[kSpreadDown];
    tile.read(x, y, used, pictures, photos);
    float l1 = 0, mse = 0, difference[kSpreadDown];
    GS_UNROLL
    for (int i = 0; i < kSpreadDown; ++i) {
        difference[i] = pictures[i] - photos[i];
        l1 += fabsf(difference[i]);
        mse += difference[i] * difference[i];
    }
    if (tile.job.gradient == nullptr) return {l1, mse};
    const Run<kSpreadDown> mean = spread_down(shared, 0, column, first),
                           squares = spread_down(shared, 1, column, first),
                           product = spread_down(shared, 2, column, first);
    const float l1_scale = tile.job.inputs->l1_scale, ssim_scale = tile.job.inputs->ssim_scale;
    float* gradient = tile.job.gradient + tile.value(x, y);
    const int rows = x < tile.width ? tile.height - y : 0;
    GS_UNROLL
    for (int i = 0; i < kSpreadDown; ++i, gradient += tile.width) {
        float g = difference[i] > 0.0f ? l1_scale : difference[i] < 0.0f ? -l1_scale : 0.0f;
        g += ssim_scale *
             (mean.sum[i] + 2.0f * pictures[i] * squares.sum[i] + photos[i] * product.sum[i]);
        if (i < rows) *gradient = used[i] ? g : 0.0f;
    }
    return {l1, mse};
}

GS_DEVICE float sum_of_warp(float x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_xor_sync(kAllLanes, x, distance);
    return x;
}

GS_KERNEL(kThreads, 3)
void photo_loss(LossJob job) {
    GS_SHARED(float, shared, kShared);
    GS_SHARED(float, warps, 3 * kThreads / kWarp);
    if (job.counts != nullptr && job.counts->overflow != 0) return;
    const Tile tile(job, blockIdx.x);
    sum_down(tile, shared);
    __syncthreads();
    SsimPoint points[kSumAlong];
    const float ssim = derive(tile, shared, points);
    __syncthreads();
    if (job.gradient != nullptr) spread_along(points, shared);
    __syncthreads();
    const float2 differences = finish_tile(tile, shared);
    // Within a warp in single precision, which many GPUs have 64 times as much of as of double.
    const float l1 = sum_of_warp(differences.x), mse = sum_of_warp(differences.y),
                of_ssim = sum_of_warp(ssim);
    if (lane_id() == 0) {
        warps[3 * warp_id()] = l1;
        warps[3 * warp_id() + 1] = mse;
        warps[3 * warp_id() + 2] = of_ssim;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    LossPartial sum{0, 0, 0};
    for (int w = 0; w < kThreads / kWarp; ++w) {
        sum.l1 += static_cast<double>(warps[3 * w]);
        sum.mse += static_cast<double>(warps[3 * w + 1]);
        sum.ssim += static_cast<double>(warps[3 * w + 2]);
    }
    job.partials[blockIdx.x] = sum;
}

/// Sum over the block, valid in thread 0. `warps`: shared, [8].
template <class Shared>
GS_DEVICE double block_sum(double x, Shared& warps) {
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_xor_sync(kAllLanes, x, distance);
    __syncthreads();
    if (lane_id() == 0) warps[warp_id()] = x;
    __syncthreads();
    double sum = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < kThreads / kWarp; ++w) sum += warps[w];
    return sum;
}

struct FinishParams {
    LossJob job;
    std::uint32_t partials;
};
/// One block: the sums in the order of blocks, and whether the step continues.
GS_KERNEL(kThreads, 1)
void finish_loss(FinishParams p) {
    GS_SHARED(double, warps, kThreads / kWarp);
    const bool fits = p.job.counts == nullptr || p.job.counts->overflow == 0;
    double l1 = 0, mse = 0, ssim = 0;
    for (std::uint32_t i = threadIdx.x; fits && i < p.partials; i += kThreads) {
        l1 += p.job.partials[i].l1;
        mse += p.job.partials[i].mse;
        ssim += p.job.partials[i].ssim;
    }
    l1 = block_sum(l1, warps);
    mse = block_sum(mse, warps);
    ssim = block_sum(ssim, warps);
    if (threadIdx.x != 0) return;
    StepResult result{};
    const double n = p.job.inputs->samples, lambda = p.job.inputs->lambda_dssim;
    result.l1 = l1 / n;
    result.mse = mse / n;
    result.ssim = ssim / n;
    result.loss = (1.0 - lambda) * result.l1 + lambda * (1.0 - result.ssim);
    if (p.job.flags != nullptr) {
        if (!fits) p.job.flags->halted = 1;
        result.halted = p.job.flags->halted;
        p.job.flags->go = result.halted == 0 && isfinite(result.loss) ? 1 : 0;
    }
    *p.job.result = result;
}

}  // namespace

std::uint32_t loss_blocks(int width, int height) {
    return static_cast<std::uint32_t>(kChannels * ((width + kTile - 1) / kTile) *
                                      ((height + kTile - 1) / kTile));
}

void launch_loss(const Stream& stream, int width, int height, const LossJob& job) {
    const std::uint32_t blocks = loss_blocks(width, height);
    launch(stream, "photo_loss", {blocks, kThreads}, photo_loss, job);
    launch(stream, "finish_loss", {1, kThreads}, finish_loss, FinishParams{job, blocks});
}

}  // namespace gs::cuda
