// Measures the loss of a conversion in decibels: renders source and result from the same views, and
// compares them with each other and with any photos. Called by convert --verify.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "base/expected.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct ViewCost {
    std::string name;
    double between = 0;                    ///< dB of the result's picture against the source's
    std::optional<double> source, result;  ///< dB against the photo
};
struct ConversionCost {
    std::vector<ViewCost> views;
    double between = 0;                    ///< means over the views
    std::optional<double> source, result;  ///< none: the views have no photos
};

/// `views` is a capture (its test views, or all where it has none) or a file of cameras
/// (docs/cli.md). At most kMostVerifyViews, evenly spread. Drawn on the CPU. Errors: views that
/// cannot be read, cancelled.
inline constexpr std::size_t kMostVerifyViews = 24;
Result<ConversionCost> verify_conversion(const GaussianModel& source, const GaussianModel& result,
                                         const std::string& views, const CommonArguments& common);

}  // namespace gs::cli
