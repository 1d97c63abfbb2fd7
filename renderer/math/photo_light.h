// Exposure and white balance of a photo in closed form: what to multiply a drawn picture by so that
// it is as bright as its photo, from both, and what of that is the photo's own. Used by the
// trainer's appearance on both backends (trainer/density/appearance.h).
//
// A scene whose colours depend on the direction can say the same as exposures that change with the
// camera's place: which of them it is, photos do not tell. So exposures that photos taken beside
// each other share are left to the scene, and what is kept of a photo is how it differs from its
// neighbours, in so far as the neighbours foretell each other at all.
#pragma once

#include "renderer/math/appearance.h"

namespace gs::math {

/// Stops: exposure, red and blue against the mean of the channels.
inline constexpr int kLights = 3;
/// Of a step, behind kLookParts of them: for each channel weighted stops, then the weights.
inline constexpr int kLightSums = 6, kStepSums = kLookParts + kLightSums;
/// Photos that a photo is compared with.
inline constexpr int kNeighbours = 6;
struct PhotoNeighbours {
    unsigned photo[kNeighbours] = {};
    float share[kNeighbours] = {};  ///< sum to 1, or are all 0
};

/// Where light k lies among a photo's moments, none of which Adam uses: first moments hold what was
/// found, second ones what is applied.
GS_HD constexpr int light_at(int k) { return k == 0 ? 0 : 6 + k; }

/// How sure a pixel is of its photo's light falls to a quarter at this many stops of difference:
/// wide at first, as nothing is known.
inline constexpr float kLightWidth = 0.3f, kFirstLightWidth = 1.0f;
/// What is found moves half the way to what one step says of it.
inline constexpr float kLightPace = 0.5f;

/// Adds what a pixel says: the stops between what is `shown` and the `photo`, of each channel.
/// Weights are Geman and McClure's of the difference over `width`, times brightness.
template <class T>
GS_HD void add_light(const T* shown, const T* photo, T width, T* sums) {
    const T dark = T(0.02f), per_stop = T(1.44269504088896341f), one = T(1.0f);
    for (int c = 0; c < 3; ++c) {
        const T there = max(shown[c], T(0.0f));
        const T stops = per_stop * log((photo[c] + dark) / (there + dark));
        const T apart = stops / width, sure = one / (one + apart * apart);
        const T weight = T(0.5f) * (there + photo[c]) * sure * sure;
        sums[c] += weight * stops;
        sums[3 + c] += weight;
    }
}
/// What was found of one photo, after a step that drew it with `applied`. A photo that says nothing
/// (masked, saturated, black) changes nothing.
template <class T>
GS_HD void find_light(const T* sums, const T* applied, T* found) {
    T stops[3], mean = T(0.0f);
    for (int c = 0; c < 3; ++c) {
        if (!(sums[3 + c] > T(1e-3f))) return;
        stops[c] = min(max(sums[c] / sums[3 + c], T(-1.0f)), T(1.0f));
        mean = mean + stops[c] / T(3.0f);
    }
    const T off[kLights] = {mean, stops[0] - mean, stops[2] - mean};
    for (int k = 0; k < kLights; ++k)
        found[k] = found[k] + T(kLightPace) * (applied[k] + off[k] - found[k]);
}

/// Of one light of all photos without its mean, x, and their neighbours', y: sums of x x, x y, y y
/// and y.
enum LightMoment : int { kOwnOwn, kOwnNear, kNearNear, kNear, kLightMoments };
template <class T>
GS_HD void add_moments(T own, T near, T* m) {
    m[kOwnOwn] += own * own;
    m[kOwnNear] += own * near;
    m[kNearNear] += near * near;
    m[kNear] += near;
}
/// How much of its neighbours' light is taken off a photo's: the slope of x on y, less where chance
/// would explain it (James and Stein's positive part, with 4 of the slope's variances).
template <class T>
GS_HD T shared_light(const T* m, T photos) {
    const T zero = T(0.0f), one = T(1.0f);
    if (!(m[kOwnNear] > zero) || !(m[kNearNear] > zero) || !(m[kOwnOwn] > zero)) return zero;
    const T slope = m[kOwnNear] / m[kNearNear],
            told = min(slope * m[kOwnNear] / m[kOwnOwn], T(0.9999f)),
            chance = T(4.0f) * (one - told) / (told * max(photos - one, one));
    return min(slope, one) * max(one - chance, zero);
}

/// A photo's values that apply `light`. With PPISP's stages white balance is where grey goes: of
/// the colour's four control points the neutral one alone, which is the same as three gains.
template <class T>
GS_HD void set_light(const T* light, bool simple, T* photo) {
    photo[0] = light[0];
    const T green = -(light[1] + light[2]);
    if (simple) {
        photo[1] = light[1];
        photo[2] = green;
        photo[3] = light[2];
        return;
    }
    const T ln2 = T(0.693147180559945309), third = T(1.0f) / T(3.0f);
    const T gain[3] = {exp(ln2 * light[1]), exp(ln2 * green), exp(ln2 * light[2])};
    const T sum = gain[0] + gain[1] + gain[2];
    const T x = gain[0] / sum - third, y = gain[1] / sum - third;
    // The block is symmetric: its columns are where the unit vectors go.
    const T unit[2][2] = {{T(1.0f), T(0.0f)}, {T(0.0f), T(1.0f)}};
    T a[2], b[2];
    look::through_block(3, unit[0], a);
    look::through_block(3, unit[1], b);
    const T whole = a[0] * b[1] - a[1] * b[0];
    photo[kPhotoColour + 6] = (b[1] * x - b[0] * y) / whole;
    photo[kPhotoColour + 7] = (a[0] * y - a[1] * x) / whole;
}

}  // namespace gs::math
