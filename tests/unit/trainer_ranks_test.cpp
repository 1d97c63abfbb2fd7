// One run by several ranks, here threads: the same bits as by one process, whatever is learned, and
// whoever fails is heard by all.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/rng.h"
#include "small_run.h"
#include "tests/support/thread_exchange.h"
#include "tests/unit/io_files.h"
#include "trainer/density/relocation.h"
#include "trainer/density/run_edit.h"
#include "trainer/ranks/rank_rows.h"
#include "trainer/ranks/rank_training.h"
#include "trainer/run/run_files.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using gs::testing::busy_settings;
using gs::testing::small_capture;
using gs::testing::ThreadHub;
using gs::testing::with_ranks;

std::string file_bytes(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Trains with `ranks` ranks, or in one process without any for 0, and calls look(trainer).
void train(int ranks, const std::shared_ptr<Capture>& capture, const TrainingSettings& settings,
           int steps, const std::function<void(Trainer&)>& look) {
    const auto run = [&](std::unique_ptr<TrainingBackend> backend) {
        auto trainer = Trainer::create(capture, settings, std::move(backend));
        ASSERT_TRUE(trainer) << trainer.error().text();
        for (int i = 0; i < steps; ++i) (*trainer)->step();
        look(**trainer);
    };
    if (ranks == 0) return run(make_cpu_training());
    ThreadHub hub(ranks);
    with_ranks(
        hub,
        [&](Exchange& own) {
            run(make_rank_training(own));
            dismiss_ranks(own);
        },
        [](Exchange& own) { serve_rank(own); });
}

bool same_bits(const ImageF& a, const ImageF& b) {
    const std::size_t bytes = a.values.size() * sizeof(float);
    return a.values.size() == b.values.size() &&
           std::memcmp(a.values.data(), b.values.data(), bytes) == 0;
}

struct Outcome {
    std::string checkpoint;
    RenderResult picture;
    std::vector<double> losses;
    std::size_t gaussians = 0;
};
Outcome outcome_of(int ranks, const std::shared_ptr<Capture>& capture,
                   const TrainingSettings& settings, int steps) {
    const TempFolder folder;
    Outcome out;
    train(ranks, capture, settings, steps, [&](Trainer& trainer) {
        RenderOptions options = trainer.render_options();
        auto tint = std::make_shared<GaussianTint>();
        for (std::uint32_t row = 0; row < 100; ++row)
            tint->words.resize(row + 1, row % 7 == 0 ? GaussianTint::kHidden : 0x80000000u + row);
        options.tint = tint;
        trainer.render(capture->views[0].camera, options, out.picture);
        EXPECT_TRUE(trainer.save_checkpoint(folder / "run.gsc"));
        out.checkpoint = file_bytes(folder / "run.gsc");
        out.gaussians = trainer.gaussian_count();
    });
    return out;
}

void expect_one_result(const std::shared_ptr<Capture>& capture, const TrainingSettings& settings,
                       int steps) {
    const Outcome one = outcome_of(0, capture, settings, steps);
    EXPECT_GT(one.gaussians, 0u);
    for (const int ranks : {1, 2, 3, 4, 5}) {
        SCOPED_TRACE(ranks);
        const Outcome several = outcome_of(ranks, capture, settings, steps);
        EXPECT_EQ(several.gaussians, one.gaussians);
        EXPECT_TRUE(several.checkpoint == one.checkpoint);
        EXPECT_TRUE(same_bits(several.picture.color, one.picture.color));
        EXPECT_EQ(several.picture.counters.visible, one.picture.counters.visible);
        EXPECT_EQ(several.picture.counters.isects, one.picture.counters.isects);
    }
}

TEST(TrainerRanks, AnyNumberTrainsTheSameBits) {
    expect_one_result(small_capture(), busy_settings(), 30);
}

TEST(TrainerRanks, WhateverIsLearned) {
    TrainingSettings learns = busy_settings();
    learns.batch = 3;
    learns.refine_poses = learns.refine_intrinsics = learns.random_background = true;
    learns.pose_from = learns.appearance_from = 2;
    learns.appearance = AppearanceMode::ppisp;
    learns.sky = SkyKind::sh2;
    expect_one_result(small_capture(), learns, 20);
    TrainingSettings filtered = busy_settings();
    filtered.filter_3d = filtered.absgrad = filtered.revised_opacity = filtered.long_axis = true;
    expect_one_result(small_capture(), filtered, 20);
}

TEST(TrainerRanks, EveryStrategy) {
    for (const StrategyKind kind : {StrategyKind::mcmc, StrategyKind::budget}) {
        SCOPED_TRACE(static_cast<int>(kind));
        TrainingSettings settings =
            with_setting(busy_settings(), *find_setting("strategy"), static_cast<double>(kind));
        settings.max_gaussians = 400;
        expect_one_result(small_capture(), settings, 30);
    }
}

TEST(TrainerRanks, MoreRanksThanBlocksAndEmptyPictures) {
    const auto capture = small_capture(48, 40, 20);  // two blocks
    Camera& away = capture->views[2].camera;
    away = look_at(away.position(), 2.0 * away.position(), {0, -1, 0}, 48, 40, 0.9);
    expect_one_result(capture, busy_settings(), 12);
    expect_one_result(small_capture(17, 9, 300), busy_settings(), 6);  // one row of tiles
}

TEST(TrainerRanks, CheckpointsDoNotDependOnTheirNumber) {
    const TempFolder folder;
    const auto capture = small_capture();
    const TrainingSettings settings = busy_settings();
    const std::string straight = outcome_of(0, capture, settings, 24).checkpoint;
    train(4, capture, settings, 8,
          [&](Trainer& t) { EXPECT_TRUE(t.save_checkpoint(folder / "a.gsc")); });
    const auto resume = [&](int ranks, const char* from, const char* to) {
        ThreadHub hub(ranks);
        with_ranks(
            hub,
            [&](Exchange& own) {
                auto trainer = Trainer::resume(folder / from, capture, make_rank_training(own));
                ASSERT_TRUE(trainer) << trainer.error().text();
                for (int i = 0; i < 8; ++i) (*trainer)->step();
                EXPECT_TRUE((*trainer)->save_checkpoint(folder / to));
                dismiss_ranks(own);
            },
            [](Exchange& own) { serve_rank(own); });
    };
    resume(3, "a.gsc", "b.gsc");
    resume(1, "b.gsc", "c.gsc");
    EXPECT_TRUE(file_bytes(folder / "c.gsc") == straight);
}

TEST(TrainerRanks, EditsAndHashesAreThoseOfOneProcess) {
    const auto lock_some = [](RunArrays& run) {
        for (std::size_t row = 0; row < run.model.count; row += 3)
            run.identity.tags[row] |= kLockedTag;
    };
    std::vector<StepHashes> hashes[2];
    std::string checkpoints[2];
    const TempFolder folder;
    for (const int ranks : {0, 3})
        train(ranks, small_capture(), busy_settings(), 4, [&](Trainer& trainer) {
            const std::size_t i = ranks == 0 ? 0 : 1;
            trainer.edit(lock_some);
            trainer.hash_steps(true);
            for (int step = 0; step < 5; ++step) trainer.step();
            hashes[i] = trainer.take_hashes(true);
            EXPECT_EQ(trainer.identity().tags.size(), trainer.gaussian_count());
            EXPECT_TRUE(trainer.save_checkpoint(folder / "run.gsc"));
            checkpoints[i] = file_bytes(folder / "run.gsc");
        });
    ASSERT_EQ(hashes[0].size(), hashes[1].size());
    for (std::size_t i = 0; i < hashes[0].size(); ++i) EXPECT_EQ(hashes[0][i], hashes[1][i]) << i;
    EXPECT_TRUE(checkpoints[0] == checkpoints[1]);
}

/// Counts bytes of messages between a rank and the others.
class Counted final : public Exchange {
  public:
    explicit Counted(Exchange& ranks) : ranks_(ranks) {}
    int rank() const override { return ranks_.rank(); }
    int size() const override { return ranks_.size(); }
    std::vector<Message> swap(std::vector<Message> send, bool patient) override {
        const std::size_t sent = of_others(send);
        std::vector<Message> out = ranks_.swap(std::move(send), patient);
        received += of_others(out);
        most_at_once = std::max(most_at_once, sent + of_others(out));
        return out;
    }
    void fail(const std::string& reason) noexcept override { ranks_.fail(reason); }
    std::size_t received = 0, most_at_once = 0;

  private:
    std::size_t of_others(const std::vector<Message>& messages) const {
        std::size_t bytes = 0;
        for (std::size_t r = 0; r < messages.size(); ++r)
            bytes += static_cast<int>(r) == rank() ? 0 : messages[r].size();
        return bytes;
    }
    Exchange& ranks_;
};

/// Rows with values of all kinds, among which a round finds some to keep, grow, move and prune.
RunArrays varied_run(std::size_t rows) {
    GaussianModel model(rows, 3);
    std::uint64_t stream = 0;
    const auto random = [&](std::size_t row) { return random_uniform(5, stream, row); };
    for (int p = 0; p < model.planes(); ++p, ++stream)
        for (std::size_t row = 0; row < rows; ++row)
            model.at(p, row) = p == kOpacityLogits             ? 10 * random(row) - 7
                               : p >= kLogScales && p < kQuats ? 2 * random(row) - 4
                                                               : random(row) - 0.5f;
    RunArrays run = new_run(std::move(model));
    for (Buffer<float>* values : {&run.adam.moments, &run.statistics.gradient_sum,
                                  &run.statistics.views, &run.statistics.radius_px}) {
        ++stream;
        for (std::size_t row = 0; row < rows; ++row) (*values)[row] = random(row);
    }
    for (std::size_t row = 0; row < rows; row += 7) run.identity.tags[row] |= kLockedTag;
    return run;
}

void expect_same_rows(const RunArrays& a, const RunArrays& b) {
    ASSERT_EQ(a.model.count, b.model.count);
    EXPECT_TRUE(a.identity.book == b.identity.book);
    each_row_array(
        [](const RowArray& array, const auto& of_a, const auto& of_b) {
            ASSERT_EQ(of_a.size(), of_b.size()) << array.name;
            EXPECT_TRUE(std::ranges::equal(std::as_bytes(of_a.span()), std::as_bytes(of_b.span())))
                << array.name;
        },
        a, b);
}

using Round = std::function<DensityReport(RunArrays&, Exchange&)>;
/// `round`: of the same rows by one process and by several.
void expect_only_shares(const Round& round, std::size_t rows, int ranks) {
    SCOPED_TRACE(ranks);
    const RunArrays before = varied_run(rows);
    RunArrays one = before, joined;
    const DensityReport report = round(one, one_process());
    EXPECT_GT(report.pruned + report.relocated, rows / 10);
    struct Held {
        std::size_t bytes, rows, received, most_at_once;
    };
    std::vector<Held> held(static_cast<std::size_t>(ranks));
    const auto take_part = [&](Exchange& own) {
        RunArrays part = share_rows(own, own.head() ? &before : nullptr);
        Counted counted(own);
        const DensityReport of_ranks = round(part, counted);
        held[static_cast<std::size_t>(own.rank())] = {row_bytes(part), part.model.count,
                                                      counted.received, counted.most_at_once};
        counted.most_at_once = 0;
        RunArrays whole = gather_rows(counted, part, one.model.capacity);
        EXPECT_LE(counted.most_at_once, kMostBytes);
        if (!own.head()) return;
        joined = std::move(whole);
        EXPECT_EQ(of_ranks.pruned, report.pruned);
        EXPECT_EQ(of_ranks.wanted, report.wanted);
        EXPECT_EQ(of_ranks.relocated, report.relocated);
    };
    ThreadHub hub(ranks);
    with_ranks(hub, take_part, take_part);
    expect_same_rows(joined, one);
    // A row's parameters and moments are 708 bytes. What decides is less than 96 of any row, and
    // at most 16 bytes a row of the run at a time.
    const std::size_t row = row_bytes(before) / before.model.capacity;
    for (const Held& of : held) {
        EXPECT_LT(static_cast<double>(of.bytes), 1.1 * static_cast<double>(row_bytes(one)) / ranks);
        EXPECT_LT(of.received, of.rows * row + 96 * rows);
        EXPECT_LE(of.most_at_once, 16 * one.model.count);
    }
    EXPECT_LT(held[0].bytes + held[0].most_at_once, row_bytes(one));
}

TEST(TrainerRanks, RoundsHoldSharesOfTheRowsOnly) {
    TrainingSettings settings;
    settings.densify_gradient = 0.6;
    settings.max_gaussians = 100'000;
    const Round grow = [&](RunArrays& run, Exchange& ranks) {
        return densify_and_prune(run, settings, 1.0, false, nullptr, ranks);
    };
    const Round move = [&](RunArrays& run, Exchange& ranks) {
        return relocate(run, settings, 1.0, nullptr, ranks);
    };
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < 6000; ++row)
        if (row % 3 == 0 || row / 1000 == 2) rows.push_back(row);
    const Round remove = [&](RunArrays& run, Exchange& ranks) {
        remove_rows(run, ranks.head() ? std::span(rows) : std::span<std::uint32_t>(), ranks);
        return DensityReport{.pruned = rows.size()};
    };
    RunArrays removed = varied_run(6000), taken = removed;
    (void)remove(removed, one_process());
    (void)take_rows(taken, rows);
    expect_same_rows(removed, taken);
    for (const int ranks : {2, 4, 7}) {
        settings.max_gaussians = 100'000;
        expect_only_shares(remove, 6000, ranks);
        expect_only_shares(grow, 6000, ranks);
        expect_only_shares(move, 6000, ranks);
        settings.max_gaussians = 6100;  // fewer than want to grow
        expect_only_shares(grow, 6000, ranks);
    }
}

TEST(TrainerRanks, WhoFailsIsHeardByAll) {
    ThreadHub hub(3);
    std::string heard;
    with_ranks(
        hub,
        [&](Exchange& own) {
            auto trainer =
                Trainer::create(small_capture(), busy_settings(), make_rank_training(own));
            ASSERT_TRUE(trainer);
            try {
                for (int i = 0; i < 10; ++i) (*trainer)->step();
            } catch (const RankError& error) {
                heard = error.what();
            }
        },
        [](Exchange& own) {
            if (own.rank() == 1) return serve_rank(own);
            // Takes its rows, and fails in the first step.
            (void)from_head(own, {}, true);
            (void)share_rows(own, nullptr);
            (void)sums_over(own, {0});
            (void)from_head(own, {}, true);
            own.fail("no memory");
        });
    EXPECT_EQ(heard, "rank 2: no memory");
}

TEST(TrainerRanks, CutMessagesAreRefused) {
    MessageWriter writer;
    writer.put(std::uint64_t{1} << 60);
    const Message message = writer.take();
    EXPECT_THROW((void)MessageReader(message).list<double>(), RankError);
    EXPECT_THROW((void)MessageReader(message).next(9), RankError);
    MessageReader reader(message);
    EXPECT_EQ(reader.get<std::uint64_t>(), std::uint64_t{1} << 60);
    EXPECT_THROW((void)reader.get<char>(), RankError);
}

}  // namespace
}  // namespace gs::test
