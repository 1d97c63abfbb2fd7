// Sharing textures with a CUDA device in a build without CUDA.
#include "renderer/present/interop.h"

namespace gs {

std::vector<int> cuda_devices_of_opengl() { return {}; }
std::unique_ptr<TextureInterop> make_cuda_texture_interop() { return nullptr; }

}  // namespace gs
