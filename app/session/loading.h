// Loading: captures, splat files and checkpoints are read on a thread of their own, with progress and cancel; the
// engine picks up the finished scene between two steps. A failed or cancelled load leaves the scene that was open
// untouched.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/session/session_types.h"
#include "renderer/base/mailbox.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/trainer.h"

namespace gs {

/// One scene, owned by the engine: a capture with its trainer, or a model to look at (with or without a capture beside
/// it).
struct LoadedScene {
    std::string name, path, format;
    std::shared_ptr<const Capture> capture;  ///< may be null
    std::unique_ptr<Trainer> trainer;        ///< null: nothing to train
    // ---- used when there is no trainer; each refers to those above it
    std::shared_ptr<const GaussianModel> model;
    Buffer<BlockBounds> bounds;
    std::unique_ptr<Rasterizer> rasterizer;
    std::unique_ptr<ForwardState> state;
    std::unique_ptr<ParameterSource> source;  ///< the model as the rasterizer reads it fastest
    int sh_degree = 3;                        ///< highest that is drawn: what a checkpoint's training had reached
    std::vector<std::string> notes;
    double seconds = 0;  ///< what loading took
};

struct LoadProgress {
    std::string what;
    double share = 0;  ///< 0..1 of this part
};

/// What a path is, from its content. Errors: not_found, unsupported.
enum class PathKind { capture, splats, checkpoint };
Result<PathKind> kind_of_path(const std::string& path);

class Loader {
  public:
    /// `ring` is called after each report (from the loading thread).
    Loader(OpenCommand command, std::uint64_t serial, const SessionOptions& options, std::function<void()> ring);
    ~Loader();
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    void cancel() { cancelled_ = true; }
    Latest<LoadProgress>& progress() { return progress_; }
    Latest<Result<LoadedScene>>& result() { return result_; }
    const OpenCommand& command() const { return command_; }
    std::uint64_t serial() const { return serial_; }

  private:
    OpenCommand command_;
    std::uint64_t serial_;
    std::atomic<bool> cancelled_{false};
    Latest<LoadProgress> progress_;
    Latest<Result<LoadedScene>> result_;
    std::thread thread_;
};

}  // namespace gs
