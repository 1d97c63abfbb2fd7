#include "app/backend/backend.h"

#include <fmt/format.h>

#include "base/log.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "trainer/cuda/cuda_training.h"

namespace gs {
namespace {

Backend cpu_backend() {
    return {make_cpu_rasterizer()->name(),
            false,
            []() -> Result<std::unique_ptr<Rasterizer>> { return make_cpu_rasterizer(); },
            []() -> Result<std::unique_ptr<TrainingBackend>> { return make_cpu_training(); },
            {},
            -1};
}

Backend cuda_backend(const CudaDeviceInfo& device) {
    return {
        fmt::format("CUDA ({}, sm_{}{})", device.name, device.compute_major, device.compute_minor),
        true,
        [index = device.index] { return make_cuda_rasterizer(index); },
        [index = device.index] { return make_cuda_training(index); },
        [index = device.index](bool on) {
            on ? cuda_profiler_start(index) : cuda_profiler_stop(index);
        },
        device.index};
}

}  // namespace

Result<Backend> choose_backend(std::string_view wanted, int index) {
    if (wanted == "cpu" && index >= 0)
        return fail(ErrorKind::usage, "", fmt::format("the CPU backend has no device {}", index),
                    "omit --device or --backend cpu");
    if (wanted == "cpu") return cpu_backend();
    if (wanted != "auto" && wanted != "cuda")
        return fail(ErrorKind::usage, "", fmt::format("unknown backend \"{}\"", wanted),
                    "auto, cpu or cuda");
    const auto device = index >= 0 ? cuda_device_info(index) : first_cuda_device();
    if (device) return cuda_backend(*device);
    if (wanted == "cuda" || index >= 0)
        return fail(ErrorKind::usage, "",
                    "the CUDA backend cannot be used: " + device.error().message,
                    device.error().advice);
    log_debug("computing on the CPU, not with CUDA: {}", device.error().text());
    return cpu_backend();
}

}  // namespace gs
