// The loss against scikit-image and PyTorch numbers, a plain double twin, and itself on other
// thread counts and masks.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/rng.h"
#include "renderer/io/images/image_io.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "trainer/loss/loss.h"
#include "trainer/loss/metrics.h"

namespace gs {
namespace {

using test::data_path;

ImageF random_picture(int width, int height, std::uint64_t seed) {
    ImageF picture(width, height, 3);
    for (std::size_t i = 0; i < picture.values.size(); ++i)
        picture.values[i] = random_uniform(seed, 1, i);
    return picture;
}
Image8 random_photo(int width, int height, std::uint64_t seed) {
    Image8 photo{width, height, 3, {}};
    photo.bytes.resize(photo.pixels() * 3);
    for (std::size_t i = 0; i < photo.bytes.size(); ++i)
        photo.bytes[i] = static_cast<std::uint8_t>(random_bits(seed, 2, i));
    return photo;
}

/// The same loss, written as its definition in double.
struct Twin {
    int width, height;
    double window[11];
    Twin(int w, int h) : width(w), height(h) {
        double sum = 0;
        for (int i = 0; i < 11; ++i) sum += window[i] = std::exp(-(i - 5) * (i - 5) / 4.5);
        for (double& v : window) v /= sum;
    }
    std::vector<double> blur(const std::vector<double>& in) const {
        std::vector<double> along(in.size(), 0.0), out(in.size(), 0.0);
        const auto at = [&](const std::vector<double>& v, int x, int y) {
            return x < 0 || y < 0 || x >= width || y >= height
                       ? 0.0
                       : v[static_cast<std::size_t>(y * width + x)];
        };
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int k = -5; k <= 5; ++k)
                    along[static_cast<std::size_t>(y * width + x)] +=
                        window[k + 5] * at(in, x + k, y);
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int k = -5; k <= 5; ++k)
                    out[static_cast<std::size_t>(y * width + x)] +=
                        window[k + 5] * at(along, x, y + k);
        return out;
    }
    /// Loss over all channels; masked pixels are black and count nowhere.
    double operator()(const ImageF& picture, const Image8& photo, const Image8& mask,
                      double lambda) const {
        double l1 = 0, ssim = 0, n = 0;
        for (int c = 0; c < 3; ++c) {
            const std::size_t size = picture.pixels();
            std::vector<double> x(size), y(size), xx(size), yy(size), xy(size), weight(size);
            for (std::size_t i = 0; i < size; ++i) {
                weight[i] = mask.empty() || mask.bytes[i] != 0 ? 1.0 : 0.0;
                x[i] = weight[i] * static_cast<double>(picture.plane(c)[i]);
                y[i] = weight[i] * photo.bytes[3 * i + static_cast<std::size_t>(c)] / 255.0;
                xx[i] = x[i] * x[i];
                yy[i] = y[i] * y[i];
                xy[i] = x[i] * y[i];
                l1 += std::abs(x[i] - y[i]);
                n += weight[i];
            }
            const auto mx = blur(x), my = blur(y), sxx = blur(xx), syy = blur(yy), sxy = blur(xy);
            for (std::size_t i = 0; i < size; ++i) {
                const double a = (2 * mx[i] * my[i] + 1e-4) * (2 * (sxy[i] - mx[i] * my[i]) + 9e-4);
                const double b = (mx[i] * mx[i] + my[i] * my[i] + 1e-4) *
                                 (sxx[i] - mx[i] * mx[i] + syy[i] - my[i] * my[i] + 9e-4);
                ssim += weight[i] * a / b;
            }
        }
        return (1 - lambda) * l1 / n + lambda * (1 - ssim / n);
    }
};

TEST(Loss, MatchesReferenceMetrics) {
    GS_NEED_DATA("reference/images/image_metrics.json");
    const auto all =
        nlohmann::json::parse(std::ifstream(data_path("reference/images/image_metrics.json")));
    ASSERT_FALSE(all.empty());
    for (const auto& [name, expected] : all.items()) {
        SCOPED_TRACE(name);
        const auto a = read_image(data_path("reference/images/img_" + name + "_a.png"));
        const auto b = read_image(data_path("reference/images/img_" + name + "_b.png"));
        ASSERT_TRUE(a && b);
        const LossTerms terms = photo_loss(to_float(*a), *b, {}, 0.2, nullptr);
        EXPECT_NEAR(terms.l1, expected["l1"].get<double>(), 1e-5);
        EXPECT_NEAR(terms.mse, expected["mse"].get<double>(), 1e-5);
        EXPECT_NEAR(terms.ssim, expected["ssim_zero_padded"].get<double>(), 1e-5);
        EXPECT_NEAR(terms.loss, expected["loss_l1_dssim"].get<double>(), 1e-5);
        if (!expected["psnr"].is_null()) {
            EXPECT_NEAR(psnr_of(terms.mse), expected["psnr"].get<double>(), 1e-3);
        }
    }
}

TEST(Loss, MatchesReferenceGradients) {
    GS_NEED_DATA("reference/images/image_metrics.npz");
    const test::Arrays arrays = test::load_npz(data_path("reference/images/image_metrics.npz"));
    int checked = 0;
    for (const auto& [key, expected] : arrays.all()) {
        const std::size_t cut = key.find("grad");
        if (cut == std::string::npos) continue;
        SCOPED_TRACE(key);
        // The pair's name is what its key and its files share.
        std::string name;
        for (const auto& file : fs::directory_iterator(data_path("reference/images"))) {
            const std::string stem = file.path().stem().string();
            if (stem.size() < 7 || stem.rfind("_a") != stem.size() - 2) continue;
            const std::string pair = stem.substr(4, stem.size() - 6);
            if (key.find(pair) != std::string::npos && pair.size() > name.size()) name = pair;
        }
        ASSERT_FALSE(name.empty());
        const auto a = read_image(data_path("reference/images/img_" + name + "_a.png"));
        const auto b = read_image(data_path("reference/images/img_" + name + "_b.png"));
        ASSERT_TRUE(a && b);
        ImageF gradient;
        photo_loss(to_float(*a), *b, {}, 0.2, &gradient);
        std::vector<double> ours(expected.size());
        for (std::size_t i = 0; i < ours.size(); ++i)
            ours[i] = static_cast<double>(gradient.plane(static_cast<int>(i % 3))[i / 3]);
        EXPECT_LT(test::relative_l2(ours, expected), 1e-4);
        EXPECT_LT(test::max_abs_difference(ours, expected), 1e-7);
        ++checked;
    }
    EXPECT_GT(checked, 0);
}

TEST(Loss, MatchesTwinAcrossTilesAndMasks) {
    // Sizes around the tiles' edges, smaller than the window, and one column or row.
    const int sizes[][2] = {{1, 1}, {5, 3}, {1, 40}, {37, 70}, {193, 65}, {208, 9}, {400, 130}};
    for (const auto& [width, height] : sizes) {
        for (const bool masked : {false, true}) {
            SCOPED_TRACE(fmt::format("{}x{} {}", width, height, masked ? "masked" : ""));
            const ImageF picture = random_picture(width, height, 7);
            const Image8 photo = random_photo(width, height, 8);
            Image8 mask;
            if (masked) {
                mask = Image8{width, height, 1, std::vector<std::uint8_t>(photo.pixels(), 255)};
                for (std::size_t i = 1; i < mask.bytes.size(); ++i)
                    mask.bytes[i] = random_bits(9, 0, i / 7) % 3 == 0 ? 0 : 255;
            }
            EXPECT_NEAR(photo_loss(picture, photo, mask, 0.2, nullptr).loss,
                        Twin(width, height)(picture, photo, mask, 0.2), 2e-6);
        }
    }
}

TEST(Loss, GradientIsTheDerivative) {
    const int width = 40, height = 29;
    const ImageF picture = random_picture(width, height, 3);
    const Image8 photo = random_photo(width, height, 4);
    Image8 mask{width, height, 1, std::vector<std::uint8_t>(photo.pixels(), 1)};
    for (std::size_t i = 300; i < 400; ++i) mask.bytes[i] = 0;
    ImageF gradient;
    photo_loss(picture, photo, mask, 0.2, &gradient);
    const Twin twin(width, height);
    for (std::size_t i = 11; i < picture.values.size(); i += 397) {
        ImageF up = picture, down = picture;
        const float step = 1e-3f;
        up.values[i] += step;
        down.values[i] -= step;
        const double wide = static_cast<double>(up.values[i]) - static_cast<double>(down.values[i]);
        const double slope = (twin(up, photo, mask, 0.2) - twin(down, photo, mask, 0.2)) / wide;
        EXPECT_NEAR(static_cast<double>(gradient.values[i]), slope, 2e-3 * std::abs(slope) + 1e-8)
            << i;
    }
    for (std::size_t i = 300; i < 400; ++i) EXPECT_EQ(gradient.values[i], 0.0f);
}

TEST(Loss, ThreadCountChangesNothing) {
    const ImageF picture = random_picture(300, 200, 5);
    const Image8 photo = random_photo(300, 200, 6);
    ImageF one, many;
    set_thread_count(1);
    const LossTerms a = photo_loss(picture, photo, {}, 0.2, &one);
    set_thread_count(0);
    const LossTerms b = photo_loss(picture, photo, {}, 0.2, &many);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(
        0, std::memcmp(one.values.data(), many.values.data(), one.values.size() * sizeof(float)));
}

TEST(Loss, PoisonStaysNear) {
    ImageF picture = random_picture(64, 64, 1);
    picture.at(1, 10, 10) = std::nanf("");
    const Image8 photo = random_photo(64, 64, 2);
    ImageF gradient;
    const LossTerms terms = photo_loss(picture, photo, {}, 0.2, &gradient);
    EXPECT_FALSE(std::isfinite(terms.loss));
    EXPECT_TRUE(std::isfinite(gradient.at(1, 40, 40)));
    EXPECT_TRUE(std::isfinite(gradient.at(0, 10, 10)));
}

TEST(Loss, EverythingMaskedIsNoLoss) {
    const Image8 photo = random_photo(20, 20, 2);
    ImageF gradient;
    const LossTerms terms =
        photo_loss(random_picture(20, 20, 1), photo,
                   Image8{20, 20, 1, std::vector<std::uint8_t>(400, 0)}, 0.2, &gradient);
    EXPECT_EQ(terms.pixels, 0u);
    EXPECT_TRUE(std::isfinite(terms.loss));
    for (const float g : gradient.values) EXPECT_EQ(g, 0.0f);
}

}  // namespace
}  // namespace gs
