#include "trainer/loss/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/parallel.h"
#include "base/seconds.h"
#include "renderer/scene/lost_views.h"

namespace gs {
namespace {

constexpr int kWindowReach = 5;  // px, of SSIM's windows to each side

bool counts(const Image8& mask, int x, int y) { return mask.empty() || *mask.at(x, y) != 0; }

/// Of colours (r, g, b, 1) of a picture to those of a photo, by least squares over the columns from
/// 0 to `end`: [channel][4]. A part in a million holds it at the identity where they do not say.
std::array<std::array<double, 4>, 3> fit_colors(const ImageF& picture, const Image8& photo,
                                                const Image8& mask, int end) {
    double a[4][4] = {}, b[3][4] = {}, n = 0;
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < end; ++x) {
            if (!counts(mask, x, y)) continue;
            const double from[4] = {picture.at(0, x, y), picture.at(1, x, y), picture.at(2, x, y),
                                    1};
            const std::uint8_t* to = photo.at(x, y);
            for (int i = 0; i < 4; ++i) {
                for (int k = 0; k <= i; ++k) a[i][k] += from[i] * from[k];
                for (int c = 0; c < 3; ++c) b[c][i] += from[i] * (to[c] / 255.0);
            }
            ++n;
        }
    const double hold = 1e-6 * std::max(n, 1.0);
    for (int i = 0; i < 4; ++i) a[i][i] += hold;
    for (int c = 0; c < 3; ++c) b[c][c] += hold;
    // Cholesky, in place: a = L L^T.
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k <= i; ++k) {
            double sum = a[i][k];
            for (int j = 0; j < k; ++j) sum -= a[i][j] * a[k][j];
            a[i][k] = i == k ? std::sqrt(std::max(sum, 1e-12 * hold)) : sum / a[k][k];
        }
    std::array<std::array<double, 4>, 3> out{};
    for (std::size_t c = 0; c < 3; ++c) {
        double* v = b[c];
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < i; ++j) v[i] -= a[i][j] * v[j];
            v[i] /= a[i][i];
        }
        for (int i = 3; i >= 0; --i) {
            for (int j = i + 1; j < 4; ++j) v[i] -= a[j][i] * v[j];
            v[i] /= a[i][i];
        }
        std::copy_n(v, 4, out[c].begin());
    }
    return out;
}

double fitted_psnr(const ImageF& picture, const Image8& photo, const Image8& mask) {
    const int middle = picture.width / 2;
    const auto fit = fit_colors(picture, photo, mask, middle);
    double squares = 0, samples = 0;
    for (int y = 0; y < picture.height; ++y)
        for (int x = middle; x < picture.width; ++x) {
            if (!counts(mask, x, y)) continue;
            const double from[3] = {picture.at(0, x, y), picture.at(1, x, y), picture.at(2, x, y)};
            for (std::size_t c = 0; c < 3; ++c) {
                const auto& f = fit[c];
                const double shown =
                    std::clamp(f[0] * from[0] + f[1] * from[1] + f[2] * from[2] + f[3], 0.0, 1.0);
                const double apart = shown - photo.at(x, y)[c] / 255.0;
                squares += apart * apart;
                ++samples;
            }
        }
    return samples > 0 ? psnr_of(squares / samples) : kNotMeasured;
}

/// f(x, y, from_x, from_y) of every pixel of a picture that is kWindowReach wider at each side, and
/// the pixel that it mirrors. Smaller pictures than that are repeated.
template <class F>
void for_each_mirrored(int width, int height, F&& f) {
    const auto from = [](int at, int side) {
        const int inside = at - kWindowReach, back = inside < 0 ? -inside : 2 * side - 2 - inside;
        return std::clamp(inside < 0 || inside >= side ? back : inside, 0, side - 1);
    };
    for (int y = 0; y < height + 2 * kWindowReach; ++y)
        for (int x = 0; x < width + 2 * kWindowReach; ++x) f(x, y, from(x, width), from(y, height));
}
Image8 mirrored(const Image8& picture) {
    Image8 out{
        picture.width + 2 * kWindowReach, picture.height + 2 * kWindowReach, picture.channels, {}};
    for_each_mirrored(picture.width, picture.height, [&](int, int, int x, int y) {
        out.bytes.insert(out.bytes.end(), picture.at(x, y), picture.at(x, y) + picture.channels);
    });
    return out;
}

}  // namespace

PictureScore score_picture(ImageF& picture, const Image8& photo, const Image8& mask, bool fitted,
                           ScoreRules rules) {
    parallel_ranges(picture.values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            float& value = picture.values[i];
            value = std::clamp(value, 0.0f, 1.0f);
            if (rules == ScoreRules::inria) value = std::floor(value * 255.0f + 0.5f) / 255.0f;
        }
    });
    LossTerms terms = photo_loss(picture, photo, mask, 0.0, nullptr,
                                 rules == ScoreRules::nerfstudio ? kWindowReach : 0);
    if (terms.pixels == 0) return {};
    if (rules == ScoreRules::gsplat) {
        ImageF wide(picture.width + 2 * kWindowReach, picture.height + 2 * kWindowReach, 3);
        for (int c = 0; c < 3; ++c)
            for_each_mirrored(picture.width, picture.height,
                              [&](int x, int y, int from_x, int from_y) {
                                  wide.at(c, x, y) = picture.at(c, from_x, from_y);
                              });
        terms.ssim = photo_loss(wide, mirrored(photo), mask.empty() ? mask : mirrored(mask), 0.0,
                                nullptr, kWindowReach)
                         .ssim;
    }
    return {psnr_of(terms), terms.ssim, terms.l1,
            fitted ? fitted_psnr(picture, photo, mask) : kNotMeasured,
            static_cast<double>(terms.pixels) / static_cast<double>(photo.pixels())};
}

void Evaluation::add(const Evaluation& more) {
    images.insert(images.end(), more.images.begin(), more.images.end());
    seconds += more.seconds;
    unread.add(more.unread);
    const auto mean = [&](double ImageScore::*value) {
        double sum = 0, n = 0;
        for (const ImageScore& image : images)
            if (std::isfinite(image.*value)) sum += image.*value, ++n;
        return n > 0 ? sum / n : kNotMeasured;
    };
    psnr = mean(&ImageScore::psnr);
    ssim = mean(&ImageScore::ssim);
    psnr_fitted = mean(&ImageScore::psnr_fitted);
}

std::vector<std::size_t> trainable_or_blind_views(const Capture& capture) {
    std::vector<std::size_t> views = capture.view_indices(false);
    std::erase_if(views, [&](std::size_t v) {
        return !has_photo(capture.views[v]) || !capture.views[v].camera.valid();
    });
    return views;
}
std::vector<std::size_t> trainable_views(const Capture& capture) {
    return without_blind(capture, trainable_or_blind_views(capture));
}

Evaluation score_views(const Capture& capture, const std::vector<std::size_t>& views,
                       const std::function<PictureScore(std::size_t view)>& score_of,
                       const Progress& progress, const char* doing) {
    const auto start = std::chrono::steady_clock::now();
    Evaluation out, scores;
    for (const std::size_t v : views) {
        const View& view = capture.views.at(v);
        if (progress &&
            !progress(fmt::format("{} {}", doing, view.name), scores.images.size(), views.size()))
            break;
        if (!has_photo(view)) continue;
        const PictureScore score = score_of(v);
        scores.images.push_back(
            {v, view.name, score.psnr, score.ssim, score.l1, score.psnr_fitted, score.counted});
    }
    scores.seconds = seconds_since(start);
    out.add(scores);
    return out;
}

}  // namespace gs
