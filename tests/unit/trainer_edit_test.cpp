// Runs that are edited between steps: Gaussians keep their ids, locked ones their bits, a
// checkpoint all of it; what lies outside the crop box goes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "renderer/scene/crop.h"
#include "small_run.h"
#include "tests/support/numbered_rows.h"
#include "trainer/checkpoint.h"
#include "trainer/density/run_edit.h"
#include "trainer/density/snapshot.h"
#include "trainer/trainer.h"

namespace gs {
namespace {

using testing::busy_settings;
using testing::same_bits;
using testing::small_capture;

std::unique_ptr<Trainer> editable(const TrainingSettings& settings = busy_settings()) {
    auto trainer = Trainer::create(small_capture(), settings, make_cpu_training());
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    return std::move(*trainer);
}
void steps(Trainer& trainer, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(std::isfinite(trainer.step().loss));
}
/// Parameters by id.
std::map<std::uint32_t, std::vector<float>> by_id(const Trainer& trainer) {
    const GaussianModel model = trainer.model();
    const std::vector<std::uint32_t> ids = trainer.identity().ids();
    std::map<std::uint32_t, std::vector<float>> out;
    for (std::size_t row = 0; row < model.count; ++row)
        for (int p = 0; p < model.planes(); ++p) out[ids[row]].push_back(model.at(p, row));
    return out;
}

/// By row: the steps done when it was born.
std::vector<std::uint32_t> births_of(const Trainer& trainer) {
    const RowIdentity identity = trainer.identity();
    std::vector<std::uint32_t> out = identity.ids();
    for (std::uint32_t& id : out) id = identity.book.birth_step(id);
    return out;
}

struct TemporaryFile {
    fs::path path = fs::temp_directory_path() /
                    fmt::format("gausscope_{}.gsc",
                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
    ~TemporaryFile() {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
};

TEST(TrainerEdit, IdsStayAndNewOnesAreBornInTheirRound) {
    const auto trainer = editable();
    std::vector<std::uint32_t> ids = trainer->identity().ids();
    for (std::size_t row = 0; row < ids.size(); ++row) ASSERT_EQ(ids[row], row);
    std::uint32_t given = static_cast<std::uint32_t>(ids.size());
    bool born = false, gone = false;
    for (std::uint32_t step = 1; step <= 30; ++step) {
        const std::set<std::uint32_t> before(ids.begin(), ids.end());
        const bool densified = trainer->step().densified;
        ids = trainer->identity().ids();
        const std::vector<std::uint32_t> births = births_of(*trainer);
        const std::set<std::uint32_t> after(ids.begin(), ids.end());
        ASSERT_EQ(after.size(), ids.size()) << "two rows are one Gaussian";
        if (!densified) {
            ASSERT_EQ(after, before);
        }
        std::uint32_t expected = given;  // without holes, in ascending order
        for (const std::uint32_t id : after) {
            if (id < given) continue;
            ASSERT_EQ(id, expected++);
        }
        for (std::size_t row = 0; row < ids.size(); ++row)
            if (ids[row] >= given) {
                ASSERT_EQ(births[row], step);
            }
        born |= expected > given;
        for (const std::uint32_t id : before) gone |= after.count(id) == 0;
        given = expected;
    }
    EXPECT_TRUE(born);
    EXPECT_TRUE(gone);
}

TEST(TrainerEdit, AClonedGaussianKeepsItsIdAndASplitOneDoesNot) {
    RunArrays run = new_run({3, 0, padded_capacity(3)});
    GaussianModel& model = run.model;
    for (std::size_t row = 0; row < 3; ++row) {
        model.at(kMeans, row) = static_cast<float>(row);
        model.at(kOpacityLogits, row) = 2;
        for (int axis = 0; axis < 3; ++axis)
            model.at(kLogScales + axis, row) = std::log(row == 1 ? 0.05f : 0.005f);
    }
    for (std::size_t row = 0; row < 2; ++row) {
        run.statistics.gradient_sum[row] = 1;
        run.statistics.views[row] = 1;
    }
    const DensityReport report = densify_and_prune(run, TrainingSettings(), 1.0, false);
    ASSERT_EQ(report.cloned, 1u);
    ASSERT_EQ(report.split, 1u);
    std::multiset<std::uint32_t> at_zero, at_one, at_two;
    for (std::size_t row = 0; row < model.count; ++row) {
        const float x = model.at(kMeans, row);
        (x < 0.5f ? at_zero : x < 1.5f ? at_one : at_two).insert(run.identity.tags[row]);
    }
    EXPECT_EQ(at_zero, (std::multiset<std::uint32_t>{0, 3}));
    EXPECT_EQ(at_one, (std::multiset<std::uint32_t>{4, 5}));
    EXPECT_EQ(at_two, (std::multiset<std::uint32_t>{2}));
}

TEST(TrainerEdit, LockedOnesKeepTheirBitsThroughEverything) {
    const auto trainer = editable();  // rounds every 5 steps, an opacity reset
    steps(*trainer, 7);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < trainer->gaussian_count(); row += 3) rows.push_back(row);
    trainer->edit([&](RunArrays& arrays) {
        arrays.model.at(kOpacityLogits, rows[1]) = -30;  // anybody else would be pruned
        lock_rows(arrays, rows, true);
    });
    const auto before = by_id(*trainer);
    std::set<std::uint32_t> locked;
    for (const std::uint32_t row : rows) locked.insert(trainer->identity().ids()[row]);
    steps(*trainer, 2);  // no round yet
    std::size_t moved = 0;
    for (const auto& [id, values] : by_id(*trainer)) moved += values != before.at(id);
    EXPECT_GT(moved, 0u);
    EXPECT_LE(moved, before.size() - locked.size());
    steps(*trainer, 21);
    const auto after = by_id(*trainer);
    for (const std::uint32_t id : locked) {
        ASSERT_EQ(after.count(id), 1u) << "id " << id << " was removed or split";
        ASSERT_EQ(after.at(id), before.at(id)) << "id " << id;
    }
    const std::vector<std::uint8_t> flags = trainer->identity().locked();
    EXPECT_EQ(static_cast<std::size_t>(std::count(flags.begin(), flags.end(), 1)), locked.size());
    trainer->edit([&](RunArrays& arrays) {
        rows.clear();
        for (std::uint32_t row = 0; row < arrays.model.count; ++row) rows.push_back(row);
        lock_rows(arrays, rows, false);
    });
    TrainingSettings longer = trainer->settings();
    longer.steps = 40;
    trainer->set_settings(longer);
    steps(*trainer, 8);
    std::size_t free = 0;
    for (const auto& [id, values] : by_id(*trainer))
        free += locked.count(id) != 0 && values != before.at(id);
    EXPECT_GT(free, 0u) << "unlocked ones learn again";
}

TEST(TrainerEdit, WhatAnEditDoesNotTouchGoesOnAsItWas) {
    const auto plain = editable(), edited = editable();
    steps(*plain, 7);
    steps(*edited, 7);
    // Taken out and put back at once: as a run that was only settled there.
    plain->edit([](RunArrays&) {});
    edited->edit([](RunArrays& arrays) {
        const TakenRows taken = take_rows(arrays, std::vector<std::uint32_t>{0, 5, 40});
        put_back(arrays, taken);
    });
    steps(*plain, 20);
    steps(*edited, 20);
    EXPECT_TRUE(test::same_arrays(plain->snapshot()->arrays, edited->snapshot()->arrays));
}

TEST(TrainerEdit, RowsPutBackAfterMoreStepsAreTrainedAndSaved) {
    const auto trainer = editable();
    steps(*trainer, 7);
    TakenRows taken;
    trainer->edit([&](RunArrays& arrays) {
        taken = take_rows(arrays, std::vector<std::uint32_t>{0, 5, 40});
    });
    steps(*trainer, 5);
    trainer->edit([&](RunArrays& arrays) {
        put_back(arrays, taken);
        for (const std::uint32_t step : arrays.adam.last_step) ASSERT_EQ(step, 12u);
    });
    const TemporaryFile file;
    ASSERT_TRUE(trainer->save_checkpoint(file.path));
    const auto resumed = required(Trainer::resume(file.path, small_capture(), make_cpu_training()));
    steps(*trainer, 5);
    steps(*resumed, 5);
    EXPECT_TRUE(same_bits(trainer->model(), resumed->model()));
}

TEST(TrainerEdit, AnEditedRunIsResumedWithTheSameBits) {
    const TemporaryFile file;
    const auto straight = editable();
    steps(*straight, 12);
    straight->edit([](RunArrays& arrays) {
        (void)take_rows(arrays, std::vector<std::uint32_t>{1, 2, 3, 30});
        GaussianModel more(5, arrays.model.sh_degree);
        for (std::size_t i = 0; i < 5; ++i) more.at(kMeans, i) = 0.1f * static_cast<float>(i);
        append_rows(arrays, more);
        lock_rows(arrays, std::vector<std::uint32_t>{4, 6}, true);
    });
    const auto snapshot = straight->snapshot();
    ASSERT_TRUE(straight->save_checkpoint(file.path));
    auto resumed = required(Trainer::resume(file.path, small_capture(), make_cpu_training()));
    EXPECT_EQ(resumed->identity().locked(), straight->identity().locked());
    EXPECT_EQ(births_of(*resumed), births_of(*straight));
    steps(*straight, 18);
    steps(*resumed, 18);
    const RunArrays end = resumed->snapshot()->arrays;
    EXPECT_TRUE(test::same_arrays(straight->snapshot()->arrays, end));
    // And gone back to.
    straight->restore(*snapshot);
    steps(*straight, 18);
    EXPECT_TRUE(test::same_arrays(straight->snapshot()->arrays, end));
}

TEST(TrainerEdit, AnEditThatFailsChangesNothing) {
    const auto trainer = editable();
    steps(*trainer, 7);
    trainer->edit([](RunArrays&) {});
    const GaussianModel before = trainer->model();
    EXPECT_THROW(trainer->edit([](RunArrays&) { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_TRUE(same_bits(trainer->model(), before));
    steps(*trainer, 5);
}

TEST(TrainerEdit, SnapshotsAndCheckpointsHoldEveryArray) {
    TrainingSettings settings = busy_settings();
    settings.filter_3d = true;
    const auto trainer = editable(settings);
    steps(*trainer, 8);  // a round, and rows that sleep
    TrainingSnapshot numbered = *trainer->snapshot();
    test::number_rows(numbered.arrays);
    trainer->restore(numbered);
    EXPECT_TRUE(test::same_arrays(trainer->snapshot()->arrays, numbered.arrays));
    const TemporaryFile file;
    ASSERT_TRUE(trainer->save_checkpoint(file.path));
    const auto resumed = required(Trainer::resume(file.path, small_capture(), make_cpu_training()));
    EXPECT_TRUE(test::same_arrays(resumed->snapshot()->arrays, numbered.arrays));
}

/// The file up to its identities: older ones have nothing from there on.
std::string without_identity(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::size_t at = 8;  // after the magic: {tag, CRC, size of the payload}, payload
    for (std::uint64_t head[2]; at + sizeof head < bytes.size(); at += sizeof head + head[1]) {
        std::memcpy(head, bytes.data() + at, sizeof head);
        if (static_cast<std::uint32_t>(head[0]) == kIdentitySection) break;
    }
    bytes.resize(at);
    return bytes;
}

TEST(TrainerEdit, CheckpointsFromBeforeHaveTheirRowsForIds) {
    const TemporaryFile file;
    const auto straight = editable();
    steps(*straight, 12);
    ASSERT_TRUE(straight->save_checkpoint(file.path));
    const std::string old = without_identity(file.path);
    std::ofstream(file.path, std::ios::binary | std::ios::trunc) << old;
    auto resumed = required(Trainer::resume(file.path, small_capture(), make_cpu_training()));
    const auto ids = resumed->identity().ids(), births = births_of(*resumed);
    for (std::size_t row = 0; row < ids.size(); ++row) {
        ASSERT_EQ(ids[row], row);
        ASSERT_EQ(births[row], 0u);
    }
    steps(*straight, 18);
    steps(*resumed, 18);
    EXPECT_TRUE(same_bits(straight->model(), resumed->model()));
    EXPECT_TRUE(read_checkpoint_model(file.path));
}

TEST(TrainerEdit, OutsideTheCropBoxNothingStays) {
    TrainingSettings settings = busy_settings();
    const std::size_t all = editable(settings)->gaussian_count();
    const ClipBox box{{-0.4f, -10, -10}, {10, 10, 10}};
    for (const auto& [name, value] : crop_values(box))
        ASSERT_TRUE(set_setting(settings, name, value));
    const auto cropped = editable(settings);
    const std::size_t inside = cropped->gaussian_count();
    EXPECT_LT(inside, all);
    EXPECT_GT(inside, 0u);
    bool round = false;
    for (int i = 0; i < 30 && !round; ++i) round = cropped->step().densified;
    ASSERT_TRUE(round);
    // Split means may be drawn outside; the others are inside at the end of a round.
    const GaussianModel model = cropped->model();
    const std::vector<std::uint32_t> births = births_of(*cropped);
    for (const std::uint32_t row : rows_outside(model, box)) EXPECT_GT(births[row], 0u);
    // Switched on later: with the next round, but for locked ones.
    const auto late = editable();
    steps(*late, 6);
    const std::vector<std::uint32_t> outside = rows_outside(late->model(), box);
    ASSERT_GT(outside.size(), 1u);
    std::vector<std::uint32_t> ids = late->identity().ids();
    const std::uint32_t kept = ids[outside[0]], lost = ids[outside[1]];
    late->edit([&](RunArrays& arrays) {
        lock_rows(arrays, std::vector<std::uint32_t>{outside[0]}, true);
    });
    late->set_settings(settings);
    EXPECT_TRUE(crop_of(late->settings()).has_value());
    while (!late->step().densified) {
    }
    ids = late->identity().ids();
    EXPECT_NE(std::find(ids.begin(), ids.end(), kept), ids.end());
    EXPECT_EQ(std::find(ids.begin(), ids.end(), lost), ids.end());
}

TEST(TrainerEdit, ACropBoxWithoutPointsIsAnError) {
    TrainingSettings settings = busy_settings();
    for (const auto& [name, value] : crop_values(ClipBox{{90, 90, 90}, {91, 91, 91}}))
        ASSERT_TRUE(set_setting(settings, name, value));
    const auto trainer = Trainer::create(small_capture(), settings, make_cpu_training());
    ASSERT_FALSE(trainer);
    EXPECT_NE(trainer.error().text().find("no point of the capture is in the crop box"),
              std::string::npos);
    EXPECT_FALSE(crop_of(TrainingSettings()).has_value());
    EXPECT_EQ(crop_values(std::nullopt), (NamedValues{{"crop", 0.0}}));
}

}  // namespace
}  // namespace gs
