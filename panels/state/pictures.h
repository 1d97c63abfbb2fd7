// Pictures in panels: thumbnails, photos, frames of a time lapse. Panels request pictures in every
// frame and draw those available; the app uploads and releases textures
// (app/studio/panel_pictures.h). Null in a Snapshot where nothing can be uploaded.
#pragma once

#include <cstdint>
#include <string>

#include "renderer/scene/image.h"

namespace gs {

/// For ImGui::Image; `id` 0: not available (yet). Sizes in pixels.
struct PanelPicture {
    std::uint64_t id = 0;
    int width = 0, height = 0;
};

class PanelPictures {
  public:
    virtual ~PanelPictures() = default;
    /// A picture in memory, RGB or RGBA: uploaded if `key` is missing or has another `version`.
    virtual PanelPicture of(const std::string& key, std::uint64_t version,
                            const Image8& picture) = 0;
    /// A picture file, read on another thread and shrunk until no side is longer than `most_side`
    /// pixels; read again when it changed on disk. While a newer one is read the old one stays.
    virtual PanelPicture of_file(const std::string& path, int most_side) = 0;
};

}  // namespace gs
