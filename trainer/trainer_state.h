// What a training run consists of. Private to the trainer: trainer.cpp steps it, checkpoint.cpp writes and reads it.
#pragma once

#include <memory>

#include "trainer/density.h"
#include "trainer/lazy_adam.h"
#include "trainer/sampler.h"
#include "trainer/trainer.h"

namespace gs {

struct Trainer::State {
    // Given.
    std::shared_ptr<const Capture> capture;
    TrainingSettings settings;
    std::unique_ptr<Rasterizer> rasterizer;
    // The run: all of it goes into a checkpoint.
    double extent = 1;  ///< world units
    GaussianModel model;
    LazyAdam adam;
    DensityStatistics statistics;
    Sampler sampler;
    // Memory that steps and views use again and again.
    std::unique_ptr<ForwardState> forward_state, view_state;
    RenderResult picture, view_picture;
    PixelGradients gradients;
    // Complaints are logged once.
    bool told_poison = false, told_limit = false, told_memory = false;

    State(std::shared_ptr<const Capture> given_capture, const TrainingSettings& given_settings,
          std::unique_ptr<Rasterizer> given_rasterizer);
    std::uint64_t steps() const { return adam.steps(); }
    int sh_degree() const;
    RenderOptions options() const;
    void control_density(StepReport& report);
};

/// Views that can be trained on: not held out, and with a photo of the camera's size.
std::vector<std::size_t> trainable_views(const Capture& capture);

}  // namespace gs
