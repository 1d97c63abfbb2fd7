// `selftest --report`: a report on an untested machine in one file: hardware, every check, limits,
// and a few standard scenes with their counts and the measured and predicted times of stages.
// Called by selftest.cpp; tests run it on the emulated device, where times mean nothing.
#pragma once

#include <string_view>
#include <vector>

#include "app/backend/backend.h"
#include "app/cli/check/proof_scene.h"
#include "app/cli/report.h"
#include "base/expected.h"
#include "base/file.h"

namespace gs::cli {

struct ReportScene {
    const char* name;
    ProofScene scene;
    int width, height;  ///< px
    int frames, steps;  ///< timed, after a quarter as many that are not
};
/// The same on every machine.
std::vector<ReportScene> report_scenes(bool quick);

/// {"name", "gaussians", "width", "height", "counters", "frame", "step"}; frame and step are
/// {"ms", "stages": [{"name", "ms", "ms_lo", "ms_hi", "samples", "predicted": {"p10", "p50", "p90",
/// "bound_by"} or null}], "predicted"}. Times are the GPU's on CUDA, the thread's on the CPU; a
/// prediction is there where assets/devices has a GPU named `gpu`. Errors: the backend cannot be
/// made. Throws DeviceError.
Result<Json> scene_json(const Backend& backend, const ReportScene& scene, std::string_view gpu,
                        int multiprocessors = 0);

/// The object to `file`, and the same for people beside it, its name ending in .txt. Errors: cannot
/// be written.
Result<void> write_report(const Json& report, const fs::path& file);

}  // namespace gs::cli
