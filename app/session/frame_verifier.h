// FrameVerifier: the engine's part that compares the viewport's picture with the double-precision
// reference (app/verify/frame_check.h), as a background task: a copy of the model from between two
// steps, drawn once more by the same backend. Owned by the engine; commands call it there.
#pragma once

#include <optional>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "app/verify/frame_check.h"

namespace gs {

class FrameVerifier final : public EnginePart {
  public:
    FrameVerifier(EngineContext ctx, Viewer& viewer) : ctx_(std::move(ctx)), viewer_(viewer) {}

    /// Verifies the viewport or a region of it; answers through SessionView::verified.
    void verify(const std::optional<reference::Region>& region);
    /// Discards the report.
    void clear();
    void scene_changed(SceneChange change) override;

  private:
    EngineContext ctx_;
    Viewer& viewer_;
    std::uint64_t serial_ = 0;
};

}  // namespace gs
