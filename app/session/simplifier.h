// Simplifier: the engine's part that makes the splats that are open fewer (app/backend/simplify.h),
// as a job beside pictures; a step of the editor's history. Owned by the engine; a command calls it
// there.
#pragma once

#include <string>
#include <utility>

#include "app/session/editor.h"
#include "app/session/lent.h"

namespace gs {

class Simplifier {
  public:
    Simplifier(Lent lent, Editor& editor) : lent_(std::move(lent)), editor_(editor) {}
    /// `to`: "200000" or "50%". Looked at from the capture's photos, or from all around where there
    /// is none. Errors are told: nothing that can be simplified is open, `to`, locked Gaussians.
    void start(const std::string& to);

  private:
    Lent lent_;
    Editor& editor_;
};

}  // namespace gs
