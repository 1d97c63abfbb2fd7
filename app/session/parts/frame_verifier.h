// FrameVerifier: the engine's part that compares the viewport's picture with the double-precision
// reference (app/verify/frame_check.h), as a background task: a copy of the model from between two
// steps, drawn once more by the same backend. Owned by the engine; commands call it there.
#pragma once

#include <optional>

#include "app/session/engine_context.h"
#include "app/session/viewer.h"
#include "app/verify/frame_check.h"

namespace gs {

class FrameVerifier final : public PartWith<Viewer> {
  public:
    using PartWith::PartWith;

    /// Verifies the viewport or a region of it; answers through SessionView::verified.
    void verify(const std::optional<reference::Region>& region);
    /// Reports how far the viewport's fast picture (Precision::fast) is from the exact one, which
    /// it draws; or why pictures stay exact.
    void check_fast(const Shown& shown, const ViewRequest& request);
    /// Discards the report.
    void clear();
    void scene_changed(SceneChange change) override;

  private:
    std::uint64_t serial_ = 0;
};

}  // namespace gs
