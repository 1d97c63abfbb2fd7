// Made-up answers of runs for the panels that show them: what one has learned of its photos, and
// what the lab has recorded of many.
#pragma once

#include <memory>

#include "panels/state/lab_state.h"
#include "panels/state/photo_looks.h"

namespace gs::test {

std::shared_ptr<const PhotoLooks> fake_looks();
std::shared_ptr<const LabState> fake_lab();

}  // namespace gs::test
