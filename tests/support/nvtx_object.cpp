// A shared object that uses NVTX, with pointers of its own; nvtx_program.cpp loads and unloads it.
#ifdef GAUSSCOPE_TOOLKIT_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/support/nvtx_client.h"
#endif

extern "C" [[gnu::visibility("default")]] void use_nvtx(const char* name) {
    nvtxRangePushA(name);
    nvtxRangePop();
}
