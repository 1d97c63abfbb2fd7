// Of the fake snapshot, what was measured: a trace of stages, and what they cost on a GPU.
#include <algorithm>
#include <cmath>

#include "panels/state/snapshot.h"
#include "tests/panels/fake_snapshot.h"

namespace gs::test {
namespace {

/// Builds nested spans of one frame on a track. With a GPU stream, a span only launches work there.
struct Writer {
    TraceBatch& batch;
    std::uint32_t track;
    std::int64_t now;
    bool gpu = false;
    std::int64_t gpu_now = 0;
    std::uint64_t launches = 0;

    static constexpr std::uint32_t kStream = 3;
    static constexpr double kFaster = 8;  // the GPU than the CPU of the fake numbers

    void span(Stage stage, double ms, std::uint8_t depth) {
        const auto name = static_cast<std::uint32_t>(stage) + 1;
        const auto length = static_cast<std::int64_t>(gpu ? 20'000 + 4'000 * ms : ms * 1e6);
        batch.spans.push_back({now, now + length, 0, track, name, depth, false});
        if (gpu) {
            gpu_now = std::max(gpu_now, now + 8'000);
            const std::int64_t end = gpu_now + static_cast<std::int64_t>(ms * 1e6 / kFaster);
            batch.gpu_work.push_back(stage_work({gpu_now, end, 0, kStream, name, 0, false},
                                                {now, track, depth}, ++launches));
            gpu_now = end + 2'000;
        }
        now += length;
    }
    void frame(Stage stage, std::int64_t begin, std::uint64_t number) {
        batch.spans.push_back(
            {begin, now, number, track, static_cast<std::uint32_t>(stage) + 1, 0, true});
        now = std::max(now, gpu_now - 3'000'000);  // the host runs ahead only so far
    }
};

void one_iteration(Writer& w, int number) {
    const auto n = [&](std::uint32_t k) {
        return 0.85 + 0.3 * noise(static_cast<std::uint32_t>(number), k);
    };
    const std::int64_t begin = w.now;
    w.span(Stage::cull, 0.4 * n(1), 1);
    w.span(Stage::project, 2.6 * n(2), 1);
    w.span(Stage::emit, 1.1 * n(3), 1);
    w.span(Stage::sort, 2.2 * n(4), 1);
    w.span(Stage::ranges, 0.2 * n(5), 1);
    w.span(Stage::blend, 8.1 * n(6), 1);
    w.span(Stage::loss, 2.4 * n(7), 1);
    w.span(Stage::blend_backward, 14.8 * n(8), 1);
    w.span(Stage::project_backward, 3.9 * n(9), 1);
    w.span(Stage::adam, 2.0 * n(10), 1);
    if (number % 40 == 0) w.span(Stage::density, 9.5, 1);
    w.now += 60'000;
    w.frame(Stage::iteration, begin, static_cast<std::uint64_t>(number));
}

void one_view_frame(Writer& w, int number) {
    const std::int64_t begin = w.now;
    w.span(Stage::cull, 0.3, 1);
    w.span(Stage::project, 1.9, 1);
    w.span(Stage::sort, 1.6, 1);
    w.span(Stage::blend, 6.4, 1);
    w.span(Stage::pack, 0.9, 1);
    w.frame(Stage::view_frame, begin, static_cast<std::uint64_t>(number));
}

}  // namespace

double noise(std::uint32_t a, std::uint32_t b) {
    std::uint32_t h = a * 0x9e3779b9U ^ (b + 0x7f4a7c15U) * 0x85ebca6bU;
    h ^= h >> 15;
    h *= 0x2c1b3c6dU;
    h ^= h >> 13;
    return static_cast<double>(h & 0xffffffU) / 0x1000000;
}

void fill_store(TraceStore& store, int iterations, std::int64_t end_ns, bool gpu) {
    TraceBatch batch{.tracks = {{0, 1, 10, "ui", false},
                                {1, 1, 11, "engine", false},
                                {2, 1, 12, "loader 1", true}},
                     .pid = 1,
                     .process_name = "gausscope"};
    if (gpu)
        batch.tracks.push_back(
            {Writer::kStream, 1, 0, "CUDA stream training", false, TrackKind::gpu_stream});
    for (std::size_t i = 0; i < kStageCount; ++i)
        batch.names.push_back({static_cast<std::uint32_t>(i) + 1, kStageNames[i]});
    const std::int64_t begin =
        end_ns - static_cast<std::int64_t>(iterations) * (gpu ? 6'500'000 : 45'000'000);
    Writer engine{batch, 1, begin, gpu}, ui{batch, 0, begin};
    for (int i = 0; i < iterations; ++i) {
        one_iteration(engine, 12400 - iterations + i);
        if (i % 4 == 0) one_view_frame(engine, i / 4);
        while (ui.now < engine.now) {
            const std::int64_t from = ui.now;
            ui.span(Stage::ui_panels, 2.1, 1);
            ui.span(Stage::ui_present, 0.8, 1);
            ui.frame(Stage::ui, from, static_cast<std::uint64_t>(i));
            ui.now = from + 16'600'000;
        }
    }
    Writer loader{batch, 2, begin};
    for (int i = 0; i < 400; ++i) loader.span(Stage::decode_photo, 0.05, 0);
    batch.open = {{engine.now, 12400, 1, static_cast<std::uint32_t>(Stage::iteration) + 1, 0}};
    batch.read_ns = engine.now + 9'000'000;
    batch.written = batch.spans.size();
    store.ingest(batch);
}

StageCost cost_of(Stage stage, double measured_ms, double floor_ms, double bytes, double operations,
                  CostLimit limit, bool counted) {
    StageCost cost{.measured_ms = measured_ms};
    cost.floor.stage = stage;
    cost.floor.floor_ms = floor_ms;
    cost.floor.limit = limit;
    cost.floor.work.bytes = bytes;
    cost.floor.work.operations = operations;
    cost.floor.work.counted = counted;
    return cost;
}

void put_on_gpu(Snapshot& s) {
    s.backend = "CUDA (NVIDIA H200, sm_90)";
    s.device = "NVIDIA H200";
    s.present_path = "interop";
    s.device_memory = DeviceMemory{151'000'000'000, 139'400'000'000, 8'123'000'000};
    s.training.step_ms = 4.7;
    SceneInfo info = *s.scene;
    info.memory = {
        {"parameters", 93'985'000, true}, {"Adam moments", 187'970'000, true},
        {"photos", 1'482'300'000, true},  {"arrays of a frame", 611'200'000, true, 488'900'000},
        {"pictures", 22'100'000, true},   {"photos", 82'300'000}};
    s.scene = std::make_shared<SceneInfo>(std::move(info));
    StageCosts costs{
        .machine = "NVIDIA H200",
        .sample = "iteration",
        .measured = true,
        .bytes_per_second = 4.1e12,
        .operations_per_second = 5.6e13,
        .stages = {
            cost_of(Stage::cull, 0.05, 0.021, 3.2e6, 2.4e6, CostLimit::launch, true),
            cost_of(Stage::project, 0.325, 0.21, 8.6e8, 1.1e9, CostLimit::memory, true),
            cost_of(Stage::emit, 0.137, 0.05, 2.1e8, 9.0e7, CostLimit::memory, false),
            cost_of(Stage::sort, 0.275, 0.19, 7.9e8, 0, CostLimit::memory, true),
            cost_of(Stage::ranges, 0.025, 0.004, 1.6e7, 0, CostLimit::memory, true),
            cost_of(Stage::blend, 1.01, 0.55, 1.9e8, 3.1e10, CostLimit::arithmetic, true),
            cost_of(Stage::loss, 0.3, 0.1, 2.0e8, 5.6e9, CostLimit::arithmetic, false),
            cost_of(Stage::blend_backward, 1.85, 1.2, 4.4e8, 6.7e10, CostLimit::arithmetic, true),
            cost_of(Stage::project_backward, 0.49, 0.32, 1.3e9, 2.2e9, CostLimit::memory, true),
            cost_of(Stage::adam, NAN, NAN, 0, 0, CostLimit::none, false)}};
    s.costs = std::make_shared<StageCosts>(std::move(costs));
}

}  // namespace gs::test
