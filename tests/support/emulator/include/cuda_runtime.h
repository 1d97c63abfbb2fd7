// The host emulator's cuda_runtime.h: lets the host compiler build CUDA kernels and the code that
// launches them. Found before the toolkit's header by gs_cuda_emulated only. See
// tests/support/emulator/emulator.h for what it checks and how a test uses it.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/support/emulator/collectives.h"
#include "tests/support/emulator/device_language.h"
#include "tests/support/emulator/launch.h"
#include "tests/support/emulator/shared_array.h"
