// Checkup: what the doctor (renderer/doctor/doctor.h) does for the studio. Pure functions that the
// SceneDoctor (scene_doctor.h) runs as tasks: examining the open scene, and mending its splats
// again from what was opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/session/loading.h"
#include "panels/state/scene_state.h"
#include "renderer/doctor/doctor.h"

namespace gs {

struct CheckupSubject {
    std::shared_ptr<const GaussianModel> model;  ///< null: not examined
    std::shared_ptr<const Capture> capture;      ///< null: none
    bool trained =
        true;  ///< false: the model is where training starts, and only its memory is of interest
    SplatQuestions questions;
};
/// Everything but serial, mended and changes. Errors: cancelled.
Result<DoctorReport> examine_scene(const CheckupSubject& subject, const Progress& progress);

struct Mended {
    LoadedScene scene;
    std::vector<std::string> changes;
};
/// `original` with `fixes` applied one after the other ("": everything that can be mended), ready
/// to be drawn as `scene`. None: the original again.
Result<Mended> mend_scene(LoadedScene scene, std::shared_ptr<const GaussianModel> original,
                          const std::vector<std::string>& fixes, const SessionOptions& options,
                          const Progress& progress);

/// What names a scene and lets it be drawn, without what belongs to one model.
LoadedScene same_scene(const LoadedScene& scene);

}  // namespace gs
