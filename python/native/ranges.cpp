// Ranges of NVTX for stage(): seen by `gausscope record`, `attach` and `serve`, and by Nsight.
#include "python/native/gausscope_files.h"

#ifdef GAUSSCOPE_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

int32_t gausscope_push_range(const char* name) {
    nvtxRangePushA(name);
    return 1;
}
void gausscope_pop_range(void) { nvtxRangePop(); }
#else
int32_t gausscope_push_range(const char*) { return 0; }
void gausscope_pop_range(void) {}
#endif
