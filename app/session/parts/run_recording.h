// RunRecording: what the open run records on request: pictures of a time lapse, a captured step,
// hashes of steps, and marks for profilers. A part of the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/run_progress.h"
#include "app/session/parts/training.h"

namespace gs {

class RunRecording final : public PartWith<Training, RunProgress> {
  public:
    using PartWith::PartWith;

    /// Takes pictures from fixed cameras during the run (choose_lapse_cameras). `pace`: unchanged
    /// if empty, or auto. No names: its current cameras, if it has any.
    void set_time_lapse(std::optional<LapsePace> pace, const std::string& names,
                        const std::vector<LapseCamera>& saved);
    /// Captures the next step into a file for `gausscope replay`; a paused run takes it and pauses
    /// again. Empty: into the run's folder.
    void capture_step(const std::string& path);
    /// Writes hashes of every step into the run's folder, for `gausscope diff`.
    void set_hashes(bool on);
    /// Marks steps `first` to `last` for nsys and ncu.
    void profile(std::uint64_t first, std::uint64_t last);
};

}  // namespace gs
