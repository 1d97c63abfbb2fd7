// PSNR from a mean squared error, for training's scores and the viewport's.
#pragma once

#include <cmath>

namespace gs::math {

/// dB, peak 1. Equal pictures would give infinity, which neither JSON nor a plot can hold: 200 dB
/// stands for it.
inline double psnr_of(double mse) {
    return mse > 1e-20 ? -10.0 * std::log10(mse) : (std::isnan(mse) ? 0.0 : 200.0);
}

}  // namespace gs::math
