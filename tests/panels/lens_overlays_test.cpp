// What is drawn over a picture that a lens bends: lines in pieces, photos of cameras in cells, what
// lies over the seam of a picture of all directions, and what a rolling shutter moves.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "panels/viewport/frusta.h"
#include "panels/viewport/shutter_lines.h"
#include "renderer/scene/viewer_lens.h"

namespace gs::test {
namespace {

/// At (0, 0, -4), looking along z.
Camera viewer(CameraModel model, int width = 400, int height = 200) {
    ViewerLens lens{model};
    return through(lens, look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, width, height, 0.8));
}
CameraRow a_row(Vec3d eye, Vec3d target) {
    return {.camera = look_at(eye, target, {0, -1, 0}, 96, 64, 0.7)};
}
double area_of(const PhotoCell& cell) {
    double twice = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const Pixel a = cell.corners[i], b = cell.corners[(i + 1) % 4];
        twice += a.x * b.y - b.x * a.y;
    }
    return 0.5 * std::abs(twice);
}

TEST(LensOverlays, DepthIsTheDistanceWhereALensLooksBack) {
    const Vec3d behind{1, 0.5, -9};
    EXPECT_FALSE(project_point(viewer(CameraModel::pinhole), behind, 0.01));
    const auto seen = project_point(viewer(CameraModel::equirectangular), behind, 0.01);
    ASSERT_TRUE(seen);
    EXPECT_NEAR(seen->x, 400 * (0.5 + std::atan2(1, -5) / (2 * std::numbers::pi)), 1e-9);
    EXPECT_FALSE(project_point(viewer(CameraModel::equirectangular), behind, 6));
}

TEST(LensOverlays, LinesAreBentAndEndAtTheSeam) {
    const Camera camera = viewer(CameraModel::equirectangular);
    // Across the seam behind the camera: nothing may run over the whole picture.
    int drawn = 0;
    project_line(camera, {-3, 1, -8}, {3, 1, -8}, 0.01, [&](const std::array<Pixel, 2>& line) {
        ++drawn;
        EXPECT_LT(std::abs(line[0].x - line[1].x), 100);
    });
    EXPECT_EQ(drawn, pieces_of_line(camera) - 1);
    // A straight line beside a fisheye's axis bulges away from it.
    const Camera fisheye = viewer(CameraModel::opencv_fisheye);
    std::vector<Pixel> places;
    project_line(fisheye, {-4, 2, 0}, {4, 2, 0}, 0.01,
                 [&](const std::array<Pixel, 2>& line) { places.push_back(line[0]); });
    ASSERT_GT(places.size(), 8u);
    EXPECT_GT(places[places.size() / 2].y, places.front().y + 5);
}

TEST(LensOverlays, PhotosOfStraightCamerasAreOneCell) {
    const std::vector<CameraRow> rows{a_row({0, 0, 0}, {0, 0, 5})};
    const auto seen = visible_frusta(viewer(CameraModel::pinhole), rows, 0.5, true);
    ASSERT_EQ(seen.size(), 1u);
    ASSERT_EQ(seen[0].photo.size(), 1u);
    const auto corners = frustum_corners(rows[0].camera, 0.5);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto at = project_point(viewer(CameraModel::pinhole), corners[i + 1], 0.01);
        EXPECT_NEAR(seen[0].photo[0].corners[i].x, at->x, 1e-9);
        EXPECT_NEAR(seen[0].photo[0].corners[i].y, at->y, 1e-9);
    }
    EXPECT_TRUE(visible_frusta(viewer(CameraModel::pinhole), rows, 0.5)[0].photo.empty());
}

TEST(LensOverlays, BentPhotosAreCellsThatMeet) {
    std::vector<CameraRow> rows{a_row({0, 0, 0}, {0, 0, 5})};
    rows[0].camera = through(ViewerLens{CameraModel::opencv_fisheye, 2.4}, rows[0].camera);
    for (const CameraModel model : {CameraModel::pinhole, CameraModel::opencv_fisheye}) {
        const Camera from = viewer(model);
        const auto seen = visible_frusta(from, rows, 0.5, true);
        ASSERT_EQ(seen.size(), 1u);
        const auto& cells = seen[0].photo;
        ASSERT_EQ(cells.size(), 64u);
        for (const PhotoCell& cell : cells) {
            EXPECT_GT(area_of(cell), 0);
            // A cell's corner is where the photo's pixel is seen, at the rim's distance.
            const Camera& photo = rows[0].camera;
            const CameraRay ray = photo.ray_of(cell.left * photo.width, cell.top * photo.height);
            const auto at = project_point(from, ray.origin + 0.5 * ray.direction, 0.01);
            ASSERT_TRUE(at);
            EXPECT_NEAR(at->x, cell.corners[0].x, 1e-6);
            EXPECT_NEAR(at->y, cell.corners[0].y, 1e-6);
        }
        EXPECT_NEAR(cells[0].corners[1].x, cells[1].corners[0].x, 1e-9);
        EXPECT_NEAR(cells[0].corners[3].y, cells[8].corners[0].y, 1e-9);
    }
}

TEST(LensOverlays, PhotosBehindAreSeenAroundAndDoNotCrossTheSeam) {
    const std::vector<CameraRow> rows{a_row({0, 0, -8}, {0, 0, -20})};
    EXPECT_TRUE(visible_frusta(viewer(CameraModel::pinhole), rows, 0.5, true).empty());
    const auto seen = visible_frusta(viewer(CameraModel::equirectangular), rows, 0.5, true);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_NEAR(seen[0].depth, 4, 1e-9);
    EXPECT_GT(seen[0].photo.size(), 40u);
    for (const PhotoCell& cell : seen[0].photo)
        for (const Pixel& corner : cell.corners)
            EXPECT_LT(std::abs(corner.x - cell.corners[0].x), 100);
}

/// Moves by `across` (world units) to the right while it reads.
Camera moving(Shutter shutter, double across) {
    Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 320, 240, 0.9);
    camera.shutter = shutter;
    camera.first = camera.last = {camera.rotation, camera.translation};
    camera.first.translation.x += 0.5 * across;
    camera.last.translation.x -= 0.5 * across;
    return camera;
}

TEST(LensOverlays, ShutterArrowsAreWhatMovesMeanwhile) {
    const double across = 0.1, far = 4;
    for (const Shutter shutter : {Shutter::top_to_bottom, Shutter::bottom_to_top}) {
        const Camera camera = moving(shutter, across);
        const auto arrows = shutter_arrows(camera, far);
        ASSERT_EQ(arrows.size(), 63u);
        for (const ShutterArrow& a : arrows) {
            const double from_half = a.time - 0.5;
            if (std::abs(a.to.y - 120) > 1) {
                EXPECT_EQ(shutter == Shutter::top_to_bottom, from_half * (a.to.y - 120) > 0);
            }
            // Seen later, a point has moved to the left by as much as the camera did; at the
            // picture's rim it is nearer than `far` by the ray's slant.
            const Vec3d ray = camera.ray_of(a.to.x, a.to.y).direction;
            const double moved = -from_half * across * camera.fx / (far * ray.z);
            EXPECT_NEAR(a.to.x - a.from.x, moved, 1e-6);
            EXPECT_NEAR(a.to.y - a.from.y, 0, 1e-6);
        }
        const std::string words = words_of_shutter(camera, arrows, far);
        EXPECT_NE(words.find("rows read"), std::string::npos) << words;
    }
    EXPECT_TRUE(shutter_arrows(viewer(CameraModel::pinhole), far).empty()) << "a global shutter";
    for (const ShutterArrow& a : shutter_arrows(moving(Shutter::left_to_right, 0), far)) {
        EXPECT_NEAR(a.to.x, a.from.x, 1e-6);
        EXPECT_NEAR(a.time, shutter_time(moving(Shutter::left_to_right, 0), a.to.x, 0), 1e-12);
    }
}

TEST(LensOverlays, AViewersLensKeepsPlaceAndSize) {
    const Camera pinhole = viewer(CameraModel::pinhole);
    for (const char* name : {"fisheye:200", "equirectangular"}) {
        const auto lens = viewer_lens_named(name);
        ASSERT_TRUE(lens);
        EXPECT_EQ(text_of(*lens), name);
        const Camera camera = through(*lens, pinhole);
        EXPECT_EQ(camera.width, pinhole.width);
        EXPECT_EQ(camera.position().z, pinhole.position().z);
        EXPECT_TRUE(camera.valid());
        const auto ahead = camera.pixel_of({0, 0, 3});
        EXPECT_NEAR(ahead.x, 200, 1e-9);
        EXPECT_NEAR(ahead.y, 100, 1e-9);
        // What it draws is found again, at its distance.
        const Vec3d point = camera.point_at(330, 40, 2.5);
        const Vec3d own = camera.rotation * point + camera.translation;
        EXPECT_NEAR(camera.depth_of(own), 2.5, 1e-9);
        EXPECT_NEAR(camera.pixel_of(own).x, 330, 1e-6);
    }
    for (const char* bad : {"fisheye:5", "fisheye:361", "fisheye:x", "fisheye:", "ftheta", "lens",
                            "equirectangular:90"})
        EXPECT_FALSE(viewer_lens_named(bad)) << bad;
}

}  // namespace
}  // namespace gs::test
