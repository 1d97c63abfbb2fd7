// Settings of the viewport as JSON. In bundles, so that a reopened scene looks the same.
#pragma once

#include <string>
#include <string_view>

#include "renderer/maps/view.h"

namespace gs {

std::string view_json(const ViewSettings& view);
/// Ignores unknown values and clamps numbers to their bounds.
void take_view_json(std::string_view text, ViewSettings& view);

}  // namespace gs
