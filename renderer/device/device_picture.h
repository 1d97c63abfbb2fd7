// DevicePicture: a finished picture in device memory, on its way to the screen. RGBA, 8 bits a
// channel, on loan from a small pool of the backend that drew it: whoever holds the shared_ptr may
// read it, the memory goes back when the last owner lets go, on whatever thread that is. No CUDA
// header comes in from here; the handles are CUDA's. Made by a backend
// (Rasterizer::forward_for_display), carried by the session's frames, read by present/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace gs {

class DevicePicture {
  public:
    virtual ~DevicePicture() = default;
    DevicePicture() = default;
    DevicePicture(const DevicePicture&) = delete;
    DevicePicture& operator=(const DevicePicture&) = delete;

    /// Waits for the picture and shows `take` a copy in page-locked host memory: width * height * 4
    /// bytes, rows without gaps, gone when `take` returns. Throws DeviceError.
    virtual void download(const std::function<void(std::span<const std::uint8_t>)>& take) const = 0;

    int width = 0, height = 0;     ///< pixels
    std::size_t pitch = 0;         ///< bytes from row to row
    int device = 0;                ///< CUDA's index of the device it lies on
    const void* pixels = nullptr;  ///< device pointer
    void* written = nullptr;       ///< cudaEvent_t: the picture is complete when it is reached
    void* read =
        nullptr;  ///< cudaEvent_t: recorded by who reads on a stream; the next writer waits for it
};

}  // namespace gs
