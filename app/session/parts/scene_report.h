// SceneReport: the facts of the open scene (SceneInfo) as the studio shows them: published with
// every other scene or model, and now and then while it trains. A part of the engine.
#pragma once

#include <chrono>

#include "app/session/engine_context.h"
#include "app/session/parts/contact_sheet.h"

namespace gs {

class SceneReport final : public PartWith<ContactSheet> {
  public:
    using PartWith::PartWith;

    void scene_changed(SceneChange change) override;
    /// True: the scene was described again.
    bool publish_when_due(bool training);
    /// Not again before the next step: it failed.
    void skip_step();

  private:
    void publish();
    void publish_memory();

    SceneInfo info_;
    std::chrono::steady_clock::time_point last_{};
    std::uint64_t step_ = 0;  // that was described
    double seconds_ = 0;      // that describing took
    std::uint64_t sheet_bytes_ = 0;
};

}  // namespace gs
