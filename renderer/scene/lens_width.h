// How far from their axis lenses see. A model learnt through very wide ones is drawn differently by
// viewers that only know pinholes (trained_through.h).
#pragma once

#include "renderer/scene/capture.h"

namespace gs {

/// The largest angle between the axis and a ray of the picture's rim or middle lines, degrees.
double widest_angle(const Camera& camera);
/// Of all views through lenses that bend lines; 0: there are none.
double widest_angle(const Capture& capture);

}  // namespace gs
