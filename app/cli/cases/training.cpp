// Compares training steps with the CPU's: their reports and their results.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "app/cli/cases/apart.h"
#include "app/cli/cases/cases.h"
#include "app/cli/cases/runs.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/proof_scene.h"
#include "base/rng.h"
#include "trainer/nudge.h"

namespace gs::cli {
namespace {

constexpr double kStepLossLimit = 1e-5;  ///< relative
/// Of the way the parameters went. Adam's first steps are as long for a gradient that is rounding
/// alone as for any other, so a few parameters in a thousand may go another way.
constexpr double kWayLimit = 2e-3;
constexpr double kStatisticsLimit = 1e-4;  ///< relative to the largest
constexpr double kLooksLimit = 1e-3;       ///< of the way exposure and colour went, as kWayLimit
constexpr double kMotionLimit = 1e-4;      ///< relative to the largest part

struct TrainingCase {
    std::string name;
    GaussianModel model{};
    int width = 40, height = 24, sh_degree = 1, steps = 4;
    bool masked = false;
    double lambda = 0.2;
    /// Views whose pictures lie beside each other: Gaussians sleep through most steps.
    bool apart = false;
    /// From this step on with higher rates, which settles everybody first.
    int raised_from = 1 << 30;
    bool locks = false;      ///< every third row
    bool bent = false;       ///< each view through another lens
    bool by_points = false;  ///< by the unscented transform
    std::size_t views = 3;
    AppearanceMode looks = AppearanceMode::none;  ///< else photos are saturated here and there
    bool motion = false;                          ///< and what moves the camera
    bool absolute = false;                        ///< statistics of gradients without signs
    std::uint32_t batch = 1;                      ///< views a step
    bool faint = false;                           ///< opacities of 0.002 to 0.05
    bool filtered = false;                        ///< through a 3D filter
    bool nudges = false;                          ///< noise, regularisers, limits of size
};

struct Trained {
    std::map<std::pair<std::uint64_t, std::uint32_t>, StepOutcome> outcomes;  ///< by step, part
    RunArrays arrays;
    GaussianModel model;
    std::vector<float> first_looks;  ///< what arrays.appearance.values were at the start
    std::size_t camera_looks = 0;    ///< where those of cameras begin
};
/// Lenses that see about as much as the pinholes did, and a whole panorama.
void bend(Capture& capture) {
    const auto through = [&](std::size_t view, CameraModel model, double angle,
                             std::initializer_list<double> coefficients) {
        Camera& camera = capture.views[view].camera;
        camera = through_lens({{}, camera}, model, angle, coefficients).camera;
    };
    through(1, CameraModel::opencv, 1.0, {-0.1, 0.03, 0.002, -0.003});
    through(2, CameraModel::opencv_fisheye, 1.2, {0.02, -0.004, 0.001, 0});
    through(3, CameraModel::equirectangular, 2 * std::numbers::pi, {});
}

/// Everything that nudges, and strongly: limits that many Gaussians are beyond.
TrainingSettings nudging_settings() {
    TrainingSettings s = defaults_of(StrategyKind::mcmc);
    s.noise = 5e4;
    s.opacity_reg = s.scale_reg = 1;
    s.scale_limit = 0.05;
    s.stretch_limit = 1.5;
    return s;
}

Trained train_case(TrainingBackend& backend, const TrainingCase& c) {
    const auto capture = case_capture(c.width, c.height, c.masked);
    if (c.apart)
        for (std::size_t v = 0; v < capture->views.size(); ++v)
            capture->views[v].camera.cx += (v % 2 == 0 ? 0.5 : -0.5) * c.width;
    if (c.bent) bend(*capture);
    TrainingSettings settings;
    settings.appearance = c.looks;
    settings.steps = 100;  // rates of some size at once
    settings.appearance_from = 1;
    for (View& view : capture->views)
        for (std::uint8_t& sample : view.photo.bytes)
            if (c.looks != AppearanceMode::none && sample > 200) sample = 255;
    RunArrays start = fresh_run(c.model);
    start.adam.batch = c.batch;
    if (c.filtered) start.filter.resize(start.model.capacity, 0.0f);
    for (std::size_t i = 0; c.filtered && i < c.model.count; ++i)
        start.filter[i] = i % 5 == 4 ? 0.0f : 0.1f * random_uniform(7, 12, i);
    const AppearanceRows rows(*capture);
    start.appearance = initial_appearance(rows, c.looks);
    for (std::size_t i = 0; c.locks && i < c.model.count; i += 3)
        start.identity.tags[i] |= kLockedTag;
    Trained out;
    out.first_looks.assign(start.appearance.values.begin(), start.appearance.values.end());
    out.camera_looks = rows.camera_at(0);
    backend.start(capture, std::move(start));
    for (int shown = 0; shown < c.steps * static_cast<int>(c.batch); ++shown) {
        const int step = shown / static_cast<int>(c.batch);
        StepPlan plan = case_plan(*capture, 1 + static_cast<std::size_t>(shown) % c.views,
                                  static_cast<std::uint64_t>(step), c.sh_degree,
                                  step >= c.raised_from ? 1.5 : 1.0);
        plan.part = {static_cast<std::uint32_t>(shown) % c.batch, c.batch};
        plan.lambda_dssim = c.lambda;
        plan.appearance =
            appearance_plan(settings, rows, plan.view_index, static_cast<std::uint64_t>(shown));
        plan.options.motion = c.motion;
        plan.options.antialiased = c.filtered;
        plan.options.absolute = c.absolute;
        if (c.by_points) plan.options.projection = ProjectionMethod::ut;
        if (c.nudges) plan.nudge = nudge_plan(nudging_settings(), 1.0, plan.step, c.model.count);
        const StepOutcome outcome = backend.step(plan);
        if (outcome.step != 0) out.outcomes[{outcome.step, outcome.part.index}] = outcome;
    }
    out.arrays = backend.arrays();
    out.model = backend.model();
    return out;
}

/// How far two ways from the same values end apart, over the way.
struct WayApart {
    double difference = 0, way = 0;  ///< squares
    void add(double from, double got, double truth) {
        difference += (got - truth) * (got - truth);
        way += (truth - from) * (truth - from);
    }
    double share() const { return difference == 0 ? 0 : std::sqrt(difference / way); }
};

/// From `start`. Broken values must stay unchanged.
double way_apart(const GaussianModel& start, const GaussianModel& got, const GaussianModel& truth) {
    WayApart apart;
    for (int p = 0; p < start.planes(); ++p)
        for (std::size_t i = 0; i < start.count; ++i) {
            const double from = start.at(p, i), a = got.at(p, i), b = truth.at(p, i);
            if (std::abs(from) < 1e30)
                apart.add(from, a, b);
            else if (std::isnan(a) != std::isnan(b))
                apart.difference = HUGE_VAL;
        }
    return apart.share();
}

/// Difference of the learned photo looks; infinite if the rows differ. First moments are compared
/// with the largest. A camera's value with gradients below a thousandth of the largest is compared
/// only by its moments: Adam's steps are as long for a sign that is rounding as for any.
double looks_apart(const Trained& got, const Trained& truth) {
    const auto &a = got.arrays.appearance, &b = truth.arrays.appearance;
    const std::size_t n = b.values.size(), cameras = truth.camera_looks;
    if (a.values.size() != n || truth.first_looks.size() != n ||
        a.moments.size() != b.moments.size())
        return HUGE_VAL;
    const auto gradient = [&](std::size_t i) {
        return std::sqrt(std::max<double>(a.moments[n + i], b.moments[n + i]));
    };
    double largest = 0, moment = 0, difference = 0;
    for (std::size_t i = cameras; i < n; ++i) {
        largest = std::max(largest, gradient(i));
        moment = std::max<double>(moment, std::abs(b.moments[i]));
        widen(difference, std::abs(double{a.moments[i]} - b.moments[i]));
    }
    WayApart apart;
    for (std::size_t i = 0; i < n; ++i)
        if (i < cameras || gradient(i) == 0 || gradient(i) > 1e-3 * largest)
            apart.add(truth.first_looks[i], a.values[i], b.values[i]);
    return std::max(apart.share(), difference == 0 ? 0 : difference / moment);
}

/// Between two gradients of a motion, relative to the largest part; where one is missing, infinite.
double motion_apart(const StepOutcome& a, const StepOutcome& b) {
    if (a.motion.has_value() != b.motion.has_value()) return HUGE_VAL;
    if (!a.motion) return 0;
    const auto parts = [](const SceneMotion& m) {
        return std::array{m.turn.x, m.turn.y, m.turn.z, m.move.x, m.move.y, m.move.z};
    };
    const auto x = parts(*a.motion), y = parts(*b.motion);
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        widen(difference, std::abs(x[i] - y[i]));
        largest = std::max(largest, std::abs(y[i]));
    }
    return difference == 0 ? 0 : difference / largest;
}

bool locked_rows_stayed(const GaussianModel& start, const GaussianModel& got) {
    for (int p = 0; p < start.planes(); ++p)
        for (std::size_t i = 0; i < start.count; i += 3)
            if (start.at(p, i) != got.at(p, i)) return false;
    return true;
}

CheckRow check_training(const Backend& backend, const TrainingCase& c) {
    const auto ours = training_of(backend);
    const auto cpu = make_cpu_training();
    const Trained got = train_case(*ours, c), truth = train_case(*cpu, c);
    double loss = 0, motion = 0;
    bool counted = true;
    for (const auto& [place, outcome] : got.outcomes) {
        const StepOutcome& other = truth.outcomes.at(place);
        widen(loss, relative_apart(outcome.terms.loss, other.terms.loss));
        // Before the first step nothing has gone another way.
        if (place.first == 1) widen(motion, motion_apart(outcome, other));
        counted = counted && outcome.poisoned == other.poisoned &&
                  outcome.counters.visible == other.counters.visible;
    }
    const double way = way_apart(c.model, got.model, truth.model),
                 statistics = std::max(relative_apart(got.arrays.statistics.gradient_sum,
                                                      truth.arrays.statistics.gradient_sum),
                                       relative_apart(got.arrays.statistics.radius_px,
                                                      truth.arrays.statistics.radius_px)),
                 views = relative_apart(got.arrays.statistics.views, truth.arrays.statistics.views),
                 looks = looks_apart(got, truth);
    const bool stayed = !c.locks || locked_rows_stayed(c.model, got.model);
    const std::string looked =
        c.looks == AppearanceMode::none
            ? ""
            : fmt::format(", looks {:.1e} of their way (limit {:.0e})", looks, kLooksLimit);
    const std::string moved =
        c.motion ? fmt::format(", camera's motion {:.1e} (limit {:.0e})", motion, kMotionLimit)
                 : "";
    return {label_of(backend),
            {},
            fmt::format("{} steps: loss {:.1e} (limit {:.0e}), {:.1e} of the way (limit {:.0e}), "
                        "statistics {:.1e} (limit {:.0e}){}{}{}{}",
                        c.steps, loss, kStepLossLimit, way, kWayLimit, statistics, kStatisticsLimit,
                        counted && views == 0 ? "" : ", counts differ",
                        stayed ? "" : ", locked rows moved", looked, moved),
            loss <= kStepLossLimit && motion <= kMotionLimit && way <= kWayLimit &&
                statistics <= kStatisticsLimit && views == 0 && counted && stayed &&
                looks <= kLooksLimit && !got.outcomes.empty()};
}

/// By seven points, and through a 3D filter. `add`: name, Gaussians, SH degree.
template <class Add>
void add_projections(const Add& add) {
    TrainingCase& points = add("by seven points", 140, 2);
    points.bent = points.by_points = true;
    TrainingCase& pair = add("by seven points, two views a step", 140, 1);
    pair.by_points = true;
    pair.batch = 2;
    TrainingCase& moved_pair = add("poses corrected by seven points, two views a step", 140, 1);
    moved_pair.by_points = moved_pair.motion = true;
    moved_pair.batch = 2;
    TrainingCase& moved_points = add("poses corrected by seven points, one view a step", 140, 1);
    moved_points.by_points = moved_points.motion = true;
    TrainingCase& filtered = add("through a 3D filter", 160, 2);
    filtered.filtered = filtered.apart = filtered.locks = true;
    filtered.steps = 8;
    TrainingCase& filtered_rig =
        add("bent lenses and poses through a 3D filter, two a step", 140, 1);
    filtered_rig.filtered = filtered_rig.bent = filtered_rig.motion = true;
    filtered_rig.batch = 2;
    TrainingCase& filtered_points = add("by seven points through a 3D filter", 140, 1);
    filtered_points.filtered = filtered_points.by_points = true;
}

std::vector<TrainingCase> training_cases() {
    std::vector<TrainingCase> out;
    const auto add = [&](std::string name, std::size_t count, int degree) -> TrainingCase& {
        out.push_back({std::move(name), make_proof_model({count, degree, 60 + count})});
        out.back().sh_degree = degree;
        return out.back();
    };
    int degree = 0;
    for (const std::size_t count : {1u, 33u, 257u, 300u}) {
        add(fmt::format("{} Gaussians, SH degree {}", count, degree), count, degree);
        ++degree;
    }
    add("fewer degrees than stored", 100, 3).sh_degree = 1;
    for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {33, 17}}) {
        TrainingCase& c = add(fmt::format("photos of {} x {}", width, height), 90, 1);
        c.width = width;
        c.height = height;
    }
    add("a mask with holes", 90, 1).masked = true;
    add("loss without SSIM", 90, 1).lambda = 0;
    add("loss of SSIM only", 90, 1).lambda = 1;
    TrainingCase& sleepers = add("sleepers, settled when rates rise", 200, 1);
    sleepers.apart = true;
    sleepers.steps = 12;
    sleepers.raised_from = 7;
    add("locked rows", 120, 1).locks = true;
    for (const bool faint : {false, true}) {
        TrainingCase& nudged = add(faint ? "faint ones wander" : "regularisers and limits", 200, 1);
        nudged.nudges = nudged.locks = true;
        nudged.apart = nudged.faint = faint;
        nudged.steps = 6;
    }
    TrainingCase& bent = add("photos of bent lenses", 140, 2);
    bent.bent = true;
    bent.steps = 6;
    add("exposure and white balance", 90, 1).looks = AppearanceMode::exposure;
    TrainingCase& looks = add("every stage of a photo's look, with a mask", 90, 1);
    looks.looks = AppearanceMode::ppisp;
    looks.masked = true;
    looks.steps = 6;
    TrainingCase& wide = add("a look in pixels enough for many blocks", 300, 0);
    wide.looks = AppearanceMode::ppisp;
    wide.width = 190;
    wide.height = 190;
    wide.steps = 2;
    add("poses corrected", 150, 2).motion = true;
    TrainingCase& unsigned_sums = add("gradients without signs", 160, 1);
    unsigned_sums.absolute = unsigned_sums.locks = true;
    TrainingCase& unsigned_pair = add("gradients without signs, two views a step", 160, 0);
    unsigned_pair.absolute = unsigned_pair.motion = true;
    unsigned_pair.batch = 2;
    TrainingCase& both = add("poses of bent lenses corrected", 140, 1);
    both.bent = both.motion = true;
    TrainingCase& batch = add("two views a step, settled when rates rise", 200, 2);
    batch.apart = batch.locks = true;
    batch.batch = 2;
    batch.steps = 8;
    batch.raised_from = 5;
    TrainingCase& rig = add("bent lenses and poses, three views a step", 140, 3);
    rig.bent = rig.motion = true;
    rig.batch = 3;
    TrainingCase& sensors = add("bent lenses, two views a step", 70, 1);
    sensors.bent = true;
    sensors.batch = 2;
    sensors.steps = 2;
    TrainingCase& moved = add("poses and looks, two views a step", 90, 0);
    moved.motion = true;
    moved.looks = AppearanceMode::ppisp;
    moved.batch = 2;
    moved.steps = 2;  // later the slopes of tone curves, which are rounding alone, part
    TrainingCase& bad = add("two views a step of values that no file should hold", 240, 1);
    break_every_other(bad.model);
    bad.batch = 2;
    add_projections(add);
    TrainingCase& broken = add("values that no file should hold", 240, 1);
    break_every_other(broken.model);
    TrainingCase& steady = add("one view again and again, recorded and replayed", 40, 0);
    steady.steps = 24;
    steady.views = 1;
    steady.width = 20;
    steady.height = 12;
    out.push_back({"a frame that outgrows its buffers", covering_scene(500, 2, 129, 97).model});
    out.back().width = 129;
    out.back().height = 97;
    out.back().steps = 2;
    out.push_back(out.back());
    out.back().name = "a batch whose frames outgrow their buffers";
    out.back().batch = 2;
    out.push_back({"tiles of several items", crowded_scene(1400, 16, 16, 0.02f).model});
    out.back().width = out.back().height = 16;
    out.back().steps = 2;
    return out;
}

}  // namespace

void add_training_cases(CaseList& list, const Backend& backend) {
    for (TrainingCase& c : training_cases()) {
        for (std::size_t i = 0; c.faint && i < c.model.count; ++i)
            c.model.at(kOpacityLogits, i) = -6 + 3 * random_uniform(5, 0, i);
        std::string name = "training: " + c.name;
        add_case(list, std::move(name),
                 [b = &backend, one = std::move(c)] { return check_training(*b, one); });
    }
}

}  // namespace gs::cli
