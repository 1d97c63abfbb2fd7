// PresentTexture: a picture made by a rasterizer, as an OpenGL texture that ImGui can show. Uploads from host memory; a
// backend that writes device memory takes the same place. The only user of OpenGL in renderer/; called by the studio's
// UI thread.
#pragma once

#include <cstdint>

#include "renderer/scene/image.h"

namespace gs {

class PresentTexture {
  public:
    PresentTexture() = default;
    ~PresentTexture();
    PresentTexture(PresentTexture&& other) noexcept;
    PresentTexture& operator=(PresentTexture&& other) noexcept;

    /// Copies a picture of 3 or 4 channels into the texture. Storage is made again only when the size or channel count
    /// changes. An empty picture releases the texture. Needs a current OpenGL 4.5 context.
    void upload(const Image8& picture);
    /// Nearest-neighbour magnification (pixels stay squares) instead of linear.
    void set_nearest(bool nearest);
    void release();

    std::uint64_t gl_name() const { return texture_; }  ///< 0: nothing uploaded
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    void allocate(int width, int height, int channels);
    unsigned texture_ = 0;
    int width_ = 0, height_ = 0, channels_ = 0;
    bool nearest_ = false;
};

}  // namespace gs
