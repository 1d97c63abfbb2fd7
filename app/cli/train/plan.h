// What `train` says of its needs before it begins; `gausscope plan` says all of it.
#pragma once

#include "base/expected.h"
#include "renderer/io/captures/capture_io.h"
#include "trainer/run/run_options.h"
#include "trainer/settings/settings.h"

namespace gs::cli {

/// Errors (usage): the first step needs more memory than this machine has.
Result<void> say_plan(const CaptureForecast& capture, const RunOptions& run,
                      const TrainingSettings& settings, bool on_device);

}  // namespace gs::cli
