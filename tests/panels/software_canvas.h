// What ImGui would have a GPU draw, drawn in software: triangles with colours and textures, clipped
// and blended as its renderers do. No driver, so the same picture on every machine. For the stored
// pictures of the panels.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <map>

#include "renderer/scene/image.h"

namespace gs::test {

/// RGBA pictures by ImTextureID. Any other id is drawn with the font's picture.
using CanvasTextures = std::map<std::uintptr_t, Image8>;

/// The whole display of `data`, RGB, on black. Callbacks in the lists are left out.
Image8 drawn_in_software(const ImDrawData& data, const CanvasTextures& textures = {});

}  // namespace gs::test
