// One thread block per 32 x 16 pixels, channel after channel. Shared memory holds the tile's pixels
// with ten more on each side, then sums along rows, then in the same place the derivatives of SSIM
// and their sums along rows. Windows are as in trainer/loss.cpp: separable, eleven taps, zero
// outside.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "trainer/cuda/loss.h"

namespace gs::cuda {
namespace {

constexpr int kReach = 5, kTaps = 2 * kReach + 1;
constexpr int kTileWidth = 32, kTileHeight = 16, kThreads = 256;
constexpr int kInputWidth = kTileWidth + 4 * kReach,
              kInputHeight = kTileHeight + 4 * kReach;  // 52 x 36
constexpr int kMapWidth = kTileWidth + 2 * kReach,
              kMapHeight = kTileHeight + 2 * kReach;  // 42 x 26
constexpr int kInputs = kInputWidth * kInputHeight, kRowSums = kMapWidth * kInputHeight,
              kMaps = kMapWidth * kMapHeight;
constexpr int kSpread = kTileWidth * kMapHeight;
constexpr int kMapsPerThread = (kMaps + kThreads - 1) / kThreads;
static_assert(3 * kMaps + 3 * kSpread <= 4 * kRowSums,
              "derivatives and their sums lie where the row sums were");

/// exp(-d^2 / (2 1.5^2)) divided by its sum, d = 0..5.
GS_DEVICE float tap(int distance) {
    constexpr float kWindow[kReach + 1] = {0.266011724861794f,   0.213005537711254f,
                                           0.109360689509700f,   0.0360007721284308f,
                                           0.00759875813523919f, 0.00102838008447911f};
    return kWindow[distance];
}
GS_DEVICE float tap_at(int k) { return tap(k < kReach ? kReach - k : k - kReach); }

/// A tile of a picture: first pixel, and which positions count.
struct Tile {
    const LossInputs* in;
    int x0, y0;
    GS_DEVICE std::size_t pixel(int x, int y) const {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(in->width) +
               static_cast<std::size_t>(x);
    }
    GS_DEVICE bool counts(int x, int y) const {
        return x >= 0 && y >= 0 && x < in->width && y < in->height &&
               (in->mask == nullptr || in->mask[pixel(x, y)] != 0);
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
    const float inverse = 1.0f / (b1 * b2), s = a1 * a2 * inverse;
    const float s_over_b1 = s * inverse * b2, s_over_b2 = s * inverse * b1;
    return {s, 2.0f * (my * (a2 - a1) * inverse + mx * (s_over_b2 - s_over_b1)), -s_over_b2,
            2.0f * a1 * inverse};
}

/// Picture and photo of a channel into shared memory, zero where nothing counts.
template <class Shared>
GS_DEVICE void load_tile(const Tile& tile, const LossJob& job, int channel, Shared& pictures,
                         Shared& photos) {
    const std::size_t plane = static_cast<std::size_t>(channel) *
                              static_cast<std::size_t>(tile.in->width) *
                              static_cast<std::size_t>(tile.in->height);
    for (int i = static_cast<int>(threadIdx.x); i < kInputs; i += kThreads) {
        const int x = tile.x0 - 2 * kReach + i % kInputWidth,
                  y = tile.y0 - 2 * kReach + i / kInputWidth;
        float picture = 0.0f, photo = 0.0f;
        if (tile.counts(x, y)) {
            const std::size_t pixel = tile.pixel(x, y);
            picture = job.picture[plane + pixel];
            photo =
                static_cast<float>(tile.in->photo[3 * pixel + static_cast<std::size_t>(channel)]) /
                255.0f;
        }
        pictures[i] = picture;
        photos[i] = photo;
    }
}

/// Window sums along rows of x, y, x^2 + y^2 and x y.
template <class Shared, class Sums>
GS_DEVICE void sum_along_rows(const Shared& pictures, const Shared& photos, Sums& sums) {
    for (int i = static_cast<int>(threadIdx.x); i < kRowSums; i += kThreads) {
        const int at = i / kMapWidth * kInputWidth + i % kMapWidth;
        float mx = 0, my = 0, squares = 0, product = 0;
        GS_UNROLL
        for (int k = 0; k < kTaps; ++k) {
            const float w = tap_at(k), x = pictures[at + k], y = photos[at + k];
            mx += w * x;
            my += w * y;
            squares += w * (x * x + y * y);
            product += w * (x * y);
        }
        sums[i] = mx;
        sums[kRowSums + i] = my;
        sums[2 * kRowSums + i] = squares;
        sums[3 * kRowSums + i] = product;
    }
}
/// One of the four maps, summed down at a place of the derivative map.
template <class Shared>
GS_DEVICE float sum_down(const Shared& sums, int map, int place) {
    float sum = 0;
    GS_UNROLL
    for (int k = 0; k < kTaps; ++k) sum += tap_at(k) * sums[map * kRowSums + place + k * kMapWidth];
    return sum;
}
/// Derivatives, kept in registers until everyone has read the sums. Returns the SSIM of the tile's
/// own pixels.
template <class Shared>
GS_DEVICE float derive(const Tile& tile, const Shared& sums, SsimPoint (&points)[kMapsPerThread]) {
    float ssim = 0;
    GS_UNROLL
    for (int n = 0; n < kMapsPerThread; ++n) {
        const int i = static_cast<int>(threadIdx.x) + n * kThreads;
        points[n] = {0, 0, 0, 0};
        if (i >= kMaps) continue;
        const int column = i % kMapWidth, row = i / kMapWidth;
        if (!tile.counts(tile.x0 - kReach + column, tile.y0 - kReach + row)) continue;
        points[n] = ssim_point(sum_down(sums, 0, i), sum_down(sums, 1, i), sum_down(sums, 2, i),
                               sum_down(sums, 3, i));
        const bool own = column >= kReach && column < kReach + kTileWidth && row >= kReach &&
                         row < kReach + kTileHeight;
        if (own) ssim += points[n].ssim;
    }
    return ssim;
}
/// Derivatives to shared memory, then their window sums along rows behind them.
template <class Shared>
GS_DEVICE void spread_along_rows(const SsimPoint (&points)[kMapsPerThread], Shared& shared) {
    GS_UNROLL
    for (int n = 0; n < kMapsPerThread; ++n) {
        const int i = static_cast<int>(threadIdx.x) + n * kThreads;
        if (i >= kMaps) continue;
        shared[i] = points[n].d_mean;
        shared[kMaps + i] = points[n].d_squares;
        shared[2 * kMaps + i] = points[n].d_product;
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 3 * kSpread; i += kThreads) {
        const int map = i / kSpread, row = i % kSpread / kTileWidth, column = i % kTileWidth;
        const int at = map * kMaps + row * kMapWidth + column;
        float sum = 0;
        GS_UNROLL
        for (int k = 0; k < kTaps; ++k) sum += tap_at(k) * shared[at + k];
        shared[3 * kMaps + i] = sum;
    }
}
template <class Shared>
GS_DEVICE float spread_down(const Shared& shared, int map, int pixel) {
    float sum = 0;
    GS_UNROLL
    for (int k = 0; k < kTaps; ++k)
        sum += tap_at(k) * shared[3 * kMaps + map * kSpread + pixel + k * kTileWidth];
    return sum;
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

GS_KERNEL(kThreads, 3)
void photo_loss(LossJob job) {
    GS_SHARED(float, pictures, kInputs);
    GS_SHARED(float, photos, kInputs);
    GS_SHARED(float, sums, 4 * kRowSums);
    GS_SHARED(double, warps, kThreads / kWarp);
    if (job.counts != nullptr && job.counts->overflow != 0) return;
    const int across = (job.inputs->width + kTileWidth - 1) / kTileWidth,
              block = static_cast<int>(blockIdx.x);
    const Tile tile{job.inputs, block % across * kTileWidth, block / across * kTileHeight};
    const float l1_scale = job.inputs->l1_scale, ssim_scale = job.inputs->ssim_scale;
    float l1 = 0, mse = 0, ssim = 0;  // of six pixels and fifteen map values at most
    for (int channel = 0; channel < 3; ++channel) {
        __syncthreads();
        load_tile(tile, job, channel, pictures, photos);
        __syncthreads();
        sum_along_rows(pictures, photos, sums);
        __syncthreads();
        SsimPoint points[kMapsPerThread];
        ssim += derive(tile, sums, points);
        __syncthreads();
        if (job.gradient != nullptr) spread_along_rows(points, sums);
        __syncthreads();
        float* gradient = job.gradient + static_cast<std::size_t>(channel) *
                                             static_cast<std::size_t>(job.inputs->width) *
                                             static_cast<std::size_t>(job.inputs->height);
        for (int i = static_cast<int>(threadIdx.x); i < kTileWidth * kTileHeight; i += kThreads) {
            const int column = i % kTileWidth, row = i / kTileWidth, x = tile.x0 + column,
                      y = tile.y0 + row;
            if (x >= job.inputs->width || y >= job.inputs->height) continue;
            const bool counts = tile.counts(x, y);
            const int at = (row + 2 * kReach) * kInputWidth + column + 2 * kReach;
            const float picture = pictures[at], photo = photos[at],
                        difference = counts ? picture - photo : 0.0f;
            l1 += fabsf(difference);
            mse += difference * difference;
            if (job.gradient == nullptr) continue;
            float g = difference > 0.0f ? l1_scale : difference < 0.0f ? -l1_scale : 0.0f;
            if (counts)
                g += ssim_scale *
                     (spread_down(sums, 0, i) + 2.0f * picture * spread_down(sums, 1, i) +
                      photo * spread_down(sums, 2, i));
            gradient[tile.pixel(x, y)] = g;
        }
    }
    const double l1_sum = block_sum(static_cast<double>(l1), warps);
    const double mse_sum = block_sum(static_cast<double>(mse), warps);
    const double ssim_sum = block_sum(static_cast<double>(ssim), warps);
    if (threadIdx.x == 0) job.partials[blockIdx.x] = {l1_sum, mse_sum, ssim_sum};
}

struct FinishParams {
    LossJob job;
    std::uint32_t partials;
};
/// One block: the sums in the order of blocks, and whether the step goes on.
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
    return static_cast<std::uint32_t>((width + kTileWidth - 1) / kTileWidth *
                                      ((height + kTileHeight - 1) / kTileHeight));
}

void launch_loss(const Stream& stream, int width, int height, const LossJob& job) {
    const std::uint32_t blocks = loss_blocks(width, height);
    launch(stream, "photo_loss", {blocks, kThreads}, photo_loss, job);
    launch(stream, "finish_loss", {1, kThreads}, finish_loss, FinishParams{job, blocks});
}

}  // namespace gs::cuda
