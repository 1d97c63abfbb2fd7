#include "profiler/inject/chain.h"

#include <dlfcn.h>

#include <cstdio>

namespace gs::inject::chain {
namespace {

constinit nvtx::Function functions[nvtx::kModules][nvtx::kMostFunctions] = {};
constinit nvtx::Function* tables[nvtx::kModules][nvtx::kMostFunctions + 1] = {};

/// How many entries NVTX's own tables have, the unused first one included.
constexpr unsigned int kSizes[nvtx::kModules] = {0, 16, 9, 15, 7, 16, 7};

int get_module_function_table(int module, nvtx::FunctionTable* table, unsigned int* size) {
    if (module < nvtx::kCore || module >= nvtx::kModules) return 0;
    if (table != nullptr) *table = tables[module];
    if (size != nullptr) *size = kSizes[module];
    return 1;
}
void set_injection_version(std::uint32_t) {}

constexpr nvtx::Callbacks kCallbackTable{sizeof(nvtx::Callbacks), get_module_function_table};
constexpr nvtx::VersionInfo kVersionTable{sizeof(nvtx::VersionInfo), nvtx::kVersion, 0,
                                          set_injection_version};

const void* get_export_table(std::uint32_t id) {
    if (id == nvtx::kCallbacks) return &kCallbackTable;
    return id == nvtx::kVersionInfo ? &kVersionTable : nullptr;
}

bool refuse(const char* path, const char* why) {
    std::fprintf(stderr, "gausscope: the NVTX library %s of GAUSSCOPE_CHAIN_NVTX is not used: %s\n",
                 path, why);
    return false;
}

}  // namespace

bool load(const char* path) noexcept {
    for (int m = nvtx::kCore; m < nvtx::kModules; ++m)
        for (unsigned int i = 1; i < kSizes[m]; ++i) tables[m][i] = &functions[m][i];
    void* library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return refuse(path, ::dlerror());
    const auto initialize =
        reinterpret_cast<nvtx::Initialize>(::dlsym(library, nvtx::kInitializeName));
    if (initialize == nullptr) return refuse(path, "it has no InitializeInjectionNvtx2");
    // Nothing is taken from a tool that says it failed; as NVTX itself would not.
    if (initialize(get_export_table) != 0) return true;
    for (auto& module : functions)
        for (nvtx::Function& f : module) f = nullptr;
    return refuse(path, "it refused to start");
}

nvtx::Function function(nvtx::Module module, std::uint32_t number) noexcept {
    return functions[module][number];
}

}  // namespace gs::inject::chain
