// The metrics of a node's GPUs, and where processes run.
#include <gtest/gtest.h>

#include "profiler/serve/metrics.h"
#include "profiler/store/node_gpus.h"
#include "serve_trace.h"

namespace gs::serve {
namespace {

using test::kMs, test::samples_of;
using test::RecordedProcess, test::ServedMetrics;

TEST_F(ServedMetrics, CountersOfAGpuExistOnceHoweverManyProcessesTell) {
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        TraceBatch b = RecordedProcess{.pid = 4242 + rank, .source = 7 + rank}.batch(11'000);
        b.labels.rank = static_cast<int>(rank);
        for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
            const std::string uuid = "GPU-" + std::to_string((gpu + rank) % 8);  // as others see it
            b.devices.push_back({.device = gpu, .name = "H100", .uuid = uuid});
            b.names.push_back({10 + gpu, "GPU " + std::to_string(gpu) + " power [W]"});
            b.counters.push_back({10'500 * kMs, 600.0 + (gpu + rank) % 8, 0, 10 + gpu});
        }
        store.ingest(b);
    }
    // A process with a false name that reports a GPU of other processes.
    RecordedProcess liar{.pid = 666, .source = 70};
    TraceBatch lies = liar.batch(11'000);
    lies.process_name = std::string(kNodeGpus);
    lies.devices.push_back({.device = 5, .name = "H1000", .uuid = "GPU-5"});
    lies.names.push_back({10, "GPU 5 power [W]"});
    lies.counters.push_back({10'900 * kMs, 1e6, 0, 10});
    store.ingest(lies);
    // The daemon samples the same counters itself, also for idle GPUs.
    TraceBatch node{.source = kNodeGpusSource,
                    .pid = 9,
                    .process_name = std::string(kNodeGpus),
                    .read_ns = 11'000 * kMs};
    for (std::uint32_t gpu = 0; gpu < 9; ++gpu) {
        node.devices.push_back(
            {.device = gpu, .name = "H100", .uuid = "GPU-" + std::to_string(gpu)});
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

TEST_F(ServedMetrics, FiguresOfAGpuHaveNamesThatMeanTheSameElsewhere) {
    TraceBatch node{.source = kNodeGpusSource,
                    .pid = 9,
                    .process_name = std::string(kNodeGpus),
                    .read_ns = 11'000 * kMs};
    node.devices.push_back({.name = "H100", .uuid = "GPU-0", .memory_bytes = 80ull << 30});
    std::uint32_t name = 0;
    for (const auto& [metric, value] :
         {std::pair("utilisation [%]", 87.0), std::pair("memory utilisation [%]", 41.0),
          std::pair("memory used [MiB]", 20.0 * 1024), std::pair("throttle reasons", 0x44 * 1.0)}) {
        node.names.push_back({++name, "GPU 0 " + std::string(metric)});
        node.counters.push_back({10'600 * kMs, value, 0, name});
    }
    store.ingest(node);
    look(11'000);
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

TEST_F(ServedMetrics, LabelsSayWhereAProcessRuns) {
    TraceBatch batch = process.batch(11'000);
    batch.labels.job = "bert";
    batch.labels.name_space = "team";
    batch.labels.pod = "bert-worker-3";
    batch.labels.host = "agent-x";
    batch.labels.node = "n7";
    process.iterate(batch, 10'000, 100);
    store.ingest(batch);
    look(11'000);
    const Exposition told = metrics.tell({});
    const auto s = samples_of(told.open_metrics());
    EXPECT_NE(otlp_message(told, {}, 1, 2).find("gausscope.job"), std::string::npos);
    const std::string series =
        R"({process="train.py",rank="3",job="bert",namespace="team",pod="bert-worker-3",node="n7")";
    EXPECT_EQ(s.count("gausscope_records_total" + series + "}"), 1u);
    // A restarted container continues the series.
    EXPECT_EQ(s.count("gausscope_process_info" + series + R"(,pid="4242"})"), 1u);
}

}  // namespace
}  // namespace gs::serve
