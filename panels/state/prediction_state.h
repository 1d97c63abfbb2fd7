// PredictionState: predicted times of the current view on other GPUs, for the Stages panel ("Other
// GPUs") and the map over the picture. *Predicted*, never measured (docs/model.md). Made by the
// engine (app/session/parts/predictor.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/predict/gpu_model.h"
#include "renderer/scene/camera.h"

namespace gs {

struct PredictionState {
    /// A frame for the screen, and a training step of the same counts.
    struct OfGpu {
        std::string id, name;
        Prediction frame, step;
    };
    /// The same scene with a change, on the first GPU.
    struct Otherwise {
        std::string change;  ///< "half the Gaussians"
        PredictedMs frame, step;
    };
    struct Choice {
        std::string id, name;
        bool chosen = false;
    };
    std::vector<Choice> choices;  ///< every known GPU
    WhatIf change;                ///< the what-if, if not as drawn
    bool step = false;            ///< predict a training step, else a frame
    bool map = false;             ///< tiles are coloured over the picture
    // ---- of a counted frame; without one `counted` is false and the rest is empty
    bool counted = false;
    std::uint64_t training_step = 0;  ///< when it was counted
    Camera camera;                    ///< of it
    std::string from;                 ///< "photo 12, IMG_0012.jpg", "the free camera"
    FrameWork as_drawn;               ///< its counts
    int batch = 1;                    ///< views at a time, after `change`
    FrameWork work;                   ///< the counts after `change`
    double beams_every = 0;           ///< one step of that many has lidar beams; 0: none has
    std::vector<OfGpu> gpus;          ///< as chosen, in that order
    std::vector<Otherwise> otherwise;
    /// Share of blending's microseconds (of a step: with backward) that falls to each tile, on the
    /// first GPU; empty where `change` makes the picture's size another.
    std::vector<float> tile_us;
    int tiles_x = 0;
};

}  // namespace gs
