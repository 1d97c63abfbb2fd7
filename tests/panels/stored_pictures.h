// Pictures of panels that are kept beside the tests: a change of a panel shows what it changed.
// The common set is of ImGui 1.86 (Debian 12). Another version has a folder with those that it
// draws differently.
#pragma once

#include <string>

#include "renderer/scene/image.h"

namespace gs::test {

/// Why pictures cannot be compared here; empty when they can.
std::string why_no_pictures();

/// Fails where a block of 64 x 64 pixels looks otherwise than in
/// tests/panels/pictures/NAME.png, or VERSION/NAME.png there (SSIM below 0.98); the new picture and
/// one of the differences are then written to panel_pictures/ in the build folder. With
/// GAUSSCOPE_STORE_PICTURES=1 stores the picture instead.
void expect_as_stored(const std::string& name, const Image8& picture);

}  // namespace gs::test
