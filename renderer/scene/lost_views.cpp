#include "renderer/scene/lost_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/nth.h"
#include "renderer/scene/camera_lens.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

constexpr std::size_t kFewestViews = 4, kLostShare = 4;  // at most one in 4 is lost
constexpr std::size_t kLostShareAlone = 20;  // without points that say how large the scene is
constexpr std::size_t kPointsSampled = 20000;

double distance_from(Vec3d p, Vec3d middle) {
    return std::hypot(p.x - middle.x, p.y - middle.y, p.z - middle.z);
}

// Nine of ten points are at most so far away; 0: there is none.
double points_reach(const std::vector<SparsePoint>& points, Vec3d middle) {
    std::vector<double> distances;
    for (const Vec3d p : some_points(points)) {
        const double distance = distance_from(p, middle);
        if (std::isfinite(distance)) distances.push_back(distance);
    }
    return distances.empty() ? 0 : nth_of(distances, (distances.size() - 1) * 9 / 10);
}

}  // namespace

std::vector<std::uint8_t> lost_views(const std::vector<View>& views,
                                     const std::vector<SparsePoint>& points, bool with_points) {
    const std::size_t n = views.size();
    std::vector<std::uint8_t> lost(n, 0);
    if (n < kFewestViews) return lost;
    std::vector<Vec3d> places;
    for (const View& view : views) places.push_back(view.camera.position());
    const Vec3d middle = median_place(places);
    std::vector<double> distances;
    for (const Vec3d p : places) distances.push_back(distance_from(p, middle));
    std::vector<std::size_t> furthest(n);
    std::iota(furthest.begin(), furthest.end(), std::size_t{0});
    std::sort(furthest.begin(), furthest.end(),
              [&](std::size_t a, std::size_t b) { return distances[a] > distances[b]; });
    // Points are looked at only where a camera is far from the others: nearly never.
    std::size_t found = 0;
    const std::size_t most =
        with_points ? n / kLostShare : std::max<std::size_t>(1, n / kLostShareAlone);
    for (std::size_t m = 1; m <= most; ++m) {
        const double rest = distances[furthest[m]], nearest_lost = distances[furthest[m - 1]];
        if (nearest_lost > kLostReach * rest && nearest_lost > 0) found = m;
    }
    if (found == 0 || !(distances[furthest[found]] > 0)) return lost;
    const double reach = with_points ? points_reach(points, middle) : 0;
    for (std::size_t m = 0; m < found; ++m)
        lost[furthest[m]] = distances[furthest[m]] > kLostReach * reach ? 1 : 0;
    return lost;
}

std::vector<Vec3d> some_points(const std::vector<SparsePoint>& points) {
    std::vector<Vec3d> out;
    for (std::size_t i = 0; i < points.size(); i += points.size() / kPointsSampled + 1) {
        const Vec3f p = points[i].position;
        out.push_back({p.x, p.y, p.z});
    }
    return out;
}

bool sees_any(const Camera& camera, const std::vector<Vec3d>& points) {
    const auto lens = math::make_lens(camera);
    return std::any_of(points.begin(), points.end(), [&](Vec3d world) {
        const auto at = math::lens_project(lens, camera.rotation * world + camera.translation);
        return at.valid && at.uv.x >= 0 && at.uv.y >= 0 && at.uv.x < camera.width &&
               at.uv.y < camera.height;
    });
}

std::vector<std::uint8_t> blind_lost_views(const Capture& capture) {
    std::vector<std::uint8_t> out(capture.views.size(), 0);
    if (capture.points_are_random || capture.points.empty()) return out;
    out = lost_views(capture);
    if (!std::ranges::count(out, 1)) return out;
    const std::vector<Vec3d> points = some_points(capture.points);
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = out[i] != 0 && !sees_any(capture.views[i].camera, points) ? 1 : 0;
    return out;
}

std::string about_blind(const View& view, const char* doing, bool used) {
    return fmt::format(
        "{}{} {}{}: its pose is far from all others and sees no point (pose it again to use it)",
        used ? "" : "not ", doing, view.name,
        used ? " only because no other photo is left; its figures say nothing of the scene" : "");
}

std::vector<std::size_t> without_blind(const Capture& capture, std::vector<std::size_t> views) {
    const std::vector<std::uint8_t> blind = blind_lost_views(capture);
    std::vector<std::size_t> out;
    std::ranges::copy_if(views, std::back_inserter(out), [&](std::size_t v) { return !blind[v]; });
    return out.empty() ? views : out;
}

std::vector<std::size_t> scored_views(const Capture& capture) {
    auto views = capture.view_indices(true);
    if (views.empty()) views = capture.view_indices(false);
    return without_blind(capture, std::move(views));
}

}  // namespace gs
