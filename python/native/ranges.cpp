// Ranges of NVTX for stage(): seen by `gausscope record`, `attach` and `serve`, and by Nsight.
#include "python/native/gausscope_files.h"

#ifdef GAUSSCOPE_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

void gausscope_push_range(const char* name) { nvtxRangePushA(name); }
void gausscope_pop_range(void) { nvtxRangePop(); }
#else
void gausscope_push_range(const char*) {}
void gausscope_pop_range(void) {}
#endif
