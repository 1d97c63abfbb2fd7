// Reads training settings from defaults, a config file and flags; later ones win. Called by train
// and view.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/options.h"
#include "base/expected.h"
#include "trainer/settings.h"

namespace gs::cli {

/// JSON (an object of numbers and booleans, or one with such an object under "settings", as
/// metrics.json has) or lines of `name = value` with # comments. Where there is no such file,
/// "quick" is assets/presets/quick.cfg. Errors name the line.
Result<NamedValues> read_config(const std::string& path);
/// Everything that was said: config file, flags, --background, --seed, in this order.
Result<NamedValues> given_settings(const NamedValues& flags, const std::string& background,
                                   const CommonArguments& common);
/// Rays are evaluated on the CPU only: a run that learns from a lidar has the CPU where no backend
/// is named. Errors (usage): another one is named.
Result<CommonArguments> on_what_sees_lidar(const TrainingSettings& settings,
                                           const CommonArguments& common);

}  // namespace gs::cli
