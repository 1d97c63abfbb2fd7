// Reads training settings from defaults, a run, a config file and flags; later ones win. Called by
// train and view.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "base/expected.h"
#include "trainer/settings/settings.h"

namespace gs::cli {

/// JSON (an object of numbers and booleans, or one with such an object under "settings", as
/// metrics.json has) or lines of `name = value` with # comments. Where there is no such file,
/// "quick" is assets/presets/quick.cfg. Errors name the line.
Result<NamedValues> read_config(const std::string& path);
/// All given settings: config file, flags, --background, --seed, in this order.
Result<NamedValues> given_settings(const NamedValues& flags, const std::string& background,
                                   const CommonArguments& common);
/// That of a run's folder; another path as it is.
fs::path checkpoint_in(const fs::path& run);
/// The settings with which the run or checkpoint at this path resumes; of no run: as given.
Result<TrainingSettings> settings_of(const fs::path& run, const NamedValues& given);
/// Warns where --lidar has no weight; says whether opacities are reset in a run with beams, if that
/// was not given. `settings`: those it trains with; `resumed_at`: steps of the run that it resumes.
void report_lidar_choices(const TrainingSettings& settings, const NamedValues& given,
                          std::optional<std::uint64_t> resumed_at, const CaptureArguments& capture);

}  // namespace gs::cli
