// BundleSaver: bundle.save on the engine's side: takes the model and the picture between two steps,
// and packs them with the studio's own data while training continues. Owned by the engine.
#pragma once

#include <memory>
#include <string>

#include "app/bundle/bundle_file.h"
#include "app/bundle/report.h"
#include "app/session/engine_context.h"
#include "app/session/parts/editor.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/viewer.h"

namespace gs {

struct BundleRequest {
    std::string path;
    bool photos = false;
    ViewRequest view;  ///< of the screenshot
    /// Contains the studio's files; the rest is added.
    std::shared_ptr<PrivateFolder> folder;
    Report report;  ///< without the picture
};

class BundleSaver final : public PartWith<Viewer, Editor, SceneDoctor> {
  public:
    using PartWith::PartWith;

    /// Shows a notice when written; edits of splats then count as saved. One at a time.
    void save(BundleRequest request, const Shown& shown);
};

}  // namespace gs
