#include "trainer/ranks/rank_training.h"

#include <algorithm>
#include <utility>

#include "base/exception_words.h"
#include "trainer/density/run_edit.h"
#include "trainer/ranks/rank_rows.h"

namespace gs {
namespace {

enum class Order : std::uint8_t {
    end,
    start,
    step,
    settle,
    arrays,
    array,
    remove_rows,
    tags,
    model,
    densify,
    relocate,
    reset_opacity,
    size_filter,
    filter,
    render,
    memory
};

/// What travels of options: all but for the tint, and for what ranks do not measure. A new one must
/// be named here.
template <class Options, class Visit>
void each_option(Options& options, Visit&& visit) {
    auto& [background, projection, precision, sky, sh_degree, scale_modifier, antialiased, blur,
           near_plane, clip, tint, compatibility, depth, median_depth, gradients, motion,
           intrinsics, absolute, counters, warps, costs, most_pairs] = options;
    const auto each = [&](auto&... values) { (visit(values), ...); };
    each(background, projection, precision, sky, sh_degree, scale_modifier, antialiased, blur,
         near_plane, clip, compatibility, depth, median_depth, gradients, motion, intrinsics,
         absolute, counters, most_pairs);
}
/// The same for a step: all but its photo and what is learned of it.
template <class Plan, class Visit>
void each_of_plan(Plan& plan, Visit&& visit) {
    visit(plan.step);
    visit(plan.part);
    visit(plan.camera);
    each_option(plan.options, visit);
    visit(plan.rates);
    visit(plan.sky);
    visit(plan.gathers_statistics);
    visit(plan.nudge);
    visit(plan.hashes);
}

/// A round of density control.
struct RoundOrder {
    TrainingSettings settings;
    double extent = 0;
    bool prune_large = false;  ///< of densify
};

/// A rank's part of the run. Its functions are called on all ranks together.
class RankPart {
  public:
    explicit RankPart(Exchange& ranks) : share_{ranks}, backend_(make_share_training(share_)) {}

    Exchange& ranks() const { return share_.ranks; }
    TrainingBackend& backend() const { return *backend_; }
    /// `whole`: the head's, null elsewhere.
    void start(std::shared_ptr<const Capture> capture, const RunArrays* whole) {
        RunArrays part = share_rows(ranks(), whole);
        (void)count_rows(part.model.count);
        backend_->start(std::move(capture), std::move(part));
    }
    /// Rows of the run after it: `count`.
    DensityReport round(Order order, const RoundOrder& round, std::size_t& count) {
        DensityReport report =
            order == Order::relocate
                ? backend_->relocate(round.settings, round.extent)
                : backend_->densify_and_prune(round.settings, round.extent, round.prune_large);
        count = count_rows(backend_->count());
        return report;
    }
    Buffer<float> filter() const {
        const Buffer<float> own = backend_->filter();
        const std::size_t rows = own.empty() ? 0 : backend_->count();
        const std::vector<float> all =
            joined_at_head(ranks(), std::vector(own.begin(), own.begin() + rows));
        Buffer<float> out(all.size());
        std::copy(all.begin(), all.end(), out.begin());
        return out;
    }
    void settle() {
        backend_->edit([](RunArrays&) {});
    }
    RunArrays arrays(std::size_t capacity) const {
        RunArrays out;
        look_at_arrays(*backend_,
                       [&](const RunArrays& part) { out = gather_rows(ranks(), part, capacity); });
        return out;
    }
    std::vector<std::uint32_t> tags() const {
        const RowIdentity own = backend_->identity();
        return joined_at_head(ranks(), std::vector(own.tags.begin(), own.tags.end()));
    }
    /// `words`: by row of the run (GaussianTint).
    void render(const Camera& camera, RenderOptions options, std::span<const std::uint32_t> words,
                RenderResult& picture) {
        options.tint = nullptr;
        if (!words.empty()) {
            const std::size_t first = std::min(words.size(), share_.first_block * kBlock),
                              count = std::min(words.size() - first, backend_->count());
            auto own = std::make_shared<GaussianTint>();
            own->words.resize_discard(count);
            std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(first), count,
                        own->words.begin());
            options.tint = std::move(own);
        }
        backend_->render(camera, options, picture);
    }
    void array(std::size_t number, std::size_t capacity, const RunPieces::Take& take) const {
        look_at_arrays(*backend_, [&](const RunArrays& part) {
            array_at_head(ranks(), part, number, capacity, take);
        });
    }
    /// `rows`: the head's. Returns how many rows the run has then.
    std::size_t remove_rows(std::span<const std::uint32_t> rows) {
        backend_->edit([&](RunArrays& part) { gs::remove_rows(part, rows, ranks()); });
        return count_rows(backend_->count());
    }
    GaussianModel model() const {
        const GaussianModel own = backend_->model();
        const std::size_t all = among(ranks(), own.count).all;
        GaussianModel out(ranks().head() ? all : 0, own.sh_degree);
        out.set_about(own);
        for (int p = 0; p < own.planes(); ++p) {
            const std::vector<float> plane =
                joined_at_head(ranks(), std::vector(own.plane(p), own.plane(p) + own.count));
            std::copy(plane.begin(), plane.end(), out.plane(p));
        }
        return out;
    }
    /// By use, of all ranks; at the head.
    std::vector<MemoryUse> memory() const {
        std::vector<MemoryUse> uses = backend_->memory();
        std::vector<std::uint64_t> bytes;
        for (const MemoryUse& use : uses) bytes.push_back(use.bytes);
        bytes = sums_over(ranks(), bytes);
        for (std::size_t i = 0; i < uses.size(); ++i) uses[i].bytes = bytes[i];
        return uses;
    }

  private:
    /// All ranks' rows, of which this one has `own`.
    std::size_t count_rows(std::size_t own) {
        const Among rows = among(ranks(), own);
        share_.first_block = rows.first / kBlock;
        return rows.all;
    }
    RankShare share_;
    std::unique_ptr<TrainingBackend> backend_;
};

class RankTraining final : public TrainingBackend {
    /// Gives the order, which `describe` completes, and carries out the head's part.
    template <class Describe, class CarryOut>
    auto together(Order order, Describe&& describe, CarryOut&& carry_out) const {
        try {
            MessageWriter message;
            message.put(order);
            describe(message);
            (void)from_head(part_.ranks(), message.take(), true);
            return carry_out();
        } catch (const std::exception& error) {
            part_.ranks().fail(words_of(error));
            throw;
        }
    }
    template <class CarryOut>
    auto together(Order order, CarryOut&& carry_out) const {
        return together(
            order, [](MessageWriter&) {}, std::forward<CarryOut>(carry_out));
    }

  public:
    explicit RankTraining(Exchange& ranks) : part_(ranks) {}
    void start(std::shared_ptr<const Capture> capture, RunArrays arrays) override {
        capture_ = std::move(capture);
        share_out(arrays);
    }
    StepOutcome step(const StepPlan& plan) override {
        return together(
            Order::step,
            [&](MessageWriter& order) {
                each_of_plan(plan, [&](const auto& value) { order.put(value); });
            },
            [&] { return own_.step(plan); });
    }
    DensityReport densify_and_prune(const TrainingSettings& settings, double extent,
                                    bool prune_large) override {
        return round(Order::densify, {settings, extent, prune_large});
    }
    DensityReport relocate(const TrainingSettings& settings, double extent) override {
        return round(Order::relocate, {settings, extent});
    }
    void reset_opacity() override {
        together(Order::reset_opacity, [&] { own_.reset_opacity(); });
    }
    void size_filter(std::span<const Camera> cameras, float near_plane, FilterRows rows) override {
        together(
            Order::size_filter,
            [&](MessageWriter& order) {
                order.put(near_plane);
                order.put(rows);
                order.put_list(std::vector(cameras.begin(), cameras.end()));
            },
            [&] { own_.size_filter(cameras, near_plane, rows); });
    }
    Buffer<float> filter() const override {
        return together(Order::filter, [&] { return part_.filter(); });
    }
    std::uint64_t steps() const override { return own_.steps(); }
    std::size_t count() const override { return count_; }
    int sh_degree() const override { return own_.sh_degree(); }
    RunArrays arrays() const override {
        return together(Order::arrays, [&] { return part_.arrays(capacity_); });
    }
    void look_at_pieces(const std::function<void(const RunPieces&)>& look) const override {
        look_at_arrays(own_, [&](const RunArrays& part) {
            RunPieces run(part, count_, capacity_);
            run.array = [&](std::size_t number, const RunPieces::Take& take) {
                together(
                    Order::array, [&](MessageWriter& order) { order.put(number); },
                    [&] { part_.array(number, capacity_, take); });
            };
            look(run);
        });
    }
    void remove_rows(std::span<const std::uint32_t> rows) override {
        together(Order::remove_rows, [&] { count_ = part_.remove_rows(rows); });
    }
    AppearanceState appearance() const override { return own_.appearance(); }
    RowIdentity identity() const override {
        RowIdentity out = own_.identity();
        const auto tags = together(Order::tags, [&] { return part_.tags(); });
        out.tags.resize_discard(tags.size());
        std::copy(tags.begin(), tags.end(), out.tags.begin());
        return out;
    }
    void edit(const std::function<void(RunArrays&)>& change) override {
        together(Order::settle, [&] { part_.settle(); });
        RunArrays whole = arrays();
        change(whole);
        share_out(whole);
    }
    GaussianModel model() const override {
        return together(Order::model, [&] { return part_.model(); });
    }
    void render(const Camera& camera, const RenderOptions& options, RenderResult& result) override {
        RenderOptions drawn = options;
        drawn.costs = drawn.warps = false;
        std::vector<std::uint32_t> words;
        if (options.tint) words.assign(options.tint->words.begin(), options.tint->words.end());
        together(
            Order::render,
            [&](MessageWriter& order) {
                order.put(camera);
                each_option(drawn, [&](const auto& value) { order.put(value); });
                order.put_list(words);
            },
            [&] { part_.render(camera, drawn, words, result); });
    }
    std::vector<MemoryUse> memory() const override {
        return together(Order::memory, [&] { return part_.memory(); });
    }
    Rasterizer& rasterizer() override { return *rasterizer_; }

  private:
    DensityReport round(Order order, const RoundOrder& round) {
        DensityReport report = together(
            order, [&](MessageWriter& message) { message.put(round); },
            [&] { return part_.round(order, round, count_); });
        if (count_ > capacity_)  // as in one process: a checkpoint has as many rows
            capacity_ = grown_capacity(capacity_, count_,
                                       static_cast<std::size_t>(round.settings.max_gaussians));
        return report;
    }
    void share_out(const RunArrays& whole) {
        count_ = whole.model.count;
        capacity_ = whole.model.capacity;
        together(Order::start, [&] { part_.start(capture_, &whole); });
    }
    std::shared_ptr<const Capture> capture_;
    RankPart part_;
    TrainingBackend& own_ = part_.backend();
    std::unique_ptr<Rasterizer> rasterizer_ = make_cpu_rasterizer();  ///< of this process alone
    std::size_t count_ = 0, capacity_ = 0;                            ///< of the whole run
};

template <class T>
void read(MessageReader& in, T& value) {
    value = in.get<T>();
}
void render_ordered(RankPart& part, MessageReader& in, RenderResult& picture) {
    Camera camera;
    RenderOptions options;
    read(in, camera);
    each_option(options, [&](auto& value) { read(in, value); });
    part.render(camera, options, in.list<std::uint32_t>(), picture);
}
/// Carries out one order; false: it was the last.
bool carry_out(RankPart& part, const Message& message, RenderResult& picture) {
    MessageReader in(message);
    const auto order = in.get<Order>();
    switch (order) {
        case Order::end:
            return false;
        case Order::start:
            part.start(nullptr, nullptr);
            break;
        case Order::step: {
            StepPlan plan;
            each_of_plan(plan, [&](auto& value) { read(in, value); });
            (void)part.backend().step(plan);
            break;
        }
        case Order::settle:
            part.settle();
            break;
        case Order::arrays:
            (void)part.arrays(0);
            break;
        case Order::array:
            part.array(in.get<std::size_t>(), 0, {});
            break;
        case Order::remove_rows:
            (void)part.remove_rows({});
            break;
        case Order::tags:
            (void)part.tags();
            break;
        case Order::model:
            (void)part.model();
            break;
        case Order::densify:
        case Order::relocate: {
            std::size_t count = 0;
            (void)part.round(order, in.get<RoundOrder>(), count);
            break;
        }
        case Order::size_filter: {
            const auto near_plane = in.get<float>();
            const auto rows = in.get<FilterRows>();
            part.backend().size_filter(in.list<Camera>(), near_plane, rows);
            break;
        }
        case Order::filter:
            (void)part.filter();
            break;
        case Order::reset_opacity:
            part.backend().reset_opacity();
            break;
        case Order::render:
            render_ordered(part, in, picture);
            break;
        case Order::memory:
            (void)part.memory();
            break;
    }
    return true;
}

}  // namespace

std::unique_ptr<TrainingBackend> make_rank_training(Exchange& ranks) {
    return std::make_unique<RankTraining>(ranks);
}

void serve_rank(Exchange& ranks) {
    try {
        RankPart part(ranks);
        RenderResult picture;
        while (carry_out(part, from_head(ranks, {}, true), picture)) {
        }
    } catch (const std::exception& error) {
        ranks.fail(words_of(error));
        throw;
    }
}

void dismiss_ranks(Exchange& ranks) noexcept {
    try {
        const Order order = Order::end;
        (void)from_head(ranks, message_of(std::span(&order, 1)), true);
    } catch (const std::exception&) {  // they have ended already
    }
}

}  // namespace gs
