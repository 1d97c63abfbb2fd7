// The metrics of a node's GPUs, and where processes run.
#include <gtest/gtest.h>

#include "profiler/serve/metrics.h"
#include "profiler/store/node_gpus.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs, test::samples_of;
using test::RecordedProcess;

TEST(Metrics, CountersOfAGpuExistOnceHoweverManyProcessesTell) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        RecordedProcess process;
        process.source = 7 + rank;
        process.pid = 4242 + rank;
        TraceBatch b = process.batch(11'000);
        b.labels.rank = static_cast<int>(rank);
        for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
            GpuDeviceEvent device;
            device.device = gpu;
            device.name = "H100";
            device.uuid = "GPU-" + std::to_string((gpu + rank) % 8);  // CUDA_VISIBLE_DEVICES
            b.devices.push_back(device);
            b.names.push_back({10 + gpu, "GPU " + std::to_string(gpu) + " power [W]"});
            b.counters.push_back({10'500 * kMs, 600.0 + (gpu + rank) % 8, 0, 10 + gpu});
        }
        store.ingest(b);
    }
    // A process with a false name that reports a GPU of other processes.
    RecordedProcess liar;
    liar.source = 70;
    liar.pid = 666;
    TraceBatch lies = liar.batch(11'000);
    lies.process_name = kNodeGpus;
    lies.devices.emplace_back();
    lies.devices.back().device = 5;
    lies.devices.back().name = "H1000";
    lies.devices.back().uuid = "GPU-5";
    lies.names.push_back({10, "GPU 5 power [W]"});
    lies.counters.push_back({10'900 * kMs, 1e6, 0, 10});
    store.ingest(lies);
    // The daemon samples the same counters itself, also for idle GPUs.
    TraceBatch node;
    node.source = kNodeGpusSource;
    node.pid = 9;
    node.read_ns = 11'000 * kMs;
    node.process_name = kNodeGpus;
    for (std::uint32_t gpu = 0; gpu < 9; ++gpu) {
        node.devices.emplace_back();
        node.devices.back().device = gpu;
        node.devices.back().name = "H100";
        node.devices.back().uuid = "GPU-" + std::to_string(gpu);
        node.names.push_back({1 + gpu, "GPU " + std::to_string(gpu) + " power [W]"});
        node.counters.push_back({10'600 * kMs, 700.0 + gpu, 0, 1 + gpu});
    }
    store.ingest(node);
    const auto news = watch.look(store, 11'000 * kMs);
    EXPECT_EQ(news.size(), 9u);
    metrics.update(store, news, 11'000 * kMs);
    const std::string text = metrics.tell({}).open_metrics();
    const auto s = samples_of(text);
    EXPECT_EQ(s.at(R"(gausscope_gpu_power_watts{uuid="GPU-5",model="H100"})"), 705);
    int series = 0;
    for (const auto& [name, value] : s) series += name.starts_with("gausscope_gpu_power") ? 1 : 0;
    EXPECT_EQ(series, 9);
    EXPECT_EQ(text.find("gausscope_counter{"), std::string::npos);
}

TEST(Metrics, FiguresOfAGpuHaveNamesThatMeanTheSameElsewhere) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    TraceBatch node;
    node.source = kNodeGpusSource;
    node.pid = 9;
    node.read_ns = 11'000 * kMs;
    node.process_name = kNodeGpus;
    node.devices.emplace_back();
    node.devices.back().name = "H100";
    node.devices.back().uuid = "GPU-0";
    node.devices.back().memory_bytes = 80ull << 30;
    std::uint32_t name = 0;
    for (const auto& [metric, value] :
         {std::pair("utilisation [%]", 87.0), std::pair("memory utilisation [%]", 41.0),
          std::pair("memory used [MiB]", 20.0 * 1024), std::pair("throttle reasons", 0x44 * 1.0)}) {
        node.names.push_back({++name, "GPU 0 " + std::string(metric)});
        node.counters.push_back({10'600 * kMs, value, 0, name});
    }
    store.ingest(node);
    metrics.update(store, watch.look(store, 11'000 * kMs), 11'000 * kMs);
    const Exposition told = metrics.tell({});
    const auto s = samples_of(told.open_metrics());
    const std::string gpu = R"({uuid="GPU-0",model="H100")";
    for (const char* each :
         {"gausscope_gpu_kernel_active_ratio", "gausscope_gpu_utilization_ratio"})
        EXPECT_NEAR(s.at(each + gpu + "}"), 0.87, 1e-9);
    for (const char* each :
         {"gausscope_gpu_memory_controller_active_ratio", "gausscope_gpu_memory_utilization_ratio"})
        EXPECT_NEAR(s.at(each + gpu + "}"), 0.41, 1e-9);
    EXPECT_NEAR(s.at("gausscope_gpu_memory_used_ratio" + gpu + "}"), 0.25, 1e-9);
    EXPECT_EQ(s.at("gausscope_gpu_throttle_reasons" + gpu + "}"), 0x44);
    const auto throttled = [&](const char* reason) {
        return s.at("gausscope_gpu_throttled" + gpu + ",reason=\"" + reason + "\"}");
    };
    EXPECT_EQ(throttled("power_cap"), 1);
    EXPECT_EQ(throttled("thermal_hardware"), 1);
    EXPECT_EQ(throttled("user_clocks"), 0);
    const std::string message = otlp_message(told, {}, 1, 2);
    for (const char* word : {"hw.gpu.utilization", "hw.gpu.memory.utilization",
                             "hw.gpu.memory.usage", "hw.id", "hw.type", "hw.name"})
        EXPECT_NE(message.find(word), message.npos) << word;
}

TEST(Metrics, LabelsSayWhereAProcessRuns) {
    TraceStore store;
    Watch watch;
    Metrics metrics;
    RecordedProcess process;
    TraceBatch batch = process.batch(11'000);
    batch.labels.job = "bert";
    batch.labels.name_space = "team";
    batch.labels.pod = "bert-worker-3";
    batch.labels.host = "agent-x";
    batch.labels.node = "n7";
    process.iterate(batch, 10'000, 100);
    store.ingest(batch);
    metrics.update(store, watch.look(store, 11'000 * kMs), 11'000 * kMs);
    const Exposition told = metrics.tell({});
    const auto s = samples_of(told.open_metrics());
    EXPECT_NE(otlp_message(told, {}, 1, 2).find("gausscope.job"), std::string::npos);
    const std::string labels =
        R"({process="train.py",rank="3",job="bert",namespace="team",pod="bert-worker-3",node="n7")";
    EXPECT_EQ(s.count("gausscope_records_total" + labels + "}"), 1u);
    // A restarted container continues the series.
    EXPECT_EQ(s.count("gausscope_process_info" + labels + R"(,pid="4242"})"), 1u);
}

}  // namespace
}  // namespace gs::serve
