// Chooses the backend: the CPU, or a CUDA device. One choice per process, made from --backend; the
// command line, the session and the studio take rasterizers and training backends from it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "renderer/raster/rasterizer.h"
#include "trainer/training_backend.h"

namespace gs {

struct Backend {
    std::string name;  ///< "CPU (AVX-512, 2 threads)", "CUDA (NVIDIA H200, sm_90)"
    bool cuda = false;
    std::function<Result<std::unique_ptr<Rasterizer>>()> make_rasterizer;
    std::function<Result<std::unique_ptr<TrainingBackend>>()> make_training;
    std::function<void(bool on)>
        set_profiling;  ///< opens and closes the capture range of nsys and ncu; empty on the CPU
    int device = -1;    ///< CUDA's number of the device; -1 on the CPU
};

/// `wanted` is auto, cpu or cuda. auto takes a CUDA device that can be used, else the CPU, with the
/// reason in the log at debug level. `device`: CUDA's number of the one to take; -1: the first that
/// can be used. Errors (usage): cuda, or a device by number, where it cannot be used, with the
/// reason and the devices there are; a device with cpu; a name that is none of the three.
Result<Backend> choose_backend(std::string_view wanted, int device = -1);

}  // namespace gs
