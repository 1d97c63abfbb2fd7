// Measured distances as lines in the pixels of a picture. Pure geometry; the viewport's overlays
// draw them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "panels/state/measure_state.h"
#include "panels/viewport/frusta.h"

namespace gs {

struct MeasureLine {
    std::size_t number = 1;     ///< of the distance, from 1
    std::array<Pixel, 2> ends;  ///< of the part before the camera
    std::string words;          ///< its length
};
/// Those that are before the camera, or partly.
std::vector<MeasureLine> lines_of(const MeasureState& measured, const Camera& camera);

}  // namespace gs
