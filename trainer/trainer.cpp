#include "trainer/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/machine_use.h"
#include "base/record/scope.h"
#include "base/rng.h"
#include "base/try.h"
#include "renderer/scene/crop.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/near_plane.h"
#include "trainer/density/init.h"
#include "trainer/density/nudge.h"
#include "trainer/density/run_edit.h"
#include "trainer/loss/metrics.h"
#include "trainer/settings/schedule.h"
#include "trainer/settings/strategy.h"
#include "trainer/step_record.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr std::uint64_t kBackgroundStream =
    0xBAC6000000000000ull;  // apart from other users of the seed

/// `look`: what was learned of the view's camera.
PictureScore score_view(ImageF& picture, const View& view, const std::optional<AppliedLook>& look,
                        bool fitted, ScoreRules rules = ScoreRules::gausscope) {
    if (look) apply_look(*look, picture, nullptr, picture);
    const LentPhoto photo = lend_photo(view);
    return score_picture(picture, photo.photo(), photo.mask(), fitted, rules);
}

/// Errors (usage): nothing is in the box.
Result<void> crop_at_start(RunArrays& arrays, const TrainingSettings& settings) {
    const std::optional<ClipBox> crop = crop_of(settings);
    if (!crop) return {};
    const std::vector<std::uint32_t> outside = rows_outside(arrays.model, *crop);
    if (outside.size() == arrays.model.count)
        return fail(ErrorKind::usage, "", "no point of the capture is in the crop box",
                    "the box is in the capture's own units: choose a larger one");
    if (!outside.empty()) (void)take_rows(arrays, outside);
    return {};
}

}  // namespace

Trainer::State::State(std::shared_ptr<const Capture> given_capture,
                      const TrainingSettings& given_settings,
                      std::unique_ptr<TrainingBackend> given_backend)
    : capture(std::move(given_capture)),
      settings(given_settings),
      backend(std::move(given_backend)),
      rows(*capture),
      lidar(capture->lidars, capture->origin),
      drawn(trainable_views(*capture)) {
    const std::vector<std::uint8_t> blind = blind_lost_views(*capture);
    for (const std::size_t v : drawn) {
        const Camera& c = capture->views[v].camera;
        side = std::min({side, c.width, c.height});
    }
    std::vector<std::size_t> used = scored_views(*capture);
    used.insert(used.end(), drawn.begin(), drawn.end());
    for (std::size_t v = 0; v < blind.size(); ++v)
        if (blind[v] != 0)
            log_warning("{}", about_blind(capture->views[v],
                                          capture->views[v].test ? "scoring" : "training on",
                                          std::ranges::count(used, v) > 0));
}

Result<void> Trainer::State::may_draw() const {
    if (drawn.empty())
        return fail(ErrorKind::usage, capture->path, "the capture has no photo to train on",
                    "hold out fewer test views, or check the photos");
    if (batch_of(settings) > drawn.size())
        return fail(
            ErrorKind::usage, capture->path,
            fmt::format(
                "a step of {} photos needs at least that many, but only {} can be trained on",
                batch_of(settings), drawn.size()),
            fmt::format("choose a batch of {} at most", drawn.size()));
    return may_refine(settings, *capture, drawn);
}

int Trainer::State::sh_degree() const {
    return std::min(sh_degree_at(settings, steps()), backend->sh_degree());
}

RenderOptions Trainer::State::options() const {
    RenderOptions o;
    o.background = background_of(settings);
    o.sh_degree = sh_degree();
    o.antialiased = draws_antialiased(settings);
    o.projection = settings.projection;
    o.near_plane = near_plane_for(extent);
    return o;
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(std::shared_ptr<const Capture> capture,
                                                 const TrainingSettings& settings,
                                                 std::unique_ptr<TrainingBackend> backend,
                                                 std::shared_ptr<const GaussianModel> first) {
    const Span span(Stage::init);
    auto state = std::make_unique<State>(std::move(capture), settings, std::move(backend));
    state->first = std::move(first);
    GS_TRY_VOID(state->begin());
    return std::unique_ptr<Trainer>(new Trainer(std::move(state)));
}

Result<void> Trainer::State::begin() {
    GS_TRY_VOID(may_draw());
    const auto degree = static_cast<int>(std::clamp(settings.sh_degree, 0.0, 3.0));
    const FirstLook look{static_cast<float>(settings.init_opacity),
                         static_cast<float>(settings.init_scale), settings.init_surfaces};
    const auto most = static_cast<std::size_t>(std::max(1.0, settings.max_gaussians));
    GS_TRY(GaussianModel model, first ? gaussians_from_model(*first, *capture, degree)
                                      : gaussians_from_points(*capture, degree, most, look));
    if (!first && capture->points.size() > most)
        log_info("{} of the capture's {} points become Gaussians (max_gaussians)", model.count,
                 capture->points.size());
    GS_TRY_VOID(may_learn_from_lidar());
    learns_from_lidar();  // warns now if there is no lidar
    model.antialiased = draws_antialiased(settings);
    RunArrays arrays = new_run(std::move(model), settings);
    if (settings.random_background && !arrays.model.sky.empty())
        log_warning("random_background has no effect: the sky is in its place");
    arrays.appearance = initial_appearance(rows, settings.appearance);
    GS_TRY_VOID(crop_at_start(arrays, settings));
    extent = static_cast<double>(scene_extent_of(*capture));
    sampler = Sampler(drawn, static_cast<std::uint64_t>(settings.seed));
    refined = RefinedCameras(settings, *capture, drawn);
    if (settings.filter_3d)
        gs::size_filter(std::as_const(arrays.model.values).span().first(3 * arrays.model.capacity),
                        arrays.model.count, training_cameras(), filter_near(), FilterRows::all,
                        arrays.filter);
    if (const int divides = photo_divisor(settings, 0, side);
        divides < photo_divisor(settings, 0, std::numeric_limits<int>::max()))
        log_info("the smallest photo has {} pixels on a side: photos begin {}", side,
                 divides == 1 ? "in full size" : "at half of their width and height");
    expected_from = kNothingExpected;
    at_start = arrays.identity.book.first_given();
    start(std::move(arrays));
    return {};
}

void Trainer::State::start(RunArrays arrays) {
    backend->start(capture, std::move(arrays));
    photos = capture;
    divisor = 1;
}

StepPlan Trainer::State::next_plan(BatchPart part) {
    StepPlan plan;
    plan.step = steps();
    plan.part = part;
    plan.view_index = sampler.next();
    plan.view = &photos->views[plan.view_index];
    plan.divisor = divisor;
    plan.camera = refined.camera(*photos, plan.view_index);
    plan.options = options();
    plan.options.depth = false;
    refined.ask(plan.options);
    if (settings.random_background) {
        const auto channel = [&](std::uint64_t c) {
            return random_uniform(static_cast<std::uint64_t>(settings.seed),
                                  kBackgroundStream + plan.step, 3 * part.index + c);
        };
        plan.options.background = {channel(0), channel(1), channel(2)};
    }
    plan.rates = learning_rates(settings, extent, plan.step);
    plan.gathers_statistics = strategy_of(settings).gathers_statistics(settings, plan.step + 1);
    plan.options.absolute = plan.gathers_statistics && settings.absgrad;
    plan.nudge = nudge_plan(settings, extent, plan.step, backend->count());
    plan.lambda_dssim = settings.lambda_dssim;
    plan.sky = sky_plan(settings, plan.step);
    plan.appearance =
        appearance_plan(settings, rows, plan.view_index, plan.step * part.count + part.index);
    const bool with_beams = plan.step % static_cast<std::uint64_t>(settings.lidar_every) == 0;
    if (part.last() && with_beams && learns_from_lidar())
        plan.beams = lidar.plan(settings, plan.step);
    plan.hashes = hashes;
    return plan;
}

Result<void> Trainer::State::may_learn_from_lidar() const {
    if (settings.lidar_weight <= 0 || backend->takes_beams()) return {};
    return fail(ErrorKind::usage, capture->path, "ranks cannot learn from a lidar",
                "train without ranks, or set lidar_weight to 0");
}

bool Trainer::State::learns_from_lidar() {
    if (settings.lidar_weight <= 0) return false;
    if (lidar.open()) return true;
    if (!std::exchange(warned_beams, true))
        log_warning("lidar_weight has no effect: {} has no lidar that can be read", capture->path);
    return false;
}

namespace {

/// Without memory for a record, training continues.
void keep_arrays(const TrainingBackend& backend, RunArrays& to, StepRecord& record) {
    if (!record.problem.empty()) return;
    try {
        to = backend.arrays();
    } catch (const std::bad_alloc&) {
        record.problem = "not enough memory for a copy of the run's arrays";
        record.before = record.after = {};
    }
}

}  // namespace

StepReport Trainer::step(StepRecord* record) {
    record_machine_use();
    State& s = *state_;
    const Clock::time_point start = Clock::now();
    const Span span(Stage::iteration, s.steps() + 1);
    s.choose_photos();
    const std::vector<LentPhoto> photos = s.photos_of_step();
    if (record != nullptr) keep_arrays(*s.backend, record->before, *record);
    s.refined.refine(s.settings, s.steps(), s.extent);
    if (s.sampler.began_epoch(batch_of(s.settings))) s.refined.end_epoch(s.settings);
    StepReport report;
    StepPlan plan;
    std::vector<StepOutcome> outcomes;
    for (BatchPart part{0, batch_of(s.settings)}; part.index < part.count; ++part.index) {
        plan = s.next_plan(part);
        // Forward, loss, backward; Adam after the last photo.
        outcomes.push_back(s.backend->step(plan));
        s.take(outcomes.back(), report);
    }
    if (record != nullptr) {
        keep_arrays(*s.backend, record->after, *record);
        record->settings = s.settings;
        record->extent = s.extent;
        record->plan = plan;
        if (outcomes.back().step == plan.step + 1) record->outcome = outcomes.back();
    }
    report.view = plan.view_index;
    report.batch = plan.part.count;
    report.lr_means = plan.rates[kGroupMeans] / s.extent;
    const bool changed = s.control_density(report);
    if (plan.hashes) s.note_hashes(plan, outcomes, changed);
    report.step = s.steps();
    report.gaussians = s.backend->count();
    s.first.reset();
    report.milliseconds = milliseconds_since(start);
    return report;
}

bool Trainer::finished() const {
    return static_cast<double>(state_->steps()) >= state_->settings.steps;
}
std::uint64_t Trainer::steps_done() const { return state_->steps(); }
const TrainingSettings& Trainer::settings() const { return state_->settings; }

Result<bool> Trainer::set_settings(const TrainingSettings& settings) {
    TrainingSettings wanted = settings;
    bool restarts = false;
    for (const SettingField& field : setting_fields()) {
        if (field.live || field.of(wanted) == field.of(state_->settings)) continue;
        restarts = state_->steps() == 0;
        if (!restarts) field.put(wanted, field.of(state_->settings));
    }
    const TrainingSettings before = std::exchange(state_->settings, wanted);
    if (auto may = state_->may_learn_from_lidar(); !may) {
        state_->settings = before;
        return tl::unexpected(std::move(may).error());
    }
    if (!restarts) return false;
    if (auto begun = state_->begin(); !begun) {
        state_->settings = before;
        return tl::unexpected(std::move(begun).error());
    }
    return true;
}

void Trainer::render(const Camera& camera, const RenderOptions& options, RenderResult& result) {
    state_->backend->render(camera, options, result);
}

std::shared_ptr<const DevicePicture> Trainer::render_for_display(const Camera& camera,
                                                                 const RenderOptions& options,
                                                                 RenderResult& result) {
    return state_->backend->render_for_display(camera, options, result);
}

RenderOptions Trainer::render_options() const { return state_->options(); }

Evaluation Trainer::evaluate(const std::vector<std::size_t>& views, const Progress& progress,
                             bool fitted) {
    State& s = *state_;
    const Span span(Stage::evaluation, s.steps());
    const AppearanceMode mode = s.settings.appearance;
    const AppearanceState learned =
        mode == AppearanceMode::ppisp ? s.backend->appearance() : AppearanceState();
    RenderOptions options = s.options();
    options.depth = options.median_depth = options.counters = false;
    Evaluation out = score_views(
        *s.capture, views,
        [&](std::size_t index) {
            render(camera_of(index), options, s.evaluated);
            return score_view(s.evaluated.color, s.capture->views[index],
                              look_of_camera(learned, s.rows, index, mode),
                              fitted || mode != AppearanceMode::none);
        },
        progress);
    out.step = s.steps();
    return out;
}

void Trainer::edit(const std::function<void(RunArrays&)>& change) {
    state_->backend->edit(change);
    if (state_->settings.filter_3d) state_->size_filter(FilterRows::fresh);
}
const TrainingBackend& Trainer::backend() const { return *state_->backend; }
RowIdentity Trainer::identity() const { return backend().identity(); }
GaussianModel Trainer::State::model() const {
    GaussianModel out = backend->model();
    out.origin = capture->origin;
    const Buffer<float> filter = backend->filter();
    filter_model(out, filter.span());
    return out;
}
GaussianModel Trainer::model() const { return state_->model(); }
std::size_t Trainer::gaussian_count() const { return state_->backend->count(); }
const Capture& Trainer::capture() const { return *state_->capture; }
Camera Trainer::camera_of(std::size_t view) const {
    return state_->refined.camera(*state_->capture, view);
}
Rasterizer& Trainer::rasterizer() { return state_->backend->rasterizer(); }

std::shared_ptr<const TrainingSnapshot> Trainer::snapshot() const {
    auto out = std::make_shared<TrainingSnapshot>();
    out->settings = state_->settings;
    out->extent = state_->extent;
    out->drawn = state_->sampler.drawn();
    out->cameras = state_->refined.learned(*state_->backend);
    out->arrays = state_->backend->arrays();
    return out;
}

std::uint64_t snapshot_bytes(const TrainingBackend& of, const TrainingSettings& settings) {
    std::uint64_t row = 0;
    const RunArrays none;
    each_row_array(
        [&](const RowArray& array, const auto& values) {
            if (array.used(settings))
                row += array.columns(plane_count(of.sh_degree())) * sizeof(*values.data());
        },
        none);
    // Storage grows by half.
    return padded_capacity(of.count() * 3 / 2) * row;
}

bool Trainer::State::restore(TrainingSnapshot from) {
    const std::uint64_t steps_then = from.steps();
    at_start = from.arrays.identity.book.first_given();
    start(std::move(from.arrays));
    settings = from.settings;
    extent = from.extent;
    if (const auto own = static_cast<double>(scene_extent_of(*capture));
        std::abs(extent - own) > 1e-3 * own)
        log_warning("keeping this run's scene extent of {:.4g}; a new run's is {:.4g}", extent,
                    own);
    sampler = Sampler(drawn, static_cast<std::uint64_t>(settings.seed), from.drawn);
    newest_outcome = {steps_then, ~0u};
    measured.clear();
    hashed.clear();
    refined = RefinedCameras(settings, *capture, drawn);
    return refined.restore(from.cameras);
}

void Trainer::restore(const TrainingSnapshot& snapshot) {
    CHECK(state_->restore(snapshot), "a snapshot of another capture");
}

std::vector<MemoryUse> Trainer::memory() const {
    const State& s = *state_;
    std::vector<MemoryUse> out = s.backend->memory();
    out.push_back({"photos", photo_bytes(*s.capture)});
    if (s.divisor > 1) out.push_back({"smaller photos", photo_bytes(*s.photos)});
    out.push_back({"points", s.capture->points.capacity() * sizeof(SparsePoint)});
    if (!s.lidar.empty()) out.push_back({"sweeps", s.lidar.bytes()});
    out.push_back({"evaluation", picture_bytes(s.evaluated)});
    return out;
}

Evaluation evaluate_model(const GaussianModel& model, const Capture& capture,
                          const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                          const RenderOptions& options, const LearnedLooks* looks,
                          const Progress& progress, ScoreRules rules) {
    const Span span(Stage::evaluation);
    const AppearanceRows rows = looks ? AppearanceRows(capture) : AppearanceRows();
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    ModelSource source(model, bounds.span());
    const std::unique_ptr<ForwardState> state = rasterizer.make_state();
    RenderResult picture;
    RenderOptions wanted = options;
    wanted.depth = wanted.median_depth = wanted.gradients = wanted.counters = false;
    if (capture.source) {
        std::vector<std::size_t> numbers;
        for (const std::size_t v : views) numbers.push_back(capture.views[v].number);
        capture.source->expect(std::move(numbers));
    }
    UnreadPhotos unread;
    Evaluation out = score_views(
        capture, views,
        [&](std::size_t index) {
            const View& view = capture.views[index];
            rasterizer.forward(source, view.camera, wanted, *state, picture);
            PictureScore score;
            try {
                score = score_view(
                    picture.color, view,
                    looks ? look_of_camera(looks->state, rows, index, looks->mode) : std::nullopt,
                    looks != nullptr, rules);
            } catch (const PhotoError& error) {
                unread.add(error.what());
            }
            if (view.source) view.source->pass(1);
            return score;
        },
        progress);
    out.unread = std::move(unread);
    return out;
}

}  // namespace gs
