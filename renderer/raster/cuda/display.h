// The last stage of a frame that is only looked at: float planes packed to RGBA8 on the device,
// into a picture on loan (DevicePicture), so that nothing of it crosses to the host. The rasterizer
// and the training backend own a DisplayPacker each and call pack() after blend.
#pragma once

#include <memory>

#include "renderer/device/cuda/runtime.h"
#include "renderer/device/device_picture.h"

namespace gs::cuda {

/// The pictures of a pool. One is shown, one has been taken and is about to be shown, one is in the
/// mailbox, one is being drawn: more are never borrowed unless a borrower keeps them.
inline constexpr std::size_t kDisplayPictures = 4;

class DisplayPacker {
  public:
    DisplayPacker();
    ~DisplayPacker();
    /// Rounds as the host does for pictures of the CPU backend. `color`: device pointer,
    /// [3][height][width], written on `stream` before. Null when every picture is on loan.
    /// Allocates only when pictures grow; never waits otherwise.
    std::shared_ptr<const DevicePicture> pack(const float* color, int width, int height,
                                              const Stream& stream);
    std::size_t bytes() const;  ///< device memory of the pool

  private:
    struct Pool;
    std::shared_ptr<Pool> pool_;  // pictures on loan keep it alive
};

/// Enqueues the packing alone: rgba[y * pitch / 4 + x], red in the lowest byte, alpha 255.
void launch_pack_rgba(const float* color, int width, int height, std::uint32_t* rgba,
                      std::size_t pitch, const Stream& stream);

}  // namespace gs::cuda
