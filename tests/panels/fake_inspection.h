// An inspected pixel and findings, made up: for the panel tests and the gallery.
#pragma once

#include <memory>

#include "panels/state/inspection.h"
#include "panels/state/snapshot.h"

namespace gs::test {

/// A pixel of a photo's camera, 40 Gaussians in its tile's list, and the tiles that cost most.
std::shared_ptr<const PixelInspection> fake_inspection();
/// The same full of numbers that no run should give.
std::shared_ptr<const PixelInspection> nonsense_inspection();
/// The worst places of 48 photos, with crops, and every other kind of finding.
std::shared_ptr<const PhotoProblems> fake_problems();
DoctorReport fake_doctor();

}  // namespace gs::test
