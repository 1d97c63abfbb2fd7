// What a path is: found once, by content first.
#include "app/paths/path_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sample/sample_capture.h"
#include "base/file.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint.h"

namespace gs {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

GaussianModel one_gaussian() { return GaussianModel::to_fill(1, 0); }

class Paths : public ::testing::Test {
  protected:
    TemporaryFolder folder_;

    fs::path put(const std::string& name, const std::string& text) {
        const fs::path file = folder_.path() / name;
        fs::create_directories(file.parent_path());
        EXPECT_TRUE(write_text_file(file, text));
        return file;
    }
    fs::path put_splats(const std::string& name) {
        const fs::path file = folder_.path() / name;
        fs::create_directories(file.parent_path());
        EXPECT_TRUE(write_splats(file, one_gaussian()));
        return file;
    }
    PathKind kind(const std::string& name) { return find_contents(folder_.path() / name).kind; }
};

TEST_F(Paths, FilesAreKnownByContentThenByName) {
    put("run.pftrace", "");
    put("shared.gsb", "");
    put("damaged.gsc", "no checkpoint");
    put("damaged.gsstep", "no step");
    put("damaged.ply", "no splats");
    put("transforms.json", R"({"frames": []})");
    put("events.json", R"({"traceEvents": []})");
    put("photos/transforms.json", R"({"displayTimeUnit": "ms", "frames": []})");
    put("meta.json", R"({"of": "another program"})");
    fs::rename(put_splats("splats.ply"), folder_.path() / "splats");
    EXPECT_EQ(kind("run.pftrace"), PathKind::trace);
    EXPECT_EQ(kind("shared.gsb"), PathKind::bundle);
    EXPECT_EQ(kind("damaged.gsc"), PathKind::checkpoint);
    EXPECT_EQ(kind("damaged.gsstep"), PathKind::step);
    EXPECT_EQ(kind("damaged.ply"), PathKind::splats);
    EXPECT_EQ(kind("splats"), PathKind::splats);
    EXPECT_EQ(kind("transforms.json"), PathKind::capture);
    EXPECT_EQ(kind("events.json"), PathKind::trace);
    EXPECT_EQ(kind("photos/transforms.json"), PathKind::capture);
    EXPECT_EQ(kind("meta.json"), PathKind::unknown);
}

TEST_F(Paths, ARunIsItsNewestModel) {
    const fs::path splats = put_splats("run/point_cloud.ply");
    PathContents run = find_contents(folder_.path() / "run");
    EXPECT_EQ(run.kind, PathKind::splats);
    EXPECT_EQ(run.model(), splats);
    EXPECT_FALSE(run.knows_capture);
    put("run/run.json", "{}");
    EXPECT_TRUE(find_contents(folder_.path() / "run").knows_capture);
    EXPECT_FALSE(find_contents(splats).knows_capture) << "splats alone are of any capture";
    const fs::path checkpoint = put("run/checkpoint.gsc", "damaged");
    EXPECT_EQ(find_contents(folder_.path() / "run").model(), splats);
    fs::remove(splats);
    run = find_contents(folder_.path() / "run");
    EXPECT_EQ(run.kind, PathKind::checkpoint);
    EXPECT_EQ(run.model(), checkpoint);
    EXPECT_EQ(run.folder(), folder_.path() / "run");
    EXPECT_EQ(find_contents((folder_.path() / "run/").string()).folder(), run.folder());
    EXPECT_EQ(run.run_folder, run.folder());
    EXPECT_EQ(find_contents(put_splats("run/other.ply")).run_folder, run.folder());
}

TEST_F(Paths, ARunInACapturesFolderIsItsModel) {
    const SampleOptions small{.views = 3, .width = 16, .height = 16, .points = 20};
    ASSERT_TRUE(write_sample_capture(folder_.path() / "photos", small));
    EXPECT_EQ(kind("photos"), PathKind::capture);
    put_splats("photos/point_cloud.ply");
    const PathContents both = find_contents(folder_.path() / "photos");
    EXPECT_EQ(both.kind, PathKind::capture);
    EXPECT_EQ(both.model_kind(), PathKind::splats);
    const auto model = required(read_any_splats(both));
    EXPECT_EQ(model.model.count, 1u);
    fs::remove_all(both.capture.models.at(0).folder);  // after it was found
    EXPECT_FALSE(load_capture(both.capture, {}));
}

TEST_F(Paths, WhatIsNoneSaysWhy) {
    const PathContents none = find_contents(folder_.path() / "none.ply");
    EXPECT_EQ(none.kind, PathKind::unknown);
    EXPECT_EQ(none.problem.kind, ErrorKind::not_found);
    EXPECT_EQ(read_any_splats(none).error().kind, ErrorKind::not_found);
    const PathContents folder = find_contents(folder_.path());
    EXPECT_EQ(folder.kind, PathKind::unknown);
    EXPECT_THAT(folder.problem.text(), HasSubstr("not a capture or splat file"));
    const PathContents splats = find_contents(put_splats("gone.ply"));
    fs::remove(folder_.path() / "gone.ply");
    EXPECT_EQ(read_any_splats(splats).error().kind, ErrorKind::not_found);
}

// Neither as a scene nor in a folder that is looked through for checkpoints.
TEST_F(Paths, APipeIsNotWaitedFor) {
    const fs::path pipe = folder_.path() / "pipe.ply";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    ::alarm(300);  // opening one for reading would wait for its writer for ever
    EXPECT_FALSE(is_checkpoint(pipe));
    EXPECT_FALSE(read_checkpoint_head(pipe));
    EXPECT_EQ(kind("pipe.ply"), PathKind::unknown);
    EXPECT_EQ(kind(""), PathKind::unknown);
    ::alarm(0);
}

}  // namespace
}  // namespace gs
