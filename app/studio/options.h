// The studio's start options, from `gausscope view`, `gausscope train --view` and tests.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/session/session_types.h"
#include "profiler/store/statistics.h"
#include "renderer/present/interop.h"

namespace gs {

/// Facts of the compute device, from the chosen backend (app/backend/backend.h). Empty ones are
/// not shown.
struct StudioMachine {
    std::string device;    ///< "NVIDIA H200"; empty: the processor
    int cuda_device = -1;  ///< CUDA's number of it; headless, OpenGL draws there too where it can
    MakeTextureInterop make_interop = nullptr;  ///< for pictures in device memory
    std::function<std::optional<DeviceMemory>()> memory;
    /// Times of stages against this machine's lower bounds. `training`: of a step, not only of a
    /// picture.
    std::function<StageCosts(std::span<const StageStats> times, const FrameCost& work,
                             const Ceilings& limits, bool training)>
        costs;
};

struct StudioOptions {
    PathContents contents;              ///< to open; without a path: an empty studio
    std::string capture;                ///< photos for a splat file or checkpoint
    std::string compare;                ///< splats, a checkpoint or a run's folder to compare
    std::vector<std::string> traces;    ///< trace files to open
    std::vector<std::uint32_t> attach;  ///< processes under the profiling service to show live
    int stacks_hz = 0;                  ///< also sample their call stacks at this rate
    bool train = false;                 ///< start training as soon as it is loaded
    bool overwrite = false;             ///< remove another run in the output folder
    NamedValues settings;               ///< changed settings of a resumed run
    bool headless = false;              ///< EGL instead of a window
    std::string script;  ///< commands to run, a file or a pipe; headless, the studio ends with them
    std::string trace;   ///< write a Perfetto trace here at the end
    int width = 0, height = 0;  ///< logical pixels; 0: as last time, or 1600 x 1000
    double scale = 0;           ///< pixels per logical pixel; 0: what the display says
    SessionOptions session;
    StudioMachine machine;
    std::string backend = "auto";     ///< the command line's name
    bool remember = true;             ///< read and write layout, recent files and view settings
    bool (*interrupted)() = nullptr;  ///< true after Ctrl-C: the studio saves and ends
};

}  // namespace gs
