// The captures under $GAUSSCOPE_DATA/captures. Expected sizes and counts come from the files
// themselves.
#include <cmath>
#include <map>
#include <set>

#include "renderer/io/captures/capture_io.h"
#include "renderer/scene/camera_lens.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

// Every photo of the folder is a view, nothing is skipped, pictures fit their cameras, and the
// points project into the views.
void expect_sound(const Capture& capture) {
    EXPECT_TRUE(capture.skipped.empty()) << capture.skipped.front();
    ASSERT_FALSE(capture.views.empty());
    std::set<std::string> names;
    for (const View& view : capture.views) {
        EXPECT_TRUE(names.insert(view.name).second);
        EXPECT_TRUE(view.camera.valid());
        EXPECT_EQ(view.photo.width, view.camera.width);
        EXPECT_EQ(view.photo.height, view.camera.height);
        EXPECT_EQ(view.photo.channels, 3);
        ASSERT_EQ(view.photo.bytes.size(), view.photo.pixels() * 3);
        if (!view.mask.empty()) {
            EXPECT_EQ(view.mask.bytes.size(), view.photo.pixels());
        }
    }
    EXPECT_TRUE(std::ranges::is_sorted(capture.views, {}, &View::name));
}

// The share of points in front of a view and inside its picture, averaged over views.
double visible_share(const Capture& capture) {
    double inside = 0;
    for (const View& view : capture.views) {
        const Camera& c = view.camera;
        const CameraPixels pixels(c);
        for (const SparsePoint& point : capture.points) {
            const Vec3d p =
                c.rotation * Vec3d{point.position.x, point.position.y, point.position.z} +
                c.translation;
            if (p.z <= 0) continue;
            const auto [u, v] = pixels.pixel_of(p);
            inside += u >= 0 && v >= 0 && u < c.width && v < c.height;
        }
    }
    return inside / static_cast<double>(capture.views.size() * capture.points.size());
}

std::size_t files_in(const fs::path& folder) {
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(folder)) n += entry.is_regular_file();
    return n;
}

class RealCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(RealCapture, LoadsWhole) {
    const std::string relative = std::string("captures/") + GetParam();
    GS_NEED_DATA(relative);
    const auto capture = required(load_capture(data_path(relative), {}));
    expect_sound(capture);
    EXPECT_EQ(capture.name, GetParam());
    EXPECT_EQ(capture.views.size(), files_in(data_path(relative + "/images")));
    EXPECT_FALSE(capture.points_are_random);
    EXPECT_GT(visible_share(capture), 0.15);
    const auto tests = capture.view_indices(true);
    EXPECT_EQ(tests.size(), (capture.views.size() + 7) / 8);
    for (std::size_t i = 0; i < tests.size(); ++i) EXPECT_EQ(tests[i], 8 * i);
    const auto forecast = required(forecast_capture(find_capture(data_path(relative)), {}));
    EXPECT_EQ(forecast.photos, capture.views.size());
    EXPECT_EQ(forecast.points, capture.points.size());
    EXPECT_EQ(forecast.width, capture.views[0].camera.width);
}

INSTANTIATE_TEST_SUITE_P(All, RealCapture,
                         ::testing::Values("fox", "fox_distorted", "fox_fisheye_derived", "sceaux",
                                           "brighton_aerial"),
                         [](const auto& test) { return std::string(test.param); });

TEST(RealCaptures, LensesAreSaidInTheNotes) {
    for (const auto& [name, lens] :
         {std::pair{"fox_distorted", "OPENCV"}, {"fox_fisheye_derived", "OPENCV_FISHEYE"}}) {
        GS_NEED_DATA(std::string("captures/") + name);
        CaptureOptions options{.photos = false};
        for (const bool undistort : {false, true}) {
            options.undistort = undistort;
            const auto capture =
                required(load_capture(data_path(std::string("captures/") + name), options));
            ASSERT_FALSE(capture.notes.empty());
            const std::string said = undistort
                                         ? fmt::format("resampled from {} to a pinhole", lens)
                                         : fmt::format("seen through their own lens, {}", lens);
            EXPECT_NE(capture.notes[0].text.find(said), std::string::npos) << capture.notes[0].text;
            EXPECT_EQ(is_pinhole(capture.views[0].camera), undistort);
        }
    }
}

TEST(RealCaptures, FisheyeKeepsItsMask) {
    GS_NEED_DATA("captures/fox_fisheye_derived/masks");
    const auto capture = required(load_capture(data_path("captures/fox_fisheye_derived"), {}));
    for (const View& view : capture.views) {
        ASSERT_FALSE(view.mask.empty());
        const double ignored = static_cast<double>(std::ranges::count(view.mask.bytes, 0)) /
                               static_cast<double>(view.mask.bytes.size());
        EXPECT_GT(ignored, 0.0);
        EXPECT_LT(ignored, 0.3);
    }
}

TEST(RealCaptures, BinaryAndTextModelsAreTheSame) {
    GS_NEED_DATA("captures/sceaux/sparse_txt");
    const CaptureOptions options{.photos = false};
    const auto binary = required(load_capture(data_path("captures/sceaux"), options)),
               text = required(load_capture(data_path("captures/sceaux/sparse_txt/0"), options));
    EXPECT_EQ(binary.format, "COLMAP binary");
    EXPECT_EQ(text.format, "COLMAP text");
    EXPECT_EQ(text.name, binary.name);
    ASSERT_EQ(binary.views.size(), text.views.size());
    for (std::size_t i = 0; i < binary.views.size(); ++i) {
        const Camera &a = binary.views[i].camera, &b = text.views[i].camera;
        EXPECT_EQ(binary.views[i].name, text.views[i].name);
        EXPECT_EQ(a.width, b.width);
        EXPECT_NEAR(a.fx, b.fx, 1e-9 * a.fx);
        EXPECT_NEAR(a.cx, b.cx, 1e-9 * a.cx);
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) EXPECT_NEAR(a.rotation.m[r][c], b.rotation.m[r][c], 1e-12);
        EXPECT_NEAR(a.translation.x, b.translation.x, 1e-9);
        EXPECT_NEAR(a.translation.z, b.translation.z, 1e-9);
    }
    // The two files list their points in different orders, and the text one with fewer digits.
    ASSERT_EQ(binary.points.size(), text.points.size());
    const auto sorted = [](const Capture& capture) {
        std::multimap<float, std::size_t> order;
        for (std::size_t i = 0; i < capture.points.size(); ++i)
            order.emplace(capture.points[i].position.x, i);
        return order;
    };
    const auto a = sorted(binary), b = sorted(text);
    for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j)
        ASSERT_NEAR(i->first, j->first, 1e-5f * std::max(1.0f, std::abs(i->first)));
}

TEST(RealCaptures, FoxAtAThirdIsTheReferenceSize) {
    GS_NEED_DATA("captures/fox");
    const auto full = load_capture(data_path("captures/fox"), {}),
               third = load_capture(data_path("captures/fox"),
                                    {.downscale = 3, .test_views = {"0012"}});
    ASSERT_TRUE(full && third);
    for (std::size_t i = 0; i < full->views.size(); ++i) {
        const Camera &a = full->views[i].camera, &b = third->views[i].camera;
        EXPECT_EQ(b.width, static_cast<int>(std::lround(a.width / 3.0)));
        EXPECT_EQ(b.height, static_cast<int>(std::lround(a.height / 3.0)));
        EXPECT_EQ(b.fx, a.fx / 3);
        EXPECT_EQ(b.cx, a.cx / 3);
        EXPECT_EQ(third->views[i].test, third->views[i].name == "0012.jpg");
    }
}

TEST(RealCaptures, LegoTrainAndTestOverWhite) {
    GS_NEED_DATA("captures/lego");
    const auto capture =
        required(load_capture(data_path("captures/lego"), {.background = {1, 1, 1}}));
    expect_sound(capture);
    EXPECT_EQ(capture.view_indices(false).size(), files_in(data_path("captures/lego/train")));
    EXPECT_EQ(capture.view_indices(true).size(), files_in(data_path("captures/lego/test")));
    EXPECT_TRUE(capture.points_are_random);
    for (const View& view : capture.views) {
        EXPECT_EQ(view.test, view.name.starts_with("test/"));
        EXPECT_EQ(view.photo.at(0, 0)[0], 255) << "the background of " << view.name;
        // All cameras look at the origin from about the same distance.
        const Vec3d p = view.camera.translation;
        EXPECT_LT(std::hypot(p.x, p.y), 0.1 * p.z);
    }
}

TEST(RealCaptures, ThreadsDoNotChangeAnything) {
    GS_NEED_DATA("captures/fox_distorted");
    CaptureOptions one, four;
    one.threads = 1;
    four.threads = 4;
    const auto a = load_capture(data_path("captures/fox_distorted"), one),
               b = load_capture(data_path("captures/fox_distorted"), four);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(texts_of(a->notes), texts_of(b->notes));
    for (std::size_t i = 0; i < a->views.size(); ++i)
        ASSERT_EQ(a->views[i].photo.bytes, b->views[i].photo.bytes);
}

}  // namespace
}  // namespace gs::test
