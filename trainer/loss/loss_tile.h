// What a task of the loss reads, writes and keeps while it runs. Private to loss.cpp, outside it
// because that file is compiled once per instruction set.
#pragma once

#include <cstdint>

namespace gs::loss {

inline constexpr int kReach = 5;  ///< pixels a window reaches to each side
inline constexpr int kTaps = 2 * kReach + 1;
// A task begins twenty rows of input before those it answers for: taller ones do less twice.
inline constexpr int kTileColumns = 192, kTileRows = 160;
// Rows of the rings: whole vectors of 16, plus what the last vector's window reads.
inline constexpr int kInput = kTileColumns + 64, kMap = kTileColumns + 48;

/// exp(-d^2 / (2 1.5^2)), d = -5..5, divided by its sum.
inline constexpr float kWindow[kTaps] = {
    0.00102838008447911f, 0.00759875813523919f, 0.0360007721284308f, 0.109360689509700f,
    0.213005537711254f,   0.266011724861794f,   0.213005537711254f,  0.109360689509700f,
    0.0360007721284308f,  0.00759875813523919f, 0.00102838008447911f};

struct LossTask {
    const float* picture;       ///< [height][width] of the channel
    const std::uint8_t* photo;  ///< [height][width][3], or null
    const float* target;        ///< [height][width] of the channel where photo is null
    const std::uint8_t* mask;   ///< [height][width] or null
    float* gradient;            ///< [height][width] of the channel, or null
    int channel, width, height;
    int x0, x1, y0, y1;          ///< the pixels this task answers for
    int edge;                    ///< nearer to a side no window counts
    float l1_scale, ssim_scale;  ///< d loss / d |difference| and d loss / d SSIM of one sample
};
struct TaskSums {
    double l1 = 0, mse = 0, ssim = 0;
};

struct alignas(64) LossRings {
    float x[kTaps][kInput], y[kTaps][kInput], weight[kTaps][kInput];  ///< input rows
    float sums[4][kTaps][kMap];            ///< window sums along rows of x, y, x^2 + y^2, x y
    float derivative[3][kMap];             ///< of the newest map row
    float spread[3][kTaps][kTileColumns];  ///< window sums along rows of the derivatives
    float own[kMap];                       ///< 1 for columns this task answers for
};

}  // namespace gs::loss
