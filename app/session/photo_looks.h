// The learned looks of a run's photos and cameras, for the Exposure and Cameras panels and for
// pictures. Called by the engine's training part and its viewer.
#pragma once

#include <memory>
#include <optional>

#include "app/session/loading.h"
#include "panels/state/photo_looks.h"
#include "trainer/trainer.h"

namespace gs {

/// As it is now; null: nothing is learned. `pose_arrows`: corrections of poses are to be drawn.
/// Waits for a device.
std::shared_ptr<const PhotoLooks> photo_looks(const Trainer& trainer, bool pose_arrows);
/// What stands between the scene and the photo at whose camera it is shown, where that is asked for
/// and of colours: of a photo trained on its own look, of a held-out one its camera's. None where
/// nothing is learned. Waits for a device.
std::optional<AppliedLook> shown_look(const LoadedScene& scene, const ViewSettings& settings);

}  // namespace gs
