// How the emulator's own tests run a kernel: on the default stream, at once.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "tests/support/emulator/emulator.h"

namespace gs::emulator {

template <class Params>
void run(void (*kernel)(Params), const Params& params, unsigned blocks, unsigned threads,
         cudaStream_t stream = nullptr) {
    launch(stream, "kernel_under_test", blocks, threads, kernel, params);
}

}  // namespace gs::emulator
