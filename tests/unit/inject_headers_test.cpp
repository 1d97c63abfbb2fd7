// Our declarations of NVTX's interface against the real headers, where those are installed.
#include <gtest/gtest.h>

#include "profiler/inject/nvtx_abi.h"

#ifdef GAUSSCOPE_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

#include <type_traits>

namespace gs::inject::nvtx {
namespace {

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))
SAME(kCore, NVTX_CB_MODULE_CORE);
SAME(kCuda, NVTX_CB_MODULE_CUDA);
SAME(kOpenCl, NVTX_CB_MODULE_OPENCL);
SAME(kCudaRuntime, NVTX_CB_MODULE_CUDART);
SAME(kCore2, NVTX_CB_MODULE_CORE2);
SAME(kSync, NVTX_CB_MODULE_SYNC);
SAME(kModules, NVTX_CB_MODULE_SIZE);
#define SAME_CORE(name) SAME(k##name, NVTX_CBID_CORE_##name)
SAME_CORE(MarkEx);
SAME_CORE(MarkA);
SAME_CORE(MarkW);
SAME_CORE(RangeStartEx);
SAME_CORE(RangeStartA);
SAME_CORE(RangeStartW);
SAME_CORE(RangeEnd);
SAME_CORE(RangePushEx);
SAME_CORE(RangePushA);
SAME_CORE(RangePushW);
SAME_CORE(RangePop);
SAME_CORE(NameCategoryA);
SAME_CORE(NameCategoryW);
SAME_CORE(NameOsThreadA);
SAME_CORE(NameOsThreadW);
#define SAME_CORE2(name) SAME(k##name, NVTX_CBID_CORE2_##name)
SAME_CORE2(DomainMarkEx);
SAME_CORE2(DomainRangeStartEx);
SAME_CORE2(DomainRangeEnd);
SAME_CORE2(DomainRangePushEx);
SAME_CORE2(DomainRangePop);
SAME_CORE2(DomainResourceCreate);
SAME_CORE2(DomainResourceDestroy);
SAME_CORE2(DomainNameCategoryA);
SAME_CORE2(DomainNameCategoryW);
SAME_CORE2(DomainRegisterStringA);
SAME_CORE2(DomainRegisterStringW);
SAME_CORE2(DomainCreateA);
SAME_CORE2(DomainCreateW);
SAME_CORE2(DomainDestroy);
SAME_CORE2(Initialize);
SAME(kSyncUserCreate, NVTX_CBID_SYNC_DomainSyncUserCreate);
static_assert(kMostFunctions >= NVTX_CBID_CORE_SIZE && kMostFunctions >= NVTX_CBID_CORE2_SIZE &&
              kMostFunctions >= NVTX_CBID_OPENCL_SIZE && kMostFunctions >= NVTX_CBID_CUDA_SIZE);
SAME(kCallbacks, NVTX_ETID_CALLBACKS);
SAME(kVersionInfo, NVTX_ETID_VERSIONINFO);
SAME(kVersion, NVTX_VERSION);
SAME(kNotTracked, NVTX_NO_PUSH_POP_TRACKING);
SAME(kColorArgb, NVTX_COLOR_ARGB);
SAME(kPayloadUint64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(kPayloadInt64, NVTX_PAYLOAD_TYPE_INT64);
SAME(kPayloadDouble, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(kPayloadUint32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(kPayloadInt32, NVTX_PAYLOAD_TYPE_INT32);
SAME(kPayloadFloat, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(kMessageAscii, NVTX_MESSAGE_TYPE_ASCII);
SAME(kMessageUnicode, NVTX_MESSAGE_TYPE_UNICODE);
SAME(kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED);

static_assert(sizeof(EventAttributes) == NVTX_EVENT_ATTRIB_STRUCT_SIZE);
#define SAME_FIELD(ours, theirs) \
    SAME(offsetof(EventAttributes, ours), offsetof(nvtxEventAttributes_t, theirs))
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
static_assert(std::is_same_v<RangeId, nvtxRangeId_t>);
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks) &&
              offsetof(Callbacks, get_module_function_table) ==
                  offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(sizeof(VersionInfo) == sizeof(NvtxExportTableVersionInfo) &&
              offsetof(VersionInfo, set_injection_version) ==
                  offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
static_assert(sizeof(FunctionTable) == sizeof(NvtxFunctionTable) &&
              sizeof(Domain) == sizeof(nvtxDomainHandle_t));

TEST(NvtxAbi, IsThatOfTheHeaders) { SUCCEED(); }  // the compiler has looked

}  // namespace
}  // namespace gs::inject::nvtx
#else
TEST(NvtxAbi, IsThatOfTheHeaders) {
    GTEST_SKIP() << "the NVTX headers of a CUDA toolkit are not installed";
}
#endif
