// FrameTime: predicts a picture's time from its size, learned from earlier ones: a fixed part
// (culling, projecting, sorting), and a part per pixel. If pixels cost little, smaller pictures
// gain nothing. The viewer asks it for the size of the next picture.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace gs {

class FrameTime {
  public:
    void add(double pixels, double seconds) {
        if (!(pixels > 0) || !std::isfinite(seconds)) return;
        n_ = kKeep * n_ + 1;
        x_ = kKeep * x_ + pixels;
        y_ = kKeep * y_ + seconds;
        xx_ = kKeep * xx_ + pixels * pixels;
        xy_ = kKeep * xy_ + pixels * seconds;
        const double mean = x_ / n_, variance = xx_ / n_ - mean * mean;
        if (variance > kSpread * mean * mean)
            per_pixel_ = std::max(0.0, (xy_ / n_ - mean * (y_ / n_)) / variance);
        else if (!known_)
            per_pixel_ = seconds / pixels;  // pixels are all that costs, until sizes differ
        known_ = true;
        fixed_ = std::max(0.0, y_ / n_ - per_pixel_ * mean);
    }
    double seconds(double pixels) const { return fixed_ + per_pixel_ * pixels; }
    /// The first of `scales` (of both sides, falling) whose picture takes at most `patience`. Where
    /// none does, the first that is about as fast as the last.
    double scale_for(double pixels, double patience, std::span<const double> scales) const {
        const auto at = [&](double scale) { return seconds(pixels * scale * scale); };
        const double enough = std::max(patience, kGain * at(scales.back()));
        for (const double scale : scales)
            if (at(scale) <= enough) return scale;
        return scales.back();
    }

  private:
    /// What is left of a picture's weight after the next one; how unlike sizes must be (variance
    /// over the square of the mean); how much slower than the smallest is no loss.
    static constexpr double kKeep = 0.8, kSpread = 0.01, kGain = 1.25;
    double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
    double fixed_ = 0, per_pixel_ = 0;
    bool known_ = false;
};

}  // namespace gs
