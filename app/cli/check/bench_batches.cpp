#include "app/cli/check/bench_batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "app/cli/check/bench_report.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "trainer/density/snapshot.h"
#include "trainer/loss/metrics.h"

namespace gs::cli {
namespace {

constexpr std::size_t kRounds = 8, kWarmUpBatches = 2;

/// `from` as a run of `batch` photos a step, without sleepers: its tables are empty.
TrainingSnapshot with_batch(const TrainingSnapshot& from, int batch) {
    TrainingSnapshot out = from;
    out.settings.batch = batch;
    out.arrays.adam.batch = static_cast<std::uint32_t>(batch);
    return out;
}

/// Milliseconds a photo over `steps` steps, all of them done.
double time_steps(Trainer& trainer, std::size_t steps) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t photos = 0;
    for (std::size_t i = 0; i < steps; ++i) photos += trainer.step().batch;
    (void)trainer.identity();  // waits for the device
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<double>(photos);
}

}  // namespace

Result<std::vector<BatchTime>> time_batches(Trainer& trainer, std::span<const int> batches,
                                            std::size_t photos) {
    const std::size_t most = trainable_views(trainer.capture()).size();
    for (const int batch : batches)
        if (static_cast<std::size_t>(batch) > most)
            return fail(
                ErrorKind::usage, trainer.capture().path,
                fmt::format(
                    "a step of {} photos needs at least that many, but only {} can be trained on",
                    batch, most),
                "give --batch smaller sizes");
    // Bring all Gaussians up to date: sleepers of one rule cannot wake under another.
    trainer.edit([](RunArrays&) {});
    const std::shared_ptr<const TrainingSnapshot> start = trainer.snapshot();
    std::vector<BatchTime> out(batches.size());
    std::vector<std::vector<double>> times(batches.size());
    ProgressLine progress("bench");
    for (std::size_t round = 0; round < kRounds && !interrupted(); ++round)
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const auto batch = static_cast<std::size_t>(batches[i]);
            const std::size_t steps = std::max<std::size_t>(1, photos / kRounds / batch);
            trainer.restore(with_batch(*start, batches[i]));
            (void)time_steps(trainer, kWarmUpBatches);
            times[i].push_back(time_steps(trainer, steps));
            out[i].photos += steps * batch;
            progress.update(round * batches.size() + i + 1, kRounds * batches.size(),
                            fmt::format("{} photos a step", batch));
        }
    progress.finish();
    for (std::size_t i = 0; i < batches.size(); ++i) {
        out[i].batch = batches[i];
        out[i].gaussians = start->arrays.model.count;
        if (!times[i].empty())
            median_interval(times[i], out[i].ms_photo, out[i].ms_lo, out[i].ms_hi);
    }
    trainer.restore(*start);
    return out;
}

Table batches_table(std::span<const BatchTime> times) {
    return table_of<BatchTime>(
        times,
        {{"batch", "photos a step", fixed<0>, &BatchTime::batch},
         {"ms_photo", "ms a photo", fixed<3>, &BatchTime::ms_photo},
         {"ms_photo_lo", "", nullptr, &BatchTime::ms_lo},
         {"ms_photo_hi", "", nullptr, &BatchTime::ms_hi},
         {"", "95 % interval", fixed<3>,
          [](auto& t) { return fmt::format("{:.3f} .. {:.3f}", t.ms_lo, t.ms_hi); }},
         {"photos_per_second", "photos/s", fixed<1>, [](auto& t) { return 1e3 / t.ms_photo; }},
         {"photos", "", nullptr, &BatchTime::photos},
         {"gaussians", "", nullptr, &BatchTime::gaussians}});
}

}  // namespace gs::cli
