#include "trainer/pose_refinement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "renderer/math/adam.h"
#include "renderer/math/symmetric.h"

namespace gs {
namespace {

/// Of a photo's gradient when it lies a pixel beside: less than this share of it makes shorter
/// steps, so that poses that are right stay.
constexpr double kCalm = 0.1;
/// How much a photo differs from itself moved by a pixel, 0..1: the mean over neighbours below and
/// beside.
double sharpness_of(const Image8& photo) {
    const auto row = 3 * static_cast<std::size_t>(photo.width);
    std::uint64_t sum = 0, pairs = 0;
    for (std::size_t i = 0; i + row + 3 < photo.bytes.size(); ++i) {
        sum += static_cast<std::uint64_t>(std::abs(photo.bytes[i] - photo.bytes[i + 3]) +
                                          std::abs(photo.bytes[i] - photo.bytes[i + row]));
        pairs += 2;
    }
    return pairs > 0 ? static_cast<double>(sum) / (255.0 * static_cast<double>(pairs)) : 0;
}

constexpr double kDamping = 0.1;  // of inverse_root()

Quatd times(Quatd a, Quatd b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
Quatd unit(Quatd q) {
    const double n = 1 / std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return {n * q.w, n * q.x, n * q.y, n * q.z};
}
/// Turning by the length of v, radians, about it.
Quatd turn_by(Vec3d v) {
    const double angle = std::sqrt(dot(v, v)), half = 0.5 * angle;
    const double s = angle < 1e-12 ? 0.5 : std::sin(half) / angle;
    return {std::cos(half), s * v.x, s * v.y, s * v.z};
}
Vec3d vector_of(Quatd turn) {
    if (turn.w < 0) turn = {-turn.w, -turn.x, -turn.y, -turn.z};
    const Vec3d v{turn.x, turn.y, turn.z};
    const double sine = std::sqrt(dot(v, v));
    return (sine < 1e-12 ? 2.0 : 2 * std::atan2(sine, turn.w) / sine) * v;
}

using Six = math::Row<6>;
using Square = math::Square<6>;

/// Adds what one point's pixel says of the camera's motion, by differences, through any lens.
/// False: the camera does not see it.
bool add_point(const Camera& camera, Vec3d point, Square& sum) {
    const auto in_camera = [&](Vec3d p) { return camera.rotation * p + camera.translation; };
    const Vec3d eye = camera.position(), arm = point - eye;
    const double far = std::sqrt(dot(arm, arm)), h = 1e-4;
    const auto pixel = [&](Vec3d p) { return camera.pixel_of(in_camera(p)); };
    if (!(in_camera(point).z > 0)) return false;
    const Vec2<double> at = pixel(point);
    if (!(at.x >= 0 && at.x <= camera.width && at.y >= 0 && at.y <= camera.height)) return false;
    double jacobian[2][6];
    for (int i = 0; i < 6; ++i) {
        Vec3d axis{i % 3 == 0 ? 1.0 : 0.0, i % 3 == 1 ? 1.0 : 0.0, i % 3 == 2 ? 1.0 : 0.0};
        // The camera turns or moves one way, what it sees the other.
        const Vec3d way = i < 3 ? -cross(axis, arm) : -far * axis;
        const double unit = i < 3 ? 1 : far;
        const Vec2<double> ahead = pixel(point + h * way), behind = pixel(point + (-h) * way);
        jacobian[0][i] = (ahead.x - behind.x) / (2 * h * unit);
        jacobian[1][i] = (ahead.y - behind.y) / (2 * h * unit);
    }
    for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 0; j < 6; ++j)
            for (const auto& row : jacobian) sum[i][j] += row[i] * row[j];
    return true;
}

/// p_camera = R (T^-1 (p - (e + m)) ) with R, e as before: turned by T about the centre `eye`.
void move_pose(Mat3d& rotation, Vec3d& translation, Vec3d eye, const Mat3d& turn, Vec3d move) {
    const Vec3d own = -(transpose(rotation) * translation);  // one row's, with a rolling shutter
    rotation = rotation * transpose(turn);
    translation = -(rotation * (eye + turn * (own - eye) + move));
}

}  // namespace

SceneMotion sum_of(std::span<const BlockMotion> blocks) {
    double sum[6] = {};
    for (const BlockMotion& block : blocks)
        for (std::size_t i = 0; i < 6; ++i) sum[i] += static_cast<double>(block[i]);
    return {{sum[0], sum[1], sum[2]}, {sum[3], sum[4], sum[5]}};
}

double PoseCorrection::angle() const {
    const Vec3d v = vector_of(turn);
    return std::sqrt(dot(v, v));
}

Camera corrected(const Camera& camera, const PoseCorrection& correction) {
    Camera out = camera;
    const Mat3d turn = rotation_from_quat(correction.turn);
    const Vec3d eye = camera.position();
    move_pose(out.rotation, out.translation, eye, turn, correction.move);
    if (camera.rolling())
        for (Pose* pose : {&out.first, &out.last})
            move_pose(pose->rotation, pose->translation, eye, turn, correction.move);
    return out;
}

PoseRefinement::PoseRefinement(const Capture& capture, std::span<const std::size_t> views)
    : rows_(capture.views.size()),
      views_(views.begin(), views.end()),
      whitenings_(capture.views.size()) {
    sharpness_.resize(capture.views.size());
    for (const std::size_t v : views_)
        sharpness_[v] = sharpness_of(lend_photo(capture.views[v]).photo());
    for (const std::size_t v : views_)
        whitenings_[v] = whitening_of(capture, capture.views[v].camera);
}

PoseRefinement::Whitening PoseRefinement::whitening_of(const Capture& capture,
                                                       const Camera& camera) {
    constexpr std::size_t kMost = 2000;  // points looked at
    const std::size_t stride = std::max<std::size_t>(1, capture.points.size() / kMost);
    Square sum{};
    std::size_t seen = 0;
    for (std::size_t i = 0; i < capture.points.size(); i += stride) {
        const Vec3f at = capture.points[i].position;
        seen += add_point(
            camera,
            {static_cast<double>(at.x), static_cast<double>(at.y), static_cast<double>(at.z)}, sum);
    }
    for (Six& row : sum)
        for (double& x : row) x /= static_cast<double>(std::max<std::size_t>(1, seen));
    return math::inverse_root(sum, kDamping);
}

Camera PoseRefinement::camera(const Capture& capture, std::size_t view) const {
    const Camera& given = capture.views[view].camera;
    if (rows_.empty() || rows_[view].steps == 0) return given;
    return corrected(given, rows_[view].correction);
}

bool PoseRefinement::step(std::size_t view, const SceneMotion& gradient, double rate) {
    Row& row = rows_[view];
    const Whitening& whitening = whitenings_[view];
    // The camera's motion is the scene's, backwards.
    const Six camera = {-gradient.turn.x, -gradient.turn.y, -gradient.turn.z,
                        -gradient.move.x, -gradient.move.y, -gradient.move.z};
    const Six g = math::times_transposed(whitening, camera);
    if (!std::all_of(g.begin(), g.end(), [](double x) { return std::isfinite(x); })) return false;
    ++row.steps;
    const double t = static_cast<double>(row.steps);
    const double unbias1 = 1 - std::pow(math::kAdamBeta1, t),
                 unbias2 = 1 - std::pow(math::kAdamBeta2, t);
    Six by;
    for (std::size_t i = 0; i < 6; ++i) {
        row.first[i] = math::kAdamBeta1 * row.first[i] + (1 - math::kAdamBeta1) * g[i];
        row.second[i] = math::kAdamBeta2 * row.second[i] + (1 - math::kAdamBeta2) * g[i] * g[i];
        const double size = std::sqrt(row.second[i] / unbias2) + kCalm * sharpness_[view];
        by[i] = size > 0 ? -rate * row.first[i] / unbias1 / size : 0;
    }
    const Six motion = math::times(whitening, by);
    PoseCorrection& c = row.correction;
    c.turn = unit(times(turn_by({motion[0], motion[1], motion[2]}), c.turn));
    c.move += Vec3d{motion[3], motion[4], motion[5]};
    return true;
}

void PoseRefinement::smooth(double share) {
    if (views_.size() < 2) return;
    const std::vector<Row> old = rows_;
    for (std::size_t i = 0; i < views_.size(); ++i) {
        const PoseCorrection& before = old[views_[i > 0 ? i - 1 : 1]].correction;
        const PoseCorrection& behind =
            old[views_[i + 1 < views_.size() ? i + 1 : i - 1]].correction;
        PoseCorrection& c = rows_[views_[i]].correction;
        c.turn = slerp(c.turn, slerp(before.turn, behind.turn, 0.5), share);
        c.move += share * (0.5 * (before.move + behind.move) - c.move);
    }
}

void PoseRefinement::hold_gauge(const Capture& capture) {
    const std::vector<std::size_t>& views = views_;
    if (views.empty()) return;
    const double share = 1 / static_cast<double>(views.size());
    Vec3d centre{}, turn{}, move{};
    for (const std::size_t v : views) {
        centre += share * capture.views[v].camera.position();
        turn += share * vector_of(rows_[v].correction.turn);
        move += share * rows_[v].correction.move;
    }
    // What is left of the moves after a common move and turn, along the way from the middle.
    const auto arm = [&](std::size_t v) { return capture.views[v].camera.position() - centre; };
    double along = 0, arms = 0;
    for (const std::size_t v : views) {
        along += dot(rows_[v].correction.move - move, arm(v));
        arms += dot(arm(v), arm(v));
    }
    const double growth = arms > 0 ? along / arms : 0;
    const Quatd back = turn_by(-turn);
    for (const std::size_t v : views) {
        PoseCorrection& c = rows_[v].correction;
        c.turn = unit(times(back, c.turn));
        c.move += -(move + cross(turn, arm(v)) + growth * arm(v));
    }
}

bool PoseRefinement::restore(std::vector<Row> rows) {
    const auto sound = [](const Row& row) {
        const Quatd& q = row.correction.turn;
        double sum = row.correction.move.x + row.correction.move.y + row.correction.move.z;
        for (int i = 0; i < 6; ++i) sum += row.first[i] + row.second[i];
        return std::isfinite(sum) &&
               std::abs(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z - 1) < 1e-6;
    };
    if (rows.size() != rows_.size() || !std::all_of(rows.begin(), rows.end(), sound)) return false;
    rows_ = std::move(rows);
    return true;
}

}  // namespace gs
