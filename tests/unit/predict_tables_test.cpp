// What the performance model reads: GPUs with a source for every figure, the table of costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/predict/demand.h"
#include "profiler/predict/gpu_model.h"
#include "tests/unit/predict_costs.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

TEST(PredictDevices, EveryFigureHasItsSource) {
    const std::vector<GpuDevice> all = gpu_devices();
    EXPECT_GE(all.size(), 14u);
    for (const GpuDevice& gpu : all) {
        EXPECT_EQ(gpu.sources.size(), 8u) << gpu.id;
        EXPECT_GT(gpu.issue_rate(), 1e11) << gpu.id;
        EXPECT_LE(gpu.sustained_gb_s, gpu.bandwidth_gb_s) << gpu.id;
        EXPECT_GT(gpu.memory_latency, gpu.l2_latency) << gpu.id;
    }
    EXPECT_NEAR(device("h200").issue_rate(), 1045e9, 1e9);
    EXPECT_NEAR(device("rtx4090").issue_rate(), 1290e9, 1e9);
}

TEST(PredictDevices, AreFoundByWhatTheirDriversCallThem) {
    const std::vector<GpuDevice> all = gpu_devices();
    const auto id_of = [&](const char* name) {
        const GpuDevice* gpu = gpu_called(all, name);
        return gpu == nullptr ? std::string() : gpu->id;
    };
    EXPECT_EQ(id_of("NVIDIA H200"), "h200");
    EXPECT_EQ(id_of("NVIDIA H100 80GB HBM3"), "h100");
    EXPECT_EQ(id_of("NVIDIA H100 PCIe"), "h100-pcie");
    EXPECT_EQ(id_of("NVIDIA A100-SXM4-80GB"), "a100-80");
    EXPECT_EQ(id_of("NVIDIA L40S"), "l40s");
    EXPECT_EQ(id_of("NVIDIA L40"), "l40");
    EXPECT_EQ(id_of("NVIDIA GeForce RTX 4090"), "rtx4090");
    EXPECT_EQ(id_of("NVIDIA GeForce RTX 5070 Laptop GPU"), "rtx5070-laptop");
    EXPECT_EQ(id_of("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "rtx-pro-6000");
    EXPECT_EQ(id_of("Emulated"), "");
    for (const char* other :
         {"NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
          "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA GH200 480GB",
          "NVIDIA GeForce RTX 5070 Ti Laptop GPU", "NVIDIA GeForce RTX 5070",
          "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "NVIDIA L40G",
          "NVIDIA H100 80GB HBM3 MIG 1g.10gb"})
        EXPECT_EQ(id_of(other), "") << other;
    EXPECT_NE(gpu_called(all, "NVIDIA H200", 132), nullptr);
    EXPECT_EQ(gpu_called(all, "NVIDIA H200", 66), nullptr) << "a part of one";
}

TEST(PredictDevices, ListsTakeSpacesCapitalsAndDoubles) {
    const auto ids = [](const char* list) {
        std::string out;
        const auto found = gpu_devices_named(list);
        if (!found) return found.error().text();
        for (const GpuDevice& gpu : *found) out += gpu.id + " ";
        return out;
    };
    EXPECT_EQ(ids("h200,rtx4090"), "h200 rtx4090 ");
    EXPECT_EQ(ids(" H200 , RTX4090,h200"), "h200 rtx4090 ");
    EXPECT_EQ(gpu_devices_named("h200, All")->size(), gpu_devices().size());
    EXPECT_THAT(ids("h200,,rtx4090"), HasSubstr("no data for a GPU \"\""));
    EXPECT_THAT(ids("h 200"), HasSubstr("no data for a GPU \"h 200\""));
}

TEST(PredictDevices, BadFilesAreToldWithWhatIsWrong) {
    const std::map<std::string, GpuArchitecture> known{{"90", {}}};
    const auto error_of = [&](const std::string& text) {
        const auto read = parse_gpu_device("x", text, known, "x.json");
        return read ? std::string("none") : read.error().text();
    };
    EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON"));
    EXPECT_THAT(error_of("{}"), HasSubstr("architecture"));
    EXPECT_THAT(error_of(R"({"architecture": "90"})"), HasSubstr("multiprocessors"));
    EXPECT_THAT(error_of(R"({"architecture": "90", "figures": {"multiprocessors": [132]}})"),
                HasSubstr("with its source"));
    EXPECT_THAT(error_of(R"({"architecture": "90", "figures": {"multiprocessors": [-1, "mine"]}})"),
                HasSubstr("not a positive number"));
    const auto none = gpu_devices_named("h200,voodoo");
    ASSERT_FALSE(none.has_value());
    EXPECT_THAT(none.error().text(), HasSubstr("\"voodoo\""));
    EXPECT_THAT(none.error().text(), HasSubstr("rtx4090"));
    EXPECT_EQ(gpu_devices_named("all")->size(), gpu_devices().size());
    EXPECT_FALSE(parse_gpu_architectures("[]", "a").has_value());
    EXPECT_FALSE(parse_gpu_architectures(R"({"architectures": {"90": {"fp32": 0}}})", "a"));
}

TEST(PredictCosts, LoopsAreToldFromWhatLiesInThem) {
    const KernelCosts costs = test::round_costs();
    const KernelCost* blend = costs.find("90", "blend<(Depths)0, false, true*");
    ASSERT_NE(blend, nullptr);
    EXPECT_EQ(blend->registers, 40);
    EXPECT_EQ(blend->shared_bytes, 12288);
    ASSERT_EQ(blend->loops.size(), 3u);
    EXPECT_EQ(blend->code.issue, 340);
    EXPECT_EQ(blend->outside.issue, 140);
    EXPECT_EQ(blend->loops[2].code.issue, 38);
    EXPECT_EQ(blend->loops[2].code.least, 21);
    EXPECT_EQ(blend->loops[2].line, "a.cu:90");
    EXPECT_TRUE(blend->loops[2].innermost);
    EXPECT_FALSE(blend->loops[1].innermost);
    EXPECT_EQ(costs.find("89", "blend<*"), nullptr);
    EXPECT_EQ(costs.find("90", "blend"), nullptr);
}

TEST(PredictCosts, DamagedTablesAreToldWithTheLine) {
    const auto error_of = [](const char* text) {
        const auto read = KernelCosts::parse(text, "costs.csv");
        return read ? std::string("none") : read.error().text();
    };
    EXPECT_THAT(error_of("a,b\n"), HasSubstr("costs.csv:1: there is no column"));
    EXPECT_THAT(error_of("architecture,kernel,loop,issue\n90,k,kernel,many\n"),
                HasSubstr("costs.csv:2: \"many\""));
    EXPECT_THAT(error_of("architecture,kernel,loop,issue\n90,k,1,3\n"),
                HasSubstr("a loop without a kernel"));
    EXPECT_EQ(error_of(""), "none");
}

/// What was built in: every architecture has every kernel that the model multiplies by, so
/// everything is counted.
TEST(PredictCosts, OfOurKernelsAreThereForEveryGpu) {
    const KernelCosts costs = KernelCosts::built_in();
    for (const GpuDevice& gpu : gpu_devices()) {
        const Prediction step = predict_step(central(), costs, gpu, {}),
                         frame = predict_frame(central(), costs, gpu, {});
        for (const Prediction* p : {&step, &frame})
            for (const PredictedStage& s : p->stages)
                EXPECT_TRUE(s.counted) << gpu.id << ": " << name_of(s.stage);
        EXPECT_GT(step.total.p50, frame.total.p50) << gpu.id;
    }
}

/// The loops that are found in the built-in table are the ones that walk splats: one more splat of
/// a warp costs what such a loop takes for one, on every architecture.
TEST(PredictCosts, OfOneMoreSplatAreThoseOfTheWalk) {
    const KernelCosts costs = KernelCosts::built_in();
    const auto issue = [&](const PredictedWork& work, const GpuDevice& gpu, Stage stage) {
        for (const StageDemand& d : frame_demands(work, costs, gpu))
            if (d.stage == stage) return d.executed.issue;
        return 0.0;
    };
    for (const GpuDevice& gpu : gpu_devices())
        for (const bool training : {false, true}) {
            PredictedWork base = central();
            base.frame.training = base.frame.gradients = training;
            PredictedWork more = base;
            more.frame.near += 1e6;
            more.frame.open += 1e6;
            const double forward =
                (issue(more, gpu, Stage::blend) - issue(base, gpu, Stage::blend)) / 1e6;
            EXPECT_GT(forward, 18) << gpu.id;
            EXPECT_LT(forward, 45) << gpu.id;
            if (!training) continue;
            more.frame.live_sub_tiles += 1e6;
            const double backward = (issue(more, gpu, Stage::blend_backward) -
                                     issue(base, gpu, Stage::blend_backward)) /
                                    1e6;
            EXPECT_GT(backward, 45) << gpu.id;
            EXPECT_LT(backward, 105) << gpu.id;
        }
}

TEST(PredictOccupancy, IsTheCalculators) {
    const auto resident = [](const char* id, int threads, int registers, int shared) {
        return resident_blocks(device(id).architecture, threads, registers, shared);
    };
    EXPECT_EQ(resident("h200", 256, 32, 0), 8);           // warps
    EXPECT_EQ(resident("h200", 256, 40, 12288), 6);       // registers
    EXPECT_EQ(resident("h200", 256, 64, 30976), 4);       // registers
    EXPECT_EQ(resident("h200", 256, 80, 39232), 3);       // registers
    EXPECT_EQ(resident("h200", 256, 128, 0), 2);          // registers
    EXPECT_EQ(resident("rtx4090", 256, 62, 30976), 3);    // shared memory
    EXPECT_EQ(resident("rtx4090", 256, 40, 12288), 6);    // warps, registers
    EXPECT_EQ(resident("a100-80", 32, 16, 0), 32);        // blocks
    EXPECT_EQ(resident("a100-80", 1024, 255, 0), 1);      // never none
    EXPECT_EQ(resident("rtx2080ti", 256, 32, 0), 4);      // warps
    EXPECT_EQ(resident("rtx2080ti", 256, 32, 32768), 2);  // shared memory, none of it the system's
}

}  // namespace
}  // namespace gs
