#include "trainer/cuda/density_round.h"

#include <bit>
#include <cmath>

#include "renderer/device/cuda/primitives.h"
#include "trainer/cuda/density_kernels.h"
#include "trainer/cuda/fill.h"

namespace gs::cuda {
namespace {

/// Memory of one round, gone with it.
class Round {
  public:
    Round(StepEngine& engine, const Stream& stream, const DensityRules& rules)
        : run_(engine.arrays()), stream_(stream), step_(engine.clock().steps), rules_(rules) {
        fates_.resize_discard(run_.count(), stream_);
        marks_.resize_discard(run_.count(), stream_);
        sums_.resize_discard(run_.count(), stream_);
        counts_.resize_discard(1, stream_);
    }
    /// Fates with at most `limit` rows as their result, and what they come to.
    DensityCounts decide(std::size_t limit);
    /// The new rows in Morton order. Allocates; changes nothing of the run.
    void list(std::uint64_t seed, std::size_t rows);
    /// Carries it out.
    void move(std::size_t rows);

  private:
    DensityInputs inputs() {
        return {run_.view(false), run_.statistics(), rules_,
                counts_.data(),   fates_.data(),     marks_.data()};
    }
    DensityCounts read_counts() {
        DensityCounts out{};
        counts_.download({&out, 1}, stream_);
        stream_.synchronize();
        return out;
    }
    void limit_growth(std::size_t room, std::size_t wanted);
    NewRows rows(int which) {
        return {source_[which].data(), origin_[which].data(), tag_[which].data(),
                mean_[which].data()};
    }

    DeviceRun& run_;
    const Stream& stream_;
    const std::uint64_t step_;
    const DensityRules rules_;
    Primitives primitives_;
    DeviceBuffer<Fate> fates_{"density control"};
    DeviceBuffer<std::uint32_t> marks_{"density control"}, sums_{"density control"};
    DeviceBuffer<DensityCounts> counts_{"density control"};
    // [0] as listed, [1] in Morton order.
    DeviceBuffer<std::uint32_t> source_[2] = {DeviceBuffer<std::uint32_t>("density control"),
                                              DeviceBuffer<std::uint32_t>("density control")};
    DeviceBuffer<Origin> origin_[2] = {DeviceBuffer<Origin>("density control"),
                                       DeviceBuffer<Origin>("density control")};
    DeviceBuffer<std::uint32_t> tag_[2] = {DeviceBuffer<std::uint32_t>("density control"),
                                           DeviceBuffer<std::uint32_t>("density control")};
    DeviceBuffer<float> mean_[2] = {DeviceBuffer<float>("density control"),
                                    DeviceBuffer<float>("density control")};
    DeviceBuffer<float> scratch_{"density control"};
};

DensityCounts Round::decide(std::size_t limit) {
    fill_bytes(counts_.data(), 0, sizeof(DensityCounts), stream_);
    fill_bytes(reinterpret_cast<std::byte*>(counts_.data()) + offsetof(DensityCounts, lo), 0xff,
               sizeof(DensityCounts::lo), stream_);
    launch_decide(stream_, inputs());
    const DensityCounts before = read_counts();
    const std::size_t room = limit > before.survivors ? limit - before.survivors : 0;
    if (before.wanted > room) limit_growth(room, before.wanted);
    launch_count_rows(stream_, inputs());
    return read_counts();
}

/// The ones pulled hardest grow, equal ones by row.
void Round::limit_growth(std::size_t room, std::size_t wanted) {
    DeviceBuffer<std::uint32_t> memory[4] = {DeviceBuffer<std::uint32_t>("density control"),
                                             DeviceBuffer<std::uint32_t>("density control"),
                                             DeviceBuffer<std::uint32_t>("density control"),
                                             DeviceBuffer<std::uint32_t>("density control")};
    for (auto& buffer : memory) buffer.resize_discard(wanted, stream_);
    Swap<std::uint32_t> keys{{memory[0].data(), memory[1].data()}},
        rows{{memory[2].data(), memory[3].data()}};
    primitives_.exclusive_sum(marks_.data(), sums_.data(), run_.count(), stream_);
    launch_list_growing(stream_, inputs(), sums_.data(), keys.now(), rows.now());
    primitives_.sort_pairs(keys, rows, wanted, 32, stream_);
    launch_limit(stream_, inputs(), rows.now(), static_cast<std::uint32_t>(room),
                 static_cast<std::uint32_t>(wanted));
    stream_.synchronize();
}

void Round::list(std::uint64_t seed, std::size_t rows_wanted) {
    for (int i = 0; i < 2; ++i) {
        source_[i].resize_discard(rows_wanted, stream_);
        origin_[i].resize_discard(rows_wanted, stream_);
        tag_[i].resize_discard(rows_wanted, stream_);
        mean_[i].resize_discard(3 * rows_wanted, stream_);
    }
    scratch_.resize_discard(rows_wanted * kGatheredPlanes, stream_);
    DeviceBuffer<std::uint64_t> key_memory[2] = {DeviceBuffer<std::uint64_t>("Morton order"),
                                                 DeviceBuffer<std::uint64_t>("Morton order")};
    DeviceBuffer<std::uint32_t> order_memory[2] = {DeviceBuffer<std::uint32_t>("Morton order"),
                                                   DeviceBuffer<std::uint32_t>("Morton order")};
    DeviceBuffer<std::uint32_t> new_sums("density control");
    new_sums.resize_discard(run_.count(), stream_);
    for (auto& buffer : key_memory) buffer.resize_discard(rows_wanted, stream_);
    for (auto& buffer : order_memory) buffer.resize_discard(rows_wanted, stream_);
    Swap<std::uint64_t> keys{{key_memory[0].data(), key_memory[1].data()}};
    Swap<std::uint32_t> order{{order_memory[0].data(), order_memory[1].data()}};
    const auto n = static_cast<std::uint32_t>(rows_wanted);
    primitives_.exclusive_sum(marks_.data(), sums_.data(), run_.count(), stream_);
    launch_count_new(stream_, inputs());
    primitives_.exclusive_sum(marks_.data(), new_sums.data(), run_.count(), stream_);
    launch_list_rows(stream_, inputs(),
                     {sums_.data(), new_sums.data(), run_.book().next, seed, step_}, rows(0));
    launch_morton_keys(stream_, counts_.data(), mean_[0].data(), n, keys.now(), order.now());
    primitives_.sort_pairs(keys, order, rows_wanted, 64, stream_);
    launch_reorder(stream_, rows(0), order.now(), n, rows(1));
    stream_.synchronize();
}

void Round::move(std::size_t rows_wanted) {
    const ModelView model = run_.view(false);
    const auto n = static_cast<std::uint32_t>(rows_wanted);
    const std::size_t before = run_.count();
    const auto cleared =
        static_cast<std::uint32_t>(std::max(before, (rows_wanted + kBlock - 1) / kBlock * kBlock));
    for (int first = 0; first < run_.planes(); first += kGatheredPlanes) {
        const int planes = std::min(kGatheredPlanes, run_.planes() - first);
        launch_gather_values(stream_, model, rows(1), n, first, planes, scratch_.data());
        launch_store_values(stream_, model, n, first, planes, scratch_.data());
    }
    launch_place_children(stream_, model, rows(1), n, std::log(kSplitShrink));
    // Rows given up become padding again: they draw nothing.
    for (int p = 0; p < run_.planes() && before > rows_wanted; ++p)
        launch_fill(stream_,
                    run_.values() + static_cast<std::size_t>(p) * run_.capacity() + rows_wanted,
                    std::bit_cast<std::uint32_t>(run_.padding(p)), before - rows_wanted);
    for (int first = 0; first < 2 * run_.planes(); first += kGatheredPlanes) {
        const int planes = std::min(kGatheredPlanes, 2 * run_.planes() - first);
        launch_gather_moments(stream_, model, rows(1), n, first, planes, scratch_.data());
        launch_store_moments(stream_, model, n, cleared, first, planes, scratch_.data());
    }
    copy_on_device(run_.tags(), rows(1).tag, rows_wanted * sizeof(std::uint32_t), stream_);
    launch_fill(stream_, run_.tags() + rows_wanted, 0, run_.capacity() - rows_wanted);
    run_.set_count(rows_wanted);
    run_.set_last_step(static_cast<std::uint32_t>(step_));
    stream_.synchronize();
}

DensityReport report_of(const DensityCounts& counts) {
    DensityReport report;
    report.cloned = counts.cloned;
    report.split = counts.split;
    report.pruned = counts.pruned;
    report.wanted = counts.wanted;
    return report;
}
std::size_t rows_after(std::size_t count, const DensityCounts& c) {
    return count - c.pruned + c.cloned + c.split;
}

DensityReport carry_out(StepEngine& engine, const Stream& stream, const TrainingSettings& settings,
                        double extent, bool prune_large) {
    DeviceRun& run = engine.arrays();
    Round round(engine, stream, density_rules(settings, extent, prune_large));
    const std::size_t before = run.count();
    const std::size_t limit =
        std::max<std::size_t>(1, static_cast<std::size_t>(settings.max_gaussians));
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
        run.book().give(counts.cloned + 2 * counts.split, engine.clock().steps);
        const std::string why = std::move(report.why);
        report = report_of(counts);
        report.why = why;
        engine.rows_changed(static_cast<double>(wanted) / static_cast<double>(before));
    }
    report.out_of_memory = !grown;
    return report;
}

}  // namespace

DensityReport density_round_on_device(StepEngine& engine, const Stream& stream,
                                      const TrainingSettings& settings, double extent,
                                      bool prune_large) {
    engine.settle();
    DensityReport report;
    try {
        report = carry_out(engine, stream, settings, extent, prune_large);
    } catch (const DeviceError& error) {
        // Lists and scratch of the round did not fit; nothing of the run was changed yet.
        if (!error.out_of_memory()) throw;
        report.out_of_memory = true;
        report.why = fmt::format("{}; last good step kept", error.what());
    }
    engine.arrays().clear_statistics();
    stream.synchronize();
    return report;
}

void reset_opacity_on_device(StepEngine& engine, const Stream& stream) {
    engine.settle();
    launch_lower_opacity(stream, engine.arrays().view(false), engine.arrays().tags(),
                         reset_logit());
    engine.arrays().clear_moments(kOpacityLogits);
    stream.synchronize();
}

}  // namespace gs::cuda
