// StageMap: from the name of a GPU kernel to the stage of 3D Gaussian Splatting it carries out, so
// that a trainer that announces nothing still gets a breakdown. A table of patterns, first match
// wins; a user's file is asked before the stored ones. Used where kernels of foreign processes
// are read (store, insights, exports).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/record/stage.h"

namespace gs {

/// `pattern`: parts between '*' must occur in the kernel's name in this order, anywhere in it:
/// "renderCUDA*float3". Case counts. Works on plain, demangled and mangled names, since all contain
/// the identifiers as they were written.
struct StageRule {
    std::string pattern;
    Stage stage = Stage::other;
    std::string origin;  ///< "gsplat", "Inria", ..., or the user's file and line
};

class StageMap {
  public:
    /// The rules of assets/stage_maps (Inria's rasterizer and its descendants, gsplat, LichtFeld
    /// and Faster-GS, LiteGS, fused SSIM, CUB, PyTorch, our own kernels), read once a program.
    /// Files of the user below assets/stage_maps in the configuration folder count as well.
    StageMap();
    /// Reads rules "pattern = stage", one a line; '#' starts a comment, "[NAME]" names the origin
    /// of the rules below. They go before all others, in the file's order. Errors name the line: no
    /// '=', an empty pattern, a stage that does not exist (the message lists them).
    Result<void> add_file(const fs::path& path);
    /// Stage::other when no rule matches.
    Stage stage_of(std::string_view kernel) const;
    /// The rule that decided; null when none did.
    const StageRule* rule_of(std::string_view kernel) const;
    std::span<const StageRule> rules() const { return rules_; }

  private:
    std::vector<StageRule> rules_;
};

}  // namespace gs
