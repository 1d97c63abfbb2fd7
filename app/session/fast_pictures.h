// Says in words whether fast pictures (view.fast, Precision::fast) work and what they lose. Used by
// the command that turns them on.
#pragma once

#include <string>

#include "app/session/loading.h"

namespace gs {

/// Says how far the viewport's fast picture is from the exact one, which it draws; or why pictures
/// stay exact. `on_device`: pictures are computed on a GPU.
std::string words_of_fast(LoadedScene& scene, const ViewRequest& request, bool on_device);

}  // namespace gs
