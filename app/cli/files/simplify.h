// convert --simplify: parses its arguments and runs app/backend/simplify.h with a progress line.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct SimplifyRequest {
    std::string to;     ///< "200000" or "50%"; empty: everything stays
    std::string views;  ///< a capture or a file of cameras; empty: the run's, or generated ones
};
struct Simplified {
    GaussianModel model;
    std::size_t cameras = 0;  ///< pictures were drawn from
    std::string from;         ///< their source, as text
};
/// `folder`: where the model is from; that of a run knows its capture. Pictures are drawn by the
/// backend that `common` names. Errors: usage, views that cannot be read, cancelled.
Result<Simplified> simplified_as_asked(const GaussianModel& model, const SimplifyRequest& request,
                                       const fs::path& folder, const CommonArguments& common);

}  // namespace gs::cli
