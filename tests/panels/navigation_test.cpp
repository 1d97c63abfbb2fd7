// The viewport's navigation and its ground grid, without a window.
#include <gtest/gtest.h>

#include <cmath>

#include "panels/viewport/ground_grid.h"
#include "panels/viewport/navigation.h"
#include "tests/panels/fake_snapshot.h"

namespace gs {
namespace {

SceneInfo a_scene() { return {.extent = 3, .center = {1, 0.5F, -2}, .radius = 3}; }
double distance(Vec3d a, Vec3d b) { return std::sqrt(dot(a - b, a - b)); }
double angle_to_up(const NavigationState& s) {
    return dot(Vec3d{s.rotation.m[0][0], s.rotation.m[0][1], s.rotation.m[0][2]}, s.up);
}
void expect_rotation(const Mat3d& r) {
    const Mat3d product = r * transpose(r);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) EXPECT_NEAR(product.m[i][j], i == j ? 1 : 0, 1e-9);
    const Vec3d x{r.m[0][0], r.m[0][1], r.m[0][2]}, y{r.m[1][0], r.m[1][1], r.m[1][2]},
        z{r.m[2][0], r.m[2][1], r.m[2][2]};
    EXPECT_NEAR(dot(cross(x, y), z), 1, 1e-9);
}

TEST(Navigation, FirstViewSeesTheWholeScene) {
    const SceneInfo scene = a_scene();
    const NavigationState state = first_view(scene);
    expect_rotation(state.rotation);
    EXPECT_NEAR(angle_to_up(state), 0, 1e-9) << "the horizon is level";
    const Camera camera = camera_of(state, 640, 480);
    ASSERT_TRUE(camera.valid());
    const Vec3d centre{1, 0.5, -2};
    const auto middle = project_point(camera, centre, 0.01);
    ASSERT_TRUE(middle);
    EXPECT_NEAR(middle->x, 320, 1e-6);
    EXPECT_NEAR(middle->y, 240, 1e-6);
    for (const Vec3d side : {Vec3d{3, 0, 0}, Vec3d{0, 3, 0}, Vec3d{0, 0, 3}, Vec3d{0, 0, -3}}) {
        const auto at = project_point(camera, centre + side, 0.01);
        ASSERT_TRUE(at);
        EXPECT_GT(at->x, 0);
        EXPECT_LT(at->x, 640);
        EXPECT_GT(at->y, 0);
        EXPECT_LT(at->y, 480);
    }
    EXPECT_LT(dot(camera.forward(), state.up), 0) << "it looks down a little";
}

TEST(Navigation, OrbitKeepsPivotDistanceAndHorizon) {
    NavigationState state = first_view(a_scene());
    NavigationInput input{.height_px = 600};
    for (int i = 0; i < 200; ++i) {
        input.turn_x = 37 * std::sin(i);
        input.turn_y = 23 * std::cos(0.7 * i);
        state = navigate(state, input);
        expect_rotation(state.rotation);
        EXPECT_NEAR(distance(state.eye(), state.target), state.distance, 1e-9);
        EXPECT_NEAR(angle_to_up(state), 0, 1e-9);
    }
    input.turn_x = 0;
    input.turn_y = 100000;
    state = navigate(state, input);
    EXPECT_LT(std::abs(dot(camera_of(state, 10, 10).forward(), state.up)), 1)
        << "never over the pole";
    expect_rotation(state.rotation);
}

TEST(Navigation, DraggingMovesTheSceneWithTheMouse) {
    // A point in front of the pivot follows the cursor's direction in every mode that turns about
    // the pivot.
    for (const Navigation mode : {Navigation::orbit, Navigation::trackball}) {
        const NavigationState state = first_view(a_scene());
        NavigationInput input{.mode = mode, .turn_x = 20, .height_px = 480};
        const Vec3d front = state.target + 0.5 * (state.eye() - state.target);
        const auto before = project_point(camera_of(state, 640, 480), front, 0.01);
        const auto after = project_point(camera_of(navigate(state, input), 640, 480), front, 0.01);
        ASSERT_TRUE(before && after);
        EXPECT_GT(after->x, before->x + 3) << kNavigationNames[static_cast<std::size_t>(mode)];
        input.turn_x = 0;
        input.turn_y = 20;
        const auto lower = project_point(camera_of(navigate(state, input), 640, 480), front, 0.01);
        ASSERT_TRUE(lower);
        EXPECT_GT(lower->y, before->y + 3) << kNavigationNames[static_cast<std::size_t>(mode)];
    }
}

TEST(Navigation, PanKeepsThePivotUnderTheCursor) {
    const NavigationState state = first_view(a_scene());
    const auto at = project_point(
        camera_of(navigate(state, {.pan_x = 40, .pan_y = -25, .height_px = 480}), 640, 480),
        state.target, 0.01);
    ASSERT_TRUE(at);
    EXPECT_NEAR(at->x, 360, 1e-6);
    EXPECT_NEAR(at->y, 215, 1e-6);
}

TEST(Navigation, FlyTurnsAboutTheEyeAndMovesAlongTheView) {
    NavigationState state = first_view(a_scene());
    NavigationInput input{.mode = Navigation::fly, .turn_x = 30, .height_px = 480};
    NavigationState turned = navigate(state, input);
    EXPECT_NEAR(distance(turned.eye(), state.eye()), 0, 1e-9);
    input.turn_x = 0;
    input.move = {0, 0, 1};
    input.dt = 0.1;
    input.fly_speed = 2;
    const NavigationState moved = navigate(state, input);
    const Vec3d way = moved.eye() - state.eye();
    EXPECT_NEAR(dot(way, camera_of(state, 4, 4).forward()), 0.1 * 2 * 3, 1e-9);
    input.fast = true;
    EXPECT_NEAR(distance(navigate(state, input).eye(), state.eye()), 5 * 0.6, 1e-9);
    input.dt = 0;
    EXPECT_FALSE(input.any());
}

TEST(Navigation, WheelComesCloserButNeverThrough) {
    NavigationState state = first_view(a_scene());
    const NavigationInput input{.zoom = 1};
    const double before = state.distance;
    state = navigate(state, input);
    EXPECT_LT(state.distance, before);
    for (int i = 0; i < 1000; ++i) state = navigate(state, input);
    EXPECT_GT(state.distance, 0);
}

TEST(Navigation, SnapIsExactAndLeavesByMoving) {
    Camera lens = look_at({4, -1, 2}, {0, 0, 0}, {0, -1, 0}, 1000, 600, 0.9);
    lens.cx += 31;  // an off-centre principal point stays
    lens.fy *= 1.01;
    NavigationState state = snap(first_view(a_scene()), lens);
    EXPECT_TRUE(state.snapped);
    const Camera exact = camera_of(state, 1000, 600);
    EXPECT_EQ(exact.cx, lens.cx);
    EXPECT_EQ(exact.fy, lens.fy);
    const Camera fitted = camera_of(state, 500, 500);
    EXPECT_EQ(fitted.width, 500);
    EXPECT_EQ(fitted.height, 300);
    EXPECT_NEAR(fitted.cx, lens.cx / 2, 1e-9);
    EXPECT_NEAR(distance(state.eye(), lens.position()), 0, 1e-9);
    NavigationInput input;
    EXPECT_TRUE(navigate(state, input).snapped) << "no input, no change";
    input.turn_x = 5;
    const NavigationState left = navigate(state, input);
    EXPECT_FALSE(left.snapped);
    EXPECT_NEAR(left.fov_y, 2 * std::atan(300 / lens.fy), 1e-9)
        << "the picture's size does not jump";
    EXPECT_FALSE(snap(first_view(a_scene()), Camera()).snapped)
        << "an unusable camera is not taken";
}

TEST(Navigation, ParallelRaysShowWhatTheTargetShowed) {
    NavigationState state = first_view(a_scene());
    const Camera pinhole = camera_of(state, 640, 480);
    state.through.model = CameraModel::orthographic;
    const Camera camera = camera_of(state, 640, 480);
    ASSERT_TRUE(camera.orthographic() && camera.valid());
    // Across the target, points fall where they fell before; elsewhere depth makes no difference.
    const Vec3d right{camera.rotation.m[0][0], camera.rotation.m[0][1], camera.rotation.m[0][2]};
    const Vec3d beside = state.target + 0.7 * right;
    const auto before = project_point(pinhole, beside, 0.01),
               now = project_point(camera, beside, 0);
    ASSERT_TRUE(before && now);
    EXPECT_NEAR(now->x, before->x, 1e-9);
    EXPECT_NEAR(now->y, before->y, 1e-9);
    const auto behind = project_point(camera, beside + 2.0 * camera.forward(), 0);
    ASSERT_TRUE(behind);
    EXPECT_NEAR(behind->x, now->x, 1e-9);
    const Vec3d back =
        camera.point_at(now->x, now->y, dot(beside - camera.position(), camera.forward()));
    EXPECT_NEAR(distance(back, beside), 0, 1e-9);
    NavigationInput closer{.zoom = 3};
    for (const Navigation mode : {Navigation::orbit, Navigation::fly}) {
        closer.mode = mode;
        const NavigationState near = navigate(state, closer);
        EXPECT_GT(camera_of(near, 640, 480).fx, 1.2 * camera.fx);
        EXPECT_NEAR(distance(camera_of(near, 640, 480).position(), camera.position()), 0, 1e-9)
            << "the zoom cuts nothing away";
    }
    const auto panned = project_point(
        camera_of(navigate(state, {.pan_x = 40, .height_px = 480}), 640, 480), state.target, 0);
    ASSERT_TRUE(panned);
    EXPECT_NEAR(panned->x, 360, 1e-6);
    EXPECT_NEAR(camera_of(with_fov(state, 0.3), 640, 480).fx, camera.fx, 1e-9);
    EXPECT_NEAR(distance(focus(state, beside).target, beside), 0, 1e-12);
    Camera lens = look_at({4, -1, 2}, {0, 0, 0}, {0, -1, 0}, 1000, 600, 0.9);
    EXPECT_FALSE(camera_of(snap(state, lens), 100, 60).orthographic()) << "a photo's own lens";
}

TEST(Navigation, FieldOfViewKeepsTheEye) {
    const NavigationState state = first_view(a_scene());
    const NavigationState wide = with_fov(state, 2);
    EXPECT_NEAR(distance(wide.eye(), state.eye()), 0, 1e-9);
    EXPECT_NEAR(camera_of(wide, 640, 480).fy, 240 / std::tan(1.0), 1e-9);
}

TEST(Navigation, EverySideUnderEveryUp) {
    const NavigationState state = first_view(a_scene());
    for (const Vec3d up :
         {Vec3d{0, 0, 1}, Vec3d{0, 1, 0}, Vec3d{0, -1, 0}, Vec3d{1, 0, 0}, Vec3d{0.2, 0.9, -0.3}}) {
        const NavigationState upright = with_up(state, up);
        EXPECT_NEAR(angle_to_up(upright), 0, 1e-9);
        const auto ahead = [&](Side side) {
            const NavigationState seen = from_side(upright, side);
            expect_rotation(seen.rotation);
            EXPECT_NEAR(distance(seen.target, state.target), 0, 1e-12);
            return camera_of(seen, 4, 4).forward();
        };
        EXPECT_NEAR(dot(ahead(Side::front), ahead(Side::back)), -1, 1e-9);
        EXPECT_NEAR(dot(ahead(Side::left), ahead(Side::right)), -1, 1e-9);
        EXPECT_NEAR(dot(ahead(Side::front), ahead(Side::left)), 0, 1e-9);
        EXPECT_NEAR(dot(ahead(Side::front), upright.up), 0, 1e-9);
        EXPECT_NEAR(dot(ahead(Side::top), upright.up), -1, 1e-9);
        EXPECT_NEAR(dot(ahead(Side::bottom), upright.up), 1, 1e-9);
        // From above the front lies at the bottom, the right at the right.
        const Mat3d top = from_side(upright, Side::top).rotation;
        EXPECT_NEAR(dot(Vec3d{-top.m[1][0], -top.m[1][1], -top.m[1][2]}, ahead(Side::front)), 1,
                    1e-9);
        EXPECT_NEAR(dot(Vec3d{top.m[0][0], top.m[0][1], top.m[0][2]}, ahead(Side::left)), 1, 1e-9);
    }
    const auto front = [&](Vec3d up) {
        return camera_of(from_side(with_up(state, up), Side::front), 4, 4).forward();
    };
    EXPECT_NEAR(front({0, 0, 1}).y, 1, 1e-9);
    EXPECT_NEAR(front({0, 1, 0}).z, -1, 1e-9);
    EXPECT_NEAR(front({0, -1, 0}).z, 1, 1e-9);
}

// ---- ground grid

TEST(GroundGrid, SpacingIsRoundAndFollowsTheZoom) {
    EXPECT_NEAR(round_spacing(0.0011), 0.002, 1e-12);
    EXPECT_NEAR(round_spacing(0.2), 0.2, 1e-12);
    EXPECT_NEAR(round_spacing(3), 5, 1e-12);
    EXPECT_NEAR(round_spacing(51), 100, 1e-9);
    Snapshot snapshot;
    SceneInfo scene = a_scene();
    scene.core = {{-2, -3, -4}, {2, 1.5F, 4}};
    snapshot.scene = std::make_shared<SceneInfo>(scene);
    ViewFrame frame;
    NavigationState state = with_up(first_view(scene), {0, 0, 1});
    snapshot.up = state.up;
    for (const bool parallel : {false, true}) {
        state.through.model = parallel ? CameraModel::orthographic : CameraModel::pinhole;
        double before = 1e30;
        for (const double distance : {30.0, 3.0, 0.3}) {
            state = from_side(state, Side::top);
            state.target = {0, 0, -4};  // on the ground
            state.distance = distance;
            frame.camera = camera_of(state, 960, 720);
            const GroundGrid grid = grid_of(snapshot, frame);
            EXPECT_NEAR(grid.height, -4, 1e-6) << "the core's lowest side";
            EXPECT_LT(grid.spacing, before);
            before = grid.spacing;
            const double gap = parallel ? frame.camera.fx * grid.spacing
                                        : frame.camera.fx * grid.spacing / distance;
            EXPECT_GE(gap, 59.9);
            EXPECT_LT(gap, 160);
            const auto lines = lines_of(grid, frame.camera);
            EXPECT_GT(lines.size(), 100u);
            std::size_t inside = 0;
            for (const GridLine& line : lines) {
                EXPECT_TRUE(line.strength > 0 && line.strength <= 1);
                inside += line.ends[0].x > 0 && line.ends[0].x < 960 && line.ends[0].y > 0 &&
                          line.ends[0].y < 720;
            }
            EXPECT_GT(inside, 20u);
        }
    }
    EXPECT_EQ(words_of_grid({{0, 0, 1}, {}, 0, 0.5, {}}), "grid 0.5 world units");
    state.through = {};
    frame.camera = Camera();
    EXPECT_TRUE(lines_of(grid_of(snapshot, frame), frame.camera).empty());
}

TEST(GroundGrid, FacesParallelRaysFromASide) {
    Snapshot snapshot;
    SceneInfo scene = a_scene();
    scene.core = {{-1, -1, -1}, {1, 1, 1}};
    snapshot.scene = std::make_shared<SceneInfo>(scene);
    ViewFrame frame;
    NavigationState state = with_up(first_view(scene), {0, 0, 1});
    snapshot.up = state.up;
    for (const Side side : {Side::front, Side::left, Side::top}) {
        state = from_side(state, side);
        state.through.model = CameraModel::orthographic;
        frame.camera = camera_of(state, 640, 480);
        EXPECT_NEAR(std::abs(dot(grid_of(snapshot, frame).up, frame.camera.forward())), 1, 1e-9);
        state.through = {};
        frame.camera = camera_of(state, 640, 480);
        EXPECT_NEAR(grid_of(snapshot, frame).up.z, 1, 1e-9) << "the ground, to the horizon";
    }
}

TEST(GroundGrid, LiesFlatUnderAnyUp) {
    Snapshot snapshot;
    SceneInfo scene = a_scene();
    scene.core = {{-1, -1, -1}, {1, 1, 1}};
    snapshot.scene = std::make_shared<SceneInfo>(scene);
    ViewFrame frame;
    for (const Vec3d up : {Vec3d{0, -1, 0}, Vec3d{1, 0, 0}, Vec3d{0.6, 0.8, 0}}) {
        const NavigationState state = with_up(first_view(scene), up);
        snapshot.up = state.up;
        frame.camera = camera_of(state, 640, 480);
        const GroundGrid grid = grid_of(snapshot, frame);
        EXPECT_NEAR(dot(grid.along[0], grid.up), 0, 1e-9);
        EXPECT_NEAR(dot(grid.along[1], grid.up), 0, 1e-9);
        EXPECT_NEAR(dot(grid.along[0], grid.along[1]), 0, 1e-9);
        EXPECT_NEAR(grid.height, -1, 1e-6);
    }
}

TEST(Navigation, FocusAndLevel) {
    const NavigationState state = first_view(a_scene());
    const Vec3d point{2, 1, 0};
    const NavigationState focused = focus(state, point);
    EXPECT_NEAR(distance(focused.eye(), state.eye()), 0, 1e-9);
    const auto at = project_point(camera_of(focused, 640, 480), point, 0.01);
    ASSERT_TRUE(at);
    EXPECT_NEAR(at->x, 320, 1e-6);
    EXPECT_NEAR(at->y, 240, 1e-6);
    EXPECT_EQ(focus(state, state.eye()).distance, state.distance)
        << "its own place is nothing to look at";
    const NavigationState rolled = navigate(state, {.roll = 80, .height_px = 480});
    EXPECT_GT(std::abs(angle_to_up(rolled)), 0.1);
    EXPECT_NEAR(angle_to_up(level(rolled)), 0, 1e-9);
}

}  // namespace
}  // namespace gs
