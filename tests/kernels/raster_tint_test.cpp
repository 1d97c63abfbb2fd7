// Tints: a picture drawn through one is the picture of a model recoloured by hand, on every
// backend; a hidden Gaussian is one that is not there.
#include "renderer/maps/draw_styles.h"
#include "renderer/math/sh.h"
#include "tests/kernels/raster_backend.h"
#include "tests/support/random_scene.h"
#include "tests/support/raster_run.h"

namespace gs::test {
namespace {

class RasterTint : public RasterSuite {
  protected:
    const Camera camera_ = random_camera(31, 0, backend().pick(120, 50), backend().pick(90, 40));
};
INSTANTIATE_TEST_SUITE_P(, RasterTint, ::testing::ValuesIn(kRasterBackends), name_of_backend);

GaussianModel scene() { return random_model({.count = 290}); }

std::uint8_t byte_of(std::size_t row, int channel) {
    return static_cast<std::uint8_t>((row * 37 + static_cast<std::size_t>(channel) * 91) % 256);
}
std::uint32_t word_of(std::size_t row, std::uint32_t share) {
    return GaussianTint::word(byte_of(row, 0), byte_of(row, 1), byte_of(row, 2), share);
}
RenderOptions through(std::shared_ptr<const GaussianTint> tint) {
    RenderOptions options{.background = {0.2f, 0.1f, 0.3f}, .gradients = false};
    options.tint = std::move(tint);
    return options;
}
template <class Word>
std::shared_ptr<GaussianTint> tint_of(std::size_t rows, Word&& word) {
    static std::uint64_t serial = 0;
    auto tint = std::make_shared<GaussianTint>();
    tint->serial = ++serial;
    tint->words.resize_discard(rows);
    for (std::size_t i = 0; i < rows; ++i) tint->words[i] = word(i);
    return tint;
}
/// The model with the first `rows` in the colours of their words.
GaussianModel recoloured(const GaussianModel& model, std::size_t rows) {
    GaussianModel out = model;
    for (std::size_t i = 0; i < rows; ++i)
        for (int p = kSh0; p < plane_count(model.sh_degree); ++p)
            out.at(p, i) = p < kSh0 + 3 ? (static_cast<float>(byte_of(i, p - kSh0)) / 255 - 0.5f) /
                                              math::kSh0Basis
                                        : 0.0f;
    return out;
}
void expect_near(const Drawn& drawn, const Drawn& expected, double tolerance, const char* what) {
    ASSERT_EQ(drawn.color.size(), expected.color.size()) << what;
    for (std::size_t i = 0; i < drawn.color.size(); ++i)
        ASSERT_NEAR(drawn.color[i], expected.color[i], tolerance) << what << ", value " << i;
}

TEST_P(RasterTint, IsTheModelInOtherColours) {
    const GaussianModel model = scene();
    RasterRun run(backend().make());
    const Drawn plain = run.draw(model, camera_, through(nullptr));
    const auto full = [](std::size_t i) { return word_of(i, GaussianTint::kFullTint); };
    const Drawn all = run.draw(model, camera_, through(tint_of(model.count, full)));
    expect_near(all, run.draw(recoloured(model, model.count), camera_, through(nullptr)), 2e-6,
                "all rows");
    expect_near(run.draw(model, camera_, through(tint_of(130, full))),
                run.draw(recoloured(model, 130), camera_, through(nullptr)), 2e-6,
                "rows behind the last word");
    const Drawn half =
        run.draw(model, camera_,
                 through(tint_of(model.count, [](std::size_t i) { return word_of(i, 127); })));
    for (std::size_t i = 0; i < plain.color.size(); ++i)
        ASSERT_NEAR(half.color[i], 0.5 * (plain.color[i] + all.color[i]), 4e-6) << i;
    const auto own = [](std::size_t) { return GaussianTint::kOwn; };
    expect_near(run.draw(model, camera_, through(tint_of(model.count, own))), plain, 0, "own");
    expect_near(run.draw(model, camera_, through(nullptr)), plain, 0, "afterwards");
}

TEST_P(RasterTint, HiddenIsNotThere) {
    const GaussianModel model = scene();
    const auto hidden = [](std::size_t i) { return i % 3 == 1 || (i > 31 && i < 64); };
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < model.count; ++i)
        if (!hidden(i)) kept.push_back(i);
    GaussianModel rest(kept.size(), model.sh_degree);
    for (int p = 0; p < plane_count(model.sh_degree); ++p)
        for (std::size_t i = 0; i < kept.size(); ++i) rest.at(p, i) = model.at(p, kept[i]);
    RasterRun run(backend().make());
    const auto tint = tint_of(model.count, [&](std::size_t i) {
        return hidden(i) ? GaussianTint::kHidden : GaussianTint::kOwn;
    });
    const Drawn drawn = run.draw(model, camera_, through(tint), true);
    const Drawn expected = run.draw(rest, camera_, through(nullptr), true);
    expect_near(drawn, expected, 1e-6, "without them");
    EXPECT_EQ(drawn.result.counters.visible, expected.result.counters.visible);
    EXPECT_EQ(drawn.result.counters.isects, expected.result.counters.isects);
}

TEST_P(RasterTint, AnotherSerialIsAnotherTint) {
    const GaussianModel model = scene();
    RasterRun run(backend().make());
    const auto tint =
        tint_of(model.count, [](std::size_t) { return GaussianTint::word(255, 0, 0); });
    const Drawn red = run.draw(model, camera_, through(tint));
    for (std::uint32_t& word : tint->words) word = GaussianTint::word(0, 0, 255);
    ++tint->serial;
    const Drawn blue = run.draw(model, camera_, through(tint));
    double most = 0;
    for (std::size_t i = 0; i < red.color.size(); i += 3) {
        EXPECT_NEAR(red.color[i] - 0.2 * (1 - red.alpha[i / 3]), red.alpha[i / 3], 2e-6);
        EXPECT_NEAR(blue.color[i + 2] - 0.3 * (1 - red.alpha[i / 3]), red.alpha[i / 3], 2e-6);
        most = std::max(most, red.alpha[i / 3]);
    }
    EXPECT_GT(most, 0.5);
}

/// A tint also applies to dots, ellipsoids and rings.
TEST(TintedStyles, AreTheModelInOtherColours) {
    GaussianModel model = scene();
    const Camera camera = random_camera(31, 0, 120, 90);
    const auto tint = tint_of(model.count, [](std::size_t i) {
        return i % 2 == 0 ? word_of(i, GaussianTint::kFullTint) : GaussianTint::kHidden;
    });
    GaussianModel other = recoloured(model, model.count);
    for (std::size_t i = 1; i < other.count; i += 2) other.at(kOpacityLogits, i) = -20.0f;
    for (const DrawStyle style : {DrawStyle::points, DrawStyle::ellipsoids}) {
        RenderResult tinted, expected;
        draw_model_as(style, model, camera, through(tint), 3, tinted);
        draw_model_as(style, other, camera, through(nullptr), 3, expected);
        EXPECT_EQ(tinted.counters.visible, expected.counters.visible);
        for (std::size_t i = 0; i < expected.color.values.size(); ++i)
            ASSERT_NEAR(tinted.color.values[i], expected.color.values[i], 2e-6);
    }
}

}  // namespace
}  // namespace gs::test
