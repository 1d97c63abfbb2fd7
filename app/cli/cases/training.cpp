// Compares training steps with the CPU's: their reports and their results.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/runs.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/check/proof_scene.h"
#include "base/rng.h"
#include "trainer/density/nudge.h"

namespace gs::cli {
namespace {

constexpr double kStepLossLimit = 1e-5;    ///< relative
constexpr double kWayLimit = 2e-3;         ///< of the way the parameters went
constexpr double kCodedWayLimit = 2e-2;    ///< of moments in 16 bits and of the way
constexpr double kStatisticsLimit = 1e-4;  ///< relative to the largest
constexpr double kLooksLimit = 1e-3;       ///< of moments, and of the way exposure and colour went
constexpr double kBeamLimit = 1e-4;        ///< relative to the larger term of their loss
constexpr double kMotionLimit = 1e-4;      ///< relative to the largest part

/// What a case has besides its Gaussians.
enum Has : unsigned {
    kMask = 1,
    /// Views whose pictures lie beside each other: Gaussians sleep through most steps.
    kApart = 2,
    kLocks = 4,       ///< every third row
    kBent = 8,        ///< each view through another lens
    kPoints = 16,     ///< by the unscented transform
    kMotion = 32,     ///< what moves the camera
    kAbsolute = 64,   ///< statistics of gradients without signs
    kFiltered = 128,  ///< through a 3D filter
    kNudges = 256,    ///< noise, regularisers, limits of size
    kSky = 512,       ///< learned, of degree 3
    kLenses = 1024,   ///< what moves the lens's numbers
    kBeams = 2048,    ///< of a lidar, with the last view of each step
    kBoth = 4096,     ///< once more as kCompact
    kCompact = 8192,  ///< moments in 16 bits
};
enum class Made { plain, broken, faint, covering, crowded, veiled };
struct Rare {
    Made made = Made::plain;
    int width = 40, height = 24;
    double lambda = 0.2;
    int sh_degree = -1;         ///< -1: as its Gaussians
    int raised_from = 1 << 30;  ///< from this step on with higher rates, which settles all first
    std::size_t views = 3;
    AppearanceMode looks = AppearanceMode::none;  ///< else photos are saturated here and there
};
struct TrainingCase {
    const char* name;
    std::size_t count;
    int degree;
    unsigned has = 0;
    int steps = 4;
    std::uint32_t batch = 1;  ///< views a step
    Rare rare{};
    bool with(Has one) const { return (has & one) != 0; }
};

constexpr Rare kPpisp{.looks = AppearanceMode::ppisp}, kBroken{Made::broken},
    kOutgrown{Made::covering, 129, 97}, kVeiled{Made::veiled},
    kBroad{.width = 190, .height = 190, .looks = kPpisp.looks},
    kSmall{.width = 20, .height = 12, .views = 1}, kRaised{.raised_from = 5},
    kWide{.made = Made::covering, .width = 320, .height = 240, .views = 2};
constexpr TrainingCase kTraining[] = {
    {"1 Gaussians, SH degree 0", 1, 0},
    {"33 Gaussians, SH degree 1", 33, 1},
    {"257 Gaussians, SH degree 2", 257, 2},
    {"300 Gaussians, SH degree 3", 300, 3},
    {"fewer degrees than stored", 100, 3, 0, 4, 1, {.sh_degree = 1}},
    {"photos of 1 x 1", 90, 1, 0, 4, 1, {.width = 1, .height = 1}},
    {"photos of 7 x 5", 90, 1, 0, 4, 1, {.width = 7, .height = 5}},
    {"photos of 33 x 17", 90, 1, 0, 4, 1, {.width = 33, .height = 17}},
    {"a mask with holes", 90, 1, kMask},
    {"loss without SSIM", 90, 1, 0, 4, 1, {.lambda = 0}},
    {"loss of SSIM only", 90, 1, 0, 4, 1, {.lambda = 1}},
    {"sleepers, settled when rates rise", 200, 1, kApart | kBoth, 12, 1, {.raised_from = 7}},
    {"locked rows", 120, 1, kLocks | kBoth},
    {"regularisers and limits", 200, 1, kNudges | kLocks | kBoth, 6},
    {"faint ones wander", 200, 1, kNudges | kLocks | kApart, 6, 1, {.made = Made::faint}},
    {"photos of bent lenses", 140, 2, kBent | kBoth, 6},
    {"exposure and white balance", 90, 1, 0, 4, 1, {.looks = AppearanceMode::exposure}},
    {"every stage of a photo's look, with a mask", 90, 1, kMask, 6, 1, kPpisp},
    {"a look in pixels enough for many blocks", 300, 0, 0, 2, 1, kBroad},
    {"a sky", 40, 1, kSky},
    {"a sky behind bent lenses, two views a step", 40, 1, kSky | kBent, 4, 2},
    {"beams of a lidar", 200, 1, kBeams | kLocks | kBoth},
    {"beams of a lidar, two views a step, through a 3D filter", 140, 1, kBeams | kFiltered | kBoth,
     4, 2},
    {"beams through values that no file should hold", 240, 1, kBeams, 2, 1, kBroken},
    {"beams whose lists outgrow their buffers", 700, 0, kBeams, 2, 1, kVeiled},
    {"poses corrected", 150, 2, kMotion | kBoth},
    {"poses and focal lengths corrected by Gaussians over 300 tiles", 12, 1,
     kMotion | kLenses | kBoth, 2, 1, kWide},
    {"bent lenses corrected through a 3D filter, two views a step", 12, 1,
     kBent | kLenses | kFiltered | kBoth, 2, 2, kWide},
    {"gradients without signs", 160, 1, kAbsolute | kLocks},
    {"gradients without signs, two views a step", 160, 0, kAbsolute | kMotion | kBoth, 4, 2},
    {"poses of bent lenses corrected", 140, 1, kBent | kMotion | kBoth},
    {"two views a step, settled when rates rise", 200, 2, kApart | kLocks | kBoth, 8, 2, kRaised},
    {"bent lenses and poses, three views a step", 140, 3, kBent | kMotion | kBoth, 4, 3},
    {"bent lenses, two views a step", 70, 1, kBent | kBoth, 2, 2},
    // Later the slopes of tone curves, which are rounding alone, part.
    {"poses and looks, two views a step", 90, 0, kMotion, 2, 2, kPpisp},
    {"two views a step of values that no file should hold", 240, 1, 0, 4, 2, kBroken},
    {"by seven points", 140, 2, kPoints | kBent | kBoth},
    {"by seven points, two views a step", 140, 1, kPoints | kBoth, 4, 2},
    {"poses corrected by seven points, two views a step", 140, 1, kPoints | kMotion | kBoth, 4, 2},
    {"poses corrected by seven points, one view a step", 140, 1, kPoints | kMotion | kBoth},
    {"through a 3D filter", 160, 2, kFiltered | kApart | kLocks, 8},
    {"bent lenses and poses through a 3D filter, two a step", 140, 1, kFiltered | kBent | kMotion,
     4, 2},
    {"by seven points through a 3D filter", 140, 1, kFiltered | kPoints},
    {"values that no file should hold", 240, 1, 0, 4, 1, kBroken},
    {"one view again and again, recorded and replayed", 40, 0, 0, 24, 1, kSmall},
    {"a frame that outgrows its buffers", 500, 1, kLenses, 2, 1, kOutgrown},
    {"a batch whose frames outgrow their buffers", 500, 1, 0, 2, 2, kOutgrown},
    {"tiles of several items", 1400, 1, 0, 2, 1, {Made::crowded, 16, 16}},
};

GaussianModel model_of(const TrainingCase& c) {
    if (c.rare.made == Made::covering)
        return covering_scene(c.count, 2, c.rare.width, c.rare.height).model;
    if (c.rare.made == Made::crowded)
        return crowded_scene(c.count, c.rare.width, c.rare.height, 0.02f).model;
    if (c.rare.made == Made::veiled)
        return crowded_scene(c.count, c.rare.width, c.rare.height, 0.008f).model;
    GaussianModel out = make_proof_model({c.count, c.degree, 60 + c.count});
    if (c.rare.made == Made::broken) break_every_other(out);
    for (std::size_t i = 0; c.rare.made == Made::faint && i < c.count; ++i)
        out.at(kOpacityLogits, i) = -6 + 3 * random_uniform(5, 0, i);
    return out;
}

struct Trained {
    GaussianModel start;
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

/// Beams of a sensor that moves past where the camera stands, as far around as it sees.
std::shared_ptr<BeamPlan> case_beams(const Camera& camera, std::uint64_t step) {
    auto out = std::make_shared<BeamPlan>();
    for (int i = 0; i < 40 * 24; ++i) {
        const std::uint64_t n = step * 4096 + static_cast<std::uint64_t>(i);
        CameraRay ray = camera.ray_of((i % 40 + 0.5) * camera.width / 40.0,
                                      (i / 40 + 0.5) * camera.height / 24.0);
        ray.origin += Vec3d{0.002 * (i % 40), 0.001 * (i % 40), 0};
        out->rays.push_back(ray);
        out->ranges.push_back(2 + 4 * random_uniform(8, 3, n));
    }
    out->sensor_from_world = ray_frame(camera);
    out->place = camera.position();
    out->weight = 0.1;
    return out;
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
    const auto capture = case_capture(c.rare.width, c.rare.height, c.with(kMask));
    if (c.with(kApart))
        for (std::size_t v = 0; v < capture->views.size(); ++v)
            capture->views[v].camera.cx += (v % 2 == 0 ? 0.5 : -0.5) * c.rare.width;
    if (c.with(kBent)) bend(*capture);
    TrainingSettings settings;
    settings.appearance = c.rare.looks;
    TrainingSettings of_sky = settings;
    of_sky.batch = c.batch;
    if (c.with(kSky)) of_sky.sky = SkyKind::sh3;
    settings.steps = 100;  // rates of some size at once
    settings.appearance_from = 1;
    for (View& view : capture->views)
        for (std::uint8_t& sample : view.photo.bytes)
            if (c.rare.looks != AppearanceMode::none && sample > 200) sample = 255;
    Trained out;
    out.start = model_of(c);
    RunArrays start = fresh_run(out.start, c.with(kCompact));
    start.adam.batch = c.batch;
    start.model.sky = initial_sky(of_sky, {});
    if (c.with(kSky)) start.sky_moments.resize(kSkyMoments);
    if (c.with(kFiltered)) start.filter.resize(start.model.capacity, 0.0f);
    for (std::size_t i = 0; c.with(kFiltered) && i < out.start.count; ++i)
        start.filter[i] = i % 5 == 4 ? 0.0f : 0.1f * random_uniform(7, 12, i);
    const AppearanceRows rows(*capture);
    start.appearance = initial_appearance(rows, c.rare.looks);
    for (std::size_t i = 0; c.with(kLocks) && i < out.start.count; i += 3)
        start.identity.tags[i] |= kLockedTag;
    out.first_looks.assign(start.appearance.values.begin(), start.appearance.values.end());
    out.camera_looks = rows.camera_at(0);
    backend.start(capture, std::move(start));
    for (int shown = 0; shown < c.steps * static_cast<int>(c.batch); ++shown) {
        const int step = shown / static_cast<int>(c.batch);
        StepPlan plan = case_plan(*capture, 1 + static_cast<std::size_t>(shown) % c.rare.views,
                                  static_cast<std::uint64_t>(step),
                                  c.rare.sh_degree < 0 ? c.degree : c.rare.sh_degree,
                                  step >= c.rare.raised_from ? 1.5 : 1.0);
        plan.part = {static_cast<std::uint32_t>(shown) % c.batch, c.batch};
        plan.lambda_dssim = c.rare.lambda;
        plan.appearance =
            appearance_plan(settings, rows, plan.view_index, static_cast<std::uint64_t>(shown));
        plan.sky = sky_plan(of_sky, plan.step);
        if (c.with(kBeams) && plan.part.last()) plan.beams = case_beams(plan.camera, plan.step);
        plan.options.motion = c.with(kMotion);
        plan.options.intrinsics = c.with(kLenses);
        plan.options.antialiased = c.with(kFiltered);
        plan.options.absolute = c.with(kAbsolute);
        if (c.with(kPoints)) plan.options.projection = ProjectionMethod::ut;
        if (c.with(kNudges))
            plan.nudge = nudge_plan(nudging_settings(), 1.0, plan.step, out.start.count);
        const StepOutcome outcome = backend.step(plan);
        if (outcome.step != 0) out.outcomes[{outcome.step, outcome.part.index}] = outcome;
    }
    out.arrays = backend.arrays();
    out.model = backend.model();
    return out;
}

/// Adam's moments of plane `p` of row `i`: the first, and a gradient's size by the second.
struct RowMoments {
    double first, gradient;
};
RowMoments moments_of(const Trained& of, int p, std::size_t i) {
    const auto [m, v] = gs::moments_of(of.arrays.adam, of.arrays.model.planes(), i, p);
    return {m, std::sqrt(static_cast<double>(v))};
}

/// How far two ways from the same values end apart, over the way, and first moments of rows last
/// updated at the same step beside the plane's largest gradient. Gradients below a thousandth of
/// that are compared only so: Adam's steps are as long for a sign that is rounding as for any.
/// Broken values stay broken. `compact`: rounding decides here and there which of two codes it is.
std::vector<ComparisonRow> ways_of(const Trained& got, const Trained& truth, bool compact) {
    ComparisonRow way{"of the way", compact ? kCodedWayLimit : kWayLimit, Measure::l2},
        moments{"moments", compact ? kCodedWayLimit : kLooksLimit,
                compact ? Measure::l2 : Measure::largest};
    for (int p = 0; p < truth.start.planes(); ++p) {
        double largest = 0;
        for (std::size_t i = 0; i < truth.start.count; ++i)
            if (const double g = moments_of(truth, p, i).gradient; std::isfinite(g))
                largest = std::max(largest, g);
        for (std::size_t i = 0; i < truth.start.count; ++i) {
            const double from = truth.start.at(p, i), a = truth.model.at(p, i),
                         b = got.model.at(p, i);
            const RowMoments m = moments_of(truth, p, i);
            if (!(std::abs(from) < 1e30))
                way.add(0, std::isnan(a) == std::isnan(b) ? 0 : HUGE_VAL);
            else if (!(m.gradient > 0 && m.gradient < 1e-3 * largest))
                way.add(a - from, b - from);
            if (std::isfinite(m.first) && largest > 0 &&
                truth.arrays.adam.last_step[i] == got.arrays.adam.last_step[i])
                moments.add(m.first / largest, moments_of(got, p, i).first / largest);
        }
    }
    return {way, moments};
}

/// The learned looks of photos: their way, and first moments beside the largest. A camera's value
/// with gradients below a thousandth of the largest is compared only by its moments: Adam's steps
/// are as long for a sign that is rounding as for any.
std::vector<ComparisonRow> looks_of(const Trained& got, const Trained& truth) {
    ComparisonRow way{"looks of their way", kLooksLimit, Measure::l2},
        moments{"moments of looks", kLooksLimit, Measure::of_largest};
    const auto &a = got.arrays.appearance, &b = truth.arrays.appearance;
    const std::size_t n = b.values.size(), cameras = truth.camera_looks;
    if (a.values.size() != n || truth.first_looks.size() != n ||
        a.moments.size() != b.moments.size()) {
        way.add_lengths(n, a.values.size(), "looks");
        return {way};
    }
    const auto gradient = [&](std::size_t i) {
        return std::sqrt(std::max<double>(a.moments[n + i], b.moments[n + i]));
    };
    double largest = 0;
    for (std::size_t i = cameras; i < n; ++i) {
        largest = std::max(largest, gradient(i));
        moments.add(b.moments[i], a.moments[i]);
    }
    for (std::size_t i = 0; i < n; ++i)
        if (const double from = truth.first_looks[i];
            i < cameras || gradient(i) == 0 || gradient(i) > 1e-3 * largest)
            way.add(b.values[i] - from, a.values[i] - from);
    return {way, moments};
}

std::vector<double> parts_of(const std::optional<SceneMotion>& m) {
    if (!m) return {};
    return {m->turn.x, m->turn.y, m->turn.z, m->move.x, m->move.y, m->move.z};
}

std::vector<double> numbers_of(const std::optional<LensSlopes>& slopes) {
    return slopes ? std::vector(slopes->begin(), slopes->end()) : std::vector<double>{};
}

/// The terms of every step, the camera's motion and lens, and what was counted.
std::vector<ComparisonRow> outcomes_of(const Trained& got, const Trained& truth) {
    ComparisonRow loss{"loss", kStepLossLimit}, motion{"camera's motion", kMotionLimit},
        beams{"beams", kBeamLimit, Measure::of_largest}, lenses{"lens", kMotionLimit},
        counts{"counts"};
    for (const auto& [place, outcome] : got.outcomes) {
        const StepOutcome& other = truth.outcomes.at(place);
        const double a = other.terms.loss, size = std::isfinite(a) ? std::max(1e-12, a) : 1;
        loss.add(a / size, outcome.terms.loss / size);
        // Before the first step nothing has gone another way.
        const auto beside = [&](ComparisonRow& row, const auto& known, const auto& ours) {
            if (place.first == 1)
                row.add(0, compare({"", 0, Measure::of_largest}, known, ours).figure());
        };
        beside(motion, parts_of(other.motion), parts_of(outcome.motion));
        if (outcome.intrinsics || other.intrinsics)
            beside(lenses, numbers_of(other.intrinsics), numbers_of(outcome.intrinsics));
        if (other.lidar.beams > 0 || outcome.lidar.beams > 0) {
            beams.add(other.lidar.range, outcome.lidar.range);
            beams.add(other.lidar.dark, outcome.lidar.dark);
        }
        counts.add(other.poisoned, outcome.poisoned);
        counts.add(static_cast<double>(other.counters.visible),
                   static_cast<double>(outcome.counters.visible));
    }
    return {loss, motion, lenses, beams, counts};
}

CheckRow check_training(const Backend& backend, const TrainingCase& c) {
    const auto ours = training_of(backend);
    const auto cpu = make_cpu_training();
    const Trained got = train_case(*ours, c), truth = train_case(*cpu, c);
    std::vector<ComparisonRow> rows = outcomes_of(got, truth);
    for (ComparisonRow& row : ways_of(got, truth, c.with(kCompact))) rows.push_back(std::move(row));
    const DensityStatistics &a = truth.arrays.statistics, &b = got.arrays.statistics;
    const auto statistics = [&](const char* what, double limit, const auto& x, const auto& y) {
        rows.push_back(compare({what, limit, Measure::of_largest}, x, y));
    };
    statistics("pulls", kStatisticsLimit, a.gradient_sum, b.gradient_sum);
    statistics("radii", kStatisticsLimit, a.radius_px, b.radius_px);
    statistics("views", 0, a.views, b.views);
    for (ComparisonRow& row : looks_of(got, truth)) rows.push_back(std::move(row));
    if (c.with(kSky))
        rows.push_back(compare({"sky", kLooksLimit, Measure::of_largest},
                               std::span<const float>(truth.arrays.model.sky.sh),
                               std::span<const float>(got.arrays.model.sky.sh)));
    ComparisonRow stayed{"locked rows moved", 0, Measure::bits};
    for (int p = 0; p < got.start.planes(); ++p)
        for (std::size_t i = 0; c.with(kLocks) && i < got.start.count; i += 3)
            stayed.add(got.start.at(p, i), got.model.at(p, i));
    rows.push_back(std::move(stayed));
    std::erase_if(rows, [](const ComparisonRow& row) { return row.values == 0; });
    CheckRow out = compared(label_of(backend), {}, rows, fmt::format("{} steps: ", c.steps));
    out.passed = out.passed && !got.outcomes.empty();
    return out;
}

}  // namespace

void add_training_cases(CaseList& list, const Backend& backend) {
    for (const TrainingCase& c : kTraining) {
        add_case(list, std::string("training: ") + c.name,
                 [b = &backend, &c] { return check_training(*b, c); });
        if (!c.with(kBoth)) continue;
        TrainingCase compact = c;
        compact.has |= kCompact;
        // A code that falls on the other side goes its own way from then on.
        compact.steps = std::min(c.steps, 4);
        if (c.rare.raised_from < c.steps) compact.rare.raised_from = 2;
        add_case(list, std::string("training: ") + c.name + ", compact moments",
                 [b = &backend, compact] { return check_training(*b, compact); });
    }
}

}  // namespace gs::cli
