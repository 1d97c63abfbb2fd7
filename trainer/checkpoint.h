// The splats in a checkpoint, without its capture: to look at or to compare with. Called by the
// session. Continuing the run needs the capture: Trainer::resume().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/density/appearance.h"
#include "trainer/settings/settings.h"

namespace gs {

struct CheckpointModel {
    GaussianModel model;  ///< every pending optimizer step applied, and the 3D filter
    std::uint64_t steps = 0;
    int sh_degree = 0;       ///< reached by then: what training draws with
    bool unscented = false;  ///< it draws by the unscented transform
};
/// Errors: unreadable, malformed (with the byte).
Result<CheckpointModel> read_checkpoint_model(const fs::path& checkpoint);
/// What a run learned of its photos.
struct CheckpointViews {
    LearnedLooks looks;           ///< mode none: nothing
    std::vector<Camera> cameras;  ///< by view, corrected; empty: the run took them as given
};
/// Errors: as Trainer::resume().
Result<CheckpointViews> read_checkpoint_views(const fs::path& checkpoint, const Capture& capture);
/// From the file's first sections.
struct CheckpointHead {
    TrainingSettings settings;
    std::uint64_t steps = 0, gaussians = 0;
    Vec3d origin{};  ///< of its Gaussians: CaptureOptions::origin to load the capture with
};
/// nullopt: it is no checkpoint.
std::optional<CheckpointHead> read_checkpoint_head(const fs::path& checkpoint);
/// A file by its first bytes, or by its name where these are damaged: its reader says what is
/// wrong.
bool is_checkpoint(const fs::path& path);
/// The steps done; nullopt: it is no checkpoint.
std::optional<std::uint64_t> checkpoint_steps(const fs::path& checkpoint);

}  // namespace gs
