// The device layer of a build without CUDA: it says so.
#include "renderer/device/cuda/ceilings.h"
#include "renderer/device/cuda/device.h"
#include "renderer/device/cuda/primitives_check.h"

namespace gs {
namespace {

tl::unexpected<Error> built_without() {
    return fail(ErrorKind::unsupported, "", "this gausscope was built without CUDA",
                "build it with the CUDA toolkit (12.0 or newer), or use --backend cpu");
}

}  // namespace

Result<CudaDeviceInfo> cuda_device_info(int) { return built_without(); }
Result<CudaDeviceInfo> first_cuda_device() { return built_without(); }
Result<CudaMemory> cuda_memory(int) { return built_without(); }
Result<Ceilings> measure_cuda_ceilings(int, const CeilingEffort&) { return built_without(); }
Result<PrimitivesCheck> check_cuda_primitives(std::size_t, std::uint64_t, int) {
    return built_without();
}
Result<std::vector<CudaListing>> cuda_devices() { return built_without(); }
std::string describe(const CudaListing& device) { return device.name; }
void cuda_profiler_start(int) {}
void cuda_profiler_stop(int) {}

}  // namespace gs
