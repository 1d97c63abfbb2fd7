// EngineContext: references that the engine gives its parts. Parts read the scene; only the engine
// replaces it.
#pragma once

#include <functional>
#include <optional>

#include "app/session/engine_part.h"
#include "app/session/events.h"
#include "app/session/history.h"
#include "app/session/jobs.h"
#include "app/session/loading.h"

namespace gs {

struct EngineContext {
    const SessionOptions& options;
    const std::optional<LoadedScene>& scene;
    Jobs& jobs;
    Events& events;
    History& history;
    /// Shows the same scene with another model: SceneChange::model. Camera and photos stay.
    std::function<void(LoadedScene)> replace_model;
    /// Reports a change of the run's model to all parts: SceneChange::edited or restarted.
    std::function<void(SceneChange)> run_changed;
};

}  // namespace gs
