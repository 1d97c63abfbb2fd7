// EngineContext: references that the engine gives its parts. Parts read the scene; only the engine
// replaces it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>

#include "app/session/engine_part.h"
#include "app/session/events.h"
#include "app/session/history.h"
#include "app/session/jobs.h"
#include "app/session/loading.h"

namespace gs {

struct EngineContext {
    const SessionOptions& options;
    TrainingSettings& settings;  ///< SessionOptions::settings; RunSettings edits them
    const std::optional<LoadedScene>&scene, &beside;  ///< beside: the second scene
    Jobs& jobs;
    Events& events;
    History& history;
    /// Shows the same scene with another model: SceneChange::model. Camera and photos stay.
    std::function<void(LoadedScene)> replace_model;
    /// Opens it in place of the open scene.
    std::function<void(LoadedScene)> open_scene;
    /// Reports a change of the run's model to all parts: SceneChange::edited or restarted.
    std::function<void(SceneChange)> run_changed;
};

/// A part that works with the engine's context and these other parts.
template <class... Others>
class PartWith : public EnginePart {
  public:
    explicit PartWith(EngineContext ctx, Others&... others)
        : ctx_(std::move(ctx)), others_(others...) {}

    /// `engine` has the other parts already.
    template <class Part, class Engine>
    static std::unique_ptr<Part> make(Engine& engine, EngineContext ctx) {
        return std::make_unique<Part>(std::move(ctx), engine.template part<Others>()...);
    }

  protected:
    template <class Part>
    Part& the() const {
        return std::get<Part&>(others_);
    }
    EngineContext ctx_;

  private:
    std::tuple<Others&...> others_;
};

}  // namespace gs
