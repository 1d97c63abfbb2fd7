// EnginePart: one piece of the engine: the work behind a group of commands, and what it publishes.
// The engine keeps a list of its parts and calls each at the same points of every turn; a new part
// is one row of that list (engine.cpp). All calls come on the engine's thread. Long work is a job
// (jobs.h).
#pragma once

namespace gs {

struct Published;
struct Shown;

enum class SceneChange {
    closing,    ///< the scene is about to go: end all work that refers to it
    scene,      ///< another scene is open, or none
    model,      ///< the same scene has another model
    restarted,  ///< the run started over or went back to a snapshot: past edits no longer apply
    edited      ///< the run's model was edited; its undo history still applies
};
/// Whether the scene stays and its Gaussians are different ones.
inline bool is_other_model(SceneChange change) { return change >= SceneChange::model; }

class EnginePart {
  public:
    EnginePart() = default;
    EnginePart(const EnginePart&) = delete;
    EnginePart& operator=(const EnginePart&) = delete;
    virtual ~EnginePart() = default;

    virtual void scene_changed(SceneChange) {}
    /// Every turn, after a training step and before the viewport's picture. `shown`: null when
    /// nothing is open.
    virtual void before_picture(const Shown* /*shown*/) {}
    /// Adds its part of the status.
    virtual void describe(Published&) const {}
    /// Whether it wants the next turn soon, without a bell.
    virtual bool is_restless() const { return false; }
};

}  // namespace gs
