// Steps that explain themselves: captured whole and run again to the same bits, files of them that
// lie, hashes of every step, and that none of it changes a run.
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/files/zip_writer.h"
#include "small_run.h"
#include "tests/unit/io_files.h"
#include "tests/unit/io_mutator.h"
#include "trainer/run/run.h"
#include "trainer/run/step_file.h"
#include "trainer/step_hashes.h"
#include "trainer/trainer.h"

namespace gs::test {
namespace {

using TrainingRun = Run;  // a test has a Run of its own

using gs::testing::busy_settings;
using gs::testing::small_capture;

std::unique_ptr<Trainer> make_trainer(TrainingSettings settings = busy_settings()) {
    auto trainer = Trainer::create(small_capture(), settings, make_cpu_training());
    EXPECT_TRUE(trainer);
    return std::move(*trainer);
}

/// Step `number` of a run, captured.
CapturedStep captured(std::uint64_t number, TrainingSettings settings = busy_settings()) {
    const auto trainer = make_trainer(settings);
    StepRecord record;
    while (trainer->steps_done() + 1 < number) trainer->step();
    trainer->step(&record);
    auto step = capture_of(record, "small", trainer->rasterizer());
    EXPECT_TRUE(step) << step.error().text();
    return std::move(*step);
}

std::size_t differing(const CapturedStep& step, const StepOutputs& now) {
    std::size_t out = 0;
    for (const ComparisonRow& stage : compare_steps(step.inputs, step.outputs, now))
        out += stage.differ;
    return out;
}

// Every kind of step: the first, others with sleepers, before a round, before a reset, with SH.
TEST(CapturedSteps, RunAgainToTheSameBits) {
    const TempFolder folder;
    const auto rasterizer = make_cpu_rasterizer();
    for (const std::uint64_t number : {1, 4, 10, 13, 18, 29}) {
        SCOPED_TRACE(number);
        const CapturedStep step = captured(number);
        EXPECT_TRUE(step.origin.same_bits) << step.origin.agreement;
        EXPECT_EQ(step.inputs.step + 1, number);
        EXPECT_GT(step.outputs.lists.visible(), 50u);
        ASSERT_TRUE(write_step(step, folder / "a.gsstep"));
        const auto back = required(read_step(folder / "a.gsstep"));
        EXPECT_EQ(back.inputs.camera.fx, step.inputs.camera.fx);
        EXPECT_EQ(back.origin.settings.densify_every, step.origin.settings.densify_every);
        EXPECT_EQ(back.origin.view, step.origin.view);
        const StepOutputs now = run_step(back.inputs, *rasterizer);
        EXPECT_EQ(differing(back, now), 0u);
        EXPECT_EQ(differing(step, back.outputs), 0u);
        EXPECT_EQ(now.gradients_hash, step.outputs.gradients_hash);
    }
}

TEST(CapturedSteps, TheProjectionComesBack) {
    const TempFolder folder;
    TrainingSettings by_points = busy_settings();
    by_points.projection = ProjectionMethod::ut;
    const CapturedStep step = captured(18, by_points);
    ASSERT_TRUE(write_step(step, folder / "a.gsstep"));
    auto back = required(read_step(folder / "a.gsstep"));
    EXPECT_EQ(back.inputs.options.projection, ProjectionMethod::ut);
    const auto rasterizer = make_cpu_rasterizer();
    EXPECT_EQ(differing(back, run_step(back.inputs, *rasterizer)), 0u);
    back.inputs.options.projection = ProjectionMethod::ewa;
    EXPECT_GT(differing(back, run_step(back.inputs, *rasterizer)), 0u) << "it was not by EWA";
}

TEST(CapturedSteps, AChangedNumberIsFoundInItsStage) {
    const CapturedStep step = captured(20);
    const auto rasterizer = make_cpu_rasterizer();
    const auto first_of = [&](const StepInputs& inputs) {
        for (ComparisonRow& stage :
             compare_steps(inputs, step.outputs, run_step(inputs, *rasterizer), false))
            if (stage.differ > 0) return stage;
        return ComparisonRow{};
    };
    CapturedStep other = step;
    const std::uint32_t row = other.outputs.lists.rows[7];
    other.inputs.model.at(kMeans, row) += 1e-3f;
    const ComparisonRow moved = first_of(other.inputs);
    EXPECT_EQ(moved.stage, "project");
    EXPECT_TRUE(
        moved.first.starts_with(fmt::format("Gaussian {}, x px", step.inputs.row_of_run(row))))
        << moved.first;
    EXPECT_GT(moved.l2(), 0);
    EXPECT_GT(moved.worst, 1e-3);

    other = step;
    other.inputs.photo.bytes[0] ^= 1;
    EXPECT_EQ(first_of(other.inputs).stage, "loss");
    other = step;
    other.inputs.rates[kGroupOpacity] *= 1.001;
    const ComparisonRow stepped = first_of(other.inputs);
    EXPECT_EQ(stepped.stage, "adam");
    EXPECT_NE(stepped.first.find("opacity logit"), std::string::npos) << stepped.first;
    EXPECT_GT(stepped.l2(), 0);
    EXPECT_TRUE(stepped.passed());
}

TEST(CapturedSteps, CapturingChangesNoBit) {
    const auto alone = make_trainer(), watched = make_trainer();
    watched->hash_steps(true);
    for (int i = 0; i < 30; ++i) {
        alone->step();
        StepRecord record;
        watched->step(i % 3 == 0 ? &record : nullptr);
        if (i % 3 == 0) {
            EXPECT_TRUE(capture_of(record, "small", watched->rasterizer()));
        }
    }
    EXPECT_TRUE(gs::testing::same_bits(alone->model(), watched->model()));
}

// Whatever a file says: an error with words, or a step that can be run.
TEST(CapturedSteps, HostileFilesAreRefused) {
    const TempFolder folder;
    const fs::path path = folder / "a.gsstep";
    ASSERT_TRUE(write_step(captured(18), path));
    const std::string whole = *read_text_file(path);
    hammer(whole, 300, [&](const std::string& bytes) {
        folder.write("a.gsstep", bytes);
        const auto step = read_step(path);
        if (!step) {
            EXPECT_FALSE(step.error().message.empty());
        }
        return step.has_value();
    });
    EXPECT_EQ(read_step(folder / "none.gsstep").error().kind, ErrorKind::not_found);
}

// The manifest is changed and the archive written again, so that its checksums do not protect it.
TEST(CapturedSteps, HostileManifestsAreRefused) {
    const TempFolder folder;
    const fs::path path = folder / "a.gsstep";
    ASSERT_TRUE(write_step(captured(4), path));
    std::vector<std::pair<std::string, std::vector<std::byte>>> entries;
    {
        const auto zip = open_zip(path);
        ASSERT_TRUE(zip);
        for (const char* name :
             {"inputs/blocks", "inputs/model", "inputs/sample", "inputs/values", "inputs/moments",
              "inputs/last_step", "inputs/tags", "inputs/photo", "outputs/rows", "outputs/splats",
              "outputs/tile_begin", "outputs/isects", "outputs/color", "outputs/alpha",
              "outputs/color_gradient", "outputs/gradients", "outputs/values", "outputs/moments"}) {
            auto bytes = (*zip)->read(name, 1 << 24);
            ASSERT_TRUE(bytes) << name;
            entries.emplace_back(name, std::move(*bytes));
        }
    }
    std::string manifest;
    {
        const auto zip = open_zip(path);
        const auto bytes = (*zip)->read("manifest.json", 1 << 20);
        manifest.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    }
    const auto with = [&](const std::string& text) {
        fs::remove(path);
        auto file = AtomicFile::create(path);
        ZipWriter zip(*file);
        EXPECT_TRUE(zip.add("manifest.json", std::as_bytes(std::span<const char>(text))));
        for (const auto& [name, bytes] : entries) EXPECT_TRUE(zip.add(name, bytes));
        EXPECT_TRUE(zip.finish());
        EXPECT_TRUE(file->commit());
        return read_step(path);
    };
    ASSERT_TRUE(with(manifest));
    const auto rasterizer = make_cpu_rasterizer();
    hammer(manifest, 250, [&](const std::string& text) {
        const auto step = with(text);
        if (!step) {
            EXPECT_FALSE(step.error().message.empty());
            return false;
        }
        EXPECT_EQ(run_step(step->inputs, *rasterizer).color.width, step->inputs.camera.width);
        return true;
    });
    auto json = nlohmann::ordered_json::parse(manifest);
    for (const char* key : {"blocks", "rows", "visible", "isects", "sample", "gaussians"})
        for (const std::uint64_t lie : {0ull, 1ull, 1ull << 40}) {
            auto changed = json;
            changed[key] = lie;
            const auto step = with(changed.dump());
            if (!step) continue;
            EXPECT_EQ(key, std::string("gaussians")) << lie;
        }
    auto endless = json;  // as many entries as 32 bits count as none
    endless["clock"]["steps"] = 0xFFFFFFFFu;
    endless["clock"]["base"] = 0;
    endless["clock"]["pending"] = std::vector<std::vector<double>>(kLearningGroups);
    const auto emptied = with(endless.dump());
    ASSERT_FALSE(emptied);
    EXPECT_NE(emptied.error().text().find("pending"), std::string::npos) << emptied.error().text();
    auto unheard = json;
    unheard["options"]["projection"] = "fisheye";
    ASSERT_FALSE(with(unheard.dump()));
    EXPECT_NE(with(unheard.dump()).error().text().find("projection"), std::string::npos);
    unheard["options"].erase("projection");  // as files of before have it
    const auto before = required(with(unheard.dump()));
    EXPECT_EQ(before.inputs.options.projection, ProjectionMethod::ewa);
    json["version"] = 2;
    const auto newer = with(json.dump());
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().kind, ErrorKind::unsupported);
    EXPECT_NE(newer.error().text().find("version 2"), std::string::npos) << newer.error().text();
}

std::vector<StepHashes> hashes_of(TrainingSettings settings, int threads = 0) {
    set_thread_count(threads);
    const auto trainer = make_trainer(settings);
    trainer->hash_steps(true);
    std::vector<StepHashes> out;
    for (int i = 0; i < 30; ++i) {
        trainer->step();
        for (const StepHashes& row : trainer->take_hashes(false)) out.push_back(row);
    }
    set_thread_count(0);
    return out;
}

TEST(StepHashes, AreTheSameOnAnyThreadsAndTellStagesApart) {
    const auto one = hashes_of(busy_settings(), 1), two = hashes_of(busy_settings(), 2);
    ASSERT_EQ(one.size(), 30u);
    EXPECT_EQ(one, two);
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].step, i + 1);
        for (const HashStage stage : {HashStage::lists, HashStage::picture, HashStage::loss,
                                      HashStage::gradients, HashStage::adam})
            EXPECT_NE(one[i][stage], 0u) << i;
        EXPECT_EQ(one[i][HashStage::density] != 0,
                  (i + 1 > 4 && (i + 1) % 5 == 0 && i + 1 < 28) || (i + 1) % 13 == 0)
            << i + 1;
    }
    // Another loss: the picture of the first step is the same, what follows is not.
    TrainingSettings other = busy_settings();
    other.lambda_dssim = 0.3;
    const auto parted = hashes_of(other);
    EXPECT_EQ(parted[0][HashStage::picture], one[0][HashStage::picture]);
    EXPECT_NE(parted[0][HashStage::loss], one[0][HashStage::loss]);
    EXPECT_NE(parted[1][HashStage::picture], one[1][HashStage::picture]);
}

TEST(StepHashes, FileIsReadBackAndGoesOn) {
    const TempFolder folder;
    const fs::path path = folder / "hashes.txt";
    const auto rows = hashes_of(busy_settings());
    {
        auto log = HashLog::open(path, "CPU (test)", 0);
        ASSERT_TRUE(log);
        for (const StepHashes& row : rows) ASSERT_TRUE(log->add(row));
        ASSERT_TRUE(log->flush());
    }
    auto file = read_hashes(path);
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->backend, "CPU (test)");
    EXPECT_EQ(file->rows, rows);
    {
        auto log = HashLog::open(path, "CPU (test)", 20);  // a run resumed from step 20
        ASSERT_TRUE(log && log->add(rows[20]));
    }
    file = read_hashes(path);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->rows, std::vector(rows.begin(), rows.begin() + 21));

    const std::string whole = *read_text_file(path);
    folder.write("hashes.txt", whole + "7 0 1 - - - - - -\n");
    EXPECT_EQ(read_hashes(path).error().line, 24u);
    folder.write("hashes.txt", whole + "22 0 x - - - - - -\n");
    EXPECT_EQ(read_hashes(path).error().line, 24u);
    folder.write("hashes.txt", whole + "22 0 1 - -");  // cut by a crash
    EXPECT_TRUE(read_hashes(path));
    folder.write("hashes.txt", "P6 1 1 255\n");
    EXPECT_FALSE(read_hashes(path));
    const auto none = read_hashes(folder / "none.txt");
    EXPECT_NE(none.error().text().find("--hashes"), std::string::npos);
}

TEST(StepKeeper, ARunLeavesItsStepsAndHashes) {
    const TempFolder folder;
    RunOptions options;
    options.folder = folder / "run";
    options.capture_steps = {2, 7};
    options.hashes = true;
    std::vector<std::string> told;
    options.tell = [&](LogLevel, const std::string& text) { told.push_back(text); };
    {
        TrainingRun run(make_trainer(), options);
        for (int i = 0; i < 10; ++i) run.step();
        run.keeper().steps().capture(11, folder / "mine.gsstep");
        run.step();
        run.finish();
    }
    for (const fs::path& path : {folder / "run/step-000002.gsstep",
                                 folder / "run/step-000007.gsstep", folder / "mine.gsstep"}) {
        const auto step = required(read_step(path));
        EXPECT_TRUE(step.origin.same_bits) << step.origin.agreement;
    }
    const auto hashes = required(read_hashes(folder / "run/hashes.txt"));
    ASSERT_EQ(hashes.rows.size(), 11u);
    // The run is resumed by another process: the same lines.
    options.resumed_from = (folder / "run/checkpoint.gsc").string();
    auto again = Trainer::resume(options.resumed_from, small_capture(), make_cpu_training());
    ASSERT_TRUE(again);
    TrainingRun second(std::move(*again), options);
    second.step();
    second.finish();
    const auto longer = required(read_hashes(folder / "run/hashes.txt"));
    ASSERT_EQ(longer.rows.size(), 12u);
    EXPECT_EQ(longer.rows[11], hashes_of(busy_settings())[11]);
}

}  // namespace
}  // namespace gs::test
