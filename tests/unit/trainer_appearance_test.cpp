// Exposure and colour of photos: the look's formulas against themselves in finite differences and
// against what they say in words, the CPU's bodies, and what a run learns of photos that were
// spoilt by a known amount.
#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "base/rng.h"
#include "renderer/math/appearance.h"
#include "tests/support/required.h"
#include "tests/support/spoilt_photos.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

using math::kCameraValues;
using math::kLookParts;
using math::kPhotoValues;

struct Values {
    double photo[kPhotoValues] = {}, camera[kCameraValues] = {};
};
Values neutral() {
    Values out;
    for (int c = 0; c < 3; ++c) {
        double* curve = out.camera + math::kCameraCurve + c * math::kCurveValues;
        curve[0] = curve[1] = math::kRawPower;
        curve[2] = math::kRawGamma;
    }
    return out;
}
Values random_values(std::uint64_t seed) {
    Values out = neutral();
    std::uint64_t drawn = 0;
    const auto random = [&](double size) {
        return size * (2 * static_cast<double>(random_uniform(seed, 1, drawn++)) - 1);
    };
    out.photo[0] = random(0.6);
    for (int i = 1; i < kPhotoValues; ++i) out.photo[i] = random(1.5);
    for (int i = 0; i < math::kCameraCurve; ++i) {
        const bool centre = i % math::kVignetteValues < 2;
        out.camera[i] = centre ? random(0.05) : -0.3 + random(0.2);
    }
    for (int i = math::kCameraCurve; i < kCameraValues; ++i) out.camera[i] += random(0.4);
    return out;
}
void show(const Values& values, bool simple, double u, double v, const double* in, double* out) {
    math::Look<double> look{};
    math::look_of(values.photo, values.camera, simple, look);
    std::copy_n(in, 3, out);
    math::apply_look(look, simple, u, v, out);
}

TEST(Look, ChangesNothingToBeginWith) {
    for (const bool simple : {true, false})
        for (const double x : {-0.2, 0.0, 0.01, 0.3, 0.5, 0.99, 1.0, 1.4}) {
            const double in[3] = {x, 0.5 * x, 0.8 * x};
            double out[3];
            show(neutral(), simple, 0.3, -0.4, in, out);
            // 1e-5 beside the sum, as the published stage has it; less than nothing is no colour.
            for (int c = 0; c < 3; ++c)
                EXPECT_NEAR(out[c], simple ? in[c] : std::max(in[c], 0.0), 3e-5) << x;
        }
}

TEST(Look, SaysWhatItsNumbersSay) {
    Values values = neutral();
    values.photo[0] = 1;
    values.photo[1] = 0.3;
    values.photo[2] = -0.1;
    values.photo[3] = -0.2;
    const double in[3] = {0.2, 0.1, 0.05};
    double out[3];
    show(values, true, 0, 0, in, out);
    EXPECT_NEAR(out[0], 0.2 * std::exp2(1.3), 1e-12);
    EXPECT_NEAR(out[1], 0.1 * std::exp2(0.9), 1e-12);
    EXPECT_NEAR(out[2], 0.05 * std::exp2(0.8), 1e-12);

    // The neutral point moves by its block; chromaticities of grey follow, and the sum stays.
    values = neutral();
    values.photo[7] = 2;
    const double grey[3] = {0.3, 0.3, 0.3};
    show(values, false, 0, 0, grey, out);
    EXPECT_NEAR(out[0] / 0.9, 1.0 / 3 + 2 * 0.0128369, 2e-5);
    EXPECT_NEAR(out[1] / 0.9, 1.0 / 3 - 2 * 0.0034654, 2e-5);
    EXPECT_NEAR(out[0] + out[1] + out[2], 0.9, 3e-5);

    // A falloff of one channel, and a toe that lifts the dark end.
    values = neutral();
    values.camera[math::kVignetteValues + 2] = -0.5;
    show(values, false, 0.5, 0.5, grey, out);
    EXPECT_NEAR(out[1], 0.3 * 0.75, 1e-4);
    EXPECT_NEAR(out[0], 0.3, 1e-4);
    values = neutral();
    values.camera[math::kCameraCurve + 2] = std::log(std::expm1(0.5 - 0.1));
    show(values, false, 0, 0, grey, out);
    EXPECT_NEAR(out[0], std::sqrt(0.3), 1e-4);
    EXPECT_NEAR(out[2], 0.3, 1e-4);
}

/// d (w . result) / d everything, by the vjp and by differences of 1e-6.
TEST(Look, GradientsAreThoseOfDifferences) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        for (const bool simple : {true, false}) {
            SCOPED_TRACE(fmt::format("seed {}{}", seed, simple ? ", simple" : ""));
            Values values = random_values(seed);
            const auto uniform = [&](std::uint64_t i) {
                return static_cast<double>(random_uniform(seed, 2, i));
            };
            double in[3] = {0.05 + 0.6 * uniform(0), 0.05 + 0.6 * uniform(1),
                            0.05 + 0.6 * uniform(2)};
            const double u = uniform(3) - 0.5, v = uniform(4) - 0.5,
                         w[3] = {uniform(5) - 0.5, uniform(6), uniform(7) - 1};
            const auto value = [&] {
                double out[3];
                show(values, simple, u, v, in, out);
                return w[0] * out[0] + w[1] * out[1] + w[2] * out[2];
            };
            math::Look<double> look{};
            math::look_of(values.photo, values.camera, simple, look);
            double grad[3] = {w[0], w[1], w[2]}, parts[kLookParts] = {}, photo[kPhotoValues],
                   camera[kCameraValues];
            math::apply_look_vjp(look, simple, u, v, in, grad, parts);
            math::look_of_vjp(values.photo, values.camera, simple, look, parts, photo, camera);
            const auto check = [&](double& x, double got, const char* what, int i) {
                const double before = x, step = 1e-6;
                x = before + step;
                const double above = value();
                x = before - step;
                const double below = value();
                x = before;
                EXPECT_NEAR(got, (above - below) / (2 * step), 2e-7) << what << ' ' << i;
            };
            for (int i = 0; i < 3; ++i) check(in[i], grad[i], "drawn", i);
            for (int i = 0; i < kPhotoValues; ++i) check(values.photo[i], photo[i], "photo", i);
            for (int i = 0; i < kCameraValues; ++i) check(values.camera[i], camera[i], "camera", i);
        }
}

TEST(Look, PullsAreGradientsOfWhatHoldsIt) {
    Values values = random_values(5);
    double mean[kPhotoValues];
    std::copy_n(values.photo, kPhotoValues, mean);
    for (double& m : mean) m *= 0.02;
    const auto smooth = [](double x, double beta) {
        return std::abs(x) < beta ? x * x / (2 * beta) : std::abs(x) - beta / 2;
    };
    const auto of_means = [&] {
        double sum = 0;
        for (int point = 0; point < 3; ++point) {  // the neutral one is white balance
            double offset[2];
            math::look::through_block(point, mean + 1 + 2 * point, offset);
            sum += (smooth(offset[0], 0.005) + smooth(offset[1], 0.005)) / 8;
        }
        return sum;
    };
    const auto of_camera = [&] {
        double sum = 0;
        const double* c = values.camera;
        for (int i = 0; i < kCameraValues; ++i) {
            const bool vignette = i < math::kCameraCurve;
            const int n = vignette ? 5 : 4, first = vignette ? 0 : math::kCameraCurve;
            const double* at = c + first + (i - first) % n;
            const double average = (at[0] + at[n] + at[2 * n]) / 3;
            sum += 0.1 * (c[i] - average) * (c[i] - average) / (3 * n);
            if (vignette && i % 5 < 2) sum += 0.02 * c[i] * c[i] / 3;
            if (vignette && i % 5 >= 2) sum += 0.01 * std::max(c[i], 0.0) / 9;
        }
        return sum;
    };
    const auto slope = [](double& x, const auto& f) {
        const double before = x;
        x = before + 1e-6;
        const double above = f();
        x = before - 1e-6;
        const double below = f();
        x = before;
        return (above - below) / 2e-6;
    };
    values.camera[3] = 0.2;
    for (int k = 0; k < kPhotoValues; ++k)
        EXPECT_NEAR(math::mean_pull(mean, k, 7.0), slope(mean[k], of_means) / 7, 1e-8) << k;
    for (int k = 0; k < kCameraValues; ++k)
        EXPECT_NEAR(math::camera_pull(values.camera, k, 2.0),
                    slope(values.camera[k], of_camera) / 2, 1e-8)
            << k;
}

// ---- the CPU's bodies

ImageF random_picture(int width, int height) {
    ImageF out(width, height, 3);
    for (std::size_t i = 0; i < out.values.size(); ++i)
        out.values[i] = 1.2f * random_uniform(3, 1, i) - 0.05f;
    return out;
}
Image8 random_photo(int width, int height) {
    Image8 out{width, height, 3, {}};
    for (std::size_t i = 0; i < out.pixels() * 3; ++i)
        out.bytes.push_back(static_cast<std::uint8_t>(random_bits(4, 1, i)));
    return out;
}
AppliedLook applied(std::uint64_t seed, bool simple) {
    const Values values = random_values(seed);
    float photo[kPhotoValues], camera[kCameraValues];
    std::copy_n(values.photo, kPhotoValues, photo);
    std::copy_n(values.camera, kCameraValues, camera);
    AppliedLook out{{}, simple};
    math::look_of(photo, camera, simple, out.look);
    return out;
}

TEST(AppliedLook, IsTheFormulasAtEveryPixel) {
    const ImageF picture = random_picture(37, 23);
    const Image8 photo = random_photo(37, 23);
    for (const bool simple : {true, false}) {
        const AppliedLook look = applied(3, simple);
        ImageF shown;
        apply_look(look, picture, &photo, shown);
        std::size_t full = 0;
        for (int y = 0; y < 23; ++y)
            for (int x = 0; x < 37; ++x) {
                float rgb[3] = {picture.at(0, x, y), picture.at(1, x, y), picture.at(2, x, y)};
                math::apply_look(look.look, simple, (static_cast<float>(x) - 18) / 37,
                                 (static_cast<float>(y) - 11) / 37, rgb);
                for (int c = 0; c < 3; ++c) {
                    const std::uint8_t sample = photo.at(x, y)[c];
                    const float limit = static_cast<float>(sample) / 255;
                    if (sample >= 253 && rgb[c] > limit) {
                        ++full;
                        EXPECT_EQ(shown.at(c, x, y), limit);
                    } else {
                        EXPECT_NEAR(shown.at(c, x, y), rgb[c], 1e-5);
                    }
                }
            }
        EXPECT_GT(full, 0u);
    }
}

TEST(AppliedLook, SumsAreTheSameOnAnyNumberOfThreadsAndLeaveSaturatedPixelsOut) {
    const ImageF picture = random_picture(61, 70);
    Image8 photo = random_photo(61, 70);
    const AppliedLook look = applied(7, false);
    ImageF shown, upstream = random_picture(61, 70), one = upstream, two = upstream;
    apply_look(look, picture, &photo, shown);
    const int threads = thread_count();
    set_thread_count(1);
    const LookSums a = apply_look_vjp(look, picture, photo, {}, shown, 0.3f, one);
    set_thread_count(3);
    const LookSums b = apply_look_vjp(look, picture, photo, {}, shown, 0.3f, two);
    set_thread_count(threads);
    EXPECT_EQ(a, b);
    EXPECT_TRUE(std::equal(one.values.begin(), one.values.end(), two.values.begin()));
    EXPECT_NE(a[math::kLookGain], 0);
    EXPECT_GT(a[math::kLookParts + 3], 0);

    std::ranges::fill(photo.bytes, std::uint8_t{255});
    apply_look(look, picture, &photo, shown);
    ImageF gradient = upstream;
    const LookSums none = apply_look_vjp(look, picture, photo, {}, shown, 0.3f, gradient);
    for (const double sum : none) EXPECT_EQ(sum, 0);
    for (int y = 0; y < 70; ++y)
        for (int x = 0; x < 61; ++x) {
            const bool full =
                shown.at(0, x, y) >= 1 && shown.at(1, x, y) >= 1 && shown.at(2, x, y) >= 1;
            if (full) {
                EXPECT_EQ(gradient.at(1, x, y), 0) << x << ' ' << y;
            }
        }
}

// ---- of a capture

std::shared_ptr<Capture> small_photo_capture() {
    auto capture = std::make_shared<Capture>();
    for (int i = 0; i < 6; ++i) {
        View view;
        view.name = fmt::format("{}.png", i);
        view.camera = look_at({2.5 * std::sin(0.3 * i), -0.6, -2.5 * std::cos(0.3 * i)}, {0, 0, 0},
                              {0, -1, 0}, 48, 32, 0.8);
        if (i == 4) view.camera.fx *= 1.01;
        view.test = i == 5;
        view.photo = Image8{48, 32, 3, {}};
        for (int y = 0; y < 32; ++y)
            for (int x = 0; x < 48; ++x)
                for (int c = 0; c < 3; ++c)
                    view.photo.bytes.push_back(static_cast<std::uint8_t>(
                        70 + 30 * c + 25 * std::sin(0.3 * x + c) + 20 * std::cos(0.25 * y + i)));
        capture->views.push_back(std::move(view));
    }
    for (int i = 0; i < 80; ++i) {
        SparsePoint point;
        const auto at = [&](std::uint64_t k) {
            return 1.6f * random_uniform(9, k, static_cast<std::uint64_t>(i)) - 0.8f;
        };
        point.position = {at(0), at(1), at(2)};
        capture->points.push_back(point);
    }
    return capture;
}
TrainingSettings settings_of(AppearanceMode mode, double steps) {
    return *make_settings({{"steps", steps}, {"appearance", static_cast<double>(mode)}});
}

TEST(AppearanceRows, SharesACameraAmongPhotosOfOneLens) {
    const auto capture = small_photo_capture();
    const AppearanceRows rows(*capture);
    EXPECT_EQ(rows.photos(), 5u);
    EXPECT_EQ(rows.cameras, 2u);  // view 4 has a lens of its own: one photo per camera
    EXPECT_EQ(rows.photo_of_view[5], AppearanceRows::kNone);
    EXPECT_EQ(rows.camera_of_view[5], rows.camera_of_view[0]);
    EXPECT_NE(rows.camera_of_view[4], rows.camera_of_view[0]);
    EXPECT_EQ(rows.values(), 5u * 9 + 2 * 27);
    EXPECT_TRUE(initial_appearance(rows, AppearanceMode::none).empty());
}

TEST(Appearance, IsHeldAtZeroMeanAndStaysFinite) {
    const auto capture = small_photo_capture();
    std::ranges::fill(capture->views[2].photo.bytes, std::uint8_t{90});  // a constant photo
    std::ranges::fill(capture->views[3].photo.bytes,
                      std::uint8_t{255});  // one of nothing but white
    capture->views[1].mask = Image8{48, 32, 1, std::vector<std::uint8_t>(48 * 32, 0)};
    for (const AppearanceMode mode : {AppearanceMode::exposure, AppearanceMode::ppisp}) {
        auto trainer =
            required(Trainer::create(capture, settings_of(mode, 60), make_cpu_training()));
        while (!trainer->finished()) trainer->step();
        const AppearanceState state = trainer->backend().appearance();
        ASSERT_FALSE(state.empty());
        double mean = 0, moved = 0;
        for (const float x : state.values) ASSERT_TRUE(std::isfinite(x));
        for (std::size_t p = 0; p < 5; ++p) {
            mean += static_cast<double>(state.values[p * kPhotoValues]) / 5;
            moved = std::max(moved, std::abs(static_cast<double>(state.values[p * kPhotoValues])));
        }
        EXPECT_LT(std::abs(mean), 1e-6);
        EXPECT_GT(moved, 1e-3);
        const Evaluation score = trainer->evaluate({5});
        EXPECT_TRUE(std::isfinite(score.psnr_fitted));
    }
}

/// Two runs, one of which stops in the middle and resumes from its checkpoint.
TEST(Appearance, ResumesToTheSameBits) {
    const test::TemporaryFolder folder;
    const auto capture = small_photo_capture();
    const auto settings = settings_of(AppearanceMode::ppisp, 40);
    auto whole = Trainer::create(capture, settings, make_cpu_training());
    auto half = Trainer::create(capture, settings, make_cpu_training());
    ASSERT_TRUE(whole && half);
    while (!(*whole)->finished()) (*whole)->step();
    for (int i = 0; i < 17; ++i) (*half)->step();
    const fs::path file = folder.path() / "half.gsc";
    ASSERT_TRUE((*half)->save_checkpoint(file));
    auto rest = required(Trainer::resume(file, capture, make_cpu_training()));
    while (!rest->finished()) rest->step();
    const AppearanceState a = (*whole)->backend().appearance(), b = rest->backend().appearance();
    ASSERT_EQ(a.values.size(), b.values.size());
    EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin()));
    EXPECT_TRUE(std::equal(a.moments.begin(), a.moments.end(), b.moments.begin()));
    const GaussianModel m = (*whole)->model(), n = rest->model();
    EXPECT_TRUE(std::equal(m.values.begin(), m.values.end(), n.values.begin()));

    // Its scores are those of eval, which reads cameras' stages from the file.
    ASSERT_TRUE((*whole)->save_checkpoint(folder / "whole.gsc"));
    const auto learned = required(read_checkpoint_views(folder / "whole.gsc", *capture));
    EXPECT_TRUE(learned.cameras.empty()) << "they are the capture's";
    const auto rasterizer = make_cpu_rasterizer();
    const auto scored = [&](const LearnedLooks* through) {
        return evaluate_model(m, *capture, {1, 5}, *rasterizer, (*whole)->render_options(),
                              through);
    };
    const Evaluation mine = (*whole)->evaluate({1, 5}), same = scored(&learned.looks),
                     plain = scored({});
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(mine.images[i].psnr, same.images[i].psnr);
        EXPECT_EQ(mine.images[i].psnr_fitted, same.images[i].psnr_fitted);
        EXPECT_NE(mine.images[i].psnr, plain.images[i].psnr);
        EXPECT_TRUE(std::isnan(plain.images[i].psnr_fitted));
    }

    // Another lens: resuming fails with an error instead of using values of other cameras.
    auto other = std::make_shared<Capture>(*capture);
    other->views[1].camera.fx *= 1.02;
    const auto refused = Trainer::resume(file, other, make_cpu_training());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("cameras"), std::string::npos);
}

TEST(Appearance, TakesAKnownExposureOutOfTheScore) {
    const auto clean = small_photo_capture();
    auto spoilt = std::make_shared<Capture>(*clean);
    const Spoilt truth = spoil_photos(*spoilt, {.stops = 0.6, .balance = 0.1});
    const auto trained = [&](AppearanceMode mode) {
        NamedValues given{{"steps", 400.0},
                          {"sh_degree", 0.0},
                          {"densify_until", 0.0},
                          {"lr_appearance", 0.02},
                          {"appearance", static_cast<double>(mode)}};
        auto trainer = Trainer::create(spoilt, *make_settings(given), make_cpu_training());
        while (!(*trainer)->finished()) (*trainer)->step();
        return std::move(*trainer);
    };
    const auto without = trained(AppearanceMode::none), with = trained(AppearanceMode::exposure);
    double apart = 0;
    const AppearanceRows rows(*spoilt);
    const AppearanceState state = with->backend().appearance();
    for (std::size_t p = 0; p < rows.photos(); ++p)
        for (std::size_t q = 0; q < p; ++q) {
            const auto stops = [&](std::size_t i) {
                return stops_of_photo(state.values.data() + i * kPhotoValues,
                                      AppearanceMode::exposure)[1] -
                       truth[rows.view_of_photo[i]][1];
            };
            apart = std::max(apart, std::abs(stops(p) - stops(q)));
        }
    EXPECT_LT(apart, 0.15);  // photos of a picture that is no scene: roughly
    EXPECT_TRUE(without->backend().appearance().empty());
}

}  // namespace
}  // namespace gs
