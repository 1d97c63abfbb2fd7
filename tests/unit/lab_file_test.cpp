// Suites as they are read, and the lab's file: once, whole, of a known version.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "app/lab/capture_content.h"
#include "app/lab/lab_file.h"
#include "app/lab/measured_run.h"
#include "app/lab/suite.h"
#include "profiler/history/history.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs::lab {
namespace {

std::string error_of(const std::string& text) {
    const auto suite = parse_suite("a.suite", text);
    return suite ? "no error" : suite.error().text();
}

TEST(Suite, IsReadAsItIsWritten) {
    const auto suite = required(parse_suite("nightly.suite", R"(
# what runs at night
name = nightly
seeds = 3, 1
backends = cpu, cuda
steps = 2000
seconds = 60
gate psnr_drop <= 0.05  # dB
[scene fox]
capture = captures/fox
downscale = 4
lidar = turns/a.pcap
optional = yes
target_db = 22.5
[scene toys]
views = 40
width = 320
height = 240
[settings default]
[settings bold]
lr-means = 0.0003
appearance = exposure
antialiased = yes
)"));
    EXPECT_EQ(suite.name, "nightly");
    EXPECT_EQ(suite.seeds, (std::vector<std::uint64_t>{3, 1}));
    EXPECT_EQ(suite.backends, (std::vector<std::string>{"cpu", "cuda"}));
    EXPECT_EQ(suite.runs(), 16u);
    EXPECT_EQ(suite.scenes[0].loading,
              (std::vector<std::string>{"--downscale", "4", "--lidar", "turns/a.pcap"}));
    EXPECT_TRUE(suite.scenes[0].optional);
    EXPECT_EQ(suite.scenes[0].target_db, 22.5);
    ASSERT_TRUE(suite.scenes[1].sample);
    EXPECT_EQ(suite.scenes[1].sample->views, 40);
    EXPECT_EQ(suite.settings[1].values,
              (NamedValues{{"lr_means", 0.0003}, {"appearance", 1}, {"antialiased", 1}}));
    ASSERT_EQ(suite.gates.size(), 1u);
    EXPECT_EQ(suite.gates[0].most, 0.05);
}

TEST(Suite, ErrorsNameLineAndWhatMayBe) {
    const std::string scene = "[scene a]\nviews = 3\n";
    const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
        for (const char* part : parts)
            EXPECT_NE(error_of(text).find(part), std::string::npos) << text << error_of(text);
    };
    expect("stepz = 3\n" + scene, {"a.suite:1", "stepz", "known are", "steps"});
    expect(scene + "capturre = x\n", {"a.suite:3", "capturre", "capture"});
    expect(scene + "[settings x]\nlr_nothing = 3\n", {"a.suite:4", "lr_nothing", "--help"});
    expect(scene + "[settings x]\nsteps = 2.5\n", {"a.suite:4", "not a whole number"});
    expect(scene + "[settings x]\nlambda_dssim = 7\n", {"a.suite:4", "lambda_dssim"});
    expect(scene + "[settings x]\nseed = 7\n", {"a.suite:4", "seeds"});
    expect("steps = many\n" + scene, {"a.suite:1", "many"});
    expect("steps = nan\n" + scene, {"a.suite:1", "nan"});
    expect("seeds = 1, 1\n" + scene, {"a.suite:1", "distinct"});
    expect("backends = gpu\n" + scene, {"a.suite:1", "cpu or cuda"});
    expect("gate psnr <= 3\n" + scene, {"a.suite:1", "psnr_drop"});
    expect("gate psnr_drop < 3\n" + scene, {"a.suite:1", "<="});
    expect("hello\n" + scene, {"a.suite:1", "name = value"});
    expect("[scene ../x]\nviews = 3\n", {"a.suite:1", "is not a name"});
    expect("[thing x]\n" + scene, {"a.suite:1", "[scene NAME]"});
    expect("[]\n", {"a.suite:1", "is not a section"});
    expect("[scene\n", {"a.suite:1", "is not a section"});
    expect(scene + scene, {"a.suite:3", "duplicate"});
    expect("[scene a]\noptional = yes\n", {"a.suite:1", "capture = FOLDER"});
    expect("[scene a]\ncapture = x\nviews = 3\n", {"a.suite:1", "either"});
    expect("# nothing\n", {"a.suite", "no scene"});
    expect(scene + "photos_hash = 12\n", {"a.suite:3", "is not a hash"});
}

TEST(Suite, BuiltInOnesAreRight) {
    ASSERT_FALSE(built_in_suites().empty());
    for (const std::string& name : built_in_suites()) {
        const auto suite = required(read_suite(name));
        EXPECT_EQ(suite.name, name);
    }
    const auto none = read_suite("nosuch");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().text().find("smoke"), std::string::npos);
}

LabRun a_run(std::uint64_t seed) {
    return {.of = {"main", "0123456789ab", "s", "fox", "default", "cpu", seed, "h"},
            .ended_s = static_cast<std::int64_t>(100 + seed),
            .values = {{"training", "s", 12.5}, {"Gaussians", "", 1000}},
            .photos = {{"b.png", 21, 0.7, 0.1}, {"a.png", 23, 0.9, kUnknown}}};
}

TEST(LabFile, KeepsARunOnceAndWhole) {
    const test::TemporaryFolder folder;
    const fs::path path = folder.path() / "lab.db";
    {
        const auto file = required(LabFile::open(path));
        LabRun failed = a_run(1);
        failed.failed = true;
        failed.error = "exit code 1";
        ASSERT_TRUE(file.add(failed));
        EXPECT_EQ(*file.known(failed.of.key()), LabFile::Known::failed);
        ASSERT_TRUE(file.add(a_run(1)));  // takes its place
        EXPECT_EQ(*file.known(failed.of.key()), LabFile::Known::done);
        LabRun again = a_run(1);
        again.values[0].value = 99;
        ASSERT_TRUE(file.add(again));  // is there already
        ASSERT_TRUE(file.add(a_run(2)));
        EXPECT_EQ(*file.known(a_run(3).of.key()), LabFile::Known::no);
        ASSERT_TRUE(file.add_suite("s", "steps = 1"));
        ASSERT_TRUE(file.add_suite("s", "steps = 2"));
    }
    const auto file = required(LabFile::open_to_read(path));
    const auto runs = required(file.runs());
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].value_of("training"), 12.5);
    EXPECT_EQ(runs[0].psnr(), 22);
    EXPECT_TRUE(std::isnan(runs[0].photos[0].l1));
    EXPECT_EQ(runs[1].of.seed, 2u);
    EXPECT_EQ(*file.suite_text("s"), "steps = 2");
    EXPECT_EQ(*file.suite_text("t"), "");
    // A history may be in the same file, in either order of creation.
    EXPECT_TRUE(history::History::open(path));
    EXPECT_TRUE(LabFile::open(path));
}

TEST(CaptureContent, IsOfNamesAndBytesWhereverTheyAre) {
    const test::TemporaryFolder folder;
    const auto file = LabFile::open(folder / "lab.db");
    ASSERT_TRUE(file);
    const auto put = [&](const fs::path& name, const std::string& text) {
        fs::create_directories((folder / name).parent_path());
        ASSERT_TRUE(write_text_file(folder / name, text));
    };
    const auto content = [&](const fs::path& name) { return *content_of({folder / name}, *file); };
    for (const char* capture : {"a", "b"}) {
        put(fs::path(capture) / "images/1.png", "photo");
        put(fs::path(capture) / "sparse/0/points3D.bin", "points");
    }
    const std::string first = content("a");
    EXPECT_EQ(first.size(), 16u);
    EXPECT_EQ(content("b"), first);
    put("b/images/1.png", "foto!");  // of the same size
    EXPECT_NE(content("b"), first);
    put("b/images/1.png", "photo");
    EXPECT_EQ(content("b"), first);
    fs::rename(folder / "b/images/1.png", folder / "b/images/2.png");
    EXPECT_NE(content("b"), first);
    fs::rename(folder / "b/images/2.png", folder / "b/images/1.png");
    // What is no part of a capture.
    put("b/.cache/x", "x");
    put("b/runs/1/run.json", "{}");
    put("b/runs/1/point_cloud.ply", "x");
    fs::create_directory_symlink("..", folder / "b/images/up");
    EXPECT_EQ(content("b"), first);
    put("b/masks/1.png", "mask");
    EXPECT_NE(content("b"), first);
    put("m/1.png", "mask");
    EXPECT_NE(*content_of({folder / "a", folder / "m"}, *file), first);
    // Links are followed, also those of folders.
    fs::create_directories(folder / "c");
    fs::create_directory_symlink(folder / "a/images", folder / "c/images");
    fs::create_directory_symlink(folder / "a/sparse", folder / "c/sparse");
    EXPECT_EQ(content("c"), first);
    // Unchanged files are not read again.
    const fs::path photo = folder / "a/images/1.png";
    const auto time = fs::last_write_time(photo);
    put("a/images/1.png", "other");
    fs::last_write_time(photo, time);
    EXPECT_EQ(content("a"), first);
    fs::last_write_time(photo, time + std::chrono::seconds(1));
    EXPECT_NE(content("a"), first);
}

TEST(LabFile, RefusesWhatIsNotItsOwn) {
    const test::TemporaryFolder folder;
    const auto says = [](const auto& result, const char* what) {
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().text().find(what), std::string::npos) << result.error().text();
    };
    says(LabFile::open_to_read(folder.path() / "none.db"), "lab run");
    ASSERT_TRUE(history::History::open(folder.path() / "history.db"));
    says(LabFile::open_to_read(folder.path() / "history.db"), "contains no lab runs");
    ASSERT_TRUE(write_text_file(folder.path() / "text.db", "hello, this is no database at all"));
    says(LabFile::open(folder.path() / "text.db"), "not a history");
    const fs::path newer = folder.path() / "newer.db";
    {
        ASSERT_TRUE(LabFile::open(newer));
        const auto database = history::Database::open(newer);
        ASSERT_TRUE(database->run("UPDATE lab_version SET version = 2"));
    }
    says(LabFile::open(newer), "a newer gausscope");
    says(LabFile::open_to_read(newer), "a newer gausscope");
}

TEST(LabFile, AFullDiskLeavesNothingHalf) {
    const test::TemporaryFolder folder;
    const fs::path path = folder.path() / "lab.db";
    const auto file = LabFile::open(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->add(a_run(1)));
    // To SQLite, a limit of the file's pages is like a full disk.
    auto tight = history::Database::open(path);
    ASSERT_TRUE(tight->run("PRAGMA max_page_count = 40"));
    const auto full = LabFile::open(std::move(*tight));
    ASSERT_TRUE(full);
    LabRun large = a_run(2);
    for (int i = 0; i < 20000; ++i) large.photos.push_back({"photo" + std::to_string(i), 20, 1, 0});
    const auto added = full->add(large);
    ASSERT_FALSE(added);
    EXPECT_NE(added.error().text().find("No space left"), std::string::npos)
        << added.error().text();
    EXPECT_NE(added.error().text().find("free some space"), std::string::npos)
        << added.error().text();
    EXPECT_EQ(file->runs()->size(), 1u);
    EXPECT_EQ(file->runs()->front().photos.size(), 2u);
    ASSERT_TRUE(file->add(large));
    EXPECT_EQ(file->runs()->size(), 2u);
}

TEST(MeasuredRun, HasTheRangesOfALidar) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_text_file(
        folder.path() / "metrics.json",
        R"({"interrupted": false, "steps": 9, "lidar": {"returns": 7, "median_m": 0.25,
            "within_10cm": 0.5, "chamfer_m": null}, "test": {"images": []}})"));
    LabRun run;
    ASSERT_TRUE(take_measured(folder.path(), true, run));
    EXPECT_EQ(run.value_of("range"), 0.25);
    EXPECT_EQ(run.value_of("ranges in 10 cm"), 0.5);
    EXPECT_TRUE(std::isnan(run.value_of("Chamfer")));
}

}  // namespace
}  // namespace gs::lab
