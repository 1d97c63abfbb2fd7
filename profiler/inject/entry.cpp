// The entry points: what NVTX and the CUDA driver look for in the library that
// NVTX_INJECTION64_PATH and CUDA_INJECTION64_PATH name. Nothing else is exported (exports.map).
#include "profiler/inject/extension.h"
#include "profiler/inject/library.h"

extern "C" {

/// NVTX, from the first NVTX call of every object. 0: no tool.
[[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    gs::inject::nvtx::GetExportTable get_export_table) {
    if (get_export_table == nullptr || !gs::inject::start_library()) return 0;
    return gs::inject::take_nvtx(get_export_table) ? 1 : 0;
}

/// NVTX's extensions, each from its first call in every object. 0: not ours.
[[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(
    gs::inject::nvtx::ExtensionModule* module) {
    if (module == nullptr || !gs::inject::start_library()) return 0;
    return gs::inject::take_extension(*module) ? 1 : 0;
}

/// The driver, from cuInit. 1: continue.
[[gnu::visibility("default")]] int InitializeInjection() {
    gs::inject::expect_cuda();
    if (gs::inject::start_library()) gs::inject::take_cuda();
    return 1;
}
}
