// An inspected pixel, made up: for the panel tests and the gallery.
#pragma once

#include <memory>

#include "panels/state/inspection.h"

namespace gs::test {

/// A pixel of a photo's camera, 40 Gaussians in its tile's list, and the tiles that cost most.
std::shared_ptr<const PixelInspection> fake_inspection();
/// The same full of numbers that no run should give.
std::shared_ptr<const PixelInspection> nonsense_inspection();

}  // namespace gs::test
