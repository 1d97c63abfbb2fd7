// Simplifier: the engine's part that reduces the open splats (app/backend/simplify.h) as a
// background job; a step of the editor's history. Owned by the engine; a command calls it there.
#pragma once

#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/editor.h"

namespace gs {

class Simplifier final : public PartWith<Editor> {
  public:
    using PartWith::PartWith;

    /// `to`: "200000" or "50%". Weighted by the capture's photos, or by views all around if there
    /// are none. Reports errors: no suitable scene is open, `to`, locked Gaussians.
    void start(const std::string& to);
};

}  // namespace gs
