#include "trainer/cuda/step_engine.h"

#include "trainer/cuda/absolute_statistics.h"
#include "trainer/cuda/adam_kernels.h"
#include "trainer/cuda/intrinsics.h"
#include "trainer/cuda/nudge.h"
#include "trainer/cuda/sky.h"
#include "trainer/density/nudge.h"

namespace gs::cuda {

namespace {

FrameLimits limits_of(const StepPlan& plan, const StepCapacities::Both& capacity,
                      std::size_t gaussians) {
    FrameLimits limits = FramePipeline::limits_of(plan.camera, plan.options);
    limits.gaussians = static_cast<std::uint32_t>(gaussians);
    limits.visible = capacity.visible;
    limits.isects = capacity.isects;
    limits.gradients = true;
    limits.counters = plan.options.counters;
    return limits;
}

/// But for the frame and the photo.
void fill_inputs(const StepPlan& plan, const AdamTables& tables, const AdamClock& clock,
                 StepInputs& in) {
    const AppearancePlan& look = plan.appearance;
    in.appearance = {look.photo, look.camera,  look.photos, look.cameras, look.simple() ? 1u : 0u,
                     look.rate,  look.epsilon, look.width};
    in.sky = {math::adam_betas_float(plan.sky.batch),
              plan.sky.rate,
              plan.sky.epsilon,
              plan.sky.batch,
              plan.part.first() ? 1u : 0u,
              plan.part.last() ? 1u : 0u};
    in.nudge = plan.nudge;
    const adam::Step& step = tables.step();
    std::copy_n(step.rate, kLearningGroups, in.rates);
    in.epsilon = step.epsilon;
    in.planes = step.planes;
    const adam::Drift drift = AdamTables::drift(clock);
    in.drift_means = drift.means;
    in.drift_scales = drift.scales;
    in.gathers_statistics = plan.gathers_statistics ? 1 : 0;
    // Where signs are left out a pass of its own adds to the sums.
    const float half = plan.options.absolute ? 0.0f : 0.5f;
    in.to_ndc_x = half * static_cast<float>(plan.camera.width);
    in.to_ndc_y = half * static_cast<float>(plan.camera.height);
}

}  // namespace

StepEngine::StepEngine(const Stream& stream)
    : stream_(stream),
      timers_(stream),
      pipeline_(stream),
      run_(stream),
      feed_(stream),
      graphs_(stream, "steps"),
      batch_(stream),
      beams_(stream, kMostInFlight) {
    pipeline_.time(&timers_);
    for (std::size_t i = 0; i < kMostInFlight; ++i)
        reached_.emplace_back(Event::Timing::off, Event::Waiting::sleeps);
}

StepEngine::~StepEngine() {
    try {
        stream_.synchronize();
    } catch (const DeviceError&) {  // a lost device has been reported by the call that noticed
    }
}

void StepEngine::start(const Capture& capture, RunArrays arrays) {
    if (!flights_.empty()) drain();  // of a run that it had before
    graphs_.clear();                 // first: what comes may end early, with other arrays
    beams_ = DeviceBeams(stream_, kMostInFlight);
    clock_ = arrays.adam;
    tables_ = AdamTables();
    tables_.refresh(clock_);
    // A table longer than that is settled by the first step.
    table_rows_ = std::max<std::size_t>(AdamTables::kLongestSleep, clock_.pending[0].size()) + 2;
    run_.upload(arrays, table_rows_);
    if (!arrays.appearance.empty()) {
        const auto neighbours = photo_neighbours(capture, AppearanceRows(capture));
        run_.looks().neighbours.upload(neighbours, stream_);
        stream_.synchronize();
    }
    change_photos(capture);
    feed_.start(table_rows_);
    bounds_valid_ = false;
    flights_.clear();
    known_.clear();
    send_tables();
}

void StepEngine::change_photos(const Capture& resized) {
    graphs_.clear();
    photos_.upload(resized, stream_);
    capacities_.start(resized.views.size(), run_.count());
    waited_ = false;
}

void StepEngine::run(const StepPlan& plan) {
    timers_.poll();
    collect();
    while (flights_.size() >= kMostInFlight) {
        reached_[flights_.front().slot].wait();
        collect();
    }
    enqueue(plan);
    // What the first step needs is a guess: knowing it saves doing several again.
    if (!waited_) drain();
    waited_ = true;
    collect();
}

void StepEngine::drain() {
    while (!flights_.empty()) {
        stream_.synchronize();
        collect();
    }
    timers_.poll();  // everything was reached
    // The device's tables are those its last step began with.
    if (!feed_.current(clock_)) send_tables();
}

void StepEngine::settle() {
    if (clock_.steps != clock_.base) {
        if (!feed_.current(clock_)) send_tables();
        launch_settle(stream_, run_.view(false), run_.flags());
    }
    tables_.restart(clock_);
    bounds_valid_ = false;
    send_tables();
}

void StepEngine::replace(const RunArrays& arrays) {
    CHECK(flights_.empty() && arrays.adam.steps == arrays.adam.base);
    // No buffer has to grow after this.
    if (std::string why; !run_.grow(arrays.model.capacity, why)) throw DeviceError(why, true);
    const double factor =
        static_cast<double>(arrays.model.count) / static_cast<double>(run_.count());
    clock_ = arrays.adam;
    tables_ = AdamTables();
    tables_.refresh(clock_);
    run_.upload(arrays, table_rows_);
    feed_.send_all_next();
    send_tables();
    rows_changed(factor);
}

void StepEngine::rows_changed(double factor) {
    bounds_valid_ = false;
    graphs_.clear();
    capacities_.scale(factor);
    beams_.scale(factor);
}

/// Clock and tables alone.
void StepEngine::send_tables() {
    feed_.open();
    feed_.send(clock_, tables_);
    launch_intake(stream_, {feed_.inputs(), feed_.rows(), nullptr, run_.tables().clock.data(),
                            run_.tables().pending.data()});
}

void StepEngine::enqueue(const StepPlan& plan) {
    Flight flight{plan,
                  clock_,
                  bounds_valid_,
                  next_slot_,
                  static_cast<std::uint32_t>(run_.count()),
                  0,
                  lend_photo(*plan.view)};
    const int planes = plane_count(plan.options.sh_degree);
    if (AdamTables::must_settle(clock_, plan.rates)) {
        clock_.planes = std::min(std::max(clock_.planes, planes), run_.planes());
        settle();
        clock_.highest = plan.rates;
    }
    const FrameLimits limits = limits_of(plan, capacities_.of(plan.view_index), run_.count());
    const std::size_t pixels =
        static_cast<std::size_t>(limits.width) * static_cast<std::size_t>(limits.height);
    picture_.resize_discard(3 * pixels, stream_);
    gradient_.resize_discard(3 * pixels, stream_);
    partials_.resize_discard(loss_blocks(limits.width, limits.height), stream_);
    if (plan.appearance.on()) {
        shown_.resize_discard(3 * pixels, stream_);
        look_sums_.resize_discard(kLookSums, stream_);
    }
    if (plan.sky.on()) sky_sums_.resize_discard(kSkySums, stream_);
    result_.resize_discard(1, stream_);
    if (plan.options.motion) motion_.resize_discard(motion_floats(run_.view(true).stride), stream_);
    if (plan.options.intrinsics) intrinsics_.resize_discard(intrinsics_sums(limits), stream_);
    pipeline_.prepare(limits);
    // All that allocates comes before the clock moves.
    const BatchView batch = plan.part.several() || plan.beams
                                ? batch_.of(plan.part, run_.capacity(), run_.planes())
                                : BatchView{};
    const BeamArrays beams = plan.beams
                                 ? beams_.send(*plan.beams, plan.part.count,
                                               plan.options.compatibility, run_.count(), next_slot_)
                                 : BeamArrays{};
    tables_.begin_step(clock_, plan.rates, planes, run_.planes());
    photos_.send(plan.view_index, *plan.view, flight.photo, stream_);
    StepInputs& in = feed_.open();
    in.frame = FramePipeline::constants_of(plan.camera, plan.options, run_.sh_degree());
    in.loss = photos_.inputs(plan.view_index, plan.lambda_dssim);
    flight.samples = in.loss.samples;
    fill_inputs(plan, tables_, clock_, in);
    feed_.send(clock_, tables_);
    enqueue_step(plan, limits, batch, beams);
    Reading& reading = readings_[flight.slot];
    copy_to_host(&reading.result, result_.data(), sizeof(StepResult), stream_);
    copy_to_host(&reading.counts, pipeline_.arrays().counts, sizeof(FrameCounts), stream_);
    if (plan.beams) copy_to_host(&reading.beams, beams_.totals(), sizeof(BeamTotals), stream_);
    reached_[flight.slot].record(stream_);
    next_slot_ = (next_slot_ + 1) % kMostInFlight;
    if (plan.part.last()) tables_.end_step(clock_);
    flights_.push_back(std::move(flight));
}

void StepEngine::enqueue_step(const StepPlan& plan, const FrameLimits& limits,
                              const BatchView& batch, const BeamArrays& beams) {
    const bool steady = bounds_valid_ && clock_.steps % kTimedEvery != 0,
               look = plan.appearance.on();
    const StepShape shape{limits,
                          pipeline_.arrays().constants,
                          picture_.data(),
                          gradient_.data(),
                          partials_.data(),
                          look ? shown_.data() : nullptr,
                          look ? look_sums_.data() : nullptr,
                          run_.view(true).sky,
                          plan.sky.on() ? sky_sums_.data() : nullptr,
                          pipeline_.bytes() + (plan.beams ? beams_.bytes() : 0),
                          plan.options.motion ? motion_.data() : nullptr,
                          plan.options.intrinsics ? intrinsics_.data() : nullptr,
                          plan.nudge.on(),
                          plan.options.absolute,
                          batch,
                          plan.part.last() ? plan.part.count : 0,
                          beams};
    if (steady) {
        timers_.enable(false);
        const bool done = graphs_.run(shape, [&] { enqueue_kernels(shape); });
        timers_.enable(true);
        if (done) return;
    }
    enqueue_kernels(shape);
}

void StepEngine::enqueue_kernels(const StepShape& shape) {
    const FrameLimits& limits = shape.limits;
    const StepInputs* inputs = feed_.inputs();
    launch_intake(stream_, {inputs, feed_.rows(), pipeline_.arrays().constants,
                            run_.tables().clock.data(), run_.tables().pending.data()});
    const ModelView model = run_.view(true);
    if (!bounds_valid_) launch_bounds(stream_, model, inputs, Blocks::all);
    bounds_valid_ = true;
    PictureView picture{.color = picture_.data()};
    const SkyLearning sky{{pipeline_.arrays().constants, model.sky, picture_.data(), nullptr,
                           pipeline_.arrays().final_transmittance},
                          &inputs->sky,
                          gradient_.data(),
                          run_.sky().sky.data(),
                          run_.sky().moments.data(),
                          sky_sums_.data(),
                          run_.flags()};
    const BeamJob beams{shape.beams, model,      inputs, run_.flags(), pipeline_.arrays().counts,
                        run_.tags(), shape.batch};
    pipeline_.project(model);
    pipeline_.list_tiles();
    pipeline_.blend(picture);
    if (shape.beams.inputs != nullptr) {
        const StageScope scope(&timers_, Stage::rays);
        launch_list_beams(stream_, beams_.primitives(), beams);
    }
    if (shape.sky != nullptr) launch_sky(stream_, limits, sky.drawn);
    if (shape.shown != nullptr) enqueue_look(shape, false);
    {
        const StageScope scope(&timers_, Stage::loss);
        launch_loss(stream_, limits.width, limits.height,
                    {&inputs->loss, shape.shown != nullptr ? shown_.data() : picture_.data(),
                     gradient_.data(), partials_.data(), pipeline_.arrays().counts, run_.flags(),
                     result_.data()});
    }
    if (shape.shown != nullptr) enqueue_look(shape, true);
    if (shape.sky_sums != nullptr) launch_learn_sky(stream_, limits, sky);
    pipeline_.blend_backward(picture, {gradient_.data(), nullptr, nullptr, {}, shape.absolute});
    enqueue_update(shape, beams);
}

void StepEngine::enqueue_update(const StepShape& shape, const BeamJob& beams) {
    // Adam is in it.
    const StageScope scope(&timers_, Stage::project_backward);
    const StepInputs* inputs = feed_.inputs();
    const ModelView model = run_.view(true);
    const bool several = shape.batch.sums != nullptr;
    if (shape.intrinsics != nullptr)
        launch_intrinsics(stream_, shape.limits, pipeline_.arrays(), model, shape.intrinsics,
                          result_.data());
    if (!several) {
        launch_adam_step(stream_, shape.limits, pipeline_.arrays(), model, inputs, run_.flags(),
                         run_.statistics(), shape.motion);
    } else {
        launch_add_view(stream_, shape.limits, pipeline_.arrays(), model, inputs, run_.flags(),
                        run_.statistics(), shape.motion, shape.batch);
    }
    if (shape.absolute)
        launch_absolute_statistics(stream_, shape.limits, pipeline_.arrays(), model, inputs,
                                   run_.flags(), run_.statistics(), shape.batch.seen);
    if (shape.motion != nullptr) launch_sum_motion(stream_, model, shape.motion, result_.data());
    if (shape.beams.inputs != nullptr) {
        const StageScope rays_scope(&timers_, Stage::rays);
        launch_learn_beams(stream_, beams_.primitives(), beams);
    }
    if (shape.ends == 0) return;
    if (several) launch_step_batch(stream_, model, inputs, run_.flags(), shape.batch, shape.ends);
    if (shape.nudges) {
        const StageScope nudge_scope(&timers_, Stage::nudge);
        launch_nudge(stream_, model, inputs, run_.flags(), run_.tags());
    }
    launch_bounds(stream_, model, inputs, shape.nudges ? Blocks::all : Blocks::touched);
}

void StepEngine::enqueue_look(const StepShape& shape, bool backward) {
    const StageScope scope(&timers_, Stage::appearance);
    const StepInputs* inputs = feed_.inputs();
    DeviceLooks& looks = run_.looks();
    const LookJob job{
        &inputs->loss,     &inputs->appearance,       picture_.data(),      shown_.data(),
        gradient_.data(),  looks.values.data(),       looks.moments.data(), looks.neighbours.data(),
        look_sums_.data(), pipeline_.arrays().counts, run_.flags()};
    (backward ? launch_look_backward : launch_look)(stream_, shape.limits.width,
                                                    shape.limits.height, job);
}

StepOutcome StepEngine::Flight::outcome(const Reading& reading) const {
    StepOutcome out{.step = plan.step + 1,
                    .part = plan.part,
                    .view_index = plan.view_index,
                    .divisor = plan.divisor,
                    .terms = {reading.result.loss, reading.result.l1, reading.result.mse,
                              reading.result.ssim, static_cast<std::uint64_t>(samples / 3.0)}};
    out.counters.gaussians = gaussians;
    out.counters.candidates = std::min<std::uint64_t>(reading.counts.candidates, gaussians);
    out.counters.visible = reading.counts.visible;
    out.counters.isects = reading.counts.isects;
    out.counters.list_pairs = reading.counts.list_pairs;
    out.counters.evaluated_pairs = reading.counts.evaluated_pairs;
    out.counters.blended_pairs = reading.counts.blended_pairs;
    out.counters.longest_tile = static_cast<int>(reading.counts.longest_tile);
    out.counters.warps = reading.counts.warps;
    out.poisoned = reading.counts.poisoned;
    if (plan.beams) {
        const auto beams = static_cast<double>(plan.beams->rays.size());
        out.lidar = {reading.beams.off / beams, reading.beams.dark / beams,
                     plan.beams->rays.size()};
    }
    const double* m = reading.result.motion;
    if (plan.options.motion && std::isfinite(out.terms.loss))
        out.motion = SceneMotion{{m[0], m[1], m[2]}, {m[3], m[4], m[5]}};
    if (plan.options.intrinsics && std::isfinite(out.terms.loss))
        out.intrinsics = std::to_array(reading.result.intrinsics);
    return out;
}

void StepEngine::collect() {
    while (!flights_.empty() && reached_[flights_.front().slot].reached()) {
        const Flight& flight = flights_.front();
        const Reading& reading = readings_[flight.slot];
        if (reading.result.halted != 0) return carry_out_again();
        capacities_.learn(flight.plan.view_index, reading.counts);
        if (flight.plan.beams) beams_.learn(reading.beams.pairs);
        known_.push_back(flight.outcome(reading));
        flights_.pop_front();
    }
}

/// The host's side of the run as it was before a step that changed nothing, and more capacity for
/// its view.
void StepEngine::go_back(const Flight& failed) {
    const Reading& reading = readings_[failed.slot];
    const FrameCounts& needed = reading.counts;
    capacities_.learn(failed.plan.view_index, needed);
    if (failed.plan.beams) beams_.learn(reading.beams.pairs);
    if (failed.plan.beams && reading.beams.pairs > kMaxCapacity)
        throw DeviceError(
            fmt::format(
                "a step's beams need more than {} pairs of Gaussian and tile; the last good "
                "step is kept. Use a lower --lidar-beams or --max-gaussians",
                kMaxCapacity),
            true);
    if (std::max(needed.visible, needed.isects) > kMaxCapacity)
        throw DeviceError(
            fmt::format(
                "view {} needs more than {} pairs of Gaussian and tile, and a training step on a "
                "GPU is not drawn in groups of tiles; the last good step is kept. Use --downscale, "
                "a lower --max-gaussians or --backend cpu",
                failed.plan.view->name, kMaxCapacity),
            true);
    clock_ = failed.before;
    bounds_valid_ = failed.bounds_were_valid;
    tables_ = AdamTables();
    tables_.refresh(clock_);
    feed_.send_all_next();
    fill_bytes(run_.flags(), 0, sizeof(RunFlags), stream_);
}

/// The oldest step under way did not fit: it and those behind it have changed nothing and are
/// carried out once more, one after the other.
void StepEngine::carry_out_again() {
    stream_.synchronize();
    std::deque<Flight> halted;
    halted.swap(flights_);
    go_back(halted.front());
    for (const Flight& flight : halted) {
        for (;;) {
            ++repeated_;
            enqueue(flight.plan);
            stream_.synchronize();
            const Flight done = std::move(flights_.back());
            flights_.pop_back();
            const Reading& reading = readings_[done.slot];
            if (reading.result.halted == 0) {
                capacities_.learn(done.plan.view_index, reading.counts);
                if (done.plan.beams) beams_.learn(reading.beams.pairs);
                known_.push_back(done.outcome(reading));
                break;
            }
            go_back(done);
        }
    }
}

std::vector<MemoryUse> StepEngine::memory() const {
    std::vector<MemoryUse> out = run_.memory();
    out.push_back({"forward state", pipeline_.bytes(), true, pipeline_.high_water()});
    out.push_back({"pictures", picture_.capacity_bytes() + gradient_.capacity_bytes() +
                                   partials_.capacity_bytes() + shown_.capacity_bytes() +
                                   look_sums_.capacity_bytes() + sky_sums_.capacity_bytes()});
    out.push_back({"gradients of a batch", batch_.bytes()});
    out.push_back(
        {"gradients of cameras", motion_.capacity_bytes() + intrinsics_.capacity_bytes()});
    out.push_back({"rays", beams_.bytes()});
    out.push_back({"photos", photos_.bytes()});
    return out;
}

}  // namespace gs::cuda
