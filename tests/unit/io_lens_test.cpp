
#include <cmath>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/undistort.h"
#include "renderer/scene/camera_lens.h"
#include "tests/support/data.h"
#include "tests/unit/io_files.h"

namespace gs::test {
namespace {

Camera lens(CameraModel model, std::array<double, 12> distortion, int width = 320, int height = 240,
            double f = 300) {
    return {.model = model,
            .width = width,
            .height = height,
            .fx = f,
            .fy = 0.98 * f,
            .cx = 0.51 * width,
            .cy = 0.49 * height,
            .distortion = distortion};
}

/// Where a direction (x/z, y/z) lands, px.
Vec2<double> landing(const math::Lens<double>& lens, double x, double y) {
    return math::lens_project(lens, Vec3d{x, y, 1}).uv;
}

TEST(Lens, UndistortedPictureIsCoveredAndNotMuchSmaller) {
    for (const Camera& camera :
         {lens(CameraModel::simple_radial, {-0.2}), lens(CameraModel::radial, {0.15, -0.05}),
          lens(CameraModel::opencv, {-0.28, 0.07, 0.002, -0.001}),
          lens(CameraModel::opencv_fisheye, {0.03, -0.01}),
          lens(CameraModel::opencv_fisheye, {0.01}, 400, 400, 127.0)}) {
        const Camera pinhole = undistorted_camera(camera);
        ASSERT_TRUE(pinhole.valid());
        EXPECT_EQ(pinhole.model, CameraModel::pinhole);
        EXPECT_GT(pinhole.width, camera.width / 2);
        EXPECT_GT(pinhole.height, camera.height / 2);
        EXPECT_EQ(pinhole.fx, camera.fx);
        const Undistorted out =
            undistort(constant(camera.width, camera.height, {90, 10, 250}), {}, camera, pinhole);
        EXPECT_TRUE(out.mask.empty());
        EXPECT_EQ(out.photo.bytes, constant(pinhole.width, pinhole.height, {90, 10, 250}).bytes);
    }
}

TEST(Lens, ResamplingPutsEveryRayInItsPlace) {
    // A photo whose value is a smooth function of the ray comes out as that function of the
    // pinhole's ray.
    const Camera camera = lens(CameraModel::opencv, {-0.25, 0.05, 0.003, -0.002});
    const auto value = [](double x, double y) {
        return 128 + 100 * std::sin(3 * x) * std::cos(2 * y);
    };
    Image8 photo{camera.width, camera.height, 1, {}};
    const auto through = math::make_lens(camera);
    for (int row = 0; row < camera.height; ++row)
        for (int column = 0; column < camera.width; ++column) {
            double x = 0, y = 0;  // the ray of this pixel, by fixed-point iteration
            for (int i = 0; i < 200; ++i) {
                const Vec2<double> p = landing(through, x, y);
                x += (column + 0.5 - p.x) / camera.fx;
                y += (row + 0.5 - p.y) / camera.fy;
            }
            photo.bytes.push_back(static_cast<std::uint8_t>(std::lround(value(x, y))));
        }
    const Camera pinhole = undistorted_camera(camera);
    const Image8 out = undistort(photo, {}, camera, pinhole).photo;
    for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column)
            ASSERT_NEAR(*out.at(column, row),
                        value((column + 0.5 - pinhole.cx) / pinhole.fx,
                              (row + 0.5 - pinhole.cy) / pinhole.fy),
                        1.6)
                << column << ", " << row;
}

TEST(Lens, MasksAreResampledWithTheirPhoto) {
    const Camera camera = lens(CameraModel::radial, {0.1, 0.01});
    const Camera pinhole = undistorted_camera(camera);
    Image8 mask = constant(camera.width, camera.height, {255});
    for (int y = 100; y < 120; ++y)
        std::fill_n(mask.bytes.begin() + y * camera.width + 60, 30, std::uint8_t{0});
    const Undistorted out =
        undistort(constant(camera.width, camera.height, {5}), mask, camera, pinhole);
    const auto through = math::make_lens(camera);
    for (int row = 0; row < pinhole.height; ++row)
        for (int column = 0; column < pinhole.width; ++column) {
            const Vec2<double> p = landing(through, (column + 0.5 - pinhole.cx) / pinhole.fx,
                                           (row + 0.5 - pinhole.cy) / pinhole.fy);
            // Inside the ignored block, or within a pixel of it.
            const auto in = [&](double margin) {
                return p.x > 60 - margin && p.x < 90 + margin && p.y > 100 - margin &&
                       p.y < 120 + margin;
            };
            if (in(0)) {
                ASSERT_EQ(*out.mask.at(column, row), 0);
            }
            if (!in(1)) {
                ASSERT_EQ(*out.mask.at(column, row), 255);
            }
        }
}

TEST(Lens, AbsurdLensesMarkWhatIsNotCovered) {
    Camera camera = lens(CameraModel::radial, {-40, 3});
    Camera pinhole = undistorted_camera(camera);
    ASSERT_TRUE(pinhole.valid());
    const Image8 photo = constant(camera.width, camera.height, {1, 2, 3});
    EXPECT_FALSE(undistort(photo, {}, camera, pinhole).mask.empty());
    camera = lens(CameraModel::opencv_fisheye, {1e200, -1e200, 1e200, 0});
    pinhole = undistorted_camera(camera);
    EXPECT_EQ(undistort(photo, {}, camera, pinhole).photo.width, pinhole.width);
    camera = lens(CameraModel::opencv, {0.1, 0, 0, 0});
    camera.cx = -1000;
    EXPECT_EQ(undistorted_camera(camera).width, camera.width);
}

// The same photos with their lens (or a fisheye) kept, and as COLMAP undistorted them, show the
// same along the same rays.
void expect_same_rays(const char* distorted_name) {
    const CaptureOptions options{.undistort = true};
    const auto straight = load_capture(data_path("captures/fox"), options);
    const auto resampled = load_capture(data_path(distorted_name), options);
    ASSERT_TRUE(straight && resampled);
    std::size_t compared = 0;
    for (const View& view : resampled->views) {
        const auto other = std::ranges::find(straight->views, view.name, &View::name);
        if (other == straight->views.end() || ++compared > 3) continue;
        const Vec3d apart = view.camera.position() - other->camera.position();
        EXPECT_LT(std::sqrt(dot(apart, apart)), 1e-4);
        double difference = 0, pixels = 0;
        for (int row = 0; row < view.camera.height; ++row)
            for (int column = 0; column < view.camera.width; ++column) {
                if (!view.mask.empty() && *view.mask.at(column, row) == 0) continue;
                const double x = (column + 0.5 - view.camera.cx) / view.camera.fx,
                             y = (row + 0.5 - view.camera.cy) / view.camera.fy;
                const int u = static_cast<int>(std::floor(other->camera.fx * x + other->camera.cx));
                const int v = static_cast<int>(std::floor(other->camera.fy * y + other->camera.cy));
                if (u < 0 || v < 0 || u >= other->photo.width || v >= other->photo.height) continue;
                difference += std::abs(view.photo.at(column, row)[1] - other->photo.at(u, v)[1]);
                ++pixels;
            }
        EXPECT_GT(pixels, 0.6 * view.camera.width * view.camera.height) << view.name;
        // Another resolution and another JPEG: a few levels. Wrong lens formulas or a shifted
        // centre give 15 and more.
        EXPECT_LT(difference / pixels, 6.0) << view.name;
    }
    EXPECT_GT(compared, 0u);
}

TEST(Lens, FoxThroughItsLensMatchesFoxUndistorted) {
    GS_NEED_DATA("captures/fox_distorted");
    GS_NEED_DATA("captures/fox");
    expect_same_rays("captures/fox_distorted");
}
TEST(Lens, FoxThroughAFisheyeMatchesFoxUndistorted) {
    GS_NEED_DATA("captures/fox_fisheye_derived");
    GS_NEED_DATA("captures/fox");
    expect_same_rays("captures/fox_fisheye_derived");
}

}  // namespace
}  // namespace gs::test
