// Per frame: map the texture, copy device memory into its array, unmap, all on one stream that
// waits for the picture. Mapping makes the stream wait for what OpenGL still does with the texture,
// unmapping makes OpenGL wait for the copy.
#include "renderer/present/interop.h"

#include <cuda_gl_interop.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "renderer/device/cuda/runtime.h"

namespace gs {
namespace {

constexpr unsigned kTexture2D = 0x0DE1;  // GL_TEXTURE_2D; no OpenGL header is needed for more
constexpr const char* kOtherDevice = "CUDA and OpenGL are on different devices";

/// Takes the error, so that no later call finds it in its place.
tl::unexpected<Error> refused(const char* what, cudaError_t status) {
    (void)cudaGetLastError();
    return fail(ErrorKind::unsupported, "",
                fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

/// Whether the current OpenGL context draws on CUDA's device `device`.
bool draws_here(int device) {
    const std::vector<int> known = cuda_devices_of_opengl();
    return std::find(known.begin(), known.end(), device) != known.end();
}

class CudaTextureInterop final : public TextureInterop {
  public:
    CudaTextureInterop() = default;
    ~CudaTextureInterop() override { detach(); }
    CudaTextureInterop(const CudaTextureInterop&) = delete;
    CudaTextureInterop& operator=(const CudaTextureInterop&) = delete;

    Result<void> attach(unsigned gl_texture, const DevicePicture& picture) override {
        detach();
        if (const cudaError_t status = cuda::choose_device(picture.device); status != cudaSuccess)
            return refused("the picture's device cannot be used from this thread", status);
        if (!draws_here(picture.device)) return fail(ErrorKind::unsupported, "", kOtherDevice);
        const cudaError_t status = cudaGraphicsGLRegisterImage(
            &resource_, gl_texture, kTexture2D, cudaGraphicsRegisterFlagsWriteDiscard);
        if (status != cudaSuccess) {
            resource_ = nullptr;
            return refused("the driver cannot share the texture with CUDA", status);
        }
        try {
            if (!stream_) stream_.emplace("present");
        } catch (const DeviceError& error) {
            detach();
            return fail(ErrorKind::unsupported, "", error.what());
        }
        return {};
    }

    Result<void> write(const DevicePicture& picture) override {
        const cudaStream_t stream = stream_->get();
        if (const auto s =
                cudaStreamWaitEvent(stream, static_cast<cudaEvent_t>(picture.written), 0);
            s != cudaSuccess)
            return refused("waiting for the picture", s);
        if (const auto s = cudaGraphicsMapResources(1, &resource_, stream); s != cudaSuccess)
            return refused("mapping the texture", s);
        const cudaError_t copied = copy(picture, stream);
        const cudaError_t unmapped = cudaGraphicsUnmapResources(1, &resource_, stream);
        if (copied != cudaSuccess) return refused("writing the texture", copied);
        if (unmapped != cudaSuccess) return refused("unmapping the texture", unmapped);
        // The picture's memory may be drawn into again once this is reached.
        if (const auto s = cudaEventRecord(static_cast<cudaEvent_t>(picture.read), stream);
            s != cudaSuccess)
            return refused("marking the picture as read", s);
        return {};
    }

    void detach() noexcept override {
        if (resource_ == nullptr) return;
        // The context may be gone with its texture; then there is nothing to report about an
        // error.
        if (cudaGraphicsUnregisterResource(resource_) != cudaSuccess) (void)cudaGetLastError();
        resource_ = nullptr;
    }

  private:
    cudaError_t copy(const DevicePicture& picture, cudaStream_t stream) {
        cudaArray_t array = nullptr;
        if (const auto s = cudaGraphicsSubResourceGetMappedArray(&array, resource_, 0, 0);
            s != cudaSuccess)
            return s;
        return cudaMemcpy2DToArrayAsync(
            array, 0, 0, picture.pixels, picture.pitch, static_cast<std::size_t>(picture.width) * 4,
            static_cast<std::size_t>(picture.height), cudaMemcpyDeviceToDevice, stream);
    }

    cudaGraphicsResource_t resource_ = nullptr;
    std::optional<cuda::Stream> stream_;
};

}  // namespace

std::vector<int> cuda_devices_of_opengl() {
    std::array<int, 16> devices{};
    unsigned count = 0;
    if (cudaGLGetDevices(&count, devices.data(), devices.size(), cudaGLDeviceListAll) !=
        cudaSuccess) {
        (void)cudaGetLastError();
        return {};
    }
    return {devices.begin(), devices.begin() + std::min<std::size_t>(count, devices.size())};
}

std::unique_ptr<TextureInterop> make_cuda_texture_interop() {
    return std::make_unique<CudaTextureInterop>();
}

}  // namespace gs
