// Small pictures of a run as it stands, for the eyes only: drawn without changing any bit of the
// training. What a run's thumbnails and its time lapse (time_lapse.h) are made of; called by Run.
#pragma once

#include <optional>
#include <vector>

#include "base/file.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/image.h"
#include "trainer/trainer.h"

namespace gs {

/// From `camera`, shrunk until no side is longer than `most_side` pixels. Throws what drawing
/// throws.
Image8 small_picture(Trainer& trainer, const Camera& camera, int most_side);

/// The folder of thumbnails inside a run's: last.jpg, photo-1.jpg, photo-2.jpg, ...
inline constexpr const char* kThumbnailFolder = "thumbnails";
/// What write_thumbnails() writes: from where the run was looked at last, then the photos.
std::vector<fs::path> thumbnail_files(const fs::path& run_folder);
/// And their folder, when nothing else is in it.
void remove_thumbnails(const fs::path& run_folder);
inline constexpr int kThumbnailPhotos = 6, kThumbnailSide = 160;

/// What the run draws of photos spread evenly over the capture, and from where it was looked at
/// last, where that is known. Errors: a file could not be written. Throws what drawing throws.
Result<void> write_thumbnails(Trainer& trainer, const std::optional<Camera>& last,
                              const fs::path& run_folder);

}  // namespace gs
