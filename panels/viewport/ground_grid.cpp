#include "panels/viewport/ground_grid.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace gs {
namespace {

constexpr double kLeastGap = 60;         // px between neighbouring lines, in the middle of the grid
constexpr double kSeenFromASide = 0.02;  // sine of the angle between the view and the ground
constexpr int kLines = 24;               // on either side of the middle
constexpr int kPieces = 16;              // of a line, each with a strength of its own

Vec3d normalized(Vec3d v) { return (1 / std::sqrt(dot(v, v))) * v; }

double along_axis(const Vec3d& v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

/// The lowest point, along `up`, of the ellipsoid within the core: its lowest side where up is an
/// axis.
double lowest(const ClipBox& core, Vec3d up) {
    double middle = 0, reach = 0;
    const double lo[3] = {core.lo.x, core.lo.y, core.lo.z},
                 hi[3] = {core.hi.x, core.hi.y, core.hi.z};
    for (int i = 0; i < 3; ++i) {
        const double u = along_axis(up, i);
        middle += 0.5 * u * (lo[i] + hi[i]);
        reach += 0.25 * u * u * (hi[i] - lo[i]) * (hi[i] - lo[i]);
    }
    return middle - std::sqrt(reach);
}

/// Two directions across `up`: the world's axes that lie flattest, laid into the plane.
void lay_axes(GroundGrid& grid) {
    const Vec3d u = grid.up;
    const Vec3d flattest = std::abs(u.x) <= std::abs(u.y) && std::abs(u.x) <= std::abs(u.z)
                               ? Vec3d{1, 0, 0}
                           : std::abs(u.y) <= std::abs(u.z) ? Vec3d{0, 1, 0}
                                                            : Vec3d{0, 0, 1};
    grid.along[0] = normalized(flattest - dot(flattest, u) * u);
    grid.along[1] = cross(u, grid.along[0]);
}

/// The ground is a line from here: a plane through the scene's middle that the camera looks at.
void stand_up(GroundGrid& grid, const Camera& camera, Vec3f middle) {
    grid.along[0] = grid.up;
    grid.up = -camera.forward();
    grid.along[0] = normalized(grid.along[0] - dot(grid.along[0], grid.up) * grid.up);
    grid.along[1] = cross(grid.up, grid.along[0]);
    grid.height = dot(Vec3d{middle.x, middle.y, middle.z}, grid.up);
}

/// The point of the plane at the picture's middle, at most a few heights away: towards the horizon
/// the lines converge. Depth in `z`.
Vec3d looked_at(const GroundGrid& grid, const Camera& camera, double radius, double& z) {
    const Vec3d eye = camera.position(), way = camera.forward();
    const double above = dot(eye, grid.up) - grid.height, fall = -dot(way, grid.up);
    const double farthest = 4 * std::max(std::abs(above), 0.2 * radius);
    const double hit = std::abs(fall) > 1e-6 ? above / fall : -1;
    z = hit > 0 && (camera.orthographic() || hit < farthest) ? hit : farthest;
    return eye + z * way;
}

}  // namespace

double round_spacing(double least) {
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= least * (1 - 1e-9)) return step * power;
    return 10 * power;
}

GroundGrid grid_of(const Snapshot& snapshot, const ViewFrame& frame) {
    GroundGrid grid{.up = snapshot.up};
    lay_axes(grid);
    if (!snapshot.scene || !frame.camera.valid()) return grid;
    if (frame.camera.orthographic() &&
        std::abs(dot(frame.camera.forward(), grid.up)) < kSeenFromASide)
        stand_up(grid, frame.camera, snapshot.scene->center);
    else
        grid.height = lowest(snapshot.scene->core, grid.up);
    double z = 1;
    const Vec3d middle = looked_at(grid, frame.camera, snapshot.scene->radius, z);
    const double units_per_pixel = (frame.camera.orthographic() ? 1 : z) / frame.camera.fy;
    // In pixels of a picture of usual height: the grid stays while pictures shrink.
    grid.spacing = round_spacing(
        std::clamp(kLeastGap * units_per_pixel * frame.camera.height / 720, 1e-9, 1e9));
    for (int i = 0; i < 2; ++i)
        grid.center[i] = grid.spacing * std::round(dot(middle, grid.along[i]) / grid.spacing);
    return grid;
}

std::string words_of_grid(const GroundGrid& grid) {
    return "grid " + format_number(grid.spacing, 3) + " world units";
}

std::vector<GridLine> lines_of(const GroundGrid& grid, const Camera& camera) {
    std::vector<GridLine> out;
    if (!camera.valid()) return out;
    const double reach = kLines * grid.spacing, nearest = 1e-2 * grid.spacing;
    const auto at = [&](int across, double a, double b) {
        return grid.height * grid.up + a * grid.along[across] + b * grid.along[1 - across];
    };
    for (int across = 0; across < 2; ++across)
        for (int i = -kLines; i <= kLines; ++i) {
            const double a = grid.center[across] + i * grid.spacing;
            const auto number = std::llround(a / grid.spacing);
            const GridLine::Kind kind = number == 0        ? GridLine::Kind::axis
                                        : number % 10 == 0 ? GridLine::Kind::tenth
                                                           : GridLine::Kind::fine;
            for (int k = 0; k < kPieces; ++k) {
                const double from = -reach + 2 * reach * k / kPieces,
                             to = from + 2 * reach / kPieces, middle = 0.5 * (from + to);
                const double strength = 1 - std::hypot(i * grid.spacing, middle) / reach;
                if (strength <= 0.02) continue;
                const double b = grid.center[1 - across];
                project_line(camera, at(across, a, b + from), at(across, a, b + to), nearest,
                             [&](const auto& ends) {
                                 out.push_back({ends, kind, strength});
                             });
            }
        }
    return out;
}

}  // namespace gs
