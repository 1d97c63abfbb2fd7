// TrainingSnapshot: a run as it stood after a step, in host memory: what a checkpoint holds. Taken
// and gone back to by Trainer; kept by Run before an edit, so that it can be taken back.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/appearance.h"
#include "trainer/density.h"
#include "trainer/lazy_adam.h"
#include "trainer/pose_refinement.h"
#include "trainer/row_identity.h"
#include "trainer/settings.h"

namespace gs {

/// Everything a run has learned: what a checkpoint holds of the model.
struct RunArrays {
    GaussianModel model;
    AdamState adam;
    DensityStatistics statistics;
    RowIdentity identity;
    AppearanceState appearance{};  ///< of photos and cameras
    Buffer<float> filter{};        ///< by row (trainer/mip_filter.h); empty: nothing is filtered
};
/// The same where it lies.
struct RunArraysView {
    const GaussianModel& model;
    const AdamState& adam;
    const DensityStatistics& statistics;
    const RowIdentity& identity;
    const AppearanceState& appearance;
    std::span<const float> filter{};
};

struct TrainingSnapshot {
    TrainingSettings settings;
    double extent = 1;        ///< of the scene, world units
    std::uint64_t drawn = 0;  ///< views that were trained on
    PoseState poses;          ///< empty: poses are taken as given
    RunArrays arrays;

    std::uint64_t steps() const { return arrays.adam.steps; }
    std::uint64_t bytes() const {
        return arrays.model.bytes() + arrays.adam.moments.capacity_bytes() +
               arrays.adam.last_step.capacity_bytes() + arrays.statistics.bytes() +
               arrays.identity.bytes() + arrays.appearance.bytes() + arrays.filter.capacity_bytes();
    }
};

}  // namespace gs
