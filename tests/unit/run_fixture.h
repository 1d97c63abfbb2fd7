// Runs of a small capture into a folder of their own, for tests of what they leave and keep.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "small_run.h"
#include "tests/support/temporary_folder.h"
#include "trainer/run/run.h"

namespace gs::testing {

using Json = nlohmann::ordered_json;
using TrainingRun = Run;  // a test has a Run of its own

inline const std::set<std::string> kFiles{"checkpoint.gsc", "metrics.csv", "metrics.json",
                                          "point_cloud.ply", "run.json"};

class RunTest : public ::testing::Test {
  protected:
    std::unique_ptr<TrainingRun> make(
        std::unique_ptr<Rasterizer> rasterizer = make_cpu_rasterizer(),
        std::shared_ptr<Capture> capture = small_capture()) {
        options_.folder = folder_ / "out";
        options_.tell = [this](LogLevel level, const std::string& text) {
            if (level >= LogLevel::warning) told_.push_back(text);
        };
        TrainingSettings settings = busy_settings();
        settings.max_gaussians = 1e5;  // that it is reached is an alarm
        auto trainer =
            Trainer::create(std::move(capture), settings, make_cpu_training(std::move(rasterizer)));
        EXPECT_TRUE(trainer);
        return std::make_unique<TrainingRun>(std::move(*trainer), options_);
    }
    static void drive(TrainingRun& run) {
        while (run.step() != TrainingRun::Did::nothing) continue;
    }
    std::set<std::string> names(const fs::path& folder) {
        std::set<std::string> out;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder, none))
            out.insert(entry.path().filename().string());
        out.erase("run.lock");    // there as long as the run
        out.erase("thumbnails");  // time_lapse_test.cpp looks at them
        return out;
    }
    Json metrics() {
        const auto text = read_text_file(folder_ / "out" / "metrics.json");
        return text ? Json::parse(*text) : Json();
    }

    const test::TemporaryFolder temporary_;
    const fs::path folder_ = temporary_;
    RunOptions options_;
    std::vector<std::string> told_;
};

}  // namespace gs::testing
