// FrameVerifier: the engine's part that puts what the viewport shows beside the double-precision
// reference (app/verify/frame_check.h), as a task beside pictures and training: a copy of the model
// as it is between two steps, drawn once more by the same backend. Owned by the engine; commands
// call it there.
#pragma once

#include <optional>

#include "app/session/lent.h"
#include "app/session/viewer.h"
#include "app/verify/frame_check.h"

namespace gs {

class FrameVerifier {
  public:
    FrameVerifier(Lent lent, Viewer& viewer) : lent_(std::move(lent)), viewer_(viewer) {}

    /// What the viewport shows, or these pixels of it; answered through SessionView::verified.
    void verify(const std::optional<reference::Region>& region);
    /// The report goes.
    void clear();
    /// Another scene is open, or none.
    void forget();

  private:
    Lent lent_;
    Viewer& viewer_;
    std::uint64_t serial_ = 0;
};

}  // namespace gs
