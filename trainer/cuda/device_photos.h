// DevicePhotos: the training photos and masks of a capture as bytes in device memory, sent once
// when a run starts; of a capture whose photos do not stay in the host's memory the photo of one
// step, sent with each. Owned by StepEngine.
#pragma once

#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/scene/capture.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

class DevicePhotos {
  public:
    /// Every view that can be trained on, or space for the largest. Waits.
    void upload(const Capture& capture, const Stream& stream);
    /// Before each step of view `view_index`: its photo replaces the last one's, which the work
    /// enqueued before has read by then. `photo` stays until the stream is past it.
    void send(std::size_t view_index, const View& view, const LentPhoto& photo,
              const Stream& stream);
    /// What the loss of view `view_index` needs.
    LossInputs inputs(std::size_t view_index, double lambda_dssim) const;
    std::size_t bytes() const { return bytes_.capacity_bytes(); }

  private:
    struct Photo {
        std::size_t photo, mask;  ///< offsets in bytes_
        int width = 0, height = 0;
        bool masked = false;
        double samples = 1;
    };
    /// All but its places.
    static Photo described(const View& view, const Image8& mask);
    void copy(const Photo& to, const LentPhoto& from, const Stream& stream);
    std::vector<Photo> photos_;  ///< by view; width 0: never sent
    bool all_here_ = true;       ///< else each is sent with its steps
    DeviceBuffer<std::uint8_t> bytes_{"photos"};
};

}  // namespace gs::cuda
