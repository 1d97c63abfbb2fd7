// The training loss and the picture metrics, written out: L1, SSIM (11x11 Gaussian window,
// sigma 1.5, zero padding), PSNR. Sources: Wang et al. 2004 (SSIM), Kerbl et al. 2023 (the mix).
#pragma once

#include <vector>

namespace gs::reference {

/// [height][width][channels], 0..1.
struct Image {
    int width = 0, height = 0, channels = 3;
    std::vector<double> values;
};

double mean_abs(const Image& a, const Image& b);
double mean_square(const Image& a, const Image& b);
/// Peak 1; infinite for equal images.
double psnr(const Image& a, const Image& b);
/// SSIM of every pixel and channel.
std::vector<double> ssim_map(const Image& a, const Image& b);
/// Mean over all pixels and channels; `border` pixels at each side are left out.
double ssim(const Image& a, const Image& b, int border = 0);

struct LossResult {
    double value = 0;
    std::vector<double> gradient;  ///< with respect to a
};
/// (1 - dssim) * L1 + dssim * (1 - SSIM).
LossResult loss_l1_dssim(const Image& a, const Image& b, double dssim = 0.2);

}  // namespace gs::reference
