// RunRows: finds the Gaussians of a run again after training and edits have moved their rows: by
// their ids. Used by the editor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/loading.h"
#include "renderer/edit/flags.h"
#include "renderer/edit/row_change.h"
#include "trainer/density/run_edit.h"

namespace gs {

/// The rows that an edit of a run removes: all arrays, and their flags.
struct RemovedRows {
    TakenRows arrays{};
    Flags flags{};
};

class RunRows {
  public:
    /// The ids of the rows; empty: nobody has asked for any.
    const std::vector<std::uint32_t>& ids() const { return ids_; }
    /// Starts with the run's rows; Gaussians locked in it stay locked.
    void begin(const Trainer& trainer, Flags& flags);
    /// Ends; the next step is the one after `steps_done`.
    void clear(std::uint64_t steps_done);
    /// The flags where training has moved their Gaussians; none: nothing moved.
    std::optional<Flags> follow(const LoadedScene& scene, const Flags& flags);
    /// Makes the change, or undoes or redoes it. Errors: the run is as it was.
    Result<void> change(const LoadedScene& scene, const std::string& what, RowChange& change,
                        RemovedRows& removed, Flags& flags);
    /// Passes newly locked and unlocked rows to training; `before`: the earlier flags.
    Result<void> lock(const LoadedScene& scene, const std::string& what, const Flags& before,
                      const Flags& flags);

  private:
    void follow_presence(const LoadedScene& scene, RowChange& change, RemovedRows& removed,
                         Flags& flags, bool goes, bool first);

    std::vector<std::uint32_t> ids_;
    std::uint64_t followed_ = 0;  // the step of ids_
};

}  // namespace gs
