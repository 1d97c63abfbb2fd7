// NVTX 3's C interface between a program and a tool, as far as we take part in it, declared by us,
// so that the library builds without the CUDA toolkit. Numbers and layouts are those of NVTX's
// public headers (nvtx3/nvtxDetail/ nvtxTypes.h, nvToolsExt.h); tests/unit/inject_headers_test.cpp
// compares every one of them with the real headers where they are installed. Used by
// profiler/inject and by the tests' small NVTX client (tests/support/nvtx_client.h).
//
// How a tool gets in: NVTX is header-only. The first NVTX call of every program or shared object
// that uses it - each has its own copy of the pointers - loads the library that
// NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2 with a function that hands out
// tables. A table's entry i is the address of the pointer that NVTX function i of this module is
// called through; a null pointer there makes the function do nothing, for half a nanosecond. Entry
// 0 is not used. What the tool leaves as it was becomes null.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::inject::nvtx {

using Function = void (*)();
using FunctionTable = Function**;

enum Module : int { kCore = 1, kCuda = 2, kOpenCl = 3, kCudaRuntime = 4, kCore2 = 5, kSync = 6 };
inline constexpr int kModules = 7;  ///< numbers below this are known

enum CoreFunction : std::uint32_t {
    kMarkEx = 1,
    kMarkA,
    kMarkW,
    kRangeStartEx,
    kRangeStartA,
    kRangeStartW,
    kRangeEnd,
    kRangePushEx,
    kRangePushA,
    kRangePushW,
    kRangePop,
    kNameCategoryA,
    kNameCategoryW,
    kNameOsThreadA,
    kNameOsThreadW,
};
enum Core2Function : std::uint32_t {
    kDomainMarkEx = 1,
    kDomainRangeStartEx,
    kDomainRangeEnd,
    kDomainRangePushEx,
    kDomainRangePop,
    kDomainResourceCreate,
    kDomainResourceDestroy,
    kDomainNameCategoryA,
    kDomainNameCategoryW,
    kDomainRegisterStringA,
    kDomainRegisterStringW,
    kDomainCreateA,
    kDomainCreateW,
    kDomainDestroy,
    kInitialize,
};
inline constexpr std::uint32_t kSyncUserCreate = 1;
/// Entries of the longest table (OpenCL), unused entry 0 included.
inline constexpr std::uint32_t kMostFunctions = 16;

using GetExportTable = const void* (*)(std::uint32_t id);
inline constexpr std::uint32_t kCallbacks = 1, kVersionInfo = 3;
struct Callbacks {
    std::size_t struct_size;
    int (*get_module_function_table)(int module, FunctionTable* table, unsigned int* size);
};
struct VersionInfo {
    std::size_t struct_size;
    std::uint32_t version, reserved0;
    void (*set_injection_version)(std::uint32_t version);
};
using Initialize = int (*)(GetExportTable);
inline constexpr char kInitializeName[] = "InitializeInjectionNvtx2";
inline constexpr std::uint32_t kVersion = 3;

/// What push and pop return when no tool keeps track.
inline constexpr int kNotTracked = -2;

using Domain = void*;
using String = void*;
using RangeId = std::uint64_t;
using Resource = void*;

enum PayloadType : std::int32_t {
    kPayloadNone = 0,
    kPayloadUint64,
    kPayloadInt64,
    kPayloadDouble,
    kPayloadUint32,
    kPayloadInt32,
    kPayloadFloat,
};
enum MessageType : std::int32_t {
    kMessageNone = 0,
    kMessageAscii,
    kMessageUnicode,
    kMessageRegistered
};
inline constexpr std::int32_t kColorArgb = 1;

struct EventAttributes {
    std::uint16_t version, size;
    std::uint32_t category;
    std::int32_t color_type;
    std::uint32_t color;  ///< 0xAARRGGBB
    std::int32_t payload_type, reserved0;
    union {
        std::uint64_t u64;
        std::int64_t i64;
        double f64;
        std::uint32_t u32;
        std::int32_t i32;
        float f32;
    } payload;
    std::int32_t message_type;  // 4 bytes of padding follow
    union {
        const char* ascii;
        const wchar_t* unicode;
        String registered;
    } message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, payload) == 24 &&
              offsetof(EventAttributes, message_type) == 32 &&
              offsetof(EventAttributes, message) == 40);

}  // namespace gs::inject::nvtx
