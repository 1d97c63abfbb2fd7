// The photos of a capture in a reduced size, for the steps of a run that do not need all pixels.
#pragma once

#include <memory>

#include "renderer/scene/capture.h"

namespace gs {

/// The camera of a photo of which every factor x factor pixels became one (shrink()): where less
/// than half a block was left at the rim, the picture ends earlier. An equirectangular photo still
/// shows all directions.
Camera shrunk_camera(const Camera& camera, int factor);
/// A mask of width x height pixels, each made of step_x x step_y source pixels: 255 only where none
/// of those is 0.
Image8 shrunk_mask(const Image8& mask, double step_x, double step_y, int width, int height);
/// The same views, photos and masks shrunk by `factor`; of test views the size alone, and no points
/// or notes. Where the photos do not stay in memory, each is shrunk whenever it is read. Throws
/// std::bad_alloc.
std::shared_ptr<const Capture> shrunk_capture(const Capture& capture, int factor);

}  // namespace gs
