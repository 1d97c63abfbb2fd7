// StreamedLevels: the engine's part for streamed sets: for each new view it chooses a level for
// every region (renderer/io/splats/level_choice.h). What is missing of the choice a task reads, a
// fraction of a second at a time, what covers most first; after each turn what is there is shown,
// coarser levels in place of those that are still missing. While the camera moves, spare time goes
// to what it will need. During a film, the film's camera decides.
#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/viewer.h"
#include "renderer/io/splats/level_store.h"

namespace gs {

class StreamedLevels final : public PartWith<Viewer, SceneDoctor> {
  public:
    using PartWith::PartWith;

    /// A set is shown at its coarsest first.
    void scene_changed(SceneChange change) override;
    /// Chooses levels for the viewport, unless a film is in progress. True: levels are being read.
    bool choose();
    enum class For { ready, reading, refused };
    /// Chooses levels for another picture instead of the viewport's until choose_for_viewport().
    /// refused: they could not be read, which is reported, or that was cancelled.
    For choose_for(const ViewRequest& picture);
    void choose_for_viewport();

  private:
    struct Plan {
        LevelChoice wanted, shown;  ///< wanted: as far as its files can be read
        std::vector<std::size_t> files, files_ahead;
        LevelStore store;
        double budget = 0;         ///< Gaussians
        std::uint64_t memory = 0;  ///< bytes
    };
    /// What a task has done of it.
    struct Turn {
        LevelChoice shown;
        LevelStore store;
        std::vector<std::size_t> bad;  ///< files that could not be read, and why
        std::vector<Error> errors;
        std::optional<LoadedScene> scene;  ///< to show; none: nothing else can be drawn yet
    };
    static Result<Turn> work(const LoadedScene& same, const Plan& plan,
                             const SessionOptions& options, const Progress& progress);
    struct Look {
        Camera camera;
        std::uint64_t request = 0;
        std::chrono::steady_clock::time_point time;
    };
    void show(Turn turn);
    void publish();
    LevelWish wish() const;
    LevelChoice wanted();
    LevelChoice readable(LevelChoice choice) const;
    std::vector<std::size_t> files_ahead();
    void follow_camera();
    const std::optional<ViewRequest>& decides() const {
        return picture_ ? picture_ : the<Viewer>().request();
    }

    LevelChoice shown_, refused_;  // refused: reading it was cancelled
    LevelStore store_;
    std::set<std::size_t> bad_, tried_ahead_;  // files
    std::optional<ViewRequest> picture_;       // of a film; none: the viewport's decides
    // The viewport's last choice, which stays for as long as the camera hardly moves.
    struct {
        Camera camera;
        LevelWish wish;
        LevelChoice choice;
    } chosen_;
    Look before_, now_;
};

/// For the panels: what is shown, and what is in memory.
LevelsState describe_levels(const LevelSet& set, const LevelChoice& shown, const LevelStore& store);

}  // namespace gs
