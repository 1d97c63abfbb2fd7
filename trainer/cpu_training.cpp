// The TrainingBackend of the CPU: everything in host memory, a step is over when step() returns.
// Works with any Rasterizer that takes host memory.
#include <atomic>
#include <bit>
#include <cmath>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/exchange.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "trainer/adam/batch_gradients.h"
#include "trainer/adam/mip_filter.h"
#include "trainer/density/nudge.h"
#include "trainer/density/relocation.h"
#include "trainer/lidar/beam_step.h"
#include "trainer/poses/intrinsics_refinement.h"
#include "trainer/training_backend.h"

namespace gs {
namespace {

/// Sums of hashes by block: the same in whatever order they come.
struct BlockHashes {
    const std::size_t first_block;  ///< RankShare::first_block
    std::atomic<std::uint64_t> gradients{0}, adam{0};

    explicit BlockHashes(std::size_t first) : first_block(first) {}
    void add_gradients(const GaussianModel& model, const BlockGradients& g) {
        const auto planes = static_cast<std::size_t>(model.planes());
        gradients.fetch_add(hash_bytes(bytes(&g.planes[0][0], planes * kBlock), seed_of(g)),
                            std::memory_order_relaxed);
    }
    /// A block as the step of these gradients left it.
    void add_step(const GaussianModel& model, const AdamState& adam_state,
                  const BlockGradients& g) {
        const auto planes = static_cast<std::size_t>(model.planes());
        std::uint64_t after = seed_of(g);
        for (std::size_t p = 0; p < planes; ++p)
            after = hash_bytes(bytes(model.plane(static_cast<int>(p)) + g.block * kBlock, kBlock),
                               after);
        const std::size_t moments = planes * kBlock;
        after =
            adam_state.codes.empty()
                ? hash_bytes(bytes(adam_state.moments.data() + 2 * g.block * moments, 2 * moments),
                             after)
                : hash_bytes(bytes(adam_state.codes.data() + g.block * moments, moments), after);
        adam.fetch_add(after, std::memory_order_relaxed);
    }

  private:
    std::uint64_t seed_of(const BlockGradients& g) const {
        return hash64(first_block + g.block) ^ g.mask;
    }
    template <class T>
    static std::span<const std::byte> bytes(const T* from, std::size_t n) {
        return std::as_bytes(std::span(from, n));
    }
};

constexpr std::size_t kLens = math::kLensNumbers;
/// Of the gradients by the camera, what each block adds; empty where it is not wanted.
struct CameraParts {
    std::vector<BlockMotion> motion;
    std::vector<std::array<float, kLens>> lens;

    void begin(const RenderOptions& wanted, std::size_t blocks) {
        motion.assign(wanted.motion ? blocks : 0, {});
        lens.assign(wanted.intrinsics ? blocks : 0, {});
    }
    /// The head gets all ranks', in the order of their blocks.
    void join(Exchange& ranks) {
        if (!motion.empty()) motion = joined_at_head(ranks, motion);
        if (!lens.empty()) lens = joined_at_head(ranks, lens);
    }
    void add(const BlockGradients& g) {
        if (!motion.empty()) std::copy_n(g.motion, 6, motion[g.block].begin());
        if (!lens.empty()) std::copy_n(g.intrinsics, kLens, lens[g.block].begin());
    }
};

/// Takes each block's gradients as backward makes them and steps that block at once: gradients are
/// stored nowhere, but in a batch of several views, whose last steps the blocks that any has shown.
class TrainingSink final : public GradientSink {
  public:
    TrainingSink(GaussianModel& model, LazyAdam& adam, BatchGradients* batch,
                 const Buffer<std::uint32_t>& tags, DensityStatistics* statistics,
                 const Camera& camera, BlockHashes* hashes, CameraParts& parts)
        : model_(model),
          adam_(adam),
          batch_(batch),
          tags_(tags),
          statistics_(statistics),
          camera_(camera),
          hashes_(hashes),
          parts_(parts) {}
    void take(const BlockGradients& gradients) override {
        if (adam_.filter().empty()) return take_stored(gradients);
        BlockGradients stored = gradients;
        adam_.unfilter(model_, stored);
        take_stored(stored);
    }
    void take_stored(const BlockGradients& gradients) {
        const std::uint32_t locked = locked_lanes(tags_, gradients.block),
                            skipped = batch_ != nullptr ? batch_->add(gradients, locked)
                                                        : step(gradients, locked);
        count(skipped);
        if (statistics_ != nullptr)
            statistics_->add(gradients, skipped | locked, camera_.width, camera_.height);
        if (hashes_ != nullptr) hashes_->add_gradients(model_, gradients);
        parts_.add(gradients);
    }
    /// The step of a batch's `views` views.
    void step_batch(std::uint32_t views) {
        parallel_for(model_.blocks(), 64, [&](std::size_t block) {
            BlockGradients mean;
            if (batch_->mean(block, views, mean)) count(step(mean, locked_lanes(tags_, block)));
        });
    }
    /// Of the step's beams: added like a view's, but they say nothing of the picture.
    void take_of_beams(const BlockGradients& gradients) {
        BlockGradients stored = gradients;
        if (!adam_.filter().empty()) adam_.unfilter(model_, stored);
        count(batch_->add(stored, locked_lanes(tags_, stored.block)));
        if (hashes_ != nullptr) hashes_->add_gradients(model_, stored);
    }
    std::size_t poisoned() const { return poisoned_.load(); }

  private:
    std::uint32_t step(const BlockGradients& gradients, std::uint32_t locked) {
        const std::uint32_t skipped = adam_.apply(model_, gradients, locked);
        if (hashes_ != nullptr) hashes_->add_step(model_, adam_.state(), gradients);
        return skipped;
    }
    void count(std::uint32_t skipped) {
        if (skipped != 0)
            poisoned_.fetch_add(static_cast<std::size_t>(std::popcount(skipped)),
                                std::memory_order_relaxed);
    }

    GaussianModel& model_;
    LazyAdam& adam_;
    BatchGradients* const batch_;  ///< null: each block is stepped at once
    const Buffer<std::uint32_t>& tags_;
    DensityStatistics* const statistics_;
    const Camera& camera_;
    BlockHashes* const hashes_;  ///< null: not wanted
    CameraParts& parts_;
    std::atomic<std::size_t> poisoned_{0};
};

class BeamSink final : public GradientSink {
  public:
    explicit BeamSink(TrainingSink& to) : to_(to) {}
    void take(const BlockGradients& gradients) override { to_.take_of_beams(gradients); }

  private:
    TrainingSink& to_;
};

/// Gradients are summed before the model takes its step.
bool in_batch(const StepPlan& plan) { return plan.part.several() || plan.beams; }

class CpuTraining final : public TrainingBackend {
  public:
    CpuTraining(std::unique_ptr<Rasterizer> rasterizer, const RankShare* share)
        : rasterizer_(std::move(rasterizer)),
          share_(share),
          ranks_(share != nullptr ? share->ranks : one_process()) {
        forward_state_ = rasterizer_->make_state();
        view_state_ = rasterizer_->make_state();
    }
    void start(std::shared_ptr<const Capture> capture, RunArrays arrays) override;
    StepOutcome step(const StepPlan& plan) override;
    DensityReport densify_and_prune(const TrainingSettings& settings, double extent,
                                    bool prune_large) override {
        DensityReport report;
        edit([&](RunArrays& run) {
            report =
                gs::densify_and_prune(run, settings, extent, prune_large, &save_reserve_, ranks_);
        });
        return report;
    }
    DensityReport relocate(const TrainingSettings& settings, double extent) override {
        DensityReport report;
        edit([&](RunArrays& run) {
            report = gs::relocate(run, settings, extent, &save_reserve_, ranks_);
        });
        return report;
    }
    void reset_opacity() override { edit(gs::reset_opacity); }
    Buffer<float> filter() const override { return run_.filter; }
    void size_filter(std::span<const Camera> cameras, float near_plane, FilterRows rows) override;
    bool takes_beams() const override { return true; }
    std::uint64_t steps() const override { return run_.adam.steps; }
    std::size_t count() const override { return run_.model.count; }
    int sh_degree() const override { return run_.model.sh_degree; }
    RunArrays arrays() const override { return run_; }
    AppearanceState appearance() const override { return run_.appearance; }
    void look_at_pieces(const std::function<void(const RunPieces&)>& look) const override {
        look(RunPieces(run_));
    }
    RowIdentity identity() const override {
        RowIdentity out = run_.identity;
        out.tags.resize(run_.model.count);
        return out;
    }
    void edit(const std::function<void(RunArrays&)>& change) override;
    GaussianModel model() const override;
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result) override;
    std::vector<MemoryUse> memory() const override;
    Rasterizer& rasterizer() override { return *rasterizer_; }

  private:
    std::shared_ptr<const Capture> capture_;
    std::unique_ptr<Rasterizer> rasterizer_;
    const RankShare* const share_;  ///< null: all of the run is here
    Exchange& ranks_;
    RunArrays run_;
    LazyAdam adam_;                                  ///< of run_.adam
    std::vector<math::PhotoNeighbours> neighbours_;  ///< by photo, where appearance is learned
    void follow_run();
    void keep_save_reserve();
    LossTerms compare(const StepPlan& plan, const LentPhoto& lent);
    void end_step(const StepPlan& plan, TrainingSink& sink, bool sound);
    // As much as model() needs, untouched until then: what else grows meanwhile does not get it.
    mutable Buffer<float> save_reserve_;
    // Memory that steps and views use again and again.
    std::unique_ptr<ForwardState> forward_state_, view_state_;
    RenderResult picture_;
    ImageF shown_;  ///< picture_ through its photo's look
    SkyLearner sky_;
    PixelGradients gradients_;
    CameraParts parts_;
    BatchGradients batch_;  ///< where a step takes several views, or beams beside one
    BeamStep beams_;
};

void CpuTraining::start(std::shared_ptr<const Capture> capture, RunArrays arrays) {
    capture_ = std::move(capture);
    neighbours_ = arrays.appearance.empty()
                      ? std::vector<math::PhotoNeighbours>()
                      : photo_neighbours(*capture_, AppearanceRows(*capture_));
    run_ = std::move(arrays);
    follow_run();
}

/// After run_ was given or changed.
void CpuTraining::follow_run() {
    const bool no_share = share_ != nullptr && run_.model.count == 0;  // more ranks than blocks
    CHECK(consistent(run_) || no_share, "{} rows", run_.model.count);
    adam_ = LazyAdam(run_.model, run_.adam, std::as_const(run_.identity.tags).span());
    adam_.set_filter(std::as_const(run_.filter).span());
}

/// In place: there may be no space for a second copy.
void CpuTraining::edit(const std::function<void(RunArrays&)>& change) {
    adam_.flush(run_.model);
    try {
        change(run_);
    } catch (...) {
        follow_run();
        throw;
    }
    follow_run();
}

void CpuTraining::size_filter(std::span<const Camera> cameras, float near_plane, FilterRows rows) {
    adam_.flush(run_.model);
    gs::size_filter(std::as_const(run_.model.values).span().first(3 * run_.model.capacity),
                    run_.model.count, cameras, near_plane, rows, run_.filter, ranks_);
    adam_.set_filter(std::as_const(run_.filter).span());
}

void CpuTraining::keep_save_reserve() {
    if (save_reserve_.size() >= run_.model.values.size()) return;
    try {
        save_reserve_ = Buffer<float>(run_.model.values.size());
    } catch (const std::bad_alloc&) {  // saving may still find some
    }
}

void CpuTraining::end_step(const StepPlan& plan, TrainingSink& sink, bool sound) {
    {
        const Span span(Stage::adam);
        if (in_batch(plan)) sink.step_batch(plan.part.count);
        adam_.end_step();
    }
    if (plan.sky.on() && share_ != nullptr)
        run_.model.sky = value_from_head(share_->ranks, run_.model.sky);
    if (!plan.nudge.on() || !sound) return;
    const Span span(Stage::nudge);
    nudge(run_.model, adam_, run_.identity, plan.nudge);
}

/// How far the picture is from the photo, into gradients_ as well. Exposure and colour take their
/// step, and so does the sky.
LossTerms CpuTraining::compare(const StepPlan& plan, const LentPhoto& lent) {
    const bool learns_look = plan.appearance.on();
    AppliedLook look;
    if (learns_look) {
        const Span span(Stage::appearance);
        look = look_of_photo(run_.appearance.values.data(), plan.appearance);
        apply_look(look, picture_.color, &lent.photo(), shown_);
    }
    LossTerms terms;
    {
        const Span span(Stage::loss);
        terms = photo_loss(learns_look ? shown_ : picture_.color, lent.photo(), lent.mask(),
                           plan.lambda_dssim, &gradients_.color);
    }
    if (learns_look && std::isfinite(terms.loss)) {
        const Span span(Stage::appearance);
        step_appearance(run_.appearance, plan.appearance,
                        apply_look_vjp(look, picture_.color, lent.photo(), lent.mask(), shown_,
                                       plan.appearance.width, gradients_.color),
                        neighbours_);
    }
    if (plan.sky.on()) {
        const Span span(Stage::adam);
        sky_.learn(plan.sky, plan.part, plan.camera, picture_.alpha,
                   std::isfinite(terms.loss) ? &gradients_.color : nullptr, run_.model.sky,
                   run_.sky_moments.span());
    }
    return terms;
}

StepOutcome CpuTraining::step(const StepPlan& plan) {
    keep_save_reserve();
    std::optional<LentPhoto> lent;
    if (ranks_.head()) lent = lend_photo(*plan.view);
    StepOutcome out;
    out.step = plan.step + 1;
    out.view_index = plan.view_index;
    out.divisor = plan.divisor;
    out.part = plan.part;
    if (plan.part.first()) {
        const Span span(Stage::adam);
        adam_.begin_step(run_.model, plan.rates, plane_count(plan.options.sh_degree));
        if (in_batch(plan)) batch_.begin(run_.model.blocks(), adam_.state().planes);
    }
    LazySource source(run_.model, adam_, plan.options.sh_degree);
    rasterizer_->forward(source, plan.camera, plan.options, *forward_state_, picture_);
    out.counters = picture_.counters;
    if (lent) out.terms = compare(plan, *lent);
    const bool sound = value_from_head(ranks_, std::isfinite(out.terms.loss));

    // Gradients, and an Adam step for every Gaussian seen.
    BlockHashes hashes(share_ != nullptr ? share_->first_block : 0);
    TrainingSink sink(run_.model, adam_, in_batch(plan) ? &batch_ : nullptr, run_.identity.tags,
                      plan.gathers_statistics ? &run_.statistics : nullptr, plan.camera,
                      plan.hashes ? &hashes : nullptr, parts_);
    parts_.begin(plan.options, run_.model.blocks());
    if (sound)
        rasterizer_->backward(source, plan.camera, plan.options, *forward_state_, picture_,
                              gradients_, sink);
    if (sound) parts_.join(ranks_);
    if (plan.options.motion && sound) out.motion = motion_of(parts_.motion);
    if (plan.options.intrinsics && sound) out.intrinsics = sum_of<kLens>(parts_.lens);
    if (plan.beams) {
        const Span span(Stage::rays, plan.beams->rays.size());
        BeamSink beam_sink(sink);
        out.lidar =
            beams_.run(source, *plan.beams, plan.part.count, plan.options.compatibility, beam_sink);
    }
    if (plan.part.last()) end_step(plan, sink, sound);
    const std::vector<std::uint64_t> sums =
        sums_over(ranks_, {sink.poisoned(), hashes.gradients, hashes.adam});
    out.poisoned = sums[0];
    if (!plan.hashes) return out;
    out.hashes[HashStage::picture] = hash_array(std::as_const(picture_.color.values).span());
    // Where nothing was visible there is no block, but there is a stage.
    out.hashes[HashStage::gradients] = hash64(sums[1]);
    if (!plan.part.last()) return out;
    std::uint64_t adam = hash_array(std::as_const(run_.appearance.values).span(), sums[2]);
    if (plan.sky.on()) adam = hash_array(std::span<const float>(run_.model.sky.sh), adam);
    out.hashes[HashStage::adam] = hash64(adam);
    return out;
}

void CpuTraining::render(const Camera& camera, const RenderOptions& options, RenderResult& result) {
    RenderOptions wanted = options;
    wanted.gradients = false;
    LazySource source(run_.model, adam_, options.sh_degree);
    rasterizer_->forward(source, camera, wanted, *view_state_, result);
}

GaussianModel CpuTraining::model() const {
    save_reserve_ = Buffer<float>();
    GaussianModel out(run_.model.count, run_.model.sh_degree);
    out.set_about(run_.model);
    parallel_for(run_.model.blocks(), 64, [&](std::size_t block) {
        alignas(64) float values[kMaxPlanes * kBlock];
        adam_.read(run_.model, block, 0, run_.model.planes(), values);
        const std::size_t first = block * kBlock, lanes = std::min(kBlock, out.count - first);
        for (int p = 0; p < out.planes(); ++p)
            std::copy_n(values + static_cast<std::size_t>(p) * kBlock, lanes, out.plane(p) + first);
    });
    return out;
}

std::vector<MemoryUse> CpuTraining::memory() const {
    return {{"parameters", row_bytes(run_, "parameters")},
            {"Adam moments", row_bytes(run_, "Adam moments") + adam_.bytes()},
            {"gradients of a batch", batch_.bytes()},
            {"rays", beams_.bytes()},
            {"density statistics", row_bytes(run_, "density statistics")},
            {"exposure and colour", run_.appearance.bytes() + shown_.values.capacity_bytes()},
            {"forward state", forward_state_->bytes()},
            {"view state", view_state_->bytes()},
            {"pictures",
             picture_bytes(picture_) + gradients_.color.values.capacity_bytes() + sky_.bytes()}};
}

}  // namespace

std::uint64_t picture_bytes(const RenderResult& r) {
    return r.color.values.capacity_bytes() + r.alpha.values.capacity_bytes() +
           r.depth.values.capacity_bytes() + r.contributors.capacity_bytes() +
           r.isects_per_tile.capacity_bytes() + r.pairs_per_tile.capacity_bytes();
}

std::unique_ptr<TrainingBackend> make_cpu_training(std::unique_ptr<Rasterizer> rasterizer) {
    return std::make_unique<CpuTraining>(std::move(rasterizer), nullptr);
}
std::unique_ptr<TrainingBackend> make_share_training(const RankShare& share) {
    return std::make_unique<CpuTraining>(make_rank_rasterizer(share.ranks), &share);
}

}  // namespace gs
