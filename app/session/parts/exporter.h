// Exporter: the engine's part that writes the open scene to files: all or selected splats, the
// photos' cameras, the time lapse of a run. As jobs, while training continues. Owned by the engine;
// commands call it there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/editor.h"
#include "app/session/parts/scene_doctor.h"
#include "renderer/io/captures/camera_export.h"

namespace gs {

class Exporter final : public PartWith<Editor, SceneDoctor> {
  public:
    using PartWith::PartWith;

    /// `crop`: export only Gaussians in the box. Reports errors, here and below: no open scene,
    /// nothing left, an export in progress, the file.
    void splats(const std::string& path, const std::optional<ClipBox>& crop = {});
    /// Exports only the selected Gaussians.
    void selection(const std::string& path);
    /// Exports the photos' cameras with the run's current corrections.
    void poses(const std::string& folder, CameraFormat format);
    /// Exports the time lapse of one camera (empty: the first) as a video.
    void time_lapse(const std::string& path, const std::string& view, double fps);

  private:
    void write(std::shared_ptr<const GaussianModel> model, const std::string& path, bool whole);
};

}  // namespace gs
