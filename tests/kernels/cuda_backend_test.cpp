// --backend: which backend is chosen where there is a device and where there is none. The device is
// the emulated one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/backend/backend.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/required.h"

namespace {

namespace emu = gs::emulator;
using namespace gs;
using ::testing::StartsWith;

TEST(Backend, AutoTakesTheDevice) {
    for (const char* wanted : {"auto", "cuda"}) {
        const auto backend = choose_backend(wanted);
        ASSERT_TRUE(backend.has_value()) << wanted;
        EXPECT_TRUE(backend->cuda);
        EXPECT_THAT(backend->name,
                    ::testing::MatchesRegex("CUDA \\(emulated CUDA device, sm_[0-9]+\\)"));
        const auto rasterizer = backend->make_rasterizer();
        ASSERT_TRUE(rasterizer.has_value());
        EXPECT_EQ((*rasterizer)->name(), backend->name);
        const auto training = backend->make_training();
        ASSERT_TRUE(training.has_value());
        EXPECT_EQ((*training)->rasterizer().name(), backend->name);
        backend->set_profiling(true);
        backend->set_profiling(false);
    }
    EXPECT_EQ(emu::calls("cudaProfilerStart"), 2u);
    EXPECT_EQ(emu::calls("cudaProfilerStop"), 2u);
}

TEST(Backend, CpuIsTheCpu) {
    const auto backend = required(choose_backend("cpu"));
    EXPECT_FALSE(backend.cuda);
    EXPECT_THAT(backend.name, StartsWith("CPU ("));
    EXPECT_EQ((*backend.make_rasterizer())->name(), backend.name);
    EXPECT_EQ((*backend.make_training())->rasterizer().name(), backend.name);
    EXPECT_FALSE(backend.set_profiling);
}

TEST(Backend, OthersAreWrongUsage) {
    const auto backend = choose_backend("vulkan");
    ASSERT_FALSE(backend.has_value());
    EXPECT_EQ(backend.error().kind, ErrorKind::usage);
    EXPECT_EQ(backend.error().message, "unknown backend \"vulkan\"");
}

// The device is looked up once per process, so a process without one is another process.
[[noreturn]] void choose_without_device(const char* wanted) {
    emu::set_device(emu::Device::no_driver);
    const auto backend = choose_backend(wanted);
    std::fputs(backend ? backend->name.c_str() : backend.error().text().c_str(), stderr);
    if (!backend && backend.error().kind != ErrorKind::usage) std::exit(1);
    std::exit(backend ? 0 : 2);
}

TEST(BackendDeathTest, WithoutADeviceAutoIsTheCpuAndCudaSaysWhy) {
    EXPECT_EXIT(choose_without_device("auto"), ::testing::ExitedWithCode(0), "CPU .");
    EXPECT_EXIT(choose_without_device("cuda"), ::testing::ExitedWithCode(2),
                "the CUDA backend cannot be used: no NVIDIA driver .install the driver");
}

}  // namespace
