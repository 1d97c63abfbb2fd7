// Compares the parts of a request that decide the picture, so that a change requests a new one.
#pragma once

#include "app/session/session_types.h"

namespace gs {

bool same_picture(const ViewRequest& a, const ViewRequest& b);
/// Compares the size as well.
bool same_pose(const Camera& a, const Camera& b);

}  // namespace gs
