// Which pixels of a row band an ellipse reaches: exact tile coverage without testing tiles one by
// one. The ellipse is { d : xx dx^2 + 2 xy dx dy + yy dy^2 <= limit } around the projected mean,
// limit = 2 ln(opacity / alpha_min).
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs::math {

struct Interval {
    float lo, hi;  ///< lo > hi: empty
};

/// Range of dx over the part of the ellipse with dy in [dy_lo, dy_hi]. `extent`: half sizes of the
/// ellipse's bounding box. The right boundary is concave in dy with its maximum at dy = -xy/yy *
/// extent.x, so clamping that dy finds it exactly.
GS_HD inline Interval ellipse_reach(Sym2<float> conic, float limit, Vec2<float> extent, float dy_lo,
                                    float dy_hi) {
    const float lo = max(dy_lo, -extent.y), hi = min(dy_hi, extent.y);
    if (!(lo <= hi)) return {1.0f, -1.0f};
    const float det = conic.xx * conic.yy - conic.xy * conic.xy, inverse = 1.0f / conic.xx;
    const float tilt = -conic.xy / conic.yy * extent.x;
    const float right_dy = min(max(tilt, lo), hi), left_dy = min(max(-tilt, lo), hi);
    const float right =
        -conic.xy * right_dy + sqrt(max(0.0f, limit * conic.xx - det * right_dy * right_dy));
    const float left =
        -conic.xy * left_dy - sqrt(max(0.0f, limit * conic.xx - det * left_dy * left_dy));
    return {left * inverse, right * inverse};
}

}  // namespace gs::math
