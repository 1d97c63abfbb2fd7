// Graphics interop of the emulated runtime: registering, mapping and writing GL images.
#include <cuda_gl_interop.h>

#include "tests/support/emulator/runtime_state.h"

using namespace gs::emulator;

struct cudaArray {
    unsigned image, target;
};
struct cudaGraphicsResource {
    cudaArray array;
    bool mapped = false;
};

cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, unsigned image,
                                        unsigned target, unsigned) {
    GS_ENTER("cudaGraphicsGLRegisterImage");
    *resource = nullptr;
    if (image == 0) return runtime.fail(cudaErrorInvalidValue);
    if (!runtime.array_writer)
        return runtime.fail(cudaErrorOperatingSystem);  // no GL context on this device
    *resource = new cudaGraphicsResource{{image, target}};
    runtime.graphics_resources.insert(*resource);
    return cudaSuccess;
}
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
    GS_ENTER("cudaGraphicsUnregisterResource");
    if (runtime.graphics_resources.erase(resource) == 0)
        return runtime.fail(cudaErrorInvalidResourceHandle);
    runtime.drain_all();
    delete resource;
    return cudaSuccess;
}
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned) {
    GS_ENTER("cudaGraphicsResourceSetMapFlags");
    if (!runtime.graphics_resources.contains(resource))
        return runtime.fail(cudaErrorInvalidResourceHandle);
    return resource->mapped ? runtime.fail(cudaErrorAlreadyMapped) : cudaSuccess;
}
cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources, cudaStream_t) {
    GS_ENTER("cudaGraphicsMapResources");
    for (int i = 0; i < count; ++i) {
        if (!runtime.graphics_resources.contains(resources[i]))
            return runtime.fail(cudaErrorInvalidResourceHandle);
        if (resources[i]->mapped) return runtime.fail(cudaErrorAlreadyMapped);
    }
    for (int i = 0; i < count; ++i) resources[i]->mapped = true;
    return cudaSuccess;
}
cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream) {
    GS_ENTER("cudaGraphicsUnmapResources");
    for (int i = 0; i < count; ++i) {
        if (!runtime.graphics_resources.contains(resources[i]))
            return runtime.fail(cudaErrorInvalidResourceHandle);
        if (!resources[i]->mapped) return runtime.fail(cudaErrorNotMapped);
    }
    // GL work given after this comes after the stream's work: so that work is carried out now.
    runtime.drain(runtime.stream_of(stream));
    for (int i = 0; i < count; ++i) resources[i]->mapped = false;
    return cudaSuccess;
}
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array,
                                                  cudaGraphicsResource_t resource, unsigned,
                                                  unsigned) {
    GS_ENTER("cudaGraphicsSubResourceGetMappedArray");
    if (!runtime.graphics_resources.contains(resource))
        return runtime.fail(cudaErrorInvalidResourceHandle);
    if (!resource->mapped) return runtime.fail(cudaErrorNotMapped);
    *array = &resource->array;
    return cudaSuccess;
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x_bytes, std::size_t y,
                                     const void* from, std::size_t from_pitch,
                                     std::size_t width_bytes, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
    GS_ENTER("cudaMemcpy2DToArrayAsync");
    if (width_bytes == 0 || height == 0) return cudaSuccess;
    if (kind == cudaMemcpyDeviceToDevice) {
        runtime.expect_device("cudaMemcpy2DToArrayAsync", from,
                              from_pitch * (height - 1) + width_bytes);
    }
    const ArrayWrite write{to->image, to->target, from,        from_pitch,
                           x_bytes,   y,          width_bytes, height};
    runtime.enqueue(stream, "cudaMemcpy2DToArrayAsync", false, [&runtime, write] {
        if (runtime.array_writer) runtime.array_writer(write);
    });
    return cudaSuccess;
}
cudaError_t cudaGLGetDevices(unsigned* count, int* devices, unsigned capacity, cudaGLDeviceList) {
    GS_ENTER("cudaGLGetDevices");
    *count = 0;
    if (!runtime.array_writer) return runtime.fail(cudaErrorNoDevice);  // GL is not this device's
    *count = 1;
    if (capacity > 0) devices[0] = runtime.gl_device;
    return cudaSuccess;
}
