// Rows stream through rings of eleven, once: input row -> horizontal window sums -> SSIM and its
// derivatives -> horizontal sums of those -> gradient row. A task is one channel of one tile, so
// its rings stay in the cache.
#include "trainer/loss/loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/loss/loss.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include "trainer/loss/loss_tile.h"

HWY_BEFORE_NAMESPACE();
namespace gs::loss::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

/// One channel of n interleaved pixels, 0..1.
HWY_INLINE void load_bytes(const std::uint8_t* rgb, int channel, int n, float* out) {
    const D d;
    const hn::Rebind<std::uint8_t, D> d8;
    const hn::Rebind<std::int32_t, D> d32;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const V white = hn::Set(d, 255.0f);
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
        hn::Vec<decltype(d8)> c[3];
        hn::LoadInterleaved3(d8, rgb + 3 * i, c[0], c[1], c[2]);
        hn::StoreU(hn::Div(hn::ConvertTo(d, hn::PromoteTo(d32, c[channel])), white), d, out + i);
    }
    for (; i < n; ++i) out[i] = static_cast<float>(rgb[3 * i + channel]) / 255.0f;
}

/// One input row of a channel into the rings: picture, photo and weight, zero left and right of the
/// picture.
HWY_INLINE void load_row(const LossTask& t, int y, float* x_row, float* y_row, float* w_row) {
    const int first = std::max(0, t.x0 - 2 * kReach), end = std::min(t.width, t.x1 + 2 * kReach);
    const int at = first - (t.x0 - 2 * kReach), n = end - first;
    const std::size_t row = static_cast<std::size_t>(y) * static_cast<std::size_t>(t.width) +
                            static_cast<std::size_t>(first);
    for (float* out : {x_row, y_row, w_row}) {
        std::fill_n(out, at, 0.0f);
        std::fill(out + at + n, out + kInput, 0.0f);
    }
    std::copy_n(t.picture + row, n, x_row + at);
    std::fill_n(w_row + at, n, 1.0f);
    if (t.target != nullptr) {
        std::copy_n(t.target + row, n, y_row + at);
    } else {
        load_bytes(t.photo + row * 3, t.channel, n, y_row + at);
    }
    if (t.mask == nullptr) return;
    for (int i = 0; i < n; ++i) {
        if (t.mask[row + static_cast<std::size_t>(i)] != 0) continue;
        x_row[at + i] = y_row[at + i] = w_row[at + i] = 0.0f;
    }
}

/// Window sums along a row of x, y, x^2 + y^2 and x y.
HWY_INLINE void sum_along_row(const float* x_row, const float* y_row, float* const out[4], int n) {
    const D d;
    for (int j = 0; j < n; j += static_cast<int>(hn::Lanes(d))) {
        const V middle = hn::Set(d, kWindow[kReach]), x0 = hn::LoadU(d, x_row + j + kReach),
                y0 = hn::LoadU(d, y_row + j + kReach);
        V mx = hn::Mul(middle, x0), my = hn::Mul(middle, y0);
        V squares = hn::MulAdd(mx, x0, hn::Mul(my, y0)), product = hn::Mul(mx, y0);
#pragma GCC unroll 5
        for (int k = 0; k < kReach; ++k) {
            const V w = hn::Set(d, kWindow[k]);
            const V xa = hn::LoadU(d, x_row + j + k), xb = hn::LoadU(d, x_row + j + kTaps - 1 - k);
            const V ya = hn::LoadU(d, y_row + j + k), yb = hn::LoadU(d, y_row + j + kTaps - 1 - k);
            mx = hn::MulAdd(w, hn::Add(xa, xb), mx);
            my = hn::MulAdd(w, hn::Add(ya, yb), my);
            const V square =
                hn::MulAdd(xa, xa, hn::MulAdd(xb, xb, hn::MulAdd(ya, ya, hn::Mul(yb, yb))));
            squares = hn::MulAdd(w, square, squares);
            product = hn::MulAdd(w, hn::MulAdd(xa, ya, hn::Mul(xb, yb)), product);
        }
        hn::Store(mx, d, out[0] + j);
        hn::Store(my, d, out[1] + j);
        hn::Store(squares, d, out[2] + j);
        hn::Store(product, d, out[3] + j);
    }
}

/// Sum over the eleven rows of one map, at column j.
HWY_INLINE V sum_down(const float* const rows[kTaps], int j) {
    const D d;
    V sum = hn::Mul(hn::Set(d, kWindow[0]),
                    hn::Add(hn::Load(d, rows[0] + j), hn::Load(d, rows[10] + j)));
#pragma GCC unroll 4
    for (int k = 1; k < kReach; ++k)
        sum = hn::MulAdd(hn::Set(d, kWindow[k]),
                         hn::Add(hn::Load(d, rows[k] + j), hn::Load(d, rows[kTaps - 1 - k] + j)),
                         sum);
    return hn::MulAdd(hn::Set(d, kWindow[kReach]), hn::Load(d, rows[kReach] + j), sum);
}

/// SSIM of one row and its derivatives by mu_x, E[x^2 + y^2] and E[x y]. Returns the sum of SSIM
/// over the tile's own columns.
///   S = A1 A2 / (B1 B2), A1 = 2 mx my + C1, A2 = 2 (Exy - mx my) + C2, B1 = mx^2 + my^2 + C1, B2 =
///   Exx + Eyy - mx^2 - my^2 + C2
HWY_INLINE float ssim_row(const float* const rows[4][kTaps], const float* weight, const float* own,
                          float* const out[3], int n) {
    const D d;
    const V c1 = hn::Set(d, 0.01f * 0.01f), c2 = hn::Set(d, 0.03f * 0.03f), two = hn::Set(d, 2.0f);
    V sum = hn::Zero(d);
    for (int j = 0; j < n; j += static_cast<int>(hn::Lanes(d))) {
        const V mx = sum_down(rows[0], j), my = sum_down(rows[1], j),
                squares = sum_down(rows[2], j), product = sum_down(rows[3], j);
        const V w = hn::LoadU(d, weight + j);
        const V mm = hn::Mul(mx, my), m2 = hn::MulAdd(mx, mx, hn::Mul(my, my));
        const V a1 = hn::MulAdd(two, mm, c1), a2 = hn::MulAdd(two, hn::Sub(product, mm), c2);
        const V b1 = hn::Add(m2, c1), b2 = hn::Add(hn::Sub(squares, m2), c2);
        const V plain_inverse = hn::Div(hn::Set(d, 1.0f), hn::Mul(b1, b2));
        const V inverse = hn::Mul(w, plain_inverse);  // carries the weight into everything below
        const V s = hn::Mul(hn::Mul(a1, a2), inverse), s_inverse = hn::Mul(s, plain_inverse);
        const V s_over_b1 = hn::Mul(s_inverse, b2), s_over_b2 = hn::Mul(s_inverse, b1);
        const V d_mx = hn::MulAdd(hn::Mul(my, hn::Sub(a2, a1)), inverse,
                                  hn::Mul(mx, hn::Sub(s_over_b2, s_over_b1)));
        hn::Store(hn::Mul(two, d_mx), d, out[0] + j);
        hn::Store(hn::Neg(s_over_b2), d, out[1] + j);
        hn::Store(hn::Mul(two, hn::Mul(a1, inverse)), d, out[2] + j);
        sum = hn::MulAdd(s, hn::Load(d, own + j), sum);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE void spread_along_row(float* const in[3], float* const out[3], int n) {
    const D d;
    for (int map = 0; map < 3; ++map)
        for (int k0 = 0; k0 < n; k0 += static_cast<int>(hn::Lanes(d))) {
            const float* at = in[map] + k0;
            V sum = hn::Mul(hn::Set(d, kWindow[kReach]), hn::LoadU(d, at + kReach));
#pragma GCC unroll 5
            for (int k = 0; k < kReach; ++k)
                sum = hn::MulAdd(hn::Set(d, kWindow[k]),
                                 hn::Add(hn::LoadU(d, at + k), hn::LoadU(d, at + kTaps - 1 - k)),
                                 sum);
            hn::Store(sum, d, out[map] + k0);
        }
}

/// L1 and squared error of an output row, and its gradient where wanted.
HWY_INLINE void finish_row(const LossTask& t, const float* x_row, const float* y_row,
                           const float* w_row, const float* const rows[3][kTaps], float* gradient,
                           TaskSums& sums) {
    const D d;
    const int n = t.x1 - t.x0;
    const V l1_scale = hn::Set(d, t.l1_scale), ssim_scale = hn::Set(d, t.ssim_scale),
            zero = hn::Zero(d);
    V l1 = zero, mse = zero;
    HWY_ALIGN float row[kTileColumns];
    for (int k = 0; k < n; k += static_cast<int>(hn::Lanes(d))) {
        const V x = hn::LoadU(d, x_row + k), y = hn::LoadU(d, y_row + k),
                w = hn::LoadU(d, w_row + k);
        // Columns right of the tile belong to its neighbour: their own-weight is zero there.
        const V own = hn::IfThenElseZero(
            hn::Lt(hn::Iota(d, static_cast<float>(k)), hn::Set(d, static_cast<float>(n))), w);
        const V difference = hn::Mul(own, hn::Sub(x, y));
        l1 = hn::Add(l1, hn::Abs(difference));
        mse = hn::MulAdd(difference, difference, mse);
        if (gradient == nullptr) continue;
        const V sign =
            hn::IfThenElse(hn::Gt(difference, zero), l1_scale,
                           hn::IfThenElse(hn::Lt(difference, zero), hn::Neg(l1_scale), zero));
        const V g = hn::MulAdd(hn::Add(x, x), sum_down(rows[1], k),
                               hn::MulAdd(y, sum_down(rows[2], k), sum_down(rows[0], k)));
        hn::Store(hn::MulAdd(hn::Mul(ssim_scale, own), g, sign), d, row + k);
    }
    sums.l1 += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, l1)));
    sums.mse += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, mse)));
    if (gradient != nullptr) std::copy_n(row, n, gradient);
}

void RunTask(const LossTask& t, TaskSums& sums) {
    LossRings rings;
    const int columns = t.x1 - t.x0, map_columns = columns + 2 * kReach;
    std::fill(std::begin(rings.own), std::end(rings.own), 0.0f);
    const auto counts = [&](int at, int side) { return at >= t.edge && at < side - t.edge; };
    for (int x = t.x0; x < t.x1; ++x)
        rings.own[kReach + x - t.x0] = counts(x, t.width) ? 1.0f : 0.0f;
    for (float(&row)[kMap] : rings.derivative) std::fill(std::begin(row), std::end(row), 0.0f);
    sums = {};
    const int top = t.y0 - 2 * kReach;
    const auto slot = [&](int y) { return (y - top) % kTaps; };
    const auto inside = [&](int y) {
        return y >= 0 && y < t.height;
    };  // rows outside the picture are zero
    const float* rows[4][kTaps];
    for (int y = top; y < t.y1 + 2 * kReach; ++y) {
        float* const sums_out[4] = {rings.sums[0][slot(y)], rings.sums[1][slot(y)],
                                    rings.sums[2][slot(y)], rings.sums[3][slot(y)]};
        if (inside(y)) {
            load_row(t, y, rings.x[slot(y)], rings.y[slot(y)], rings.weight[slot(y)]);
            sum_along_row(rings.x[slot(y)], rings.y[slot(y)], sums_out, map_columns);
        } else {
            for (float* out : sums_out) std::fill_n(out, kMap, 0.0f);
        }

        const int map_y = y - kReach;
        if (map_y < t.y0 - kReach) continue;
        for (int m = 0; m < 4; ++m)
            for (int k = 0; k < kTaps; ++k) rows[m][k] = rings.sums[m][slot(map_y - kReach + k)];
        float* const spread[3] = {rings.spread[0][slot(map_y)], rings.spread[1][slot(map_y)],
                                  rings.spread[2][slot(map_y)]};
        if (inside(map_y)) {
            float* const derivative[3] = {rings.derivative[0], rings.derivative[1],
                                          rings.derivative[2]};
            const float ssim = ssim_row(rows, rings.weight[slot(map_y)] + kReach, rings.own,
                                        derivative, map_columns);
            if (map_y >= t.y0 && map_y < t.y1 && counts(map_y, t.height))
                sums.ssim += static_cast<double>(ssim);
            if (t.gradient != nullptr) spread_along_row(derivative, spread, columns);
        } else {
            for (float* out : spread) std::fill_n(out, kTileColumns, 0.0f);
        }

        const int out_y = map_y - kReach;
        if (out_y < t.y0) continue;
        for (int m = 0; m < 3; ++m)
            for (int k = 0; k < kTaps; ++k) rows[m][k] = rings.spread[m][slot(out_y - kReach + k)];
        float* gradient =
            t.gradient == nullptr
                ? nullptr
                : t.gradient + static_cast<std::size_t>(out_y) * static_cast<std::size_t>(t.width) +
                      t.x0;
        const int at = slot(out_y);
        finish_row(t, rings.x[at] + 2 * kReach, rings.y[at] + 2 * kReach,
                   rings.weight[at] + 2 * kReach, rows, gradient, sums);
    }
}

}  // namespace gs::loss::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "base/check.h"
#include "base/parallel.h"

namespace gs {
namespace loss {
HWY_EXPORT(RunTask);
void run_task(const LossTask& task, TaskSums& sums) { HWY_DYNAMIC_DISPATCH(RunTask)(task, sums); }
}  // namespace loss

namespace {

/// That no mask hides, `edge` or farther from the sides.
double pixels_inside(const ImageF& picture, const Image8& mask, int edge) {
    double out = 0;
    for (int y = edge; y < picture.height - edge; ++y)
        for (int x = edge; x < picture.width - edge; ++x)
            out += mask.empty() || *mask.at(x, y) != 0 ? 1 : 0;
    return out;
}

/// The part of the task that does not depend on the tile; see LossTask.
LossTerms run(const ImageF& picture, const loss::LossTask& common, const Image8& mask,
              double lambda_dssim, ImageF* gradient) {
    CHECK(picture.channels == 3);
    CHECK(mask.empty() ||
          (mask.width == picture.width && mask.height == picture.height && mask.channels == 1));
    LossTerms terms{.pixels = picture.pixels() - static_cast<std::uint64_t>(std::count(
                                                     mask.bytes.begin(), mask.bytes.end(), 0))};
    if (gradient != nullptr) gradient->resize(picture.width, picture.height, 3);
    const double samples = std::max(1.0, 3.0 * static_cast<double>(terms.pixels));
    const auto split = [](int length, int most) { return (length + most - 1) / most; };
    const int across = split(picture.width, loss::kTileColumns),
              down = split(picture.height, loss::kTileRows);
    const int columns = split(picture.width, across), rows = split(picture.height, down);
    const double windows =
        common.edge == 0 ? samples : 3.0 * pixels_inside(picture, mask, common.edge);
    std::vector<loss::TaskSums> sums(static_cast<std::size_t>(3 * across * down));
    parallel_for(sums.size(), 1, [&](std::size_t i) {
        const int channel = static_cast<int>(i) % 3, tile = static_cast<int>(i) / 3;
        loss::LossTask task = common;
        task.picture = picture.plane(channel);
        if (task.target != nullptr)
            task.target += static_cast<std::size_t>(channel) * picture.pixels();
        task.mask = mask.empty() ? nullptr : mask.bytes.data();
        task.gradient = gradient == nullptr ? nullptr : gradient->plane(channel);
        task.channel = channel;
        task.width = picture.width;
        task.height = picture.height;
        task.x0 = tile % across * columns;
        task.x1 = std::min(picture.width, task.x0 + columns);
        task.y0 = tile / across * rows;
        task.y1 = std::min(picture.height, task.y0 + rows);
        task.l1_scale = static_cast<float>((1.0 - lambda_dssim) / samples);
        task.ssim_scale = static_cast<float>(-lambda_dssim / samples);
        if (task.x0 < task.x1 && task.y0 < task.y1) loss::run_task(task, sums[i]);
    });
    for (const loss::TaskSums& s : sums) {
        terms.l1 += s.l1 / samples;
        terms.mse += s.mse / samples;
        terms.ssim += s.ssim / windows;
    }
    terms.loss = (1.0 - lambda_dssim) * terms.l1 + lambda_dssim * (1.0 - terms.ssim);
    return terms;
}

}  // namespace

LossTerms photo_loss(const ImageF& picture, const Image8& photo, const Image8& mask,
                     double lambda_dssim, ImageF* gradient, int edge) {
    CHECK(picture.width == photo.width && picture.height == photo.height && photo.channels == 3,
          "picture {}x{}, photo {}x{}", picture.width, picture.height, photo.width, photo.height);
    CHECK(edge == 0 || gradient == nullptr);
    loss::LossTask task{};
    task.photo = photo.bytes.data();
    task.edge = edge;
    return run(picture, task, mask, lambda_dssim, gradient);
}

LossTerms photo_loss(const ImageF& picture, const ImageF& photo, const Image8& mask,
                     double lambda_dssim, ImageF* gradient) {
    CHECK(picture.width == photo.width && picture.height == photo.height && photo.channels == 3,
          "picture {}x{}, photo {}x{}", picture.width, picture.height, photo.width, photo.height);
    loss::LossTask task{};
    task.target = photo.values.data();
    return run(picture, task, mask, lambda_dssim, gradient);
}

}  // namespace gs
#endif  // HWY_ONCE
