#include "trainer/cuda/density_round.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "trainer/cuda/density_kernels.h"
#include "trainer/cuda/fill.h"
#include "trainer/density/relocation.h"

namespace gs::cuda {
namespace {

/// Arrays one behind the other in memory that is there.
struct Region {
    std::byte* at;
    template <class T>
    T* take(std::size_t count) {
        return reinterpret_cast<T*>(std::exchange(at, at + Arena::bytes_of<T>(count)));
    }
};

/// One round, in the memory that frames have between two steps: a run in which rows come and go
/// allocates nothing for that.
class Round {
  public:
    Round(StepEngine& engine, const Stream& stream, const DensityRules& rules, std::size_t limit)
        : run_(engine.arrays()),
          stream_(stream),
          step_(engine.clock().steps),
          rules_(rules),
          count_(run_.count()),
          most_(std::min(2 * count_, std::max(limit, count_))),
          idle_(engine.lend(bytes())) {
        // Whatever does not fit fails here: once the run has grown, nothing may.
        idle_.primitives.reserve(most_, count_, stream_);
        counts_ = idle_.arena.take<DensityCounts>(1);
        fates_ = idle_.arena.take<Fate>(count_);
        for (std::uint32_t** array : {&marks_, &sums_, &new_sums_})
            *array = idle_.arena.take<std::uint32_t>(count_);
        sorted_ = new_rows(idle_.arena);
        shares_ = idle_.arena.take<std::uint8_t>(most_);
        working_ = idle_.arena.take<std::byte>(working_bytes());
    }
    /// Fates with at most `limit` rows as their result, and what they come to.
    DensityCounts decide(std::size_t limit);
    /// The new rows in Morton order. Changes nothing of the run.
    void list(std::uint64_t seed, std::size_t rows);
    /// Carries it out.
    void move(std::size_t rows);
    void place_children(std::size_t rows) {
        launch_place_children(stream_, run_.view(false), sorted_, static_cast<std::uint32_t>(rows),
                              rules_);
    }
    /// Who goes where by plan_relocation(). After decide(), by relocation_rules().
    RelocationPlan plan(const TrainingSettings& settings, std::size_t limit) const;
    /// The rows of a plan, in Morton order: instead of list(), followed by move() and share().
    void take(const RoundRows& rows);
    void share(const TrainingSettings& settings, std::size_t rows) {
        launch_share_places(stream_, run_.view(false), shares_, sorted_.tag,
                            static_cast<std::uint32_t>(rows), sharing_rules(settings, step_));
    }

  private:
    DensityInputs inputs() {
        return {run_.view(false), run_.statistics(), rules_, counts_, fates_, marks_};
    }
    DensityCounts read_counts() {
        DensityCounts out{};
        copy_to_host(&out, counts_, sizeof(out), stream_);
        stream_.synchronize();
        return out;
    }
    void limit_growth(std::size_t room, std::size_t wanted);
    void move_array(const RowArray& array, float* values, std::size_t rows);
    template <class Memory>
    NewRows new_rows(Memory& memory) const {
        const auto words = [&] { return memory.template take<std::uint32_t>(most_); };
        return {words(), memory.template take<Origin>(most_), words(),
                memory.template take<float>(3 * most_)};
    }
    std::size_t row_bytes() const {
        return 2 * Arena::bytes_of<std::uint32_t>(most_) + Arena::bytes_of<Origin>(most_) +
               Arena::bytes_of<float>(3 * most_);
    }
    /// What one of limit_growth(), list() and move() needs at a time.
    std::size_t working_bytes() const {
        return std::max({4 * Arena::bytes_of<std::uint32_t>(count_),
                         2 * Arena::bytes_of<std::uint64_t>(most_) +
                             2 * Arena::bytes_of<std::uint32_t>(most_) + row_bytes(),
                         Arena::bytes_of<float>(kGatheredPlanes * most_)});
    }
    std::size_t bytes() const {
        return Arena::bytes_of<DensityCounts>(1) + Arena::bytes_of<Fate>(count_) +
               3 * Arena::bytes_of<std::uint32_t>(count_) + row_bytes() +
               Arena::bytes_of<std::uint8_t>(most_) + working_bytes();
    }

    DeviceRun& run_;
    const Stream& stream_;
    const std::uint64_t step_;
    const DensityRules rules_;
    const std::size_t count_, most_;  ///< rows before, and after at most
    const FramePipeline::Idle idle_;
    DensityCounts* counts_;
    Fate* fates_;
    std::uint32_t *marks_, *sums_, *new_sums_;
    NewRows sorted_;        ///< in Morton order
    std::uint8_t* shares_;  ///< of a relocation
    std::byte* working_;    ///< [working_bytes()]
};

DensityCounts Round::decide(std::size_t limit) {
    fill_bytes(counts_, 0, sizeof(DensityCounts), stream_);
    fill_bytes(counts_->lo, 0xff, sizeof(DensityCounts::lo), stream_);
    launch_decide(stream_, inputs());
    const DensityCounts before = read_counts();
    const std::size_t room = limit > before.survivors ? limit - before.survivors : 0;
    if (before.wanted > room) limit_growth(room, before.wanted);
    launch_count_rows(stream_, inputs());
    return read_counts();
}

/// The ones pulled hardest grow, equal ones by row.
void Round::limit_growth(std::size_t room, std::size_t wanted) {
    Region region{working_};
    const auto words = [&] { return region.take<std::uint32_t>(wanted); };
    Swap<std::uint32_t> keys{{words(), words()}}, rows{{words(), words()}};
    idle_.primitives.exclusive_sum(marks_, sums_, count_, stream_);
    launch_list_growing(stream_, inputs(), sums_, keys.now(), rows.now());
    idle_.primitives.sort_pairs(keys, rows, wanted, 32, stream_);
    launch_limit(stream_, inputs(), rows.now(), static_cast<std::uint32_t>(room),
                 static_cast<std::uint32_t>(wanted));
    stream_.synchronize();
}

void Round::list(std::uint64_t seed, std::size_t rows_wanted) {
    Region region{working_};
    const auto codes = [&] { return region.take<std::uint64_t>(rows_wanted); };
    const auto places = [&] { return region.take<std::uint32_t>(rows_wanted); };
    Swap<std::uint64_t> keys{{codes(), codes()}};
    Swap<std::uint32_t> order{{places(), places()}};
    const NewRows listed = new_rows(region);
    const auto n = static_cast<std::uint32_t>(rows_wanted);
    idle_.primitives.exclusive_sum(marks_, sums_, count_, stream_);
    launch_count_new(stream_, inputs());
    idle_.primitives.exclusive_sum(marks_, new_sums_, count_, stream_);
    launch_list_rows(stream_, inputs(), {sums_, new_sums_, run_.book().next, seed, step_}, listed);
    launch_morton_keys(stream_, counts_, listed.mean, n, keys.now(), order.now());
    idle_.primitives.sort_pairs(keys, order, rows_wanted, 64, stream_);
    launch_reorder(stream_, listed, order.now(), n, sorted_);
}

void Round::move(std::size_t rows_wanted) {
    each_row_array(
        [&](const RowArray& array, auto& values) {
            if (array.round == RowArray::tags) {
                copy_on_device(values.data(), sorted_.tag, rows_wanted * sizeof(std::uint32_t),
                               stream_);
                launch_fill(stream_, values.data() + rows_wanted, 0, run_.capacity() - rows_wanted);
            } else if (values.size() > 0 && array.round != RowArray::unmoved &&
                       array.round != RowArray::cleared) {
                move_array(array, reinterpret_cast<float*>(values.data()), rows_wanted);
            }
        },
        run_.rows());
    run_.rows_moved(rows_wanted, static_cast<std::uint32_t>(step_));
    stream_.synchronize();
}

void Round::move_array(const RowArray& array, float* values, std::size_t rows_wanted) {
    ModelView model = run_.view(false);
    const auto n = static_cast<std::uint32_t>(rows_wanted);
    float* const scratch = Region{working_}.take<float>(kGatheredPlanes * rows_wanted);
    const auto cleared =
        static_cast<std::uint32_t>(std::max(count_, (rows_wanted + kBlock - 1) / kBlock * kBlock));
    const auto columns = static_cast<int>(array.columns(run_.planes()));
    const bool moments = array.by_block();
    if (!moments) model.values = values;
    for (int first = 0; first < columns; first += kGatheredPlanes) {
        const int planes = std::min(kGatheredPlanes, columns - first);
        (moments ? launch_gather_moments : launch_gather_values)(stream_, model, sorted_, n, first,
                                                                 planes, scratch);
        if (moments)
            launch_store_moments(stream_, model, n, cleared, first, planes, scratch);
        else
            launch_store_values(stream_, model, n, first, planes, scratch);
    }
    // Rows given up are unused again: they draw nothing.
    for (std::size_t p = 0; p < array.columns(run_.planes()) && !moments && count_ > rows_wanted;
         ++p)
        launch_fill(stream_, values + p * run_.capacity() + rows_wanted, unused_word(array, p),
                    count_ - rows_wanted);
}

RelocationPlan Round::plan(const TrainingSettings& settings, std::size_t limit) const {
    std::vector<Fate> fates(count_);
    std::vector<float> logits(count_), mean[3];
    std::vector<std::uint32_t> tags(count_);
    const auto plane = [&](std::vector<float>& to, int p) {
        to.resize(count_);
        copy_to_host(to.data(),
                     run_.view(false).values + static_cast<std::size_t>(p) * run_.capacity(),
                     count_ * sizeof(float), stream_);
    };
    copy_to_host(fates.data(), fates_, count_ * sizeof(Fate), stream_);
    copy_to_host(tags.data(), run_.tags(), count_ * sizeof(std::uint32_t), stream_);
    std::vector<float> sums, views;
    if (settings.relocate_by_pull)
        for (const auto& [to, from] : {std::pair{&sums, run_.statistics().gradient_sum},
                                       {&views, run_.statistics().views}}) {
            to->resize(count_);
            copy_to_host(to->data(), from, count_ * sizeof(float), stream_);
        }
    plane(logits, kOpacityLogits);
    for (int axis = 0; axis < 3; ++axis) plane(mean[axis], kMeans + axis);
    stream_.synchronize();
    const std::vector<float> pulls = relocation_pulls(settings, sums, views);
    return plan_relocation({fates,
                            logits,
                            {mean[0], mean[1], mean[2]},
                            tags,
                            pulls,
                            run_.book().next,
                            static_cast<std::uint64_t>(settings.seed),
                            step_,
                            limit});
}

void Round::take(const RoundRows& rows) {
    const std::size_t n = rows.source.size();
    CHECK(n <= most_, "{} rows, capacity {}", n, most_);
    copy_to_device(sorted_.source, rows.source.data(), n * sizeof(std::uint32_t), stream_);
    copy_to_device(sorted_.origin, rows.origin.data(), n * sizeof(Origin), stream_);
    copy_to_device(sorted_.tag, rows.tag.data(), n * sizeof(std::uint32_t), stream_);
    copy_to_device(shares_, rows.share.data(), n, stream_);
    stream_.synchronize();
}

DensityReport report_of(const DensityCounts& counts) {
    return {.cloned = counts.cloned,
            .split = counts.split,
            .pruned = counts.pruned,
            .wanted = counts.wanted};
}
std::size_t rows_after(std::size_t count, const DensityCounts& c) {
    return count - c.pruned + c.cloned + c.split;
}

DensityReport carry_out(StepEngine& engine, const Stream& stream, const TrainingSettings& settings,
                        double extent, bool prune_large) {
    DeviceRun& run = engine.arrays();
    const std::size_t before = run.count();
    const std::size_t limit =
        std::max<std::size_t>(1, static_cast<std::size_t>(settings.max_gaussians));
    Round round(engine, stream, density_rules(settings, extent, prune_large), limit);
    DensityReport report;
    DensityCounts counts = round.decide(limit);
    std::size_t wanted = rows_after(before, counts);
    bool grown = true;
    if (wanted > run.capacity()) {
        const std::size_t capacity = grown_capacity(run.capacity(), wanted, limit);
        grown = run.grow(capacity, report.why);
        if (!grown) {
            report.why += fmt::format("; growing to {:.1f} M Gaussians, last good step kept",
                                      static_cast<double>(capacity) / 1e6);
            counts = round.decide(run.capacity());
            wanted = rows_after(before, counts);
        }
    }
    if (wanted > 0) {
        round.list(static_cast<std::uint64_t>(settings.seed), wanted);
        round.move(wanted);
        round.place_children(wanted);
        stream.synchronize();
        run.book().give(counts.cloned + 2 * counts.split, engine.clock().steps);
        const std::string why = std::move(report.why);
        report = report_of(counts);
        report.why = why;
        engine.rows_changed(static_cast<double>(wanted) / static_cast<double>(before));
    }
    report.out_of_memory = !grown;
    return report;
}

DensityReport carry_out_relocation(StepEngine& engine, const Stream& stream,
                                   const TrainingSettings& settings, double extent) {
    DeviceRun& run = engine.arrays();
    const std::size_t before = run.count(),
                      limit = static_cast<std::size_t>(settings.max_gaussians);
    Round round(engine, stream, relocation_rules(settings, extent), limit);
    (void)round.decide(2 * before);
    RelocationPlan plan = round.plan(settings, limit);
    bool grown = true;
    std::string why;
    if (const std::size_t wanted = plan.rows.source.size(); wanted > run.capacity()) {
        grown = run.grow(grown_capacity(run.capacity(), wanted, limit), why);
        if (!grown) plan = round.plan(settings, run.capacity());
    }
    const RoundRows rows = in_morton_order(plan.rows);
    const std::size_t after = rows.source.size();
    round.take(rows);
    round.move(after);
    round.share(settings, after);
    stream.synchronize();
    run.book().give(plan.report.relocated + plan.report.added, engine.clock().steps);
    engine.rows_changed(static_cast<double>(after) / static_cast<double>(before));
    plan.report.out_of_memory = !grown;
    plan.report.why = why;
    return plan.report;
}

/// `carry_out`: gives a DensityReport.
template <class CarryOut>
DensityReport round_on_device(StepEngine& engine, const Stream& stream, CarryOut&& carry_out) {
    engine.settle();
    DensityReport report;
    try {
        report = carry_out();
    } catch (const DeviceError& error) {
        // The round's memory did not fit; no row of the run was changed yet. Its arrays may lie
        // elsewhere, and those of a frame do.
        if (!error.out_of_memory()) throw;
        engine.rows_changed(1.0);
        report.out_of_memory = true;
        report.why = fmt::format("{}; last good step kept", error.what());
    }
    engine.arrays().clear_statistics();
    stream.synchronize();
    return report;
}

}  // namespace

DensityReport density_round_on_device(StepEngine& engine, const Stream& stream,
                                      const TrainingSettings& settings, double extent,
                                      bool prune_large) {
    return round_on_device(
        engine, stream, [&] { return carry_out(engine, stream, settings, extent, prune_large); });
}

DensityReport relocation_on_device(StepEngine& engine, const Stream& stream,
                                   const TrainingSettings& settings, double extent) {
    return round_on_device(engine, stream,
                           [&] { return carry_out_relocation(engine, stream, settings, extent); });
}

void reset_opacity_on_device(StepEngine& engine, const Stream& stream) {
    engine.settle();
    launch_lower_opacity(stream, engine.arrays().view(false), engine.arrays().tags(),
                         reset_logit());
    engine.arrays().clear_moments(kOpacityLogits);
    stream.synchronize();
}

}  // namespace gs::cuda
