// Lent: what the engine lends to its parts. They look at the scene; only the engine replaces it.
#pragma once

#include <functional>
#include <optional>

#include "app/session/jobs.h"
#include "app/session/loading.h"
#include "app/session/teller.h"

namespace gs {

struct Lent {
    const SessionOptions& options;
    const std::optional<LoadedScene>& scene;
    Jobs& jobs;
    Teller& tell;
    /// The same scene with another model; camera and photos stay.
    std::function<void(LoadedScene)> replace_model;
    /// The run's model was edited.
    std::function<void()> run_edited;
    /// The editor's flags and history are of Gaussians that are not there any more.
    std::function<void()> forget_edits;

    /// The run is another one: it went back, or began anew.
    void run_replaced() const {
        forget_edits();
        run_edited();
    }
};

}  // namespace gs
