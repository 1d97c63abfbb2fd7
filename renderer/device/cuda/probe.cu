#include "renderer/device/cuda/probe.h"

#include "renderer/device/cuda/kernel.cuh"

namespace gs::cuda {
namespace {

struct ProbeParams {
    int* unused;
};

// Every kernel is compiled for the same architectures; this one stands for all. Never launched.
void GS_KERNEL(32, 1) probe(ProbeParams p) {
    if (p.unused != nullptr) *p.unused = 0;
}

}  // namespace

cudaError_t probe_code() {
#ifdef GAUSSCOPE_EMULATED
    void (*kernel)(ProbeParams) = probe;  // compiled for the processor that runs it
    return kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
#else
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, probe);
#endif
}

}  // namespace gs::cuda
