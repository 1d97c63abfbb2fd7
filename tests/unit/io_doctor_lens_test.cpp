// What the doctor says of lenses that fold inside the picture, of rolling shutters and of rigs.
#include <gtest/gtest.h>

#include "renderer/doctor/doctor.h"
#include "tests/unit/sound_capture.h"

namespace gs::test {
namespace {

/// A sound capture through a lens.
Capture through(CameraModel model, std::array<double, 12> distortion, double focal = 250) {
    Capture out = sound_capture();
    for (View& view : out.views) {
        view.camera.model = model;
        view.camera.distortion = distortion;
        view.camera.fx = view.camera.fy = focal;
    }
    return out;
}

TEST(DoctorCapture, LensesThatFoldInsideThePictureAreFound) {
    using enum CameraModel;
    struct Case {
        CameraModel model;
        std::array<double, 12> distortion;
        const char* advice;
    };
    for (const Case& c : {Case{simple_radial, {-3}, "sign of k1: it is -3, and with 3 every"},
                          Case{radial, {-0.9, 0}, "with 0.9 every pixel"},
                          Case{opencv, {-0.9, 0.01, 0.001, 0}, "with 0.9 every pixel"},
                          Case{full_opencv, {-0.9}, "with 0.9 every pixel"},
                          Case{opencv, {0.3, -2}, "coefficients (k1 = 0.3)"},
                          Case{opencv_fisheye, {-4}, "with 4 every pixel"},
                          Case{thin_prism_fisheye, {-4}, "with 4 every pixel"}}) {
        const auto findings = examine(through(c.model, c.distortion));
        const Finding* f = find(findings, "lens-folds");
        ASSERT_NE(f, nullptr) << static_cast<int>(c.model) << " " << c.distortion[0];
        EXPECT_EQ(f->severity, Severity::warning) << f->what;
        EXPECT_EQ(f->count, 16u);
        EXPECT_NE(f->what.find("% of the pixels have no ray, from "), std::string::npos) << f->what;
        EXPECT_NE(f->advice.find(c.advice), std::string::npos) << f->advice;
    }
    // r (1 - 0.9 r^2) turns at r = 0.6086, which falls on 0.4057 of the focal length: 101 px.
    const auto findings = examine(through(simple_radial, {-0.9}));
    EXPECT_NE(find(findings, "lens-folds")->what.find("from 101 px off"), std::string::npos)
        << find(findings, "lens-folds")->what;
}

TEST(DoctorCapture, LensesThatEndWithThePictureDoNotFold) {
    using enum CameraModel;
    const auto found = [](const Capture& capture) {
        return find(examine(capture), "lens-folds") != nullptr;
    };
    EXPECT_FALSE(found(through(pinhole, {})));
    EXPECT_FALSE(found(through(opencv, {-0.1, 0.01})));
    EXPECT_FALSE(found(through(opencv_fisheye, {0.02, -0.01})));
    EXPECT_FALSE(found(through(opencv_fisheye, {}, 40)));  // its circle ends inside the picture
    EXPECT_FALSE(found(through(equirectangular, {})));
    // A lens that folds in a few photos of many.
    Capture some = sound_capture();
    some.views[3].camera.model = simple_radial;
    some.views[3].camera.distortion = {-3};
    const auto findings = examine(some);
    ASSERT_NE(find(findings, "lens-folds"), nullptr);
    EXPECT_EQ(find(findings, "lens-folds")->count, 1u);
    EXPECT_EQ(find(findings, "lens-folds")->examples, std::vector<std::string>{"view_3.png"});
}

TEST(DoctorCapture, ShuttersWithPosesNeedNone) {
    const auto advice = [](std::size_t rolling) {
        Capture c = sound_capture();
        c.notes = {{"photos have a rolling shutter", CaptureNote::Kind::shutter}};
        for (std::size_t i = 0; i < rolling; ++i) {
            c.views[i].camera.shutter = Shutter::top_to_bottom;
            c.views[i].camera.first = c.views[i].camera.last = c.views[i].camera.pose_at(0);
        }
        return find(examine(c), "rolling-shutter")->advice;
    };
    EXPECT_EQ(advice(16), "nothing");
    EXPECT_NE(advice(0).find("give poses"), std::string::npos);
    EXPECT_NE(advice(5).find("add poses"), std::string::npos);
}

TEST(DoctorCapture, RigsThatDisagreeWithTheirPhotosAreAWarning) {
    Capture c = sound_capture();
    c.notes = {{"2 of 8 photos are not where their rig has them", CaptureNote::Kind::rig}};
    const auto findings = examine(c);
    const Finding* f = find(findings, "rigs");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->severity, Severity::warning);
    EXPECT_NE(f->advice.find("export the model again"), std::string::npos);
}

}  // namespace
}  // namespace gs::test
