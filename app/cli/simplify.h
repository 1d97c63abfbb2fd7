// convert --simplify: a scene of fewer Gaussians that looks much the same from a set of cameras.
// What does nothing in their pictures goes, neighbours are merged (renderer/edit/merge.h), colours
// are fitted to the pictures of before (renderer/raster/fit_colors.h).
#pragma once

#include <string>

#include "app/cli/options.h"
#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct SimplifyRequest {
    std::string to;     ///< "200000" or "50%"; empty: everything stays
    std::string views;  ///< a capture or a file of cameras; empty: the run's, or made-up ones
};
struct Simplified {
    GaussianModel model;
    std::size_t cameras = 0;
    std::string from;  ///< which cameras: for people
};
/// How many Gaussians `to` names of `count`. Errors (usage): neither a count nor a percentage, none
/// left.
Result<std::size_t> simplified_count(const std::string& to, std::size_t count);
/// `input`: where the model is from; a run knows its capture. Pictures are drawn by the backend
/// that `common` names, at most kMostWeighed of them, of kWeighedSide pixels at most. Errors:
/// usage, views that cannot be read, cancelled.
inline constexpr std::size_t kMostWeighed = 200;
inline constexpr int kWeighedSide = 800;
Result<Simplified> simplified(const GaussianModel& model, const SimplifyRequest& request,
                              const fs::path& input, const CommonArguments& common);

}  // namespace gs::cli
