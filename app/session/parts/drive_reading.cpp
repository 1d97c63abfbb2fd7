#include "app/session/parts/drive_reading.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/try.h"
#include "renderer/io/lidar/sweep_points.h"
#include "renderer/rays/sweep_picture.h"

namespace gs {
namespace {

constexpr std::size_t kMostWay = 4000;     // corners of the drawn trajectory
constexpr double kMostMoment = 0.5;        // s around a sweep that a trajectory is read at
constexpr std::size_t kNearestPhotos = 1;  // of a sweep whose time is in no photo's name

Vec3d unit(Vec3d v, Vec3d otherwise) {
    const double length = std::sqrt(dot(v, v));
    return length > 1e-9 && std::isfinite(length) ? 1 / length * v : otherwise;
}

double squared_distance(Vec3d a, Vec3d b) { return dot(a - b, a - b); }

/// Photos of the sweep's name; of a single sweep all; else those nearest to the sensor.
std::vector<std::size_t> photos_beside(const Capture& capture, const DriveRow& row, bool alone) {
    std::vector<std::size_t> all(capture.views.size()), out;
    for (std::size_t v = 0; v < all.size(); ++v) {
        all[v] = v;
        if (fs::path(capture.views[v].name).stem() == row.name) out.push_back(v);
    }
    if (!out.empty()) return out;
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
        return squared_distance(capture.views[a].camera.position(), row.place) <
               squared_distance(capture.views[b].camera.position(), row.place);
    });
    if (!alone) all.resize(std::min(all.size(), kNearestPhotos));
    return all;
}

/// Up is the sensor's z; ahead is where the first photo looks, else the sensor's x.
void orient_map(const Pose& world_from_sensor, const Capture* capture, DriveState& out) {
    out.up = unit(world_from_sensor.rotation * Vec3d{0, 0, 1}, {0, 0, 1});
    const Vec3d x = world_from_sensor.rotation * Vec3d{1, 0, 0};
    Vec3d looks = capture && !capture->views.empty() ? capture->views.front().camera.forward() : x;
    const auto flat = [&](Vec3d v) { return v - dot(v, out.up) * out.up; };
    if (dot(flat(looks), flat(looks)) < 0.01 * dot(looks, looks)) looks = x;  // looks down
    out.ahead = unit(flat(looks), {1, 0, 0});
}

std::vector<SweepDot> dots_of(const LidarSweep& sweep, const Trajectory& world_from_sensor,
                              const SweepColors& colors) {
    const std::vector<CameraRay> rays = world_rays(sweep, world_from_sensor);
    std::vector<SweepDot> out;
    for (std::size_t i = 0; i < rays.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        if (!beam.hit()) continue;
        const double range = static_cast<double>(beam.range);
        const Vec3d p = rays[i].origin + range * rays[i].direction;
        out.push_back({{static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)},
                       colors(channel_value(colors.channel, beam, range))});
    }
    return out;
}

}  // namespace

Result<DriveLog> open_drive(const std::string& path, const Capture* capture) {
    GS_TRY(LidarLog log, open_lidar_log(path, capture ? capture->origin : Vec3d{}));
    if (log.sweeps.empty())
        return fail(ErrorKind::malformed, path, "no sweep of the recording is usable");
    DriveState state{.path = path, .format = log.format, .posed = log.posed, .notes = log.notes};
    state.notes.insert(state.notes.end(), log.skipped.begin(), log.skipped.end());
    const double first = log.sweeps.front().time;
    for (const LidarLog::Entry& entry : log.sweeps) {
        DriveRow row{entry.name, entry.time - first,
                     log.world_from_sensor.at(entry.time).translation};
        if (capture) row.photos = photos_beside(*capture, row, log.sweeps.size() == 1);
        state.sweeps.push_back(std::move(row));
    }
    const std::vector<TimedPose>& poses = log.world_from_sensor.poses();
    const std::size_t every = poses.size() / kMostWay + 1;
    for (std::size_t i = 0; i < poses.size(); i += every)
        if (poses[i].time > first - kMostMoment &&
            poses[i].time < log.sweeps.back().time + kMostMoment)
            state.way.push_back(poses[i].world_from_body.translation);
    state.world_from_sensor = log.world_from_sensor.at(first);
    orient_map(state.world_from_sensor, capture, state);
    return DriveLog{std::make_shared<const LidarLog>(std::move(log)), std::move(state)};
}

Result<LookedAt> look_at_sweep(const LookRequest& request) {
    LookedAt out = request.known;
    if (!out.sweep) {
        GS_TRY(LidarSweep sweep, request.log->read(request.index));
        out.sweep = std::make_shared<const LidarSweep>(std::move(sweep));
    }
    auto shown = std::make_shared<ShownSweep>();
    shown->step = out.shown ? out.shown->step : 0;
    if (request.model) {
        DrawnSweep drawn = draw_sweep(*request.model, *out.sweep, request.log->world_from_sensor,
                                      rules_of(Compatibility::tight), out.tiles);
        out.tiles = std::move(drawn.tiles);
        out.score = score_sweep(*out.sweep, drawn.image, true);
        out.drawn = std::make_shared<const RayImage>(std::move(drawn.image));
        shown->step = request.step;
    }
    shown->index = request.index;
    shown->drawn = out.drawn != nullptr;
    shown->colors = sweep_colors(request.channel, *out.sweep);
    shown->picture = sweep_picture(*out.sweep, out.drawn.get(), shown->colors);
    shown->planes = sweep_planes(*out.sweep, out.drawn.get());
    shown->dots = dots_of(*out.sweep, request.log->world_from_sensor, shown->colors);
    shown->notes = out.sweep->notes;
    out.shown = std::move(shown);
    return out;
}

void put_score(const SweepScore& score, std::uint64_t step, DriveRow& row) {
    row.returns = score.returns;
    row.step = step;
    row.median_m = score.median_m;
    row.within_10cm = score.returns > 0 ? score.within_10cm : DriveRow::kUnknown;
}

Result<std::vector<DriveRow>> score_drive(const LidarLog& log, std::vector<DriveRow> rows,
                                          const GaussianModel* model, std::uint64_t step,
                                          const Progress& progress) {
    bool cancelled = false;
    const std::size_t whole = 2 * rows.size();  // each is read twice
    const auto goes_on = [&](std::string_view what, std::size_t done) {
        cancelled = cancelled || (progress && !progress(what, done, whole));
        return !cancelled;
    };
    const SweepPoints points = points_of(
        log, 200'000, 0.1,
        [&](std::string_view what, std::size_t done, std::size_t) { return goes_on(what, done); });
    for (const SweepTally& tally : points.sweeps) {
        rows[tally.sweep].returns = tally.returns;
        rows[tally.sweep].moving = tally.moving;
    }
    for (std::size_t i = 0; i < rows.size() && goes_on("drawing sweeps", rows.size() + i); ++i) {
        if (!model && rows[i].returns) continue;
        const auto sweep = log.read(i);
        rows[i].problem = sweep ? "" : sweep.error().text();
        if (!sweep) continue;
        rows[i].returns = sweep->hits();
        if (!model) continue;
        const DrawnSweep drawn =
            draw_sweep(*model, *sweep, log.world_from_sensor, rules_of(Compatibility::tight));
        put_score(score_sweep(*sweep, drawn.image, true), step, rows[i]);
    }
    if (cancelled) return fail(ErrorKind::cancelled, "", "was cancelled");
    return rows;
}

}  // namespace gs
