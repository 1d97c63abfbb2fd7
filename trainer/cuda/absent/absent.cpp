// Training on a CUDA device in a build without CUDA.
#include "renderer/device/cuda/device.h"
#include "trainer/cuda/cuda_training.h"

namespace gs {

Result<std::unique_ptr<TrainingBackend>> make_cuda_training(int index) {
    return tl::unexpected(cuda_device_info(index).error());
}

}  // namespace gs
