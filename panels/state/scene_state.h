// State around the open scene, for the panels: background work and its messages, the doctor's
// findings, levels of detail, the marked Gaussian. Parts of Snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/vec.h"
#include "renderer/scene/finding.h"

namespace gs {

/// Work beside pictures and training. `name` is what "cancel NAME" takes.
struct Activity {
    std::string name;  ///< "load", "compare", "doctor", "mend", "export", "levels"
    std::string what;  ///< "examining splats"
    double share = 0;  ///< 0..1
    double seconds = 0;
    bool writes = false, of_scene = false;  ///< files; it stops with the scene
};

/// A message shown until it is dismissed: an error, or the result of a command.
struct Notice {
    std::uint64_t serial = 0;
    bool error = false;
    std::string text;
    std::vector<std::string> lines;  ///< details: what a format lost
    bool warning = false;            ///< something to look at
};

/// Needed against available memory. `fits`: most Gaussians that could be trained, 0: all of the
/// cap.
struct FreeMemory {
    std::uint64_t free_bytes = 0;  ///< 0: unknown
    std::uint64_t fits = 0;
};

struct DoctorReport {
    std::uint64_t serial = 0;  ///< counts examinations
    std::vector<Finding> findings;
    bool planned = false;  ///< the plans below are filled
    MemoryPlan now, at_cap;
    std::uint64_t photo_bytes = 0;
    int width = 0, height = 0;  ///< of the pictures the plan is for
    FreeMemory host, device;
    double seconds = 0;    ///< duration of the examination
    bool can_fix = false;  ///< false: a training run, a streamed set
    std::vector<std::string>
        fixes;  ///< fixes applied, oldest first; doctor.undo undoes the last one
    std::vector<std::string> changes;  ///< what they changed, one line each
    bool unsaved = false;              ///< fixed since the splats were opened or exported
};

/// A streamed set of levels, as currently drawn.
struct LevelsState {
    struct Level {
        std::size_t regions = 0;   ///< drawn at this level
        std::uint64_t drawn = 0;   ///< Gaussians of them
        std::uint64_t stored = 0;  ///< Gaussians of the whole scene at this level
    };
    std::vector<Level> levels;      ///< finest first
    std::uint64_t environment = 0;  ///< Gaussians that belong to every level
    std::uint64_t drawn = 0;
    double pixels = 0;         ///< largest distance of Gaussians, where the budget ended
    std::uint64_t bytes = 0;   ///< of its Gaussians in memory, drawn or not
    bool over_budget = false;  ///< even the coarsest level is
    /// Gaussians of the finest level and of every level.
    std::uint64_t stored() const {
        return levels.empty() ? 0 : levels.front().stored + environment;
    }
};

/// A run seen by fixed cameras, and how often they record.
struct TimeLapseState {
    struct Picture {
        std::uint64_t step = 0;
        std::string file;
    };
    struct View {
        std::string name;
        std::vector<Picture> pictures;  ///< in the order of their steps
    };
    std::string pace;   ///< as timelapse.every takes it: "100", "auto", "off"
    bool goes = false;  ///< the open run can record more
    std::vector<View> views;
    std::uint64_t taken = 0;  ///< pictures, since the run was opened
    double share = 0;         ///< cost, as a share of the run's time
};

/// The marked Gaussian.
struct MarkedGaussian {
    std::uint64_t row = 0;
    Vec3f mean{};
    std::array<Vec3f, 3> axes{};  ///< one standard deviation along each
    float opacity = 0;
};

}  // namespace gs
