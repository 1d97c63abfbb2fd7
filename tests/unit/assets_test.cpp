// What is built in is there; what the user puts into the configuration folder comes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assets.h"
#include "profiler/store/stage_map.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

class Assets : public ::testing::Test {
  protected:
    Assets() { ::setenv("XDG_CONFIG_HOME", home_.path().c_str(), 1); }
    ~Assets() override { ::unsetenv("XDG_CONFIG_HOME"); }
    fs::path put(const std::string& path, const std::string& text) {
        const fs::path file = home_ / "gausscope/assets" / path;
        fs::create_directories(file.parent_path());
        EXPECT_TRUE(write_text_file(file, text));
        return file;
    }

    const test::TemporaryFolder home_;
};

TEST_F(Assets, are_built_in) {
    EXPECT_THAT(asset("presets/quick.cfg").text, ::testing::HasSubstr("steps = 3000"));
    EXPECT_EQ(asset("presets/quick.cfg").origin, "built-in presets/quick.cfg");
    EXPECT_THAT(assets_in("presets"),
                ::testing::ElementsAre("presets/fast.cfg", "presets/one-minute.cfg",
                                       "presets/paper.cfg", "presets/quick.cfg"));
    EXPECT_THAT(embedded_assets("no such folder"), ::testing::IsEmpty());
}

TEST_F(Assets, of_the_user_come_first) {
    const fs::path own = put("presets/quick.cfg", "steps = 12\n");
    put("presets/mine.cfg", "steps = 7\n");
    EXPECT_EQ(asset("presets/quick.cfg").text, "steps = 12\n");
    EXPECT_EQ(asset("presets/quick.cfg").origin, own.string());
    EXPECT_THAT(embedded_asset("presets/quick.cfg"), ::testing::HasSubstr("steps = 3000"));
    EXPECT_THAT(
        assets_in("presets"),
        ::testing::ElementsAre("presets/fast.cfg", "presets/mine.cfg", "presets/one-minute.cfg",
                               "presets/paper.cfg", "presets/quick.cfg"));
}

/// Stage maps are read once a program: each of these looks in a process of its own, whose folder
/// nobody else removes.
[[noreturn]] void exit_with_stage_of(const char* kernel, const fs::path& home) {
    const auto stage = StageMap().stage_of(kernel);
    fs::remove_all(home);
    std::_Exit(static_cast<int>(stage));
}

TEST_F(Assets, a_stage_map_of_the_user_counts_when_it_can_be_read) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    put("stage_maps/inria.txt", "renderCUDA = loss\n");
    EXPECT_EXIT(exit_with_stage_of("renderCUDA", home_),
                ::testing::ExitedWithCode(static_cast<int>(Stage::loss)), "");
}

TEST_F(Assets, a_stage_map_that_is_wrong_is_told_and_left_out) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    put("stage_maps/inria.txt", "# mine\nrenderCUDA to loss\n");
    EXPECT_EXIT(exit_with_stage_of("renderCUDA", home_),
                ::testing::ExitedWithCode(static_cast<int>(Stage::blend)),
                "inria.txt:2: a rule is");
}

}  // namespace
}  // namespace gs
