// Measuring and cropping by command: distances of picked points, the scene's scale and up, kept
// with the scene; what lies outside a box is not trained and not exported.
#include <algorithm>

#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/crop.h"
#include "studio_harness.h"

namespace gs {
namespace {

SessionOptions measuring_options() {
    SessionOptions options;
    options.settings.steps = 200;
    options.run.evaluate_every = 0;
    options.run.save_every = 0;
    return options;
}

class Measuring : public ::testing::Test {
  protected:
    Measuring() : h_(measuring_options()) {}
    void SetUp() override {
        ASSERT_TRUE(h_.open(tiny_capture()));
        h_.state.navigation = first_view(*h_.state.scene);
        h_.state.width = 160;
        h_.state.height = 120;
        h_.state.views_file = h_.folder.path() / "views.txt";
        h_.session.request_view(view_request_of(h_.state, 160, 120));
        ASSERT_TRUE(h_.until([&] { return h_.state.frame != nullptr; }));
    }
    Result<void> give(const std::string& name, const Arguments& arguments = {}) {
        auto done = all_commands().run(h_.state, name, arguments);
        EXPECT_TRUE(h_.until_done(h_.state.last_sent)) << name;
        h_.gather();
        return done;
    }
    const MeasureState& measured() const { return *h_.state.measured; }
    SessionHarness h_;
};

TEST_F(Measuring, DistancesScaleAndUpStayWithTheScene) {
    EXPECT_FALSE(give("scene.scale", {"1.5"})) << "no distance measured yet";
    EXPECT_FALSE(give("measure.clear"));
    EXPECT_FALSE(give("measure.points", {"1", "2", "x", "4"}));
    ASSERT_TRUE(give("measure.points", {"75", "66", "85", "66"}));
    ASSERT_TRUE(h_.state.measured);
    ASSERT_EQ(measured().distances(), 1u);
    // Both points lie under their pixels.
    const Camera camera = h_.state.frame->camera;
    const auto at = camera.pixel_of(camera.rotation * measured().points[0] + camera.translation);
    EXPECT_NEAR(at.x, 75, 1);
    EXPECT_NEAR(at.y, 66, 1);
    const double units = measured().length(0);
    EXPECT_GT(units, 0);
    ASSERT_TRUE(give("scene.scale", {"1.5"}));
    EXPECT_NEAR(measured().metres_per_unit * units, 1.5, 1e-9);
    // One end after the other.
    ASSERT_TRUE(give("measure.point", {"80", "60"}));
    EXPECT_EQ(measured().distances(), 1u);
    ASSERT_TRUE(give("measure.point", {"80", "70"}));
    EXPECT_EQ(measured().distances(), 2u);
    EXPECT_FALSE(give("measure.remove", {"3"}));
    ASSERT_TRUE(give("measure.remove", {"1"}));
    EXPECT_EQ(measured().distances(), 1u);
    ASSERT_TRUE(give("scene.up", {"z"}));
    EXPECT_EQ(h_.state.navigation.up.z, 1);
    ASSERT_TRUE(give("scene.up", {"distance"}));
    const Vec3d way = measured().points[1] - measured().points[0];
    EXPECT_NEAR(dot(*measured().up, way), std::sqrt(dot(way, way)), 1e-9);
    EXPECT_NEAR(dot(h_.state.navigation.up, *measured().up), 1, 1e-9);
    const MeasureState kept = read_measures(measures_file(h_.state.views_file));
    EXPECT_EQ(kept.distances(), 1u);
    EXPECT_NEAR(kept.metres_per_unit, measured().metres_per_unit, 1e-8);
    ASSERT_TRUE(kept.up);
    ASSERT_TRUE(give("scene.up", {"auto"}));
    ASSERT_TRUE(give("scene.scale", {"off"}));
    ASSERT_TRUE(give("measure.clear"));
    EXPECT_FALSE(fs::exists(measures_file(h_.state.views_file)));
    EXPECT_TRUE(h_.errors.empty()) << h_.errors[0].text;
}

TEST_F(Measuring, TheGroundAtThreePixelsIsBelowTheCamera) {
    EXPECT_FALSE(give("scene.up", {"1", "2", "3"})) << "neither a line nor a plane";
    ASSERT_TRUE(give("scene.up", {"70", "70", "90", "70", "80", "62"}));
    ASSERT_TRUE(h_.state.measured && measured().up);
    EXPECT_NEAR(dot(*measured().up, *measured().up), 1, 1e-9);
    EXPECT_NEAR(dot(h_.state.navigation.up, *measured().up), 1, 1e-9);
    EXPECT_TRUE(measured().points.empty()) << "what is picked for it is no distance";
    const Vec3d before = *measured().up;
    ASSERT_TRUE(give("scene.up", {"80", "66", "80", "66"}));
    ASSERT_EQ(h_.state.notices.size(), 1u);
    EXPECT_NE(h_.state.notices[0].notice.text.find("the same"), std::string::npos);
    EXPECT_EQ(measured().up->x, before.x);
}

TEST_F(Measuring, WhereNothingLiesNothingIsPicked) {
    ASSERT_TRUE(give("measure.points", {"0", "0", "80", "66"}));
    ASSERT_EQ(h_.errors.size(), 1u);
    EXPECT_NE(h_.errors[0].text.find("nothing at this pixel"), std::string::npos);
    EXPECT_FALSE(h_.state.measured);
}

TEST_F(Measuring, OutsideTheBoxNothingIsTrainedOrExported) {
    EXPECT_FALSE(give("train.crop", {"clip"})) << "there is no clip box";
    EXPECT_FALSE(give("train.crop", {"1", "0", "0", "-1", "1", "1"}));
    const fs::path part = h_.folder.path() / "part.ply";
    EXPECT_FALSE(give("export", {part.string(), "clip"}));
    const Vec3f lo = h_.state.scene->core.lo, hi = h_.state.scene->core.hi;
    const ClipBox box{lo, {0.5f * (lo.x + hi.x), hi.y, hi.z}};
    h_.state.view.clip = box;
    const std::uint64_t before = h_.state.training.gaussians;
    ASSERT_TRUE(give("export", {part.string(), "clip"}));
    const auto written = required(read_splats(part));
    EXPECT_GT(written.model.count, 0u);
    EXPECT_LT(written.model.count, before);
    EXPECT_TRUE(rows_outside(written.model, box).empty());
    h_.session.send(jobs::run_to(3));
    ASSERT_TRUE(h_.until([&] { return h_.state.training.step == 3; }));
    ASSERT_TRUE(give("train.crop", {"clip"}));
    ASSERT_TRUE(h_.until([&] { return h_.state.training.gaussians < before; }));
    const auto row = [&](const std::string& name) {
        for (const SettingRow& one : *h_.state.settings)
            if (one.name == name) return one.value;
        return -1.0;
    };
    EXPECT_EQ(row("crop"), 1);
    EXPECT_NEAR(row("crop_x1"), static_cast<double>(box.hi.x), 1e-6);
    const std::uint64_t inside = h_.state.training.gaussians;
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(row("crop"), 0) << "the setting and what it deleted are one edit";
    ASSERT_TRUE(h_.until([&] { return h_.state.training.gaussians == before; }));
    ASSERT_TRUE(give("redo"));
    EXPECT_EQ(row("crop"), 1);
    ASSERT_TRUE(h_.until([&] { return h_.state.training.gaussians == inside; }));
    ASSERT_TRUE(give("undo"));
    ASSERT_TRUE(h_.until([&] { return h_.state.training.gaussians == before; }));
    EXPECT_TRUE(h_.errors.empty()) << h_.errors[0].text;
    ASSERT_TRUE(give("train.crop", {"90", "90", "90", "91", "91", "91"}));
    ASSERT_EQ(h_.errors.size(), 1u) << "said once";
    EXPECT_NE(h_.errors[0].text.find("this box contains no Gaussian"), std::string::npos);
    h_.session.send(jobs::run_to(6));
    ASSERT_TRUE(h_.until([&] { return h_.state.training.step == 6; })) << "it continues";
    ASSERT_TRUE(h_.until([&] {
        const auto& marks = h_.state.curves->marks;
        return std::any_of(marks.begin(), marks.end(), [](const CurveMark& mark) {
            return mark.text.find("cropped: deleted") != std::string::npos;
        });
    }));
}

}  // namespace
}  // namespace gs
