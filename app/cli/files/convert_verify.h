// Measures the loss of a conversion in decibels: renders source and result from the same views, and
// compares them with each other and with any photos. Called by convert --verify.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/report.h"
#include "base/expected.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

/// `views` is a capture (its test views, or all where it has none) or a file of cameras
/// (docs/cli.md). At most kMostVerifyViews, evenly spread. Drawn on the CPU. Prints the means and
/// returns them: "psnr_between" of the two, "psnr_source" and "psnr_result" against photos, or
/// null; and "views", the same of each. Errors: views that cannot be read, cancelled.
inline constexpr std::size_t kMostVerifyViews = 24;
Result<Json> verify_conversion(const GaussianModel& source, const GaussianModel& result,
                               const std::string& views, const CommonArguments& common);

}  // namespace gs::cli
