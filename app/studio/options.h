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
    int stacks_hz = 0;                  ///< their call stacks, too, so many times a second
    bool train = false;                 ///< start training as soon as it is loaded
    bool overwrite = false;             ///< another run in the output folder is removed
    NamedValues settings;               ///< what changes in a run that goes on
    bool headless = false;              ///< EGL instead of a window
    std::string script;  ///< commands to run, a file or a pipe; headless, the studio ends with them
    std::string trace;   ///< write a Perfetto trace here at the end
    int width = 0, height = 0;  ///< logical pixels; 0: as last time, or 1600 x 1000
    double scale = 0;           ///< pixels per logical pixel; 0: what the display says
    SessionOptions session;
    StudioMachine machine;
    std::string backend = "auto";     ///< as a command line names it
    bool remember = true;             ///< read and write layout, recent files and view settings
    bool (*interrupted)() = nullptr;  ///< true once Ctrl-C was pressed: the studio saves and ends
};

}  // namespace gs
