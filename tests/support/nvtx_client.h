// A program's side of NVTX, as far as service_bench and the tests need it, so that they run
// without the CUDA toolkit: the same functions under the same names, and the same way in (one
// set of pointers per program or shared object, the first call loads the tool). Where the toolkit
// is, the tests' scripted program (nvtx_program.cpp) is built with its headers, too,
// and every test runs with both. No part of the injection library.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

#include "profiler/inject/nvtx_abi.h"

using nvtxDomainHandle_t = gs::inject::nvtx::Domain;
using nvtxStringHandle_t = gs::inject::nvtx::String;
using nvtxRangeId_t = gs::inject::nvtx::RangeId;
struct nvtxEventAttributes_t {
    std::uint16_t version, size;
    std::uint32_t category;
    std::int32_t colorType;
    std::uint32_t color;
    std::int32_t payloadType, reserved0;
    union {
        std::uint64_t ullValue;
        std::int64_t llValue;
        double dValue;
        std::uint32_t uiValue;
        std::int32_t iValue;
        float fValue;
    } payload;
    std::int32_t messageType;
    union {
        const char* ascii;
        const wchar_t* unicode;
        nvtxStringHandle_t registered;
    } message;
};
static_assert(sizeof(nvtxEventAttributes_t) == sizeof(gs::inject::nvtx::EventAttributes));

inline constexpr std::uint16_t NVTX_VERSION = 3,
                               NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t);
inline constexpr std::int32_t NVTX_COLOR_ARGB = 1;
enum : std::int32_t {
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE,
    NVTX_MESSAGE_TYPE_REGISTERED
};
enum : std::int32_t {
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64,
    NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
    NVTX_PAYLOAD_TYPE_INT32,
    NVTX_PAYLOAD_TYPE_FLOAT
};

namespace gs::test_nvtx {
// Of this program or shared object alone.
namespace {

namespace abi = gs::inject::nvtx;

struct Client {
    abi::Function functions[abi::kModules][abi::kMostFunctions] = {};
    abi::Function* tables[abi::kModules][abi::kMostFunctions + 1] = {};
    pthread_once_t once = PTHREAD_ONCE_INIT;
    bool ready = false;
};
constinit Client client;

int get_table(int module, abi::FunctionTable* table, unsigned int* size) {
    if (module != abi::kCore && module != abi::kCore2) return 0;
    *table = client.tables[module];
    *size = abi::kMostFunctions;
    return 1;
}
void set_version(std::uint32_t) {}
const void* get_export_table(std::uint32_t id) {
    static constexpr abi::Callbacks kCallbacks{sizeof(abi::Callbacks), get_table};
    static constexpr abi::VersionInfo kVersion{sizeof(abi::VersionInfo), 3, 0, set_version};
    if (id == abi::kCallbacks) return &kCallbacks;
    return id == abi::kVersionInfo ? &kVersion : nullptr;
}

void attach() {
    for (int m = abi::kCore; m < abi::kModules; ++m)
        for (std::uint32_t i = 1; i < abi::kMostFunctions; ++i)
            client.tables[m][i] = &client.functions[m][i];
    if (const char* path = std::getenv("NVTX_INJECTION64_PATH")) {
        void* library = ::dlopen(path, RTLD_LAZY);
        const auto start =
            library == nullptr
                ? nullptr
                : reinterpret_cast<abi::Initialize>(::dlsym(library, abi::kInitializeName));
        if (start != nullptr && start(get_export_table) == 0) client = Client{};
    }
    client.ready = true;
}

template <class R, class... Args>
inline R call(int module, std::uint32_t function, R otherwise, Args... args) {
    if (!client.ready) [[unlikely]]
        ::pthread_once(&client.once, attach);
    const abi::Function f = __atomic_load_n(&client.functions[module][function], __ATOMIC_RELAXED);
    return f != nullptr ? reinterpret_cast<R (*)(Args...)>(f)(args...) : otherwise;
}
template <class... Args>
inline void tell(int module, std::uint32_t function, Args... args) {
    if (!client.ready) [[unlikely]]
        ::pthread_once(&client.once, attach);
    const abi::Function f = __atomic_load_n(&client.functions[module][function], __ATOMIC_RELAXED);
    if (f != nullptr) reinterpret_cast<void (*)(Args...)>(f)(args...);
}

}  // namespace
}  // namespace gs::test_nvtx

// clang-format off
#define GS_NVTX [[maybe_unused]] static inline
namespace gs_nvtx = gs::test_nvtx;
namespace gs_abi = gs::inject::nvtx;
GS_NVTX void nvtxMarkEx(const nvtxEventAttributes_t* e) { gs_nvtx::tell(1, gs_abi::kMarkEx, e); }
GS_NVTX void nvtxMarkA(const char* t) { gs_nvtx::tell(1, gs_abi::kMarkA, t); }
GS_NVTX void nvtxMarkW(const wchar_t* t) { gs_nvtx::tell(1, gs_abi::kMarkW, t); }
GS_NVTX nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t* e) { return gs_nvtx::call(1, gs_abi::kRangeStartEx, nvtxRangeId_t{0}, e); }
GS_NVTX nvtxRangeId_t nvtxRangeStartA(const char* t) { return gs_nvtx::call(1, gs_abi::kRangeStartA, nvtxRangeId_t{0}, t); }
GS_NVTX nvtxRangeId_t nvtxRangeStartW(const wchar_t* t) { return gs_nvtx::call(1, gs_abi::kRangeStartW, nvtxRangeId_t{0}, t); }
GS_NVTX void nvtxRangeEnd(nvtxRangeId_t id) { gs_nvtx::tell(1, gs_abi::kRangeEnd, id); }
GS_NVTX int nvtxRangePushEx(const nvtxEventAttributes_t* e) { return gs_nvtx::call(1, gs_abi::kRangePushEx, -2, e); }
GS_NVTX int nvtxRangePushA(const char* t) { return gs_nvtx::call(1, gs_abi::kRangePushA, -2, t); }
GS_NVTX int nvtxRangePushW(const wchar_t* t) { return gs_nvtx::call(1, gs_abi::kRangePushW, -2, t); }
GS_NVTX int nvtxRangePop() { return gs_nvtx::call(1, gs_abi::kRangePop, -2); }
GS_NVTX void nvtxNameCategoryA(std::uint32_t c, const char* t) { gs_nvtx::tell(1, gs_abi::kNameCategoryA, c, t); }
GS_NVTX void nvtxNameOsThreadA(std::uint32_t tid, const char* t) { gs_nvtx::tell(1, gs_abi::kNameOsThreadA, tid, t); }
GS_NVTX void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) { gs_nvtx::tell(5, gs_abi::kDomainMarkEx, d, e); }
GS_NVTX nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) { return gs_nvtx::call(5, gs_abi::kDomainRangeStartEx, nvtxRangeId_t{0}, d, e); }
GS_NVTX void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t id) { gs_nvtx::tell(5, gs_abi::kDomainRangeEnd, d, id); }
GS_NVTX int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) { return gs_nvtx::call(5, gs_abi::kDomainRangePushEx, -2, d, e); }
GS_NVTX int nvtxDomainRangePop(nvtxDomainHandle_t d) { return gs_nvtx::call(5, gs_abi::kDomainRangePop, -2, d); }
GS_NVTX void nvtxDomainNameCategoryA(nvtxDomainHandle_t d, std::uint32_t c, const char* t) { gs_nvtx::tell(5, gs_abi::kDomainNameCategoryA, d, c, t); }
GS_NVTX nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char* t) { return gs_nvtx::call(5, gs_abi::kDomainRegisterStringA, nvtxStringHandle_t{}, d, t); }
GS_NVTX nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t d, const wchar_t* t) { return gs_nvtx::call(5, gs_abi::kDomainRegisterStringW, nvtxStringHandle_t{}, d, t); }
GS_NVTX nvtxDomainHandle_t nvtxDomainCreateA(const char* t) { return gs_nvtx::call(5, gs_abi::kDomainCreateA, nvtxDomainHandle_t{}, t); }
GS_NVTX void nvtxDomainDestroy(nvtxDomainHandle_t d) { gs_nvtx::tell(5, gs_abi::kDomainDestroy, d); }
#undef GS_NVTX
// clang-format on
