#include "app/session/parts/drive_part.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gs {
namespace {

constexpr const char* kSweepJob = "drive";
constexpr const char* kDriveLogJob = "drive recording";
constexpr const char* kScoreJob = "drive score";
constexpr double kTick = 1.0 / 15;    // s between two publications while it plays
constexpr double kLongestTick = 0.5;  // s that are passed over where a turn took longer

std::size_t nearest_sweep(const std::vector<DriveRow>& rows, double seconds) {
    const auto after = std::ranges::lower_bound(rows, seconds, {}, &DriveRow::seconds);
    if (after == rows.begin()) return 0;
    const auto at = static_cast<std::size_t>(after - rows.begin());
    if (after == rows.end()) return at - 1;
    return seconds - rows[at - 1].seconds <= after->seconds - seconds ? at - 1 : at;
}

}  // namespace

void DrivePart::scene_changed(SceneChange change) {
    if (is_other_model(change)) stale_ = true;
    if (change != SceneChange::scene) return;
    for (const char* job : {kSweepJob, kDriveLogJob, kScoreJob}) ctx_.jobs.drop(job);
    state_.reset();
    log_.reset();
    held_ = {};
    again_ = stale_ = false;
    command_ = 0;
    publish();
    const Capture* capture = ctx_.scene ? ctx_.scene->capture.get() : nullptr;
    if (!capture || capture->lidars.empty()) return;
    // A few small files, which were read a moment ago.
    if (auto log = open_drive(capture->lidars.front(), capture)) take(std::move(*log));
}

void DrivePart::open(const std::string& path) {
    const std::shared_ptr<const Capture> capture = ctx_.scene ? ctx_.scene->capture : nullptr;
    if (path.empty() && !capture)
        return ctx_.events.error("no drive is open: name a lidar recording");
    const std::string which = !path.empty()             ? path
                              : capture->lidars.empty() ? capture->path
                                                        : capture->lidars.front();
    ctx_.jobs.start<DriveLog>(
        {kDriveLogJob, "reading " + which, ctx_.events.command},
        [which, capture](const Progress&) { return open_drive(which, capture.get()); },
        [this](DriveLog log) {
            ctx_.events.done(fmt::format("{}: {} sweeps, {}", log.state.path,
                                         log.state.sweeps.size(), log.state.format));
            take(std::move(log));
        },
        ctx_.events.if_failed("reading the recording was cancelled"));
}

void DrivePart::take(DriveLog log) {
    ctx_.jobs.drop(kScoreJob);
    log_ = std::move(log.log);
    held_ = {};
    if (state_) {
        log.state.channel = state_->channel;
        log.state.in_picture = state_->in_picture;
    }
    state_ = std::move(log.state);
    look();
}

bool DrivePart::is_open() {
    if (state_) return true;
    ctx_.events.error("no lidar sweeps are open: run drive.open PATH");
    return false;
}

void DrivePart::choose(std::size_t sweep) {
    if (!is_open()) return;
    if (sweep >= state_->sweeps.size())
        return ctx_.events.error(
            fmt::format("no sweep {}: the recording has {}", sweep + 1, state_->sweeps.size()));
    state_->playing = false;
    state_->chosen = sweep;
    state_->seconds = state_->sweeps[sweep].seconds;
    stale_ = true;
    look();
}

void DrivePart::step(int by) {
    if (!is_open()) return;
    const auto last = static_cast<std::ptrdiff_t>(state_->sweeps.size()) - 1;
    choose(static_cast<std::size_t>(
        std::clamp(static_cast<std::ptrdiff_t>(state_->chosen) + by, std::ptrdiff_t{0}, last)));
}

void DrivePart::go(double seconds) {
    if (!is_open()) return;
    state_->playing = false;
    state_->seconds = std::clamp(seconds, 0.0, state_->length());
    const std::size_t before =
        std::exchange(state_->chosen, nearest_sweep(state_->sweeps, state_->seconds));
    if (state_->chosen != before) return look();
    publish();
}

void DrivePart::show_channel(SweepChannel channel) {
    if (!is_open()) return;
    state_->channel = channel;
    look();
}

void DrivePart::play(bool on) {
    if (!is_open()) return;
    if (on && state_->sweeps.size() < 2)
        return ctx_.events.error("nothing to play: the recording has a single sweep");
    if (on && state_->seconds >= state_->length()) state_->seconds = 0;
    state_->playing = on;
    ticked_ = Clock::now();
    publish();
}

void DrivePart::follow_photos(bool on) {
    if (!is_open()) return;
    state_->following = on;
    publish();
}

void DrivePart::show_in_picture(bool on) {
    if (!is_open()) return;
    state_->in_picture = on;
    publish();
}

std::shared_ptr<const GaussianModel> DrivePart::model() const {
    if (!ctx_.scene) return nullptr;
    if (!ctx_.scene->trainer) return ctx_.scene->model;
    return std::make_shared<const GaussianModel>(ctx_.scene->trainer->model());
}

/// Shows the chosen sweep, without waiting for a sweep that is being read.
void DrivePart::look() {
    if (ctx_.events.command > 0) command_ = ctx_.events.command;
    if (state_->shown && state_->shown->index != state_->chosen) state_->shown = nullptr;
    publish();
    if (ctx_.jobs.running(kSweepJob)) {
        again_ = true;
        ctx_.jobs.wait_for(kSweepJob, command_);
        (void)ctx_.jobs.cancel(kSweepJob);
        return;
    }
    again_ = false;
    LookRequest request{log_, state_->chosen, state_->channel};
    if (held_.shown && held_.shown->index == state_->chosen && held_.sweep) request.known = held_;
    start_sweep(std::move(request), "reading");
}

/// Draws the sweep from the current model.
void DrivePart::draw_now() {
    stale_ = false;
    start_sweep({log_, state_->chosen, state_->channel, held_, model(), ctx_.scene->steps_done()},
                "drawing");
}

void DrivePart::start_sweep(LookRequest request, const char* verb) {
    ctx_.jobs.start<LookedAt>(
        {kSweepJob, fmt::format("{} sweep {}", verb, state_->sweeps[state_->chosen].name),
         command_},
        [request = std::move(request)](const Progress&) { return look_at_sweep(request); },
        [this, log = log_](LookedAt looked) {
            if (log == log_) take_sweep(std::move(looked));
            if (again_) return look();
            if (ctx_.scene && (stale_ || !held_.drawn)) return draw_now();
            command_ = 0;
        },
        [this](const Error& error) { fail_sweep(error); });
}

/// Also of a sweep that is not the chosen one any more: its row is known from now on.
void DrivePart::take_sweep(LookedAt looked) {
    held_ = std::move(looked);
    held_.shown->serial = ++serial_;
    DriveRow& row = state_->sweeps[held_.shown->index];
    row.problem.clear();
    row.returns = held_.sweep->hits();
    if (held_.drawn) put_score(held_.score, held_.shown->step, row);
    if (held_.shown->index == state_->chosen) state_->shown = held_.shown;
    publish();
}

void DrivePart::fail_sweep(const Error& error) {
    if (again_) return look();
    if (error.kind != ErrorKind::cancelled) {
        state_->sweeps[state_->chosen].problem = error.text();
        ctx_.events.error(
            fmt::format("sweep {}: {}", state_->sweeps[state_->chosen].name, error.text()),
            command_);
    }
    held_.drawn = nullptr;  // or the same would fail again and again
    stale_ = false;
    command_ = 0;
    publish();
}

void DrivePart::score() {
    if (!is_open()) return;
    const std::uint64_t step = ctx_.scene ? ctx_.scene->steps_done() : 0;
    ctx_.jobs.start<std::vector<DriveRow>>(
        {kScoreJob, "drawing all sweeps", ctx_.events.command},
        [log = log_, rows = state_->sweeps, model = model(), step](const Progress& progress) {
            return score_drive(*log, rows, model.get(), step, progress);
        },
        [this](std::vector<DriveRow> rows) {
            state_->sweeps = std::move(rows);
            ctx_.events.done(fmt::format("scored {} sweeps", state_->sweeps.size()));
            publish();
        },
        ctx_.events.if_failed("scoring the sweeps was cancelled"));
}

void DrivePart::before_picture(const Shown* shown) {
    const bool trains = shown && shown->training;
    if (!state_) return;
    const bool busy = ctx_.jobs.running(kSweepJob);
    if (state_->playing && !busy) {
        const double passed = seconds_since(std::exchange(ticked_, Clock::now()));
        state_->seconds =
            std::min(state_->seconds + std::min(passed, kLongestTick), state_->length());
        if (state_->seconds >= state_->length()) state_->playing = false;
        const std::size_t before =
            std::exchange(state_->chosen, nearest_sweep(state_->sweeps, state_->seconds));
        if (state_->chosen != before) return look();
        if (!state_->playing || seconds_since(published_) > kTick) publish();
        return;
    }
    const bool old =
        ctx_.scene && held_.drawn && (stale_ || held_.shown->step != ctx_.scene->steps_done());
    if (!busy && !trains && old && held_.shown->index == state_->chosen) draw_now();
}

void DrivePart::publish() {
    published_ = Clock::now();
    if (state_)
        state_->world_from_sensor =
            log_->world_from_sensor.at(log_->sweeps.front().time + state_->seconds);
    ctx_.events.changed().drive = state_ ? std::make_shared<const DriveState>(*state_) : nullptr;
    ctx_.events.status.changed = true;
}

}  // namespace gs
