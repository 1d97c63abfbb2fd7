// cudaProfilerStart / Stop of the host emulator: counted, nothing else.
#pragma once

#include <cuda_runtime_api.h>
