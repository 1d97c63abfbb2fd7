// The studio: window, panels, engine thread and commands put together. `gausscope view` and
// `gausscope train --view` run it.
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

/// What the studio shows of the machine that computes, from the backend that was chosen
/// (app/backend/backend.h). Each may be empty: then that is not shown.
struct StudioMachine {
    std::string device;    ///< "NVIDIA H200"; empty: the processor
    int cuda_device = -1;  ///< CUDA's number of it; headless, OpenGL draws there too where it can
    MakeTextureInterop make_interop = nullptr;  ///< for pictures in device memory
    std::function<std::optional<DeviceMemory>()> memory;
    /// Times of stages against what this machine can do at most. `training`: of a step, not of a
    /// picture alone.
    std::function<StageCosts(std::span<const StageStats> times, const FrameCost& work,
                             const Ceilings& limits, bool training)>
        costs;
};

struct StudioOptions {
    std::string path;     ///< capture, splat file or checkpoint to open; empty: an empty studio
    std::string capture;  ///< photos for a splat file or checkpoint
    std::string compare;  ///< splats, a checkpoint or a run's folder to draw beside it
    std::vector<std::string> traces;    ///< trace files to open
    std::vector<std::uint32_t> attach;  ///< processes under the profiling service to show live
    bool train = false;                 ///< start training as soon as it is loaded
    bool headless = false;              ///< EGL instead of a window
    std::string script;  ///< file of commands to run; the studio ends with the script when headless
    std::string trace;   ///< write a Perfetto trace here at the end
    int width = 0, height = 0;  ///< logical pixels; 0: as last time, or 1600 x 1000
    double scale = 0;           ///< pixels per logical pixel; 0: what the display says
    SessionOptions session;
    StudioMachine machine;
    bool remember = true;             ///< read and write layout, recent files and view settings
    bool (*interrupted)() = nullptr;  ///< true once Ctrl-C was pressed: the studio saves and ends
};

/// Runs until the window is closed, `quit`, or the end of a headless script. Returns the program's
/// exit code: 0; 1 when a script failed or nothing could be opened headless; 2 when there is
/// neither a display nor EGL or the script is not usable.
int run_studio(const StudioOptions& options);

}  // namespace gs
