// Reports predictions for `predict` and `bench --predict`: as JSON and as text. Every number here
// is predicted and comes with its interval.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/backend/measured_times.h"
#include "app/cli/report.h"
#include "profiler/predict/validation.h"
#include "profiler/store/statistics.h"
#include "renderer/raster/rasterizer.h"

namespace gs::cli {

/// The counted scene.
struct PredictSubject {
    std::string scene, backend;
    std::size_t views = 0;
    int width = 0, height = 0;  ///< the largest, where views differ
    bool sizes_differ = false;
};

/// A GPU as its driver reports it.
struct NamedDevice {
    std::string name;         ///< empty: none computes
    int multiprocessors = 0;  ///< 0: unknown
};

Json warps_json(const WarpWork& work);
/// A frame or step on one GPU.
Json prediction_json(const Prediction& prediction);
/// The subject, its counts, and for each GPU a frame and a training step.
Json predictions_json(const PredictSubject& subject, const PredictedWork& work,
                      const std::vector<GpuDevice>& gpus);
void say_predictions(const Json& predictions);

/// Measured medians of stages and the model's predictions for `device`: of a step where
/// work.frame.training, else of a frame whose gradients are stored. null without a GPU, or without
/// figures for it.
Json predicted_beside(std::span<const StageStats> measured, const PredictedWork& work,
                      const NamedDevice& device);
void say_predicted_beside(const Json& beside);

/// Print and return a list.
Json tell_devices(const std::vector<GpuDevice>& gpus);
Json tell_validation(const ModelValidation& validation, const std::vector<ComparedStage>& measured);

}  // namespace gs::cli
