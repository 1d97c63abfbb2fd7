// How a camera turned light into a photo: exposure, vignetting, colour and tone curve, applied to a
// drawn picture before it is compared with the photo, so that photos of differing exposure train
// one scene. f beside f_vjp, in float and double; one body for the trainer on the CPU, its kernels
// and the tests.
//
// Stages and their constants: PPISP, "Physically-Plausible ISP for radiance fields" (NVIDIA 2025),
// in its order: exposure 2^e; a falloff 1 + a1 r^2 + a2 r^4 + a3 r^6 in 0..1 for each channel; a
// homography of chromaticities that keeps r + g + b; a tone curve for each channel. Two things are
// ours. The homography is written with ratios of areas, which is the same matrix without a choice
// of rows. Outside of 0..1 a tone curve continues with slope 1 where the published one is cut off:
// too bright a colour is still pulled back, and stages that change nothing cost no gradient.
#pragma once

#include "base/host_device.h"
#include "renderer/math/scalar.h"

namespace gs::math {

/// What is learned. Of a photo: stops, then the colour's eight latents (four control points, x and
/// y: blue, red, green, neutral); where only exposure and white balance are learned, the first
/// three of them are stops of red, green and blue.
inline constexpr int kPhotoValues = 9, kPhotoColour = 1;
/// Of a camera: centre x and y and a1, a2, a3 for each channel; then toe, shoulder, gamma, centre,
/// raw, for each channel.
inline constexpr int kCameraValues = 27, kVignetteValues = 5, kCurveValues = 4,
                     kCameraCurve = 3 * kVignetteValues;
inline constexpr int kLookValues = kPhotoValues + kCameraValues;

/// The same as a pixel meets it, one array so that its gradient can be summed like one.
enum LookPart : int {
    kLookGain = 0,      ///< [3]
    kLookVignette = 3,  ///< [3][5]
    kLookMatrix = 18,   ///< [3][3] on (r, g, r + g + b), row by row
    kLookCurve = 27,    ///< [3][5]: toe, shoulder, gamma, centre, height at the centre
    kLookParts = 42,
    kLookPartsSimple = 3  ///< exposure and white balance alone
};
template <class T>
struct Look {
    T at[kLookParts];
};

/// Raw values of a tone curve that changes nothing: toe = shoulder = gamma = 1, centre 1/2.
inline constexpr double kRawPower = 0.0136589971916148;  // log(exp(0.7) - 1)
inline constexpr double kRawGamma = 0.378164557091278;   // log(exp(0.9) - 1)

namespace look {

/// From two latents of a control point to its offset and, because the matrix is symmetric, from the
/// offset's gradient to theirs: blue, red, green, neutral (decorrelated, PPISP).
template <class T>
GS_HD void through_block(int point, const T* in, T* out) {
    constexpr float kBlocks[4][3] = {{0.0480542f, -0.0043631f, 0.0481283f},
                                     {0.0580570f, -0.0179872f, 0.0431061f},
                                     {0.0433336f, -0.0180537f, 0.0580500f},
                                     {0.0128369f, -0.0034654f, 0.0128158f}};
    const T b = T(kBlocks[point][1]), x = T(kBlocks[point][0]) * in[0] + b * in[1];
    out[1] = b * in[0] + T(kBlocks[point][2]) * in[1];
    out[0] = x;
}
template <class T>
GS_HD T softplus(T x) {
    return max(x, T(0.0f)) + log(T(1.0f) + exp(-max(x, -x)));
}
/// Twice the area of a triangle in the plane, signed.
template <class T>
GS_HD T area(const T* a, const T* b, const T* c) {
    return a[0] * (b[1] - c[1]) + b[0] * (c[1] - a[1]) + c[0] * (a[1] - b[1]);
}
template <class T>
GS_HD void area_vjp(const T* a, const T* b, const T* c, T v, T* v_a, T* v_b, T* v_c) {
    v_a[0] += v * (b[1] - c[1]);
    v_b[0] += v * (c[1] - a[1]);
    v_c[0] += v * (a[1] - b[1]);
    v_a[1] += v * (c[0] - b[0]);
    v_b[1] += v * (a[0] - c[0]);
    v_c[1] += v * (b[0] - a[0]);
}
/// Where the control points go, and the two ratios of areas that the matrix is made with.
template <class T>
struct Points {
    T at[4][2];
    T blue, red, green;  ///< l_b, l_r / l_b, l_g / l_b: T l is parallel to the neutral's target
};
template <class T>
GS_HD Points<T> points_of(const T* latents) {
    constexpr float kFrom[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1 / 3.0f, 1 / 3.0f}};
    Points<T> p;
    for (int i = 0; i < 4; ++i) {
        through_block(i, latents + 2 * i, p.at[i]);
        for (int k = 0; k < 2; ++k)
            p.at[i][k] = p.at[i][k] + (i < 3 ? T(kFrom[i][k]) : T(1.0f) / T(3.0f));
    }
    p.blue = area(p.at[1], p.at[2], p.at[3]);
    p.red = area(p.at[2], p.at[0], p.at[3]) / p.blue;
    p.green = area(p.at[0], p.at[1], p.at[3]) / p.blue;
    return p;
}

/// H = T diag(l) S^-1 / H22, its columns l_r/l_b t_r - t_b, l_g/l_b t_g - t_b, t_b.
template <class T>
GS_HD void matrix(const T* latents, T* h) {
    const Points<T> p = points_of(latents);
    for (int k = 0; k < 2; ++k) {
        h[3 * k] = p.red * p.at[1][k] - p.at[0][k];
        h[3 * k + 1] = p.green * p.at[2][k] - p.at[0][k];
        h[3 * k + 2] = p.at[0][k];
    }
    h[6] = p.red - T(1.0f);
    h[7] = p.green - T(1.0f);
    h[8] = T(1.0f);
}
template <class T>
GS_HD void matrix_vjp(const T* latents, const T* v_h, T* v_latents) {
    const Points<T> p = points_of(latents);
    T v[4][2], v_red = v_h[6], v_green = v_h[7];
    for (int k = 0; k < 2; ++k) {
        v_red = v_red + v_h[3 * k] * p.at[1][k];
        v_green = v_green + v_h[3 * k + 1] * p.at[2][k];
        v[0][k] = v_h[3 * k + 2] - v_h[3 * k] - v_h[3 * k + 1];
        v[1][k] = p.red * v_h[3 * k];
        v[2][k] = p.green * v_h[3 * k + 1];
        v[3][k] = T(0.0f);
    }
    const T inverse = T(1.0f) / p.blue, v_blue = -(v_red * p.red + v_green * p.green) * inverse;
    area_vjp(p.at[1], p.at[2], p.at[3], v_blue, v[1], v[2], v[3]);
    area_vjp(p.at[2], p.at[0], p.at[3], v_red * inverse, v[2], v[0], v[3]);
    area_vjp(p.at[0], p.at[1], p.at[3], v_green * inverse, v[0], v[1], v[3]);
    for (int i = 0; i < 4; ++i) through_block(i, v[i], v_latents + 2 * i);
}

/// toe, shoulder, gamma, centre, height at the centre of four raw values.
template <class T>
GS_HD void curve(const T* raw, T* out) {
    const T toe = T(0.3f) + softplus(raw[0]), shoulder = T(0.3f) + softplus(raw[1]),
            centre = sigmoid(raw[3]);
    out[0] = toe;
    out[1] = shoulder;
    out[2] = T(0.1f) + softplus(raw[2]);
    out[3] = centre;
    out[4] = shoulder * centre / (toe + centre * (shoulder - toe));
}
template <class T>
GS_HD void curve_vjp(const T* raw, const T* v, T* v_raw) {
    T c[5];
    curve(raw, c);
    const T one = T(1.0f), whole = c[0] + c[3] * (c[1] - c[0]), scale = v[4] / (whole * whole);
    v_raw[0] = (v[0] - scale * c[1] * c[3] * (one - c[3])) * sigmoid(raw[0]);
    v_raw[1] = (v[1] + scale * c[0] * c[3] * (one - c[3])) * sigmoid(raw[1]);
    v_raw[2] = v[2] * sigmoid(raw[2]);
    v_raw[3] = (v[3] + scale * c[0] * c[1]) * c[3] * (one - c[3]);
}

/// Falloff of one channel at u, v: pixels from the middle over the picture's larger side.
template <class T>
GS_HD T falloff(const T* p, T u, T v) {
    const T x = u - p[0], y = v - p[1], r2 = x * x + y * y;
    return T(1.0f) + r2 * (p[2] + r2 * (p[3] + r2 * p[4]));
}
template <class T>
GS_HD T between(T x) {
    return min(max(x, T(0.0f)), T(1.0f));
}

/// One channel of the tone curve: a (x / c)^toe up to the centre, 1 - (1 - a) ((1 - x) /
/// (1 - c))^shoulder above it, to the power of gamma.
template <class T>
GS_HD T tone(const T* c, T x) {
    const T one = T(1.0f), least = T(1e-6f);
    const bool low = x <= c[3];
    const T base = max(low ? x / c[3] : (one - x) / (one - c[3]), least * least);
    const T power = exp((low ? c[0] : c[1]) * log(base));
    const T m = low ? c[4] * power : one - (one - c[4]) * power;
    const T y = exp(c[2] * log(max(m, least * least)));
    return x > T(0.0f) && x < one ? y : x;
}
/// `v`: gradient of the result. Returns that of x, and adds that of the five numbers to `sums`.
template <class T>
GS_HD T tone_vjp(const T* c, T x, T v, T* sums) {
    const T one = T(1.0f), zero = T(0.0f), least = T(1e-6f);
    if (!(x > zero && x < one)) return v;
    const bool low = x <= c[3];
    const T exponent = low ? c[0] : c[1], height = low ? c[4] : one - c[4],
            across = low ? c[3] : one - c[3], base = (low ? x : one - x) / across,
            logarithm = log(max(base, least * least)), power = exp(exponent * logarithm);
    const T m = max(low ? height * power : one - height * power, least * least), log_m = log(m),
            y = exp(c[2] * log_m);
    sums[2] += v * y * log_m;
    // Beside the ends of a piece slopes may have no bound: nothing passes there (PPISP).
    if (!(base > least)) return zero;
    const T v_m = v * c[2] * y / m, v_power = low ? v_m * height : -v_m * height,
            v_base = v_power * exponent * power / base;
    sums[low ? 0 : 1] += v_power * power * logarithm;
    sums[4] += v_m * power;
    sums[3] += (low ? -v_base : v_base) * base / across;
    return (low ? v_base : -v_base) / across;
}

}  // namespace look

/// `simple`: exposure and white balance alone; then parts behind the gain are not touched.
template <class T>
GS_HD void look_of(const T* photo, const T* camera, bool simple, Look<T>& out) {
    const T ln2 = T(0.693147180559945309);
    const T mean = (photo[1] + photo[2] + photo[3]) / T(3.0f);
    for (int c = 0; c < 3; ++c)
        out.at[kLookGain + c] =
            exp(ln2 * (photo[0] + (simple ? photo[kPhotoColour + c] - mean : T(0.0f))));
    if (simple) return;
    for (int i = 0; i < 3 * kVignetteValues; ++i) out.at[kLookVignette + i] = camera[i];
    look::matrix(photo + kPhotoColour, out.at + kLookMatrix);
    for (int c = 0; c < 3; ++c)
        look::curve(camera + kCameraCurve + c * kCurveValues, out.at + kLookCurve + 5 * c);
}
/// `v`: gradient of the look; becomes that of the 9 and 27 values.
template <class T>
GS_HD void look_of_vjp(const T* photo, const T* camera, bool simple, const Look<T>& of, const T* v,
                       T* v_photo, T* v_camera) {
    const T ln2 = T(0.693147180559945309), zero = T(0.0f);
    for (int i = 0; i < kPhotoValues; ++i) v_photo[i] = zero;
    for (int i = 0; i < kCameraValues; ++i) v_camera[i] = zero;
    T stops[3];
    for (int c = 0; c < 3; ++c) stops[c] = ln2 * v[kLookGain + c] * of.at[kLookGain + c];
    v_photo[0] = stops[0] + stops[1] + stops[2];
    if (simple) {
        for (int c = 0; c < 3; ++c) v_photo[kPhotoColour + c] = stops[c] - v_photo[0] / T(3.0f);
        return;
    }
    for (int i = 0; i < 3 * kVignetteValues; ++i) v_camera[i] = v[kLookVignette + i];
    look::matrix_vjp(photo + kPhotoColour, v + kLookMatrix, v_photo + kPhotoColour);
    for (int c = 0; c < 3; ++c)
        look::curve_vjp(camera + kCameraCurve + c * kCurveValues, v + kLookCurve + 5 * c,
                        v_camera + kCameraCurve + c * kCurveValues);
}

/// A pixel, in place. `u`, `v`: where it is, pixels from the middle over the larger side.
template <class T>
GS_HD void apply_look(const Look<T>& of, bool simple, T u, T v, T* rgb) {
    for (int c = 0; c < 3; ++c) rgb[c] = rgb[c] * of.at[kLookGain + c];
    if (simple) return;
    for (int c = 0; c < 3; ++c)
        rgb[c] = rgb[c] *
                 look::between(look::falloff(of.at + kLookVignette + kVignetteValues * c, u, v));
    const T *h = of.at + kLookMatrix, sum = rgb[0] + rgb[1] + rgb[2];
    T to[3];
    for (int k = 0; k < 3; ++k)
        to[k] = h[3 * k] * rgb[0] + h[3 * k + 1] * rgb[1] + h[3 * k + 2] * sum;
    const T least = T(1e-5f), keep = max(sum, T(0.0f)) / max(to[2] + least, least);
    rgb[0] = to[0] * keep;
    rgb[1] = to[1] * keep;
    rgb[2] = (to[2] - to[0] - to[1]) * keep;
    for (int c = 0; c < 3; ++c) rgb[c] = look::tone(of.at + kLookCurve + 5 * c, rgb[c]);
}
/// `rgb`: as drawn; `grad`: d loss / d result, becomes d loss / d drawn; the gradient of the look
/// is added to `sums`.
template <class T>
GS_HD void apply_look_vjp(const Look<T>& of, bool simple, T u, T v, const T* rgb, T* grad,
                          T* sums) {
    T lit[3], fall[3], open[3];
    for (int c = 0; c < 3; ++c) {
        const T* p = of.at + kLookVignette + kVignetteValues * c;
        open[c] = simple ? T(1.0f) : look::falloff(p, u, v);
        fall[c] = look::between(open[c]);
        lit[c] = rgb[c] * of.at[kLookGain + c];
    }
    if (!simple) {
        T x[3] = {lit[0] * fall[0], lit[1] * fall[1], lit[2] * fall[2]};
        const T *h = of.at + kLookMatrix, sum = x[0] + x[1] + x[2], least = T(1e-5f);
        T to[3];
        for (int k = 0; k < 3; ++k)
            to[k] = h[3 * k] * x[0] + h[3 * k + 1] * x[1] + h[3 * k + 2] * sum;
        const T below = max(to[2] + least, least), keep = max(sum, T(0.0f)) / below;
        const T from[3] = {to[0], to[1], to[2] - to[0] - to[1]};
        T v_keep = T(0.0f), v_from[3];
        for (int c = 0; c < 3; ++c) {
            const T t = look::tone_vjp(of.at + kLookCurve + 5 * c, from[c] * keep, grad[c],
                                       sums + kLookCurve + 5 * c);
            v_keep = v_keep + t * from[c];
            v_from[c] = t * keep;
        }
        T v_to[3] = {v_from[0] - v_from[2], v_from[1] - v_from[2], v_from[2]};
        const T v_below = -v_keep * keep / below;
        v_to[2] = v_to[2] + (to[2] > T(0.0f) ? v_below : T(0.0f));
        T v_sum = sum > T(0.0f) ? v_keep / below : T(0.0f), v_x[2] = {T(0.0f), T(0.0f)};
        for (int k = 0; k < 3; ++k) {
            sums[kLookMatrix + 3 * k] += v_to[k] * x[0];
            sums[kLookMatrix + 3 * k + 1] += v_to[k] * x[1];
            sums[kLookMatrix + 3 * k + 2] += v_to[k] * sum;
            v_x[0] = v_x[0] + h[3 * k] * v_to[k];
            v_x[1] = v_x[1] + h[3 * k + 1] * v_to[k];
            v_sum = v_sum + h[3 * k + 2] * v_to[k];
        }
        grad[0] = v_x[0] + v_sum;
        grad[1] = v_x[1] + v_sum;
        grad[2] = v_sum;
        for (int c = 0; c < 3; ++c) {
            const T *p = of.at + kLookVignette + kVignetteValues * c, x_c = u - p[0],
                    y_c = v - p[1];
            const T r2 = x_c * x_c + y_c * y_c;
            // As torch's clamp: its ends pass, or a falloff of 1 could never begin.
            const T v_open = open[c] >= T(0.0f) && open[c] <= T(1.0f) ? grad[c] * lit[c] : T(0.0f);
            const T v_r2 = v_open * (p[2] + r2 * (T(2.0f) * p[3] + r2 * T(3.0f) * p[4]));
            T* s = sums + kLookVignette + kVignetteValues * c;
            s[0] += T(-2.0f) * v_r2 * x_c;
            s[1] += T(-2.0f) * v_r2 * y_c;
            s[2] += v_open * r2;
            s[3] += v_open * r2 * r2;
            s[4] += v_open * r2 * r2 * r2;
        }
    }
    for (int c = 0; c < 3; ++c) {
        const T v_lit = grad[c] * fall[c];
        sums[kLookGain + c] += v_lit * rgb[c];
        grad[c] = v_lit * of.at[kLookGain + c];
    }
}

/// A photo's sample this bright may have been cut off: it says "at least so much". Where the result
/// is above it there is nothing to learn, and its pixel says nothing about the look.
inline constexpr int kSaturatedByte = 253;  // >= 0.99

namespace look {

template <class T>
GS_HD T smooth_l1_slope(T x, T beta) {
    return min(max(x / beta, T(-1.0f)), T(1.0f));
}

}  // namespace look

/// Of a photo's values those that Adam steps: the colour's control points but for the neutral one,
/// which is white balance (photo_light.h).
inline constexpr int kAdamColour = kPhotoColour, kAdamColours = 6;
/// What holds the colours' means over all photos at zero: d / d value k of any one photo, of `mean`
/// [9]. Weight 1, smooth L1 of width 0.005 (PPISP).
template <class T>
GS_HD T mean_pull(const T* mean, int k, T photos) {
    if (k < kAdamColour || k >= kAdamColour + kAdamColours) return T(0.0f);
    const T *colour = mean + kPhotoColour, width = T(0.005f);
    const int point = (k - kPhotoColour) / 2;
    T offset[2], pull[2];
    look::through_block(point, colour + 2 * point, offset);
    for (T& o : offset) o = look::smooth_l1_slope(o, width);
    look::through_block(point, offset, pull);
    return pull[(k - kPhotoColour) % 2] / (T(8.0f) * photos);
}
/// What holds a camera's vignette near the middle (0.02), falling outwards (0.01), and its channels
/// together (0.1 of both variances): d / d value k of `camera` [27] (PPISP).
template <class T>
GS_HD T camera_pull(const T* camera, int k, T cameras) {
    const bool vignette = k < kCameraCurve;
    const int n = vignette ? kVignetteValues : kCurveValues, first = vignette ? 0 : kCameraCurve,
              i = (k - first) % n;
    const T* at = camera + first + i;
    const T mean = (at[0] + at[n] + at[2 * n]) / T(3.0f);
    T pull =
        T(0.1f) * T(2.0f) * (camera[k] - mean) / (T(3.0f) * T(static_cast<float>(n)) * cameras);
    if (vignette && i < 2) pull = pull + T(0.02f) * T(2.0f) * camera[k] / (T(3.0f) * cameras);
    if (vignette && i >= 2 && camera[k] > T(0.0f)) pull = pull + T(0.01f) / (T(9.0f) * cameras);
    return pull;
}

}  // namespace gs::math
