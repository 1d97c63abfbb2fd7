// Loading: reads captures, splat files and checkpoints on a thread of its own, with progress and
// cancel; the engine picks up the finished scene between two steps. A failed or cancelled load
// leaves the open scene untouched.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/session/session_types.h"
#include "app/session/shown_tint.h"
#include "base/progress.h"
#include "renderer/io/splats/level_set.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "renderer/scene/trained_through.h"
#include "trainer/run/run.h"

namespace gs {

/// Numbers by row that the trainer of another process gives with its Gaussians; empty: none.
struct GivenValues {
    Buffer<float> gradients, second_moments;
};

/// One scene, owned by the engine: a capture with its trainer, or a model to look at (with or
/// without a capture beside it).
struct LoadedScene {
    std::string name, path, format;
    fs::path run_folder;                     ///< of the run that `path` is or is in; empty: none
    std::shared_ptr<const Capture> capture;  ///< may be null
    std::unique_ptr<Run> run;                ///< null: nothing to train
    Trainer* trainer = nullptr;              ///< the run's
    // ---- used when there is no trainer; each refers to those above it
    std::shared_ptr<const GaussianModel> model;
    Buffer<BlockBounds> bounds;
    std::unique_ptr<Rasterizer> rasterizer;
    std::unique_ptr<ForwardState> state;
    std::unique_ptr<ParameterSource> source;  ///< the model as the rasterizer reads it fastest
    std::shared_ptr<const LevelSet>
        levels;  ///< of a streamed set that is open; null: there is one level only
    std::shared_ptr<const LevelStore> coarsest;  ///< the same: what it was opened with
    std::vector<LevelRun> level_runs;  ///< the same: which rows of the model are of which level
    float near_plane = 0;              ///< world units; 0: the rasterizer's own
    std::shared_ptr<const UnpackedBundle> bundle;  ///< it came from; null: none
    TrainedThrough trained;  ///< from its file; with a trainer use trained_through()
    int sh_degree = 3;  ///< highest drawn degree: the one that a checkpoint's training had reached
    std::vector<std::string> notes;
    /// Of a training in another process, whose snapshot this is; null: it is none.
    std::shared_ptr<const GivenValues> followed;
    std::uint64_t followed_steps = 0;  ///< that had been done then
    CaptureOptions loading;            ///< of the capture, beside splats
    double seconds = 0;                ///< time of loading

    std::uint64_t steps_done() const { return trainer ? trainer->steps_done() : followed_steps; }
    TrainedThrough trained_through() const {
        return trainer ? gs::trained_through(*trainer) : trained;
    }
    std::uint64_t gaussian_count() const {
        return trainer ? trainer->gaussian_count() : model->count;
    }
};

/// The scene's splats as a run that trains them further on its photos and has had no step, with the
/// options' settings fitted (trainer/density/init.h). Errors: of Trainer::create(); usage: it has
/// no photos of its own.
Result<LoadedScene> train_further(const LoadedScene& scene, const SessionOptions& options);
/// Makes `scene` ready to be drawn with `model`. Errors: of the backend.
Result<void> show_model(LoadedScene& scene, std::shared_ptr<const GaussianModel> model,
                        const SessionOptions& options);
/// Copies a scene's name and drawing state, without its model's data.
LoadedScene same_scene(const LoadedScene& scene);
/// Why what needs the whole scene is refused: it is a streamed set, of which only some is drawn at
/// its finest level. Empty: it is not refused.
std::string why_not_whole(const LoadedScene& scene);
/// Reads what `request` names.
Result<LoadedScene> load_scene(OpenRequest request, SessionOptions options,
                               const Progress& progress);

}  // namespace gs
