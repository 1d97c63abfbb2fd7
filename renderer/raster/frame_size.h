// What a frame may ask for: how much memory it takes, which a scene and a request decide. Both
// backends refuse what cannot be had before they make it; callers give up that picture and keep the
// rest.
#pragma once

#include <cstdint>

#include "renderer/device/device_error.h"
#include "renderer/scene/camera.h"

namespace gs {

/// A frame that is refused. Nothing was changed, and the next frame may be drawn.
class FrameTooLarge : public DeviceError {
  public:
    explicit FrameTooLarge(const std::string& what) : DeviceError(what, true) {}
};

/// Throws FrameTooLarge: a row of tiles in a picture with a seam has `pairs`, and gradients can be
/// made of `most`. Says which size would fit.
[[noreturn]] void refuse_row(const Camera& camera, std::uint64_t pairs, std::uint64_t most);
/// The same for the memory of its lists or pictures, `what`; `bytes` 0: more than there is.
[[noreturn]] void refuse_memory(const Camera& camera, const char* what, std::uint64_t bytes,
                                std::uint64_t free);
inline constexpr std::uint64_t kSmallFrame = 256ull << 20;  ///< bytes not worth asking the system
/// Throws FrameTooLarge where `bytes` more are not free in this machine; small ones are not looked
/// at.
void check_memory(const Camera& camera, const char* what, std::uint64_t bytes);

}  // namespace gs
