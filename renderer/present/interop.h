// TextureInterop: copies a picture in device memory into an OpenGL texture without passing through
// the host. The body needs CUDA and is in present/cuda; PresentTexture uses it through this
// interface, so that present/ builds without.
#pragma once

#include <memory>
#include <vector>

#include "base/expected.h"
#include "renderer/device/device_picture.h"

namespace gs {

/// Of one texture. All calls come from the thread of the texture's OpenGL context, with the context
/// current, except detach() after the context was lost.
class TextureInterop {
  public:
    virtual ~TextureInterop() = default;
    /// Makes the texture (GL_TEXTURE_2D, RGBA8, of the picture's size) known to the device that
    /// `picture` lies on. Once per storage: before the texture is deleted comes detach(). The error
    /// says why it cannot be.
    virtual Result<void> attach(unsigned gl_texture, const DevicePicture& picture) = 0;
    /// Enqueues the copy of all of `picture`; what OpenGL draws afterwards sees it. The host
    /// continues at once.
    virtual Result<void> write(const DevicePicture& picture) = 0;
    /// Forgets the texture. Nothing when there is none.
    virtual void detach() noexcept = 0;
};

/// What makes one, or null: there is no device to share textures with.
using MakeTextureInterop = std::unique_ptr<TextureInterop> (*)();

/// CUDA's numbers of the devices that the current OpenGL context draws on; none where CUDA does not
/// know it, and in a build without CUDA.
std::vector<int> cuda_devices_of_opengl();

/// CUDA's, in present/cuda. In a build without CUDA: null.
std::unique_ptr<TextureInterop> make_cuda_texture_interop();

}  // namespace gs
