#include "trainer/trainer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "profiler/core/scope.h"
#include "renderer/base/check.h"
#include "renderer/base/log.h"
#include "renderer/base/rng.h"
#include "renderer/device/parallel.h"
#include "trainer/init.h"
#include "trainer/loss.h"
#include "trainer/metrics.h"
#include "trainer/schedule.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr std::uint64_t kBackgroundStream = 0xBAC6000000000000ull;  // apart from other users of the seed

/// Takes each block's gradients as backward makes them and steps that block at once: gradients are never stored.
class TrainingSink final : public GradientSink {
  public:
    TrainingSink(GaussianModel& model, LazyAdam& adam, DensityStatistics* statistics, const Camera& camera)
        : model_(model), adam_(adam), statistics_(statistics), camera_(camera) {}
    void take(const BlockGradients& gradients) override {
        const std::uint32_t skipped = adam_.apply(model_, gradients);
        if (skipped != 0)
            poisoned_.fetch_add(static_cast<std::size_t>(std::popcount(skipped)), std::memory_order_relaxed);
        if (statistics_ != nullptr) statistics_->add(gradients, skipped, camera_.width, camera_.height);
    }
    std::size_t poisoned() const { return poisoned_.load(); }

  private:
    GaussianModel& model_;
    LazyAdam& adam_;
    DensityStatistics* const statistics_;
    const Camera& camera_;
    std::atomic<std::size_t> poisoned_{0};
};

bool has_photo(const View& view) {
    return !view.photo.empty() && view.photo.width == view.camera.width && view.photo.height == view.camera.height;
}

/// Draws and scores each view; stops early when progress says so.
Evaluation score_views(const Capture& capture, const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                       ParameterSource& source, RenderOptions options, ForwardState& state, RenderResult& picture,
                       const Progress& progress) {
    const Clock::time_point start = Clock::now();
    options.depth = options.gradients = options.counters = false;
    Evaluation out;
    for (const std::size_t v : views) {
        const View& view = capture.views.at(v);
        if (progress && !progress("evaluating " + view.name, out.images.size(), views.size())) break;
        if (!has_photo(view)) continue;
        rasterizer.forward(source, view.camera, options, state, picture);
        const PictureScore score = score_picture(picture.color, view.photo, view.mask);
        out.images.push_back({v, view.name, score.psnr, score.ssim, score.l1});
        out.psnr += score.psnr;
        out.ssim += score.ssim;
    }
    const double n = std::max(1.0, static_cast<double>(out.images.size()));
    out.psnr /= n;
    out.ssim /= n;
    out.seconds = milliseconds_since(start) / 1000.0;
    return out;
}

}  // namespace

std::vector<std::size_t> trainable_views(const Capture& capture) {
    std::vector<std::size_t> views = capture.view_indices(false);
    std::erase_if(views,
                  [&](std::size_t v) { return !has_photo(capture.views[v]) || !capture.views[v].camera.valid(); });
    return views;
}

Trainer::State::State(std::shared_ptr<const Capture> given_capture, const TrainingSettings& given_settings,
                      std::unique_ptr<Rasterizer> given_rasterizer)
    : capture(std::move(given_capture)), settings(given_settings), rasterizer(std::move(given_rasterizer)) {
    forward_state = rasterizer->make_state();
    view_state = rasterizer->make_state();
}

int Trainer::State::sh_degree() const { return std::min(sh_degree_at(settings, steps()), model.sh_degree); }

RenderOptions Trainer::State::options() const {
    RenderOptions o;
    o.background = {static_cast<float>(settings.background_r), static_cast<float>(settings.background_g),
                    static_cast<float>(settings.background_b)};
    o.sh_degree = sh_degree();
    o.antialiased = settings.antialiased != 0;
    return o;
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(std::shared_ptr<const Capture> capture,
                                                 const TrainingSettings& settings,
                                                 std::unique_ptr<Rasterizer> rasterizer) {
    const Span span(Stage::init);
    const std::vector<std::size_t> views = trainable_views(*capture);
    if (views.empty())
        return fail(ErrorKind::usage, capture->path, "the capture has no photo to train on",
                    "hold out fewer test views, or check the photos");
    auto state = std::make_unique<State>(std::move(capture), settings, std::move(rasterizer));
    const auto degree = static_cast<int>(std::clamp(settings.sh_degree, 0.0, 3.0));
    Result<GaussianModel> model = gaussians_from_points(*state->capture, degree, 0);
    if (!model) return tl::unexpected(model.error());
    state->extent = static_cast<double>(scene_extent_of(*state->capture));
    state->model = std::move(*model);
    state->model.antialiased = settings.antialiased != 0;
    state->adam = LazyAdam(state->model);
    state->statistics.clear(state->model.capacity);
    state->sampler = Sampler(views, static_cast<std::uint64_t>(settings.seed));
    return std::unique_ptr<Trainer>(new Trainer(std::move(state)));
}

StepReport Trainer::step() {
    State& s = *state_;
    const Clock::time_point start = Clock::now();
    const std::uint64_t step = s.steps();
    const Span span(Stage::iteration, step + 1);
    StepReport report;

    // Next view, drawn as the model stands.
    report.view = s.sampler.next();
    const View& view = s.capture->views[report.view];
    RenderOptions options = s.options();
    options.depth = false;
    if (s.settings.random_background != 0) {
        const auto seed = static_cast<std::uint64_t>(s.settings.seed);
        options.background = {random_uniform(seed, kBackgroundStream + step, 0),
                              random_uniform(seed, kBackgroundStream + step, 1),
                              random_uniform(seed, kBackgroundStream + step, 2)};
    }
    {
        const Span adam_span(Stage::adam);
        s.adam.begin_step(s.model, learning_rates(s.settings, s.extent, step), plane_count(options.sh_degree));
    }
    LazySource source(s.model, s.adam, options.sh_degree);
    s.rasterizer->forward(source, view.camera, options, *s.forward_state, s.picture);

    // How far it is from the photo.
    LossTerms terms;
    {
        const Span loss_span(Stage::loss);
        terms = photo_loss(s.picture.color, view.photo, view.mask, s.settings.lambda_dssim, &s.gradients.color);
    }
    report.loss = terms.loss;
    report.l1 = terms.l1;
    report.ssim = terms.ssim;
    report.psnr = psnr_of(terms.mse);
    report.counters = s.picture.counters;

    // Gradients, and an Adam step for every Gaussian seen.
    TrainingSink sink(s.model, s.adam, gathers_statistics(s.settings, step + 1) ? &s.statistics : nullptr, view.camera);
    const bool sound = std::isfinite(terms.loss);
    if (sound) s.rasterizer->backward(source, view.camera, options, *s.forward_state, s.picture, s.gradients, sink);
    {
        const Span adam_span(Stage::adam);
        s.adam.end_step();
    }
    if ((!sound || sink.poisoned() > 0) && !s.told_poison) {
        s.told_poison = true;
        log_warning("step {}: {} not finite on {}; their update is left out (said once)", step + 1,
                    sound ? fmt::format("gradients of {} Gaussians are", sink.poisoned()) : std::string("the loss is"),
                    view.name);
    }

    s.control_density(report);
    report.step = s.steps();
    report.gaussians = s.model.count;
    report.milliseconds = milliseconds_since(start);
    return report;
}

void Trainer::State::control_density(StepReport& report) {
    const bool densify = densify_due(settings, steps()), reset = opacity_reset_due(settings, steps());
    if (!densify && !reset) return;
    const Span span(Stage::density, steps());
    if (densify) {
        const DensityReport round =
            densify_and_prune(model, adam, statistics, settings, extent, prunes_large(settings, steps()));
        log_debug("step {}: {} cloned, {} split, {} pruned, {} Gaussians", steps(), round.cloned, round.split,
                  round.pruned, model.count);
        if (round.out_of_memory && !told_memory) {
            told_memory = true;
            log_warning("step {}: no memory for more than {} Gaussians; training goes on with these", steps(),
                        model.count);
        } else if (round.wanted > round.cloned + round.split && !told_limit) {
            told_limit = true;
            log_info("step {}: the limit of {:.0f} Gaussians is reached (max_gaussians)", steps(),
                     settings.max_gaussians);
        }
        report.densified = true;
    }
    if (reset) reset_opacity(model, adam);
}

bool Trainer::finished() const { return static_cast<double>(state_->steps()) >= state_->settings.steps; }
std::uint64_t Trainer::steps_done() const { return state_->steps(); }
const TrainingSettings& Trainer::settings() const { return state_->settings; }

void Trainer::set_settings(const TrainingSettings& settings) {
    TrainingSettings wanted = settings;
    for (const SettingField& field : setting_fields())
        if (!field.live) wanted.*field.value = state_->settings.*field.value;
    state_->settings = wanted;
}

void Trainer::render(const Camera& camera, const RenderOptions& options, RenderResult& result) {
    RenderOptions wanted = options;
    wanted.gradients = false;
    LazySource source(state_->model, state_->adam, options.sh_degree);
    state_->rasterizer->forward(source, camera, wanted, *state_->view_state, result);
}

RenderOptions Trainer::render_options() const { return state_->options(); }

Evaluation Trainer::evaluate(const std::vector<std::size_t>& views, const Progress& progress) {
    State& s = *state_;
    const Span span(Stage::evaluation, s.steps());
    LazySource source(s.model, s.adam, s.sh_degree());
    Evaluation out =
        score_views(*s.capture, views, *s.rasterizer, source, s.options(), *s.view_state, s.view_picture, progress);
    out.step = s.steps();
    return out;
}

GaussianModel Trainer::model() const {
    const State& s = *state_;
    GaussianModel out(s.model.count, s.model.sh_degree);
    out.antialiased = s.model.antialiased;
    parallel_for(s.model.blocks(), 64, [&](std::size_t block) {
        alignas(64) float values[kMaxPlanes * kBlock];
        s.adam.read(s.model, block, 0, s.model.planes(), values);
        const std::size_t first = block * kBlock, lanes = std::min(kBlock, out.count - first);
        for (int p = 0; p < out.planes(); ++p)
            std::copy_n(values + static_cast<std::size_t>(p) * kBlock, lanes, out.plane(p) + first);
    });
    return out;
}

std::size_t Trainer::gaussian_count() const { return state_->model.count; }
const Capture& Trainer::capture() const { return *state_->capture; }
float Trainer::scene_extent() const { return static_cast<float>(state_->extent); }
Rasterizer& Trainer::rasterizer() { return *state_->rasterizer; }

std::vector<MemoryUse> Trainer::memory() const {
    const State& s = *state_;
    std::uint64_t photos = 0;
    for (const View& view : s.capture->views) photos += view.photo.bytes.capacity() + view.mask.bytes.capacity();
    const auto picture_bytes = [](const RenderResult& r) {
        return r.color.values.capacity_bytes() + r.alpha.values.capacity_bytes() + r.depth.values.capacity_bytes() +
               r.contributors.capacity_bytes() + r.isects_per_tile.capacity_bytes() + r.pairs_per_tile.capacity_bytes();
    };
    return {{"parameters", s.model.bytes()},
            {"Adam moments", s.adam.bytes()},
            {"density statistics", s.statistics.bytes()},
            {"forward state", s.forward_state->bytes()},
            {"view state", s.view_state->bytes()},
            {"pictures",
             picture_bytes(s.picture) + picture_bytes(s.view_picture) + s.gradients.color.values.capacity_bytes()},
            {"photos", photos},
            {"points", s.capture->points.capacity() * sizeof(SparsePoint)}};
}

Evaluation evaluate_model(const GaussianModel& model, const Capture& capture, const std::vector<std::size_t>& views,
                          Rasterizer& rasterizer, const RenderOptions& options, const Progress& progress) {
    const Span span(Stage::evaluation);
    Buffer<BlockBounds> bounds;
    compute_bounds(model, bounds);
    ModelSource source(model, bounds.span());
    const std::unique_ptr<ForwardState> state = rasterizer.make_state();
    RenderResult picture;
    return score_views(capture, views, rasterizer, source, options, *state, picture, progress);
}

}  // namespace gs
