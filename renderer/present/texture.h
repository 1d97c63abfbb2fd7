// PresentTexture: a picture made by a rasterizer, as an OpenGL texture that ImGui can show. Uploads
// from host memory; takes pictures from device memory through CUDA-OpenGL interop where that works,
// through page-locked host memory where not (path.h). The only user of OpenGL in renderer/; called
// by the studio's UI thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "renderer/present/path.h"
#include "renderer/scene/image.h"

namespace gs {

class PresentTexture {
  public:
    /// `path`: how pictures in device memory come in; it outlives the texture. Null: through the
    /// host.
    explicit PresentTexture(PresentPath* path = nullptr) : path_(path) {}
    ~PresentTexture();
    PresentTexture(PresentTexture&& other) noexcept;
    PresentTexture& operator=(PresentTexture&& other) noexcept;

    /// Copies a picture of 3 or 4 channels into the texture. Storage is recreated only when the
    /// size or channel count changes. An empty picture releases the texture. Needs a current
    /// OpenGL 4.5 context.
    void upload(const Image8& picture);
    /// The same of a picture in device memory. Error: it could not be read; the texture keeps what
    /// it showed.
    Result<void> show(const DevicePicture& picture);
    /// The pixel (x, y) of the top-left origin as shown now, RGBA; waits for OpenGL. False where
    /// there is none.
    bool read_pixel(int x, int y, std::array<std::uint8_t, 4>& rgba) const;
    void release();
    /// The OpenGL context is gone, and the texture with it: forgets both without a call to OpenGL.
    void context_lost();

    std::uint64_t gl_name() const { return texture_; }  ///< 0: nothing uploaded
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    void allocate(int width, int height, int channels);
    void fill(std::span<const std::uint8_t> bytes);
    bool show_through_interop(const DevicePicture& picture);
    PresentPath* path_ = nullptr;
    std::unique_ptr<TextureInterop> interop_;
    bool attached_ = false;  // interop_ to texture_
    unsigned texture_ = 0;
    int width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace gs
