#include "panels/viewport/navigation.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr double kTurnPerHeight = 3.5;  // radians for a drag across the picture's height
constexpr double kZoomPerNotch = 0.88;  // factor on the distance
constexpr double kPoleMargin = 0.02;    // radians kept from looking straight along up
constexpr double kFast = 5;
constexpr double kWidestPinhole = 2.967;  // radians: 170 degrees

double length(Vec3d v) { return std::sqrt(dot(v, v)); }
Vec3d unit(Vec3d v, Vec3d fallback) {
    const double size = length(v);
    return size > 1e-12 && std::isfinite(size) ? (1 / size) * v : fallback;
}

/// Rotation by `angle` about unit `axis` (Rodrigues).
Mat3d rotation_about(Vec3d axis, double angle) {
    const double c = std::cos(angle), s = std::sin(angle), k = 1 - c;
    const auto [x, y, z] = axis;
    return {{{c + k * x * x, k * x * y - s * z, k * x * z + s * y},
             {k * x * y + s * z, c + k * y * y, k * y * z - s * x},
             {k * x * z - s * y, k * y * z + s * x, c + k * z * z}}};
}

Vec3d row(const Mat3d& m, int i) { return {m.m[i][0], m.m[i][1], m.m[i][2]}; }
Mat3d from_rows(Vec3d x, Vec3d y, Vec3d z) {
    return {{{x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}}};
}

/// Removes the drift that many small rotations leave.
Mat3d orthonormal(const Mat3d& m) {
    const Vec3d z = unit(row(m, 2), {0, 0, 1});
    const Vec3d x = unit(row(m, 0) - dot(row(m, 0), z) * z, {1, 0, 0});
    return from_rows(x, cross(z, x), z);
}

Mat3d looking(Vec3d forward, Vec3d up) {
    Vec3d x = cross(forward, up);
    if (length(x) < 1e-9)
        x = cross(forward, std::abs(forward.x) < 0.9 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0});
    x = unit(x, {1, 0, 0});
    return from_rows(x, cross(forward, x), forward);
}

/// Rotation after turning by yaw about `up` and pitch about the camera's x axis, not over the
/// poles.
Mat3d yaw_and_pitch(const NavigationState& state, double yaw, double pitch) {
    const Vec3d forward = row(state.rotation, 2);
    const double elevation = std::asin(std::clamp(dot(forward, state.up), -1.0, 1.0));
    const double limit = M_PI / 2 - kPoleMargin;
    const double wanted = std::clamp(elevation + pitch, -limit, limit);
    // Rows of camera_from_world are the axes in the world: turning them by W is multiplying by its
    // transpose on the right.
    const Mat3d turned = state.rotation * transpose(rotation_about(state.up, yaw));
    return rotation_about({1, 0, 0}, elevation - wanted) * turned;
}

void set_eye(NavigationState& state, Vec3d eye) {
    state.target = eye + state.distance * row(state.rotation, 2);
}

void turn(NavigationState& state, const NavigationInput& input) {
    const double scale = kTurnPerHeight / std::max(input.height_px, 1.0);
    const double yaw = input.turn_x * scale, pitch = input.turn_y * scale;
    const Vec3d eye = state.eye();
    switch (input.mode) {
        case Navigation::orbit:
            state.rotation = yaw_and_pitch(state, -yaw, -pitch);
            break;
        case Navigation::trackball:
            state.rotation =
                rotation_about({1, 0, 0}, pitch) * rotation_about({0, 1, 0}, -yaw) * state.rotation;
            break;
        case Navigation::fly:
            state.rotation = yaw_and_pitch(state, -0.5 * yaw, -0.5 * pitch);
            set_eye(state, eye);
            break;
    }
    if (input.roll != 0)
        state.rotation = rotation_about({0, 0, 1}, -input.roll * scale) * state.rotation;
    state.rotation = orthonormal(state.rotation);
}

void pan(NavigationState& state, const NavigationInput& input) {
    // At the pivot's distance a picture height is 2 tan(fov/2) distance: what is under the cursor
    // stays there.
    const double per_pixel =
        2 * std::tan(state.fov_y / 2) * state.distance / std::max(input.height_px, 1.0);
    state.target += (-per_pixel * input.pan_x) * row(state.rotation, 0);
    state.target += (-per_pixel * input.pan_y) * row(state.rotation, 1);
}

void zoom(NavigationState& state, const NavigationInput& input) {
    if (input.mode == Navigation::fly && !state.parallel()) {
        state.target += (0.1 * input.zoom * state.extent) * row(state.rotation, 2);
        return;
    }
    const double wanted = state.distance * std::pow(kZoomPerNotch, input.zoom);
    state.distance = std::clamp(wanted, 1e-4 * state.extent, 1e3 * state.extent);
}

void move(NavigationState& state, const NavigationInput& input) {
    const double way = input.dt * input.fly_speed * state.extent * (input.fast ? kFast : 1);
    state.target += (way * input.move.x) * row(state.rotation, 0);
    state.target += (way * input.move.y) * row(state.rotation, 1);
    state.target += (way * input.move.z) * row(state.rotation, 2);
}

}  // namespace

Vec3d NavigationState::eye() const { return target - distance * row(rotation, 2); }

bool NavigationInput::any() const {
    return turn_x != 0 || turn_y != 0 || pan_x != 0 || pan_y != 0 || roll != 0 || zoom != 0 ||
           (dt > 0 && (move.x != 0 || move.y != 0 || move.z != 0));
}

NavigationState navigate(NavigationState state, const NavigationInput& input) {
    if (!input.any()) return state;
    state.snapped = false;
    if (input.turn_x != 0 || input.turn_y != 0 || input.roll != 0) turn(state, input);
    if (input.pan_x != 0 || input.pan_y != 0) pan(state, input);
    if (input.zoom != 0) zoom(state, input);
    move(state, input);
    return state;
}

Camera camera_of(const NavigationState& state, int width, int height) {
    width = std::max(width, 1);
    height = std::max(height, 1);
    if (state.snapped && state.lens.valid()) {
        const double scale = std::min(static_cast<double>(width) / state.lens.width,
                                      static_cast<double>(height) / state.lens.height);
        return state.lens.scaled_to(
            std::max(1, static_cast<int>(std::lround(scale * state.lens.width))),
            std::max(1, static_cast<int>(std::lround(scale * state.lens.height))));
    }
    Camera camera{.width = width, .height = height};
    camera.fx = camera.fy = 0.5 * height / std::tan(0.5 * state.fov_y);
    camera.cx = 0.5 * width;
    camera.cy = 0.5 * height;
    camera.rotation = state.rotation;
    Vec3d eye = state.eye();
    if (state.parallel()) {
        camera.model = CameraModel::orthographic;
        camera.fx = camera.fy = camera.fx / state.distance;
        eye = state.target - (kParallelStandoff * state.extent) * row(state.rotation, 2);
    }
    camera.translation = -(state.rotation * eye);
    return gs::through(state.through, camera);
}

NavigationState frame_sphere(NavigationState state, Vec3d center, double radius) {
    state.snapped = false;
    state.target = center;
    state.distance = 1.1 * radius / std::sin(0.5 * state.fov_y);
    return state;
}

NavigationState frame_all(NavigationState state, const SceneInfo& scene) {
    state.extent = scene.radius > 0 && std::isfinite(scene.radius) ? scene.radius : 1;
    const Vec3d center{static_cast<double>(scene.center.x), static_cast<double>(scene.center.y),
                       static_cast<double>(scene.center.z)};
    return frame_sphere(state, center, state.extent);
}

NavigationState first_view(const SceneInfo& scene) {
    NavigationState state;
    const Vec3d up{static_cast<double>(scene.up.x), static_cast<double>(scene.up.y),
                   static_cast<double>(scene.up.z)};
    state.up = unit(up, {0, -1, 0});
    const Vec3d side = row(looking(state.up, {0, 0, 1}), 1);  // some direction along the ground
    state.rotation = looking(unit(side - 0.35 * state.up, {0, 0, 1}), state.up);
    return frame_all(state, scene);
}

NavigationState focus(NavigationState state, Vec3d point) {
    const Vec3d eye = state.eye();
    const Vec3d way = point - eye;
    const double distance = length(way);
    if (!(distance > 1e-9 * state.extent) || !std::isfinite(distance)) return state;
    state.snapped = false;
    if (state.parallel()) {
        state.target = point;
        return state;
    }
    state.distance = distance;
    state.rotation = looking((1 / distance) * way, -row(state.rotation, 1));
    state.target = point;
    return state;
}

NavigationState snap(NavigationState state, const Camera& camera) {
    if (!camera.valid()) return state;
    const double along = dot(state.target - camera.position(), camera.forward());
    state.distance = along > 0.05 * state.extent ? along : state.extent;
    state.rotation = camera.rotation;
    // A free camera that begins here has a pinhole's field of view, whatever the photo's lens.
    state.fov_y = std::min(2 * std::atan(0.5 * camera.height / camera.fy), kWidestPinhole);
    state.through = {};
    set_eye(state, camera.position());
    state.snapped = true;
    state.lens = camera;
    return state;
}

NavigationState level(NavigationState state) {
    const Vec3d eye = state.eye();
    state.rotation = looking(row(state.rotation, 2), state.up);
    state.snapped = false;
    set_eye(state, eye);
    return state;
}

NavigationState with_fov(NavigationState state, double fov_y) {
    const Vec3d eye = state.eye();
    state.snapped = false;
    const double zoom = std::tan(0.5 * state.fov_y) / std::tan(0.5 * fov_y);
    state.fov_y = fov_y;
    if (state.parallel())
        state.distance *= zoom;
    else
        set_eye(state, eye);
    return state;
}

NavigationState with_lens(NavigationState state, const ViewerLens& lens) {
    state.snapped = false;
    state.through = lens;
    return state;
}

NavigationState with_up(NavigationState state, Vec3d up) {
    state.up = unit(up, state.up);
    return level(state);
}

NavigationState from_side(NavigationState state, Side side) {
    // The horizontal world axis that the front looks along: y where z is up (or down), else z, away
    // from the viewer in the sense of a right-handed picture: x to the right.
    const Vec3d u = state.up;
    const double x = std::abs(u.x), y = std::abs(u.y), z = std::abs(u.z);
    Vec3d ahead = z >= x && z >= y ? Vec3d{0, u.z > 0 ? 1.0 : -1.0, 0}
                  : y >= x         ? Vec3d{0, 0, u.y > 0 ? -1.0 : 1.0}
                                   : Vec3d{0, 0, u.x > 0 ? 1.0 : -1.0};
    ahead = unit(ahead - dot(ahead, u) * u, {0, 0, 1});
    const Vec3d right = cross(ahead, u);
    const std::array<Vec3d, 6> ways{ahead, -ahead, right, -right, -u, u};
    const Vec3d way = ways[static_cast<std::size_t>(side)];
    const bool vertical = side == Side::top || side == Side::bottom;
    state.rotation = looking(way, !vertical ? u : side == Side::top ? ahead : -ahead);
    state.snapped = false;
    return state;
}

}  // namespace gs
