// Graphics interop of the host emulator: resources are registered, mapped and written as CUDA
// documents it; where written pixels go is a hook (emulator.h, set_array_writer), so a test may put
// them into a real texture, keep or count them.
#pragma once

#include <cuda_runtime_api.h>

inline constexpr unsigned cudaGraphicsRegisterFlagsNone = 0, cudaGraphicsRegisterFlagsReadOnly = 1,
                          cudaGraphicsRegisterFlagsWriteDiscard = 2,
                          cudaGraphicsRegisterFlagsSurfaceLoadStore = 4;
inline constexpr unsigned cudaGraphicsMapFlagsNone = 0, cudaGraphicsMapFlagsReadOnly = 1,
                          cudaGraphicsMapFlagsWriteDiscard = 2;
enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1,
    cudaGLDeviceListCurrentFrame = 2,
    cudaGLDeviceListNextFrame = 3,
};

/// `image` is a GLuint, `target` a GLenum; written as unsigned, which both are, so that no GL
/// header comes in.
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, unsigned image,
                                        unsigned target, unsigned flags);
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags);
cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                     cudaStream_t stream = nullptr);
cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream = nullptr);
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array,
                                                  cudaGraphicsResource_t resource,
                                                  unsigned array_index, unsigned mip_level);
cudaError_t cudaGLGetDevices(unsigned* count, int* devices, unsigned capacity,
                             cudaGLDeviceList list);
