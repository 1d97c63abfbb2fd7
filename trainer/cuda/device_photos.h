// DevicePhotos: the training photos and masks of a capture as bytes in device memory, sent once
// when a run starts. Owned by StepEngine.
#pragma once

#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/scene/capture.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

class DevicePhotos {
  public:
    /// Every view that can be trained on. Waits.
    void upload(const Capture& capture, const Stream& stream);
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
    std::vector<Photo> photos_;  ///< by view; width 0: not resident
    DeviceBuffer<std::uint8_t> bytes_{"photos"};
};

}  // namespace gs::cuda
