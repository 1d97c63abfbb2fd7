// Findings about whole files: values written after their activation, coordinates far from zero,
// poses that are lost.
#include <algorithm>
#include <cmath>

#include "renderer/doctor/doctor.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/origin.h"
#include "tests/support/random_scene.h"
#include "tests/unit/io_splat_models.h"

namespace gs::test {
namespace {

const Finding* found(const std::vector<Finding>& findings, const std::string& id) {
    const auto it = std::ranges::find(findings, id, &Finding::id);
    return it == findings.end() ? nullptr : &*it;
}

GaussianModel trained_splats() {
    GaussianModel m(300, 0);
    for (std::size_t i = 0; i < m.count; ++i) {
        for (int c = 0; c < 3; ++c) {
            const auto what = static_cast<std::uint64_t>(c);
            m.at(kMeans + c, i) = static_cast<float>(random_in(1, what, i, -2, 2));
            m.at(kLogScales + c, i) = static_cast<float>(random_in(2, what, i, -6, -3));
        }
        m.at(kOpacityLogits, i) = static_cast<float>(random_in(3, 0, i, -4, 4));
    }
    return m;
}

TEST(Activated, IsFoundAndFixed) {
    const GaussianModel right = trained_splats();
    for (const bool opacities : {false, true})
        for (const bool sizes : {false, true}) {
            SCOPED_TRACE(fmt::format("opacities {} sizes {}", opacities, sizes));
            GaussianModel wrong = right;
            for (std::size_t i = 0; i < wrong.count; ++i) {
                if (opacities)
                    wrong.at(kOpacityLogits, i) = 1 / (1 + std::exp(-right.at(kOpacityLogits, i)));
                for (int p = kLogScales; sizes && p < kQuats; ++p)
                    wrong.at(p, i) = std::exp(right.at(p, i));
            }
            const auto findings = examine(wrong).findings;
            EXPECT_EQ(found(findings, "activated-opacities") != nullptr, opacities);
            EXPECT_EQ(found(findings, "activated-sizes") != nullptr, sizes);
            const Fixed fixed = fix(wrong);
            ASSERT_EQ(fixed.model.count, right.count);
            for (std::size_t i = 0; i < right.count; ++i) {
                EXPECT_NEAR(fixed.model.at(kOpacityLogits, i), right.at(kOpacityLogits, i), 1e-4);
                EXPECT_NEAR(fixed.model.at(kLogScales + 1, i), right.at(kLogScales + 1, i), 1e-4);
            }
            EXPECT_EQ(fixed.changes.empty(), !opacities && !sizes);
            const std::vector<std::string> other{"duplicates"};
            EXPECT_TRUE(fix(wrong, other).changes.empty());
        }
}

TEST(Activated, SizesAreFoundInLargeScenesAndWithZeros) {
    for (const float extent : {1.0f, 10.0f, 50.0f, 5000.0f}) {
        SCOPED_TRACE(extent);
        GaussianModel right = trained_splats(), wrong = right;
        for (std::size_t i = 0; i < right.count; ++i)
            for (int c = 0; c < 3; ++c) {
                right.at(kMeans + c, i) = wrong.at(kMeans + c, i) *= extent / 4;
                right.at(kLogScales + c, i) += std::log(extent / 4);
                wrong.at(kLogScales + c, i) =
                    c == 2 ? 0 : std::exp(right.at(kLogScales + c, i));  // flat: sizes of zero
            }
        wrong.at(kLogScales, 7) = NAN;
        wrong.at(kOpacityLogits, 8) = NAN;
        EXPECT_EQ(found(examine(right).findings, "activated-sizes"), nullptr);
        EXPECT_NE(found(examine(wrong).findings, "activated-sizes"), nullptr);
        const std::vector<std::string> sizes{"activated-sizes"};
        const Fixed fixed = fix(wrong, sizes);
        EXPECT_NEAR(fixed.model.at(kLogScales, 9), right.at(kLogScales, 9), 1e-4);
        EXPECT_LT(fixed.model.at(kLogScales + 2, 9), -80);
    }
}

TEST(Activated, NumbersThatAreNoneHideNoOpacities) {
    GaussianModel wrong = trained_splats();
    for (std::size_t i = 0; i < wrong.count; ++i)
        wrong.at(kOpacityLogits, i) = 1 / (1 + std::exp(-wrong.at(kOpacityLogits, i)));
    for (const std::size_t row : {std::size_t{0}, std::size_t{5}}) {
        wrong.at(kOpacityLogits, row) = NAN;
        EXPECT_NE(found(examine(wrong).findings, "activated-opacities"), nullptr);
    }
    wrong.at(kOpacityLogits, 9) = 1.5f;
    EXPECT_EQ(found(examine(wrong).findings, "activated-opacities"), nullptr);
}

TEST(Activated, TrainedModelsHaveNone) {
    // All of one opacity, large ones in a large scene, few rows: none of these says it.
    GaussianModel m = trained_splats();
    for (std::size_t i = 0; i < m.count; ++i) {
        m.at(kOpacityLogits, i) = 0.5f;
        for (int c = 0; c < 3; ++c) {
            m.at(kMeans + c, i) *= 500;
            m.at(kLogScales + c, i) = 0.5f + 0.5f * static_cast<float>(c);
        }
    }
    EXPECT_EQ(found(examine(m).findings, "activated-sizes"), nullptr);
    EXPECT_EQ(found(examine(m).findings, "activated-opacities"), nullptr);
    EXPECT_EQ(found(examine(numbered_splats(20, 0, 1)).findings, "activated-opacities"), nullptr);
}

TEST(FarFromZero, IsANote) {
    GaussianModel m = trained_splats();
    EXPECT_EQ(found(examine(m).findings, "far-from-zero"), nullptr);
    m.origin = {500000, 4500000, 300};
    const auto findings = examine(m).findings;
    const Finding* finding = found(findings, "far-from-zero");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::note);
    EXPECT_NE(finding->what.find("(500000, 4500000, 300)"), std::string::npos);
    EXPECT_TRUE(same_place(fix(m).model.origin, m.origin));
}

Capture ring(std::size_t count, double radius) {
    Capture c;
    for (std::size_t i = 0; i < count; ++i) {
        View view;
        view.name = fmt::format("view_{:02}.png", i);
        const double angle = 0.5 * static_cast<double>(i);
        view.camera = look_at({radius * std::cos(angle), radius * std::sin(angle), 1}, {0, 0, 0},
                              {0, 0, 1}, 320, 240, 0.9);
        c.views.push_back(view);
    }
    for (std::uint64_t i = 0; i < 300; ++i)
        c.points.push_back({{static_cast<float>(random_in(2, 0, i, -1, 1)),
                             static_cast<float>(random_in(2, 1, i, -1, 1)),
                             static_cast<float>(random_in(2, 2, i, -1, 1))}});
    return c;
}
void lose(Capture& c, std::size_t view, Vec3d to) {
    Camera& camera = c.views[view].camera;
    camera.translation = -(camera.rotation * to);
}

TEST(LostPoses, AreNamed) {
    for (const double far : {100.0, 1e4, 1e9}) {
        Capture c = ring(8, 4);
        lose(c, 3, {far, 0, 0});
        const auto findings = examine(c);
        const Finding* finding = found(findings, "lost-poses");
        ASSERT_NE(finding, nullptr) << far;
        EXPECT_EQ(finding->count, 1u);
        EXPECT_EQ(finding->examples, std::vector<std::string>{"view_03.png"});
        EXPECT_EQ(finding->severity, Severity::warning);
        EXPECT_EQ(found(findings, "world-scale"), nullptr);
    }
    Capture two = ring(16, 4);
    lose(two, 2, {1e3, 0, 0});
    lose(two, 9, {0, -1e6, 0});
    const auto findings = examine(two);
    ASSERT_NE(found(findings, "lost-poses"), nullptr);
    EXPECT_EQ(found(findings, "lost-poses")->count, 2u);
}

TEST(LostPoses, OrdinaryCapturesHaveNone) {
    const auto none = [](const Capture& c) {
        const auto lost = lost_views(c);
        return std::ranges::count(lost, 1) == 0;
    };
    EXPECT_TRUE(none(ring(8, 4)));
    EXPECT_TRUE(none(ring(3, 4)));
    Capture drive = ring(60, 0);  // along a line
    for (std::size_t i = 0; i < drive.views.size(); ++i)
        lose(drive, i, {5.0 * static_cast<double>(i), 0, 0});
    EXPECT_TRUE(none(drive));
    Capture close = ring(20, 0.1);  // close to the thing, and three photos of the whole
    for (std::size_t i = 0; i < 3; ++i) lose(close, i, {0, 0, 3 + static_cast<double>(i)});
    EXPECT_TRUE(none(close));
    Capture many = ring(8, 4);  // more than a quarter: a scene of its own
    for (std::size_t i = 0; i < 3; ++i) lose(many, i, {1e4, 0, 0});
    EXPECT_TRUE(none(many));
    Capture still = ring(8, 0);  // all at one place
    for (std::size_t i = 0; i < 8; ++i) lose(still, i, {1, 2, 3});
    EXPECT_TRUE(none(still));
}

}  // namespace
}  // namespace gs::test
