// Which pixels of a row band an ellipse reaches: exact tile coverage without testing tiles one by
// one. The ellipse is { d : xx dx^2 + 2 xy dx dy + yy dy^2 <= limit } around the projected mean,
// limit = 2 ln(opacity / alpha_min).
#pragma once

#include "base/vec.h"
#include "renderer/math/rounded.h"

namespace gs::math {

struct Interval {
    float lo, hi;  ///< lo > hi: empty
};

/// Range of dx over the part of the ellipse with dy in [dy_lo, dy_hi]. `extent`: half sizes of the
/// ellipse's bounding box. The right boundary is concave in dy with its maximum at dy = -xy/yy *
/// extent.x, so clamping that dy finds it exactly. The same bits wherever it is compiled.
GS_HD inline Interval ellipse_reach(Sym2<float> conic, float limit, Vec2<float> extent, float dy_lo,
                                    float dy_hi) {
    const float lo = max(dy_lo, -extent.y), hi = min(dy_hi, extent.y);
    if (!(lo <= hi)) return {1.0f, -1.0f};
    const float det = sub_rn(mul_rn(conic.xx, conic.yy), mul_rn(conic.xy, conic.xy)),
                inverse = div_rn(1.0f, conic.xx), room = mul_rn(limit, conic.xx);
    const float tilt = mul_rn(div_rn(-conic.xy, conic.yy), extent.x);
    const float right_dy = min(max(tilt, lo), hi), left_dy = min(max(-tilt, lo), hi);
    const auto half_width = [&](float dy) {
        return sqrt_rn(max(0.0f, sub_rn(room, mul_rn(mul_rn(det, dy), dy))));
    };
    const float right = add_rn(mul_rn(-conic.xy, right_dy), half_width(right_dy));
    const float left = sub_rn(mul_rn(-conic.xy, left_dy), half_width(left_dy));
    return {mul_rn(left, inverse), mul_rn(right, inverse)};
}

}  // namespace gs::math
