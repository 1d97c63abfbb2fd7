// NVML's counters in a watched program, on a mock NVML: values with their units, and words where
// there are none.
#include <algorithm>
#include <cmath>

#include "tests/unit/cupti_program.h"

namespace gs::cupti_test {
namespace {

bool said(const Program& program, const std::string& text) {
    const std::vector<std::string> all = program.instants();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& s) { return s.find(text) != std::string::npos; });
}

constexpr const char* kOn = "1";

TEST(Nvml, CountersOfTheGpuInUse) {
    Program program(program_path(), {}, {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_THROTTLE", "0x5"}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    // GPM needs two samples, a second apart.
    program.drain_until([&] { return !std::isnan(program.counter("GPU 0 DRAM bandwidth [%]")); });
    EXPECT_EQ(program.counter("GPU 0 utilisation [%]"), 87);
    EXPECT_EQ(program.counter("GPU 0 memory utilisation [%]"), 41);
    EXPECT_EQ(program.counter("GPU 0 memory used [MiB]"), 12 * 1024);
    EXPECT_EQ(program.counter("GPU 0 SM clock [MHz]"), 1755);
    EXPECT_EQ(program.counter("GPU 0 memory clock [MHz]"), 2619);
    EXPECT_EQ(program.counter("GPU 0 power [W]"), 612.5);
    EXPECT_EQ(program.counter("GPU 0 SM active [%]"), 73.5);
    EXPECT_EQ(program.counter("GPU 0 SM occupancy [%]"), 44);
    EXPECT_EQ(program.counter("GPU 0 FP32 active [%]"), 31.5);
    EXPECT_EQ(program.counter("GPU 0 DRAM bandwidth [%]"), 58.25);
    // Idle (bit 0) holds nothing back.
    EXPECT_EQ(program.counter("GPU 0 throttle reasons"), 4);
    EXPECT_TRUE(said(program, "GPU 0 clocks held back by: power cap"));
    // What this GPU does not tell is said in words and is no zero.
    EXPECT_TRUE(said(program, "GPU 0 temperature [C]: absent on this GPU"));
    EXPECT_TRUE(std::isnan(program.counter("GPU 0 temperature [C]")));
    EXPECT_TRUE(said(program, "GPU 0 tensor cores active [%]: absent on this GPU"));
    EXPECT_TRUE(std::isnan(program.counter("GPU 0 tensor cores active [%]")));
    EXPECT_EQ(program.finish(), 0);
}

TEST(Nvml, NotPermittedIsNotZero) {
    Program program(
        program_path(), {},
        {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_POWER", "denied"}, {"MOCK_NVML_GPM", "denied"}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return !std::isnan(program.counter("GPU 0 utilisation [%]")); });
    EXPECT_TRUE(said(program, "GPU 0 counters (GPM): not permitted"));
    EXPECT_TRUE(said(program, "GPU 0 power [W]: not permitted"));
    EXPECT_TRUE(std::isnan(program.counter("GPU 0 power [W]")));
    EXPECT_TRUE(std::isnan(program.counter("GPU 0 SM active [%]")));
}

TEST(Nvml, AnOlderGpuHasNoGpm) {
    Program program(program_path(), {}, {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_GPM", "old"}});
    EXPECT_EQ(program.tell("launch 1"), "ok");
    program.drain_until([&] { return !std::isnan(program.counter("GPU 0 utilisation [%]")); });
    EXPECT_TRUE(said(program, "GPU 0 counters (GPM): absent (Hopper and newer have it)"));
}

TEST(Nvml, ASliceDoesNotShowItsGpusCounters) {
    for (const char* told : {"slice", "parent"}) {
        Program program(program_path(), {}, {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_MIG", told}});
        EXPECT_EQ(program.tell("launch 1"), "ok");
        program.drain_until([&] {
            return said(program, "GPU 0: a slice of a GPU (MIG) has no counters of its own");
        });
        EXPECT_TRUE(std::isnan(program.counter("GPU 0 power [W]")));
    }
}

TEST(Nvml, AbsentOrDeniedAsAWhole) {
    Program denied(program_path(), {}, {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_INIT", "4"}});
    EXPECT_EQ(denied.tell("launch 1"), "ok");
    denied.drain_until(
        [&] { return said(denied, "NVML: not permitted (Insufficient Permissions)"); });
    Program absent(program_path(), {}, {{"GAUSSCOPE_NVML", kOn}, {"MOCK_NVML_INIT", "9"}});
    EXPECT_EQ(absent.tell("launch 1"), "ok");
    absent.drain_until([&] { return said(absent, "NVML: absent (Driver Not Loaded)"); });
    EXPECT_TRUE(std::isnan(absent.counter("GPU 0 utilisation [%]")));
}

}  // namespace
}  // namespace gs::cupti_test
