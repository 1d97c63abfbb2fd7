// NVML's counters of a node's GPUs, on a mock NVML: each GPU is asked once however many processes
// use it, values have their units, and there are words where there are none.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "profiler/collect/multi_collector.h"
#include "profiler/store/node_gpus.h"
#include "tests/support/required.h"
#include "tests/unit/cupti_program.h"

namespace gs::cupti_test {
namespace {

using service::DeviceSampler, service::DeviceSamplerOptions;

constexpr const char* kFirst = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";
constexpr const char* kSecond = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1";

/// Variables of this process, in which the mock is, for as long as this lives.
class Variables {
  public:
    explicit Variables(Environment variables) : variables_(std::move(variables)) {
        static void* const mock =
            ::dlopen(GAUSSCOPE_MOCK_CUDA "/libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
        EXPECT_NE(mock, nullptr);  // from now on it is found by its name
        for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
    }
    ~Variables() {
        for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
    }

  private:
    Environment variables_;
};

/// A reader's sampler, and what it has sampled so far.
struct Sampled {
    Sampled(Environment environment, bool all,
            std::chrono::milliseconds renew_after = std::chrono::minutes(10))
        : variables(std::move(environment)),
          sampler(DeviceSampler::start({.all = all,
                                        .interval = std::chrono::milliseconds(10),
                                        .renew_after = renew_after})) {}

    double counter(const std::string& name) const {
        for (const CounterSeries& series : store.counters())
            if (store.name(series.name) == name && !series.points.empty())
                return series.points.back().value;
        return std::nan("");
    }
    std::size_t points(const std::string& name) const {
        for (const CounterSeries& series : store.counters())
            if (store.name(series.name) == name) return series.points.size();
        return 0;
    }
    std::ptrdiff_t times_said(const std::string& text) const {
        return std::count_if(
            store.instants().begin(), store.instants().end(),
            [&](const TraceInstant& i) { return store.name(i.name).find(text) != text.npos; });
    }
    bool said(const std::string& text) const { return times_said(text) > 0; }
    void wait(const std::function<bool()>& enough) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (sampler->take_into(store); !enough() && std::chrono::steady_clock::now() < until;
             sampler->take_into(store))
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        EXPECT_TRUE(enough());
    }

    Variables variables;
    std::unique_ptr<DeviceSampler> sampler;
    TraceStore store;
};

TEST(Nvml, CountersOfTheGpuInUse) {
    Sampled s({{"MOCK_NVML_THROTTLE", "0x5"}}, false);
    s.sampler->watch({kFirst});
    s.wait([&] { return !std::isnan(s.counter("GPU 0 DRAM bandwidth [%]")); });
    EXPECT_EQ(s.counter("GPU 0 utilisation [%]"), 87);
    EXPECT_EQ(s.counter("GPU 0 memory utilisation [%]"), 41);
    EXPECT_EQ(s.counter("GPU 0 memory used [MiB]"), 12 * 1024);
    EXPECT_EQ(s.counter("GPU 0 SM clock [MHz]"), 1755);
    EXPECT_EQ(s.counter("GPU 0 memory clock [MHz]"), 2619);
    EXPECT_EQ(s.counter("GPU 0 power [W]"), 612.5);
    EXPECT_EQ(s.counter("GPU 0 SM active [%]"), 73.5);
    EXPECT_EQ(s.counter("GPU 0 SM occupancy [%]"), 44);
    EXPECT_EQ(s.counter("GPU 0 FP32 active [%]"), 31.5);
    EXPECT_EQ(s.counter("GPU 0 DRAM bandwidth [%]"), 58.25);
    // Idle (bit 0) holds nothing back.
    EXPECT_EQ(s.counter("GPU 0 throttle reasons"), 4);
    EXPECT_TRUE(s.said("GPU 0 clocks limited by: power cap"));
    // What this GPU does not tell is said in words and is no zero.
    EXPECT_TRUE(s.said("GPU 0 temperature [C]: absent on this GPU"));
    EXPECT_TRUE(std::isnan(s.counter("GPU 0 temperature [C]")));
    EXPECT_TRUE(s.said("GPU 0 tensor cores active [%]: absent on this GPU"));
    EXPECT_TRUE(std::isnan(s.counter("GPU 0 tensor cores active [%]")));
    ASSERT_EQ(s.store.processes().size(), 1u);
    EXPECT_TRUE(is_node_gpus(s.store.processes()[0]));
    ASSERT_NE(find_device(s.store.processes()[0], 0), nullptr);
    EXPECT_EQ(find_device(s.store.processes()[0], 0)->uuid, kFirst);
}

TEST(Nvml, NotPermittedIsNotZero) {
    Sampled s({{"MOCK_NVML_POWER", "denied"}, {"MOCK_NVML_GPM", "denied"}}, false);
    s.sampler->watch({kFirst});
    s.wait([&] { return s.points("GPU 0 utilisation [%]") > 2; });
    EXPECT_TRUE(s.said("GPU 0 counters (GPM): not permitted"));
    EXPECT_TRUE(s.said("GPU 0 power [W]: not permitted"));
    EXPECT_TRUE(std::isnan(s.counter("GPU 0 power [W]")));
    EXPECT_TRUE(std::isnan(s.counter("GPU 0 SM active [%]")));
}

TEST(Nvml, AnOlderGpuHasNoGpm) {
    Sampled s({{"MOCK_NVML_GPM", "old"}}, true);
    s.wait([&] { return s.said("GPU 0 counters (GPM): absent (Hopper and newer have it)"); });
}

TEST(Nvml, ASliceDoesNotShowItsGpusCounters) {
    for (const char* told : {"slice", "parent"}) {
        Sampled s({{"MOCK_NVML_MIG", told}}, false);
        s.sampler->watch({kFirst});
        s.wait([&] { return s.said("it has no counters") && s.said("MIG slices"); });
        EXPECT_TRUE(std::isnan(s.counter("GPU 0 SM active [%]")));
    }
}

TEST(Nvml, ASliceHasCountersOfItsOwn) {
    for (const bool all : {true, false}) {
        Sampled s({{"MOCK_NVML_MIG", "slices"}}, all);
        if (!all) s.sampler->watch({"GPU-b0b0b0b0-b0b0-b0b0-b0b0-b0b0b0b0b0b0"});  // CUDA's
        s.wait([&] { return !std::isnan(s.counter("GPU 101 SM active [%]")); });
        EXPECT_EQ(s.counter("GPU 101 SM active [%]"), 73.5);
        EXPECT_EQ(s.counter("GPU 101 memory used [MiB]"), 3 * 1024);
        EXPECT_TRUE(s.said("GPU 101 utilisation [%]: absent on this GPU"));
        EXPECT_FALSE(s.said("not among the GPUs"));
        // What only the whole GPU has, and counters of a GPU instance once.
        if (all) {
            s.wait([&] { return s.said("GPU 102 counters (GPM): absent (those of"); });
            EXPECT_EQ(s.counter("GPU 0 power [W]"), 612.5);
            EXPECT_EQ(s.counter("GPU 102 memory used [MiB]"), 3 * 1024);
        }
        for (const char* name : {"GPU 0 utilisation [%]", "GPU 0 memory used [MiB]",
                                 "GPU 0 SM active [%]", "GPU 102 SM active [%]"})
            EXPECT_TRUE(std::isnan(s.counter(name))) << name;
        const GpuDeviceEvent* const slice = find_device(s.store.processes()[0], 101);
        ASSERT_NE(slice, nullptr);
        EXPECT_EQ(slice->uuid, "MIG-b0b0b0b0-b0b0-b0b0-b0b0-b0b0b0b0b0b0");
        EXPECT_EQ(slice->memory_bytes, 10ull << 30);
    }
}

TEST(Nvml, AbsentOrDeniedAsAWhole) {
    for (const auto& [result, words] :
         {std::pair("4", "NVML: not permitted (Insufficient Permissions)"),
          std::pair("9", "NVML: absent (Driver Not Loaded)")}) {
        Sampled s({{"MOCK_NVML_INIT", result}}, false);
        s.sampler->watch({kFirst});
        s.wait([&] { return s.said(words); });
        EXPECT_TRUE(std::isnan(s.counter("GPU 0 utilisation [%]")));
    }
}

/// What the mock was asked.
class Log {
  public:
    ~Log() { std::filesystem::remove(path_); }
    std::string path() const { return path_.string(); }
    std::size_t count(const std::string& wanted, int gpu) const {
        std::ifstream file(path_);
        std::size_t out = 0;
        std::string what;
        for (int pid = 0, of = 0; file >> what >> pid >> of;) out += what == wanted && of == gpu;
        return out;
    }

  private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("gs-nvml-" + std::to_string(::getpid()) + ".log");
};

TEST(Nvml, AGpuIsAskedOnceHoweverManyUseIt) {
    {
        const Log log;
        Sampled s({{"MOCK_CUDA_DEVICES", "3"}, {"MOCK_NVML_LOG", log.path()}}, false);
        for (int rank = 0; rank < 8; ++rank) s.sampler->watch({kFirst, kSecond});
        s.wait([&] { return s.points("GPU 1 utilisation [%]") >= 5; });
        s.sampler->finish(s.store);
        EXPECT_EQ(log.count("ask", 0), s.points("GPU 0 utilisation [%]"));
        EXPECT_EQ(log.count("ask", 1), s.points("GPU 1 utilisation [%]"));
        EXPECT_EQ(log.count("ask", 2), 0u);  // nobody uses it
    }
    Sampled daemon({{"MOCK_CUDA_DEVICES", "3"}}, true);
    daemon.wait([&] { return daemon.points("GPU 2 utilisation [%]") > 0; });
}

TEST(Nvml, AGpuThatNobodyUsesAnyMoreIsLetBe) {
    Sampled s({}, false);
    s.sampler->watch({kFirst});
    s.wait([&] { return s.points("GPU 0 utilisation [%]") >= 2; });
    s.sampler->watch({});
    s.sampler->take_into(s.store);
    const std::size_t before = s.points("GPU 0 utilisation [%]");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    s.sampler->take_into(s.store);
    EXPECT_LE(s.points("GPU 0 utilisation [%]"), before + 2);  // one was under way, one on its way
    s.sampler->watch({kFirst});
    s.wait([&] { return s.points("GPU 0 utilisation [%]") > before + 2; });
}

TEST(Nvml, ADriverThatNeverAnswersDoesNotKeepARecording) {
    const Log log;
    Sampled s({{"MOCK_NVML_HANG", "1"}, {"MOCK_NVML_LOG", log.path()}}, false);
    s.sampler->watch({kFirst});
    s.wait([&] { return log.count("ask", 0) == 1; });
    s.sampler->finish(s.store);
    EXPECT_EQ(log.count("ask", 0), 1u);
}

TEST(Nvml, WhatWasSaidIsNotSaidAgainWhenItIsAskedForAgain) {
    const Log log;
    Sampled s({{"MOCK_NVML_POWER", "denied"},
               {"MOCK_NVML_GPM", "old"},
               {"MOCK_NVML_THROTTLE", "4"},
               {"MOCK_NVML_LOG", log.path()}},
              false, std::chrono::milliseconds(20));
    s.sampler->watch({kFirst, "GPU-of-nobody"});
    s.wait([&] { return log.count("init", 0) >= 4; });
    s.sampler->finish(s.store);
    for (const char* text : {"GPU 0 power [W]: not permitted", "GPU 0 counters (GPM): absent",
                             "GPU 0 clocks limited by", "GPU-of-nobody is not among"})
        EXPECT_EQ(s.times_said(text), 1) << text;
}

TEST(Nvml, OfGpusThatNobodyHasOnlySoManyAreSpokenOf) {
    Sampled s({}, false);
    for (int round = 0; round < 3; ++round) {
        std::set<std::string> uuids;
        for (int i = 0; i < 1000; ++i) uuids.insert(fmt::format("GPU-{}-{}", round, i));
        s.sampler->watch(std::move(uuids));
        s.wait([&] { return s.times_said("is not among") == 256; });
    }
    s.sampler->finish(s.store);
    EXPECT_EQ(s.times_said("is not among"), 256);
}

TEST(Nvml, CanBeSwitchedOff) {
    const Variables off(Environment{{"GAUSSCOPE_NVML", "0"}});
    EXPECT_EQ(DeviceSampler::start({.all = true}), nullptr);
}

TEST(Nvml, TheReaderAsksAboutTheGpusOfWhomItReads) {
    const Variables mock(Environment{{"MOCK_CUDA_DEVICES", "2"}});
    Program program(program_path(), {}, {{"MOCK_CUDA_DEVICES", "1"}});
    service::MultiCollectorOptions options;
    options.devices.emplace().interval = std::chrono::milliseconds(10);
    auto collector = required(service::MultiCollector::start(std::move(options)));
    EXPECT_EQ(program.tell("launch 1"), "ok");
    TraceStore store;
    const auto told = [&](const char* name) {
        return std::any_of(store.counters().begin(), store.counters().end(),
                           [&](const auto& c) { return store.name(c.name) == name; });
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!told("GPU 0 power [W]") && std::chrono::steady_clock::now() < until) {
        collector->drain_into(store);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    collector->finish(store);
    EXPECT_TRUE(told("GPU 0 power [W]"));
    EXPECT_FALSE(told("GPU 1 power [W]"));
    ASSERT_EQ(store.processes().size(), 2u);  // the program is the first
    EXPECT_TRUE(is_node_gpus(store.processes()[1]));
    EXPECT_EQ(program.finish(), 0);
}

}  // namespace
}  // namespace gs::cupti_test
