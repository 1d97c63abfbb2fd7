#include "trainer/poses/pose_refinement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "trainer/poses/likely_step.h"

namespace gs {
namespace {

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

/// Adds a share of what a photo says about its camera's motion, by the motion of a body whose pivot
/// is `arm` before the camera's place: that of the camera is turn, move + turn x arm.
void add_moved(const PoseInformation& of, Vec3d arm, double share, PoseInformation& sum) {
    if (!of.any) return;
    const double x[3][3] = {{0, arm.z, -arm.y}, {-arm.z, 0, arm.x}, {arm.y, -arm.x, 0}};
    Square by{};  // d motion of the camera / d motion of the body
    for (std::size_t i = 0; i < 6; ++i) by[i][i] = 1;
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) by[3 + i][j] = x[i][j];
    const auto add = [&](const Square& from, Square& to) {
        for (std::size_t a = 0; a < 6; ++a)
            for (std::size_t b = 0; b < 6; ++b)
                for (std::size_t i = 0; i < 6; ++i)
                    for (std::size_t j = 0; j < 6; ++j)
                        to[a][b] += share * by[i][a] * from[i][j] * by[j][b];
    };
    add(of.change, sum.change);
    add(of.way, sum.way);
    sum.width = of.width;
    sum.any = true;
}

/// p_camera = R (T^-1 (p - (e + m)) ) with R, e as before: turned by T about the centre `eye`.
void move_pose(Mat3d& rotation, Vec3d& translation, Vec3d eye, const Mat3d& turn, Vec3d move) {
    const Vec3d own = -(transpose(rotation) * translation);  // one row's, with a rolling shutter
    rotation = rotation * transpose(turn);
    translation = -(rotation * (eye + turn * (own - eye) + move));
}

}  // namespace

double residual_of(const LossTerms& terms) { return 0.5 * terms.mse / std::max(terms.l1, 1e-9); }

double PoseCorrection::angle() const {
    const Vec3d v = vector_of(turn);
    return std::sqrt(dot(v, v));
}

Camera corrected(const Camera& camera, const PoseCorrection& correction, Vec3d pivot) {
    Camera out = camera;
    const Mat3d turn = rotation_from_quat(correction.turn);
    move_pose(out.rotation, out.translation, pivot, turn, correction.move);
    if (camera.rolling())
        for (Pose* pose : {&out.first, &out.last})
            move_pose(pose->rotation, pose->translation, pivot, turn, correction.move);
    return out;
}

PosePrior pose_prior(double sigma, double extent) {
    return {sigma * std::numbers::pi / 180, std::max(0.01 * sigma * extent, 1e-12)};
}

PoseRefinement::PoseRefinement(const Capture& capture, std::span<const std::size_t> views)
    : rows_(capture.views.size()),
      row_of_view_(rows_.size()),
      arms_(rows_.size()),
      bodies_(rows_.size()) {
    std::iota(row_of_view_.begin(), row_of_view_.end(), std::size_t{0});
    std::map<std::uint32_t, std::size_t> row_of_frame;
    for (const std::size_t v : views) {
        const View& view = capture.views[v];
        if (view.rig_frame)
            row_of_view_[v] = row_of_frame.emplace(*view.rig_frame, v).first->second;
        Body& body = bodies_[row_of_view_[v]];
        if (body.photos++ == 0) views_.push_back(v);
        body.pivot += view.camera.position();
    }
    for (const std::size_t v : views_)
        bodies_[v].pivot = (1 / bodies_[v].photos) * bodies_[v].pivot;
    for (std::size_t v = 0; v < rows_.size(); ++v)
        if (const auto& frame = capture.views[v].rig_frame; frame && row_of_frame.count(*frame) > 0)
            row_of_view_[v] = row_of_frame[*frame];
    for (const std::size_t v : views) {
        Body& body = bodies_[row_of_view_[v]];
        arms_[v] = capture.views[v].camera.position() - body.pivot;
        add_moved(pose_information(capture, capture.views[v]), arms_[v], 1 / body.photos,
                  body.photo);
    }
}

Camera PoseRefinement::camera(const Camera& given, std::size_t view) const {
    if (rows_.empty()) return given;
    const std::size_t row = row_of_view_[view];
    if (rows_[row].steps == 0) return given;
    return corrected(given, rows_[row].correction, bodies_[row].pivot);
}

bool PoseRefinement::step(std::size_t view, const SceneMotion& gradient, double residual,
                          const PosePrior& prior, double forgets) {
    // The camera's motion is the scene's, backwards; what turns about a place that is an arm away
    // also moves.
    const Vec3d turn = -gradient.turn - cross(arms_[view], gradient.move);
    const Six g = {turn.x, turn.y, turn.z, -gradient.move.x, -gradient.move.y, -gradient.move.z};
    const double sum = std::accumulate(g.begin(), g.end(), residual);
    if (!std::isfinite(sum)) return false;
    const Body& body = bodies_[row_of_view_[view]];
    if (!body.photo.any) return true;
    Row& row = rows_[row_of_view_[view]];
    PoseCorrection& c = row.correction;
    ++row.steps;
    const Vec3d v = vector_of(c.turn);
    const Six now = {v.x, v.y, v.z, c.move.x, c.move.y, c.move.z};
    const Six sigma = {prior.turn, prior.turn, prior.turn, prior.move, prior.move, prior.move};
    const Six by = likely_step(body.photo, {g, residual, forgets_of_one(forgets, body.photos)}, now,
                               sigma, row.known);
    c.turn = unit(product(turn_by({by[0], by[1], by[2]}), c.turn));
    c.move += Vec3d{by[3], by[4], by[5]};
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

void PoseRefinement::hold_gauge() {
    const std::vector<std::size_t>& views = views_;
    if (views.empty()) return;
    const double share = 1 / static_cast<double>(views.size());
    Vec3d centre{}, turn{}, move{};
    for (const std::size_t v : views) {
        centre += share * bodies_[v].pivot;
        turn += share * vector_of(rows_[v].correction.turn);
        move += share * rows_[v].correction.move;
    }
    // What is left of the moves after a common move and turn, along the way from the middle.
    const auto arm = [&](std::size_t v) { return bodies_[v].pivot - centre; };
    double along = 0, arms = 0;
    for (const std::size_t v : views) {
        along += dot(rows_[v].correction.move - move, arm(v));
        arms += dot(arm(v), arm(v));
    }
    const double growth = arms > 0 ? along / arms : 0;
    const Quatd back = turn_by(-turn);
    for (const std::size_t v : views) {
        PoseCorrection& c = rows_[v].correction;
        c.turn = unit(product(back, c.turn));
        c.move += -(move + cross(turn, arm(v)) + growth * arm(v));
    }
}

bool PoseRefinement::restore(std::vector<Row> rows) {
    const auto sound = [](const Row& row) {
        const Quatd& q = row.correction.turn;
        double sum = row.correction.move.x + row.correction.move.y + row.correction.move.z;
        sum += row.known;
        return std::isfinite(sum) && row.known >= 0 &&
               std::abs(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z - 1) < 1e-6;
    };
    if (rows.size() != rows_.size() || !std::all_of(rows.begin(), rows.end(), sound)) return false;
    // A checkpoint from before frames of a rig were known has corrected each of their photos apart.
    for (std::size_t v = 0; v < rows.size(); ++v)
        if (row_of_view_[v] != v && rows[v].known > 0) return false;
    rows_ = std::move(rows);
    return true;
}

}  // namespace gs
