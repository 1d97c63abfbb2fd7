#include "tests/panels/fake_prediction.h"

#include <cmath>

namespace gs::test {
namespace {

Prediction prediction_of(const char* gpu, bool training, double slower) {
    struct Row {
        Stage stage;
        double ms;
        GpuResource bound_by;
        bool of_step;
    };
    constexpr Row kRows[] = {{Stage::project, 0.12, GpuResource::memory, false},
                             {Stage::sort, 0.21, GpuResource::launch, false},
                             {Stage::emit, 0.08, GpuResource::latency, false},
                             {Stage::blend, 0.56, GpuResource::issue, false},
                             {Stage::loss, 0.2, GpuResource::shared_memory, true},
                             {Stage::blend_backward, 1.21, GpuResource::issue, true},
                             {Stage::adam, 0.5, GpuResource::memory, true},
                             {Stage::pack, 0.02, GpuResource::launch, false}};
    Prediction out{.gpu = gpu, .training = training};
    double sum = 0;
    for (const Row& row : kRows) {
        if (row.of_step && !training) continue;
        const double ms = row.ms * slower;
        PredictedStage stage{row.stage, {0.7 * ms, ms, 1.4 * ms}, row.bound_by, {}, true};
        stage.share[static_cast<std::size_t>(row.bound_by)] = 0.84;
        stage.share[static_cast<std::size_t>(GpuResource::latency)] += 0.31;
        out.stages.push_back(stage);
        sum += ms;
    }
    out.total = {0.8 * sum, sum, 1.25 * sum};
    out.memory_bytes = training ? 61.3e9 : 26.1e9;
    out.fits = slower < 1.5;
    return out;
}

}  // namespace

std::shared_ptr<const PredictionState> fake_prediction(const Camera& camera) {
    auto out = std::make_shared<PredictionState>();
    out->choices = {{"h200", "NVIDIA H200 SXM", true},
                    {"rtx4090", "NVIDIA GeForce RTX 4090", true},
                    {"a100-80", "NVIDIA A100, 80 GB", false}};
    out->counted = true;
    out->training_step = 12400;
    out->camera = camera;
    out->from = "photo 12, images/frame_00087.jpg";
    out->as_drawn.gaussians = 3'012'480;
    out->as_drawn.visible = 1'204'112;
    out->as_drawn.isects = 8'120'450;
    out->work = out->as_drawn;
    for (const auto& [choice, slower] : {std::pair{out->choices[0], 1.0}, {out->choices[1], 1.6}})
        out->gpus.push_back({choice.id, choice.name,
                             prediction_of(choice.id.c_str(), false, slower),
                             prediction_of(choice.id.c_str(), true, slower)});
    out->otherwise = {{"half the Gaussians", {0.5, 0.71, 0.9}, {1.6, 2.1, 2.7}},
                      {"4 views at a time", {2.7, 3.4, 4.2}, {8.1, 10.2, 12.6}}};
    out->tiles_x = (camera.width + 15) / 16;
    const int tiles_y = (camera.height + 15) / 16;
    for (int i = 0; i < out->tiles_x * tiles_y; ++i)
        out->tile_us.push_back(static_cast<float>(0.3 + 0.2 * std::sin(0.07 * i)));
    return out;
}

}  // namespace gs::test
