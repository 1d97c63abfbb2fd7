// The report of a machine, on the emulated device: which devices there are, which one computes,
// and the report's scenes, counted and timed. The times mean nothing here, only the layout of the
// figures is checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/backend/backend.h"
#include "app/cli/check/selftest_report.h"
#include "app/cli/machine.h"
#include "base/file.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/required.h"

namespace gs::cli {
namespace {

namespace emu = emulator;
using ::testing::HasSubstr;

class CudaReport : public testing::Test {
  protected:
    void SetUp() override {
        emu::set_device_count(3);
        emu::forget_contexts();
    }
    void TearDown() override { emu::set_device_count(1); }
};

constexpr ReportScene kSmall{"small", {60, 1, 7, 0.05f, 0.2f}, 48, 32, 24, 40};

TEST_F(CudaReport, NamesEveryDeviceAndTheOneThatComputes) {
    const Json machine = machine_json(1);
    const Json& cuda = machine["cuda"];
    ASSERT_EQ(cuda["devices"].size(), 3u);
    EXPECT_EQ(cuda["driver"], "13.0");
    for (int i = 0; i < 3; ++i) {
        const Json& device = cuda["devices"][static_cast<std::size_t>(i)];
        EXPECT_EQ(device["index"], i);
        EXPECT_EQ(device["used"], i == 1);
        EXPECT_EQ(device.contains("multiprocessors"), i == 1);
    }
    EXPECT_NE(cuda["devices"][0]["uuid"], cuda["devices"][1]["uuid"]);
    EXPECT_EQ(emu::contexts(), std::vector<int>{1}) << "of the one that computes, and no other";
    EXPECT_NE(machine["cpu"].get<std::string>().find("CPU"), std::string::npos);
}

TEST_F(CudaReport, ADeviceIsChosenByNumber) {
    const auto third = required(choose_backend("auto", 2));
    EXPECT_TRUE(third.cuda);
    EXPECT_EQ(third.device, 2);
    EXPECT_EQ(choose_backend("cuda")->device, 0) << "the first that can be used";
    const auto none = choose_backend("auto", 5);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::usage);
    EXPECT_THAT(none.error().text(), HasSubstr("no CUDA device 5, only 3"));
    EXPECT_THAT(none.error().text(), HasSubstr("1: emulated CUDA device, sm_90, 16 GiB"));
    const auto cpu = choose_backend("cpu", 0);
    ASSERT_FALSE(cpu);
    EXPECT_THAT(cpu.error().text(), HasSubstr("omit --device"));
    EXPECT_EQ(choose_backend("cpu")->device, -1);
}

TEST_F(CudaReport, ScenesAreCountedTimedAndPredicted) {
    const auto backend = required(choose_backend("cuda", 1));
    const auto scene = required(scene_json(backend, kSmall, "NVIDIA H200"));
    EXPECT_GT(scene["counters"]["visible"], 10);
    EXPECT_GT(scene["counters"]["evaluated_pairs"], scene["counters"]["blended_pairs"]);
    for (const char* work : {"frame", "step"}) {
        SCOPED_TRACE(work);
        const Json& times = scene[work];
        EXPECT_GT(times["wall_ms"], 0.0);
        EXPECT_GT(times["predicted"]["p90"], times["predicted"]["p10"]);
        std::size_t both = 0;
        double sum = 0;
        for (const Json& stage : times["stages"]) {
            EXPECT_GT(stage["samples"], 0);
            if (stage["predicted"].is_null()) continue;
            ++both;
            sum += stage["ms"].get<double>();
        }
        // What is predicted is compared with what the kernels took, not with the wait for them.
        if (both > 0)
            EXPECT_NEAR(times["ms"].get<double>(), sum, 1e-9 * sum);
        else
            EXPECT_TRUE(times["ms"].is_null());
        // A frame is waited for before its span ends; its stages come where the trace has them.
        const std::size_t least = times == scene["step"] ? 4 : 0;
        EXPECT_GE(both, least) << times["stages"].dump();
    }
    EXPECT_EQ(emu::contexts(), std::vector<int>{1});

    const auto unknown = required(scene_json(backend, kSmall, "some other GPU"));
    EXPECT_TRUE(unknown["frame"]["predicted"].is_null());

    Json report{{"machine", machine_json(1)},
                {"problem", nullptr},
                {"checks", Json::array()},
                {"failed", 0},
                {"absent", 0},
                {"ceilings", nullptr},
                {"scenes", {scene, unknown}}};
    const fs::path file = fs::path(testing::TempDir()) / "cuda_report_test.json";
    ASSERT_TRUE(write_report(report, file));
    fs::path text = file;
    text.replace_extension(".txt");
    const auto json = read_text_file(file, 1u << 20), words = read_text_file(text, 1u << 20);
    ASSERT_TRUE(json && words);
    EXPECT_EQ(Json::parse(*json)["scenes"][0]["name"], "small");
    EXPECT_THAT(*words, HasSubstr("GPU 1: emulated CUDA device, sm_90"));
    EXPECT_THAT(*words, HasSubstr("a training step"));
    EXPECT_THAT(*words, HasSubstr("Please send"));
    fs::remove(file);
    fs::remove(text);
}

TEST_F(CudaReport, WithoutADeviceTheFileSaysWhy) {
    Json report{{"machine", machine_json(-1)},
                {"problem", "no NVIDIA driver"},
                {"checks", Json::array()},
                {"failed", 0},
                {"absent", 0},
                {"ceilings", nullptr},
                {"scenes", Json::array()}};
    const fs::path file = fs::path(testing::TempDir()) / "cuda_report_none.json";
    ASSERT_TRUE(write_report(report, file));
    fs::path text = file;
    text.replace_extension(".txt");
    EXPECT_THAT(*read_text_file(text, 1u << 20), HasSubstr("Not checked: no NVIDIA driver"));
    EXPECT_TRUE(emu::contexts().empty());
    fs::remove(file);
    fs::remove(text);
    const auto nowhere = write_report(report, "/proc/no such folder/report.json");
    ASSERT_FALSE(nowhere);
}

}  // namespace
}  // namespace gs::cli
