#include "renderer/reference/loss.h"

#include <array>
#include <cmath>

namespace gs::reference {
namespace {

constexpr int kRadius = 5;
constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;

std::array<double, 2 * kRadius + 1> window() {
    std::array<double, 2 * kRadius + 1> w{};
    double sum = 0;
    for (int i = -kRadius; i <= kRadius; ++i) {
        w[static_cast<std::size_t>(i + kRadius)] = std::exp(-i * i / (2 * 1.5 * 1.5));
        sum += w[static_cast<std::size_t>(i + kRadius)];
    }
    for (double& x : w) x /= sum;
    return w;
}

// Weighted mean around every pixel; what lies outside the picture counts as zero. Its own
// transpose.
std::vector<double> blur(const Image& shape, const std::vector<double>& in) {
    const auto w = window();
    const int height = shape.height, width = shape.width, channels = shape.channels;
    const auto at = [&](int x, int y, int c) {
        return static_cast<std::size_t>((y * width + x) * channels + c);
    };
    std::vector<double> rows(in.size(), 0.0), out(in.size(), 0.0);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int k = -kRadius; k <= kRadius; ++k) {
                if (x + k < 0 || x + k >= width) continue;
                for (int c = 0; c < channels; ++c)
                    rows[at(x, y, c)] +=
                        w[static_cast<std::size_t>(k + kRadius)] * in[at(x + k, y, c)];
            }
    for (int y = 0; y < height; ++y)
        for (int k = -kRadius; k <= kRadius; ++k) {
            if (y + k < 0 || y + k >= height) continue;
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < channels; ++c)
                    out[at(x, y, c)] +=
                        w[static_cast<std::size_t>(k + kRadius)] * rows[at(x, y + k, c)];
        }
    return out;
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i];
    return out;
}

// SSIM of every value and its derivatives with respect to the three blurred pictures that depend on
// a.
struct SsimTerms {
    std::vector<double> ssim, by_mean, by_square, by_product;
};
SsimTerms ssim_terms(const Image& a, const Image& b) {
    const auto mean_a = blur(a, a.values), mean_b = blur(b, b.values);
    const auto aa = blur(a, product(a.values, a.values)), bb = blur(a, product(b.values, b.values));
    const auto ab = blur(a, product(a.values, b.values));
    SsimTerms out;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double ma = mean_a[i], mb = mean_b[i];
        const double a1 = 2 * ma * mb + kC1, a2 = 2 * (ab[i] - ma * mb) + kC2;
        const double b1 = ma * ma + mb * mb + kC1, b2 = (aa[i] - ma * ma) + (bb[i] - mb * mb) + kC2;
        const double s = a1 * a2 / (b1 * b2);
        out.ssim.push_back(s);
        out.by_mean.push_back(2 * mb * (a2 - a1) / (b1 * b2) - s * 2 * ma * (1 / b1 - 1 / b2));
        out.by_square.push_back(-s / b2);
        out.by_product.push_back(2 * a1 / (b1 * b2));
    }
    return out;
}

}  // namespace

double mean_abs(const Image& a, const Image& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) sum += std::abs(a.values[i] - b.values[i]);
    return sum / static_cast<double>(a.values.size());
}

double mean_square(const Image& a, const Image& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        sum += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    return sum / static_cast<double>(a.values.size());
}

double psnr(const Image& a, const Image& b) { return -10 * std::log10(mean_square(a, b)); }

std::vector<double> ssim_map(const Image& a, const Image& b) { return ssim_terms(a, b).ssim; }

double ssim(const Image& a, const Image& b, int border) {
    const auto map = ssim_map(a, b);
    double sum = 0;
    std::size_t count = 0;
    for (int y = border; y < a.height - border; ++y)
        for (int x = border; x < a.width - border; ++x)
            for (int c = 0; c < a.channels; ++c, ++count)
                sum += map[static_cast<std::size_t>((y * a.width + x) * a.channels + c)];
    return sum / static_cast<double>(count);
}

LossResult loss_l1_dssim(const Image& a, const Image& b, double dssim) {
    const SsimTerms terms = ssim_terms(a, b);
    const double n = static_cast<double>(a.values.size());
    LossResult out;
    double sum = 0;
    for (const double s : terms.ssim) sum += s;
    out.value = (1 - dssim) * mean_abs(a, b) + dssim * (1 - sum / n);
    const auto mean = blur(a, terms.by_mean), square = blur(a, terms.by_square),
               cross = blur(a, terms.by_product);
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double difference = a.values[i] - b.values[i];
        const double sign = difference > 0 ? 1 : (difference < 0 ? -1 : 0);
        const double v_ssim = mean[i] + 2 * a.values[i] * square[i] + b.values[i] * cross[i];
        out.gradient.push_back(((1 - dssim) * sign - dssim * v_ssim) / n);
    }
    return out;
}

}  // namespace gs::reference
