#include "app/session/parts/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/backend/beam_work.h"
#include "app/backend/frame_work.h"
#include "profiler/predict/validation.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr const char* kFirstChoice = "h200,rtx4090";
constexpr std::uint64_t kSweepsTried = 16;  ///< some may be damaged

/// What the beams of the run's next step with some meet; nothing: it does not learn from a lidar.
BeamWork beams_of_step(const Trainer& trainer, Compatibility compatibility) {
    const TrainingSettings& settings = trainer.settings();
    if (settings.lidar_weight <= 0) return {};
    LidarBeams beams(trainer.capture().lidars, trainer.capture().origin);
    if (beams.empty() || !beams.open()) return {};
    std::shared_ptr<const BeamPlan> plan;
    const auto every = static_cast<std::uint64_t>(settings.lidar_every);
    const std::uint64_t next = (trainer.steps_done() + every - 1) / every * every;
    for (std::uint64_t i = 0; i < kSweepsTried && !plan; ++i)
        plan = beams.plan(settings, next + i * every);
    if (!plan) return {};
    BeamWork out = beam_work(trainer.model(), *plan, rules_of(compatibility));
    out.every = settings.lidar_every;
    return out;
}

/// Changes predicted together with the answer: on top of the user's own what-if.
std::vector<std::pair<std::string, WhatIf>> usual_changes(const PredictedWork& work,
                                                          const WhatIf& now, const Camera& camera) {
    const int width = now.width > 0 ? now.width : camera.width,
              height = now.height > 0 ? now.height : camera.height;
    std::vector<std::pair<std::string, WhatIf>> out;
    const auto add = [&](std::string words, auto set) {
        WhatIf change = now;
        set(change);
        out.emplace_back(std::move(words), change);
    };
    add("half the Gaussians", [&](WhatIf& w) { w.gaussians = work.frame.gaussians / 2; });
    add("half the width and height", [&](WhatIf& w) {
        w.width = std::max(width / 2, 1);
        w.height = std::max(height / 2, 1);
    });
    if (work.frame.sh_degree > 0) add("colours of SH degree 0", [](WhatIf& w) { w.sh_degree = 0; });
    add(fmt::format("{} views at a time, each", 4 * work.batch),
        [&](WhatIf& w) { w.batch = 4 * work.batch; });
    return out;
}

PredictedMs of_each(const PredictedMs& ms, double views) {
    return {ms.p10 / views, ms.p50 / views, ms.p90 / views};
}

bool same_size(const WhatIf& change) { return change.width == 0 && change.height == 0; }

}  // namespace

void Predictor::choose_first() {
    if (costs_) return;
    costs_ = KernelCosts::built_in();
    known_ = gpu_devices();
    if (auto first = gpu_devices_named(kFirstChoice)) chosen_ = std::move(*first);
}

void Predictor::measure(const Shown& shown, const ViewRequest& request) {
    const View* const view = photo_view(shown.scene, request.settings.capture_view);
    const Camera camera = view ? view->camera : camera_of(shown.scene, request, 1, false);
    if (!camera.valid()) return ctx_.events.error("no picture yet to predict a time for");
    LoadedScene& scene = shown.scene;
    RenderOptions options = render_options(scene, request.settings);
    options.tint = the<ShownTint>().tint();
    options.counters = options.warps = true;
    options.gradients = options.depth = options.median_depth = options.costs = false;
    RenderResult drawn;
    if (scene.trainer)
        scene.trainer->render(camera, options, drawn);
    else
        scene.rasterizer->forward(*scene.source, camera, options, *scene.state, drawn);
    counted_ = predicted_work(drawn, options.sh_degree, ctx_.options.on_device);
    counted_->lens = !draws_as_pinhole(camera);
    counted_->unscented = options.projection == ProjectionMethod::ut;
    counted_->sky = options.sky && (scene.trainer ? scene.trainer->settings().sky != SkyKind::none
                                                  : !scene.model->sky.empty());
    if (scene.trainer) {
        const TrainingSettings& settings = scene.trainer->settings();
        counted_->poses = settings.refine_poses;
        counted_->intrinsics = settings.refine_intrinsics;
        counted_->look = settings.appearance != AppearanceMode::none;
        counted_->beams = beams_of_step(*scene.trainer, options.compatibility);
    }
    state_.camera = camera;
    state_.training_step = scene.steps_done();
    state_.from = view ? fmt::format("photo {}, {}", request.settings.capture_view, view->name)
                       : "the free camera";
    state_.tiles_x = drawn.tiles_x;
    publish();
}

void Predictor::gpus(const std::string& list) {
    choose_first();
    auto wanted = gpu_devices_named(list);
    if (!wanted) return ctx_.events.error(wanted.error().text());
    chosen_ = std::move(*wanted);
    publish();
}

void Predictor::what_if(const WhatIf& change) {
    WhatIf& now = state_.change;
    if (change.gaussians > 0) now.gaussians = change.gaussians;
    if (change.width > 0) std::tie(now.width, now.height) = std::tie(change.width, change.height);
    if (change.sh_degree >= 0) now.sh_degree = change.sh_degree;
    if (change.batch > 0) now.batch = change.batch;
    publish();
}

void Predictor::as_drawn() {
    state_.change = {};
    publish();
}

void Predictor::step(bool on) {
    state_.step = on;
    publish();
}

void Predictor::map(bool on) {
    state_.map = on;
    publish();
}

void Predictor::scene_changed(SceneChange change) {
    if (change == SceneChange::closing || !counted_) return;
    counted_.reset();
    PredictionState kept{.step = state_.step, .map = state_.map};
    state_ = std::move(kept);
    ctx_.events.changed().prediction = nullptr;
}

void Predictor::publish() {
    choose_first();
    state_.choices.clear();
    for (const GpuDevice& gpu : known_)
        state_.choices.push_back({gpu.id, gpu.name,
                                  std::any_of(chosen_.begin(), chosen_.end(),
                                              [&](const GpuDevice& c) { return c.id == gpu.id; })});
    state_.counted = counted_.has_value();
    state_.gpus.clear();
    state_.otherwise.clear();
    state_.tile_us.clear();
    if (counted_ && !chosen_.empty()) {
        const ModelFit& fit = published_fit();
        const PredictedWork work = gs::what_if(*counted_, state_.change);
        state_.as_drawn = counted_->frame;
        state_.work = work.frame;
        state_.batch = work.batch;
        state_.beams_every = work.beams.rays > 0 ? work.beams.every : 0;
        for (const GpuDevice& gpu : chosen_)
            state_.gpus.push_back({gpu.id, gpu.name, predict_frame(work, *costs_, gpu, fit),
                                   predict_step(work, *costs_, gpu, fit)});
        for (const auto& [words, change] : usual_changes(work, state_.change, state_.camera)) {
            const PredictedWork other = gs::what_if(*counted_, change);
            const double views = std::max(other.batch / work.batch, 1);
            state_.otherwise.push_back(
                {words, of_each(predict_frame(other, *costs_, chosen_[0], fit).total, views),
                 of_each(predict_step(other, *costs_, chosen_[0], fit).total, views)});
        }
        if (same_size(state_.change))
            state_.tile_us = predicted_tile_us(
                state_.step ? state_.gpus[0].step : state_.gpus[0].frame, work.tiles);
    }
    ctx_.events.changed().prediction = std::make_shared<const PredictionState>(state_);
}

}  // namespace gs
