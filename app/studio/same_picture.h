// What of a request decides the picture: the studio asks for another one when that changes.
#pragma once

#include "app/session/session_types.h"

namespace gs {

bool same_picture(const ViewRequest& a, const ViewRequest& b);
/// Of the same size, too.
bool same_pose(const Camera& a, const Camera& b);

}  // namespace gs
