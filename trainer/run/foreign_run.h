// The result folders of other trainers, read as runs: where their Gaussians of each step lie, and
// which photos they were trained from. INRIA's original 3DGS code, gsplat's examples, Brush,
// LichtFeld Studio, nerfstudio's export. Nothing is written into them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/file.h"
#include "trainer/run/run_folder.h"

namespace gs {

struct ForeignStep {
    std::uint64_t step = 0;  ///< 0 where the file's name does not say
    fs::path splats;
};
/// By step; empty where `folder` is not such a result.
std::vector<ForeignStep> foreign_steps(const fs::path& folder);

/// The capture and its loading, as the trainer's own settings file says (INRIA's cfg_args, gsplat's
/// cfg.yml). Nullopt: there is none, or the capture is no longer where it says.
std::optional<RunDescription> foreign_description(const fs::path& folder);

}  // namespace gs
