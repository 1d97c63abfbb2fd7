// Run: edits of the model between steps are recorded and saved, and going back undoes them.
#include "renderer/device/device_error.h"
#include "renderer/io/splats/splat_io.h"
#include "run_fixture.h"
#include "trainer/checkpoint.h"
#include "trainer/density/run_edit.h"

namespace gs {
namespace {

using testing::RunTest;
using testing::TrainingRun;

class RunEdits : public RunTest {
  protected:
    RunEdits() {
        options_.snapshot_budget = [] { return std::uint64_t{64} << 20; };
    }
    static void train_to(TrainingRun& run, std::uint64_t step) {
        while (run.trainer().steps_done() < step) ASSERT_NE(run.step(), TrainingRun::Did::nothing);
    }
    static Result<void> delete_first(TrainingRun& run, std::size_t count) {
        return run.edit(fmt::format("edit: deleted {} Gaussians", count), [&](RunArrays& arrays) {
            std::vector<std::uint32_t> rows;
            for (std::uint32_t row = 0; row < count; ++row) rows.push_back(row);
            (void)take_rows(arrays, rows);
        });
    }
};

TEST_F(RunEdits, AreOnRecordAndShareTheSnapshotBeforeThem) {
    const auto run = make();
    train_to(*run, 12);
    const std::size_t before = run->trainer().gaussian_count();
    ASSERT_TRUE(delete_first(*run, 5));
    ASSERT_TRUE(delete_first(*run, 2));
    EXPECT_EQ(run->trainer().gaussian_count(), before - 7);
    ASSERT_EQ(run->snapshots().all().size(), 1u);
    EXPECT_EQ(run->snapshots().all()[0].why, "before edit: deleted 5 Gaussians");
    ASSERT_EQ(run->record().marks.size(), 2u);
    EXPECT_EQ(run->record().marks[0].step, 12u);
    EXPECT_EQ(run->record().marks[0].text, "edit: deleted 5 Gaussians");
    // Back to before both; where it stood, at the same step, can be gone to again.
    ASSERT_TRUE(run->snapshots().revert(run->snapshots().all()[0].number));
    EXPECT_EQ(run->trainer().gaussian_count(), before);
    EXPECT_TRUE(run->record().marks.empty());
    ASSERT_EQ(run->snapshots().all().size(), 2u);
    ASSERT_TRUE(run->snapshots().revert(run->snapshots().all()[1].number));
    EXPECT_EQ(run->trainer().gaussian_count(), before - 7);
    EXPECT_EQ(run->record().marks.size(), 2u);
    train_to(*run, 14);
}

TEST_F(RunEdits, OfAFinishedRunAreSaved) {
    const auto run = make();
    drive(*run);
    ASSERT_TRUE(run->ended());
    const std::size_t before = run->trainer().gaussian_count();
    ASSERT_TRUE(delete_first(*run, 3));
    run->finish();
    const auto saved = required(read_checkpoint_model(folder_ / "out" / "checkpoint.gsc"));
    EXPECT_EQ(saved.model.count, before - 3);
    const auto splats = required(read_splats(folder_ / "out" / "point_cloud.ply"));
    EXPECT_EQ(splats.model.count, before - 3);
}

TEST_F(RunEdits, OneThatFailsIsNotOnRecord) {
    const auto run = make();
    train_to(*run, 5);
    const auto failed = run->edit("edit: grew", [](RunArrays&) { throw std::bad_alloc(); });
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().text().find("edit: grew failed"), std::string::npos);
    EXPECT_TRUE(run->record().marks.empty());
    EXPECT_TRUE(run->failure().empty());
    train_to(*run, 7);
}

TEST_F(RunEdits, OneThatEndsTheDeviceSavesWhatCanBeRead) {
    const auto run = make();
    train_to(*run, 5);
    const auto failed = run->edit(
        "edit: grew", [](RunArrays&) { throw DeviceError("an illegal memory access", false); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().text().find("the run is unchanged"), std::string::npos);
    EXPECT_NE(run->failure().find("illegal memory access"), std::string::npos);
    EXPECT_TRUE(fs::exists(folder_ / "out" / "point_cloud.ply"));
    EXPECT_TRUE(fs::exists(folder_ / "out" / "checkpoint.gsc"));
}

}  // namespace
}  // namespace gs
