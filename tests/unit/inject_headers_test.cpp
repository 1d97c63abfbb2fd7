// Our declarations of NVTX's interface against the real headers, where those are installed.
#include <gtest/gtest.h>

#include "profiler/inject/nvtx_abi.h"
#include "profiler/inject/nvtx_payload_abi.h"

#ifdef GAUSSCOPE_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif

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

#ifdef NVTX_EXT_PAYLOAD_MODULEID
SAME(kPayloadModule, NVTX_EXT_PAYLOAD_MODULEID);
SAME(kPayloadExtension, NVTX_PAYLOAD_TYPE_EXT);
#define SAME_FUNCTION(ours, theirs) SAME(ours, NVTX3EXT_CBID_nvtx##theirs)
SAME_FUNCTION(kPayloadSchemaRegister, PayloadSchemaRegister);
SAME_FUNCTION(kPayloadEnumRegister, PayloadEnumRegister);
SAME_FUNCTION(kMarkPayload, MarkPayload);
SAME_FUNCTION(kRangePushPayload, RangePushPayload);
SAME_FUNCTION(kRangePopPayload, RangePopPayload);
SAME_FUNCTION(kRangeStartPayload, RangeStartPayload);
SAME_FUNCTION(kRangeEndPayload, RangeEndPayload);
#define SAME_ENTRY(ours, theirs) SAME(kEntry##ours, NVTX_PAYLOAD_ENTRY_TYPE_##theirs)
SAME_ENTRY(Char, CHAR);
SAME_ENTRY(Ulonglong, ULONGLONG);
SAME_ENTRY(Int8, INT8);
SAME_ENTRY(Uint64, UINT64);
SAME_ENTRY(Float, FLOAT);
SAME_ENTRY(Longdouble, LONGDOUBLE);
SAME_ENTRY(Size, SIZE);
SAME_ENTRY(Address, ADDRESS);
SAME_ENTRY(Wchar, WCHAR);
SAME_ENTRY(Char32, CHAR32);
SAME_ENTRY(Byte, BYTE);
SAME_ENTRY(Uint128, UINT128);
SAME_ENTRY(Float16, FLOAT16);
SAME_ENTRY(Float128, FLOAT128);
SAME_ENTRY(Bf16, BF16);
SAME_ENTRY(Tf32, TF32);
SAME_ENTRY(Category, CATEGORY);
SAME_ENTRY(Color, COLOR_ARGB);
SAME_ENTRY(Scope, SCOPE_ID);
SAME_ENTRY(Pid32, PID_UINT32);
SAME_ENTRY(Tid64, TID_UINT64);
SAME_ENTRY(String, CSTRING);
SAME_ENTRY(StringUtf8, CSTRING_UTF8);
SAME_ENTRY(RegisteredString, NVTX_REGISTERED_STRING_HANDLE);
#define SAME_FLAG(ours, theirs) SAME(kEntry##ours, NVTX_PAYLOAD_ENTRY_FLAG_##theirs)
SAME_FLAG(FixedArray, ARRAY_FIXED_SIZE);
SAME_FLAG(ZeroTerminated, ARRAY_ZERO_TERMINATED);
SAME_FLAG(LengthIndex, ARRAY_LENGTH_INDEX);
SAME_FLAG(Message, EVENT_MESSAGE);
SAME(kEntryPointers, NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                         NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE);
SAME(kFirstSchema, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
SAME(kFirstDynamicSchema, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
SAME(kSchemaStatic, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC);
SAME(kSchemaDynamic, NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC);
#define SAME_SCHEMA(ours, theirs) SAME(kSchemaHas##ours, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_##theirs)
SAME_SCHEMA(Type, TYPE);
SAME_SCHEMA(Entries, ENTRIES);
SAME_SCHEMA(Count, NUM_ENTRIES);
SAME_SCHEMA(Size, STATIC_SIZE);
SAME_SCHEMA(Alignment, ALIGNMENT);
SAME_SCHEMA(Id, SCHEMA_ID);
#define SAME_ENUM(ours, theirs) SAME(kEnumHas##ours, NVTX_PAYLOAD_ENUM_ATTR_FIELD_##theirs)
SAME_ENUM(Entries, ENTRIES);
SAME_ENUM(Count, NUM_ENTRIES);
SAME_ENUM(Size, SIZE);
SAME_ENUM(Id, SCHEMA_ID);
#define SAME_PLACE(Ours, ours, Theirs, theirs) SAME(offsetof(Ours, ours), offsetof(Theirs, theirs))
SAME_PLACE(PayloadData, size, nvtxPayloadData_t, size);
SAME_PLACE(PayloadEntry, name, nvtxPayloadSchemaEntry_t, name);
SAME_PLACE(PayloadEntry, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME_PLACE(PayloadEntry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_PLACE(PayloadSchema, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_PLACE(PayloadSchema, static_size, nvtxPayloadSchemaAttr_t, payloadStaticSize);
SAME_PLACE(PayloadSchema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_PLACE(PayloadEnumEntry, value, nvtxPayloadEnum_t, value);
SAME_PLACE(PayloadEnum, entries, nvtxPayloadEnumAttr_t, entries);
SAME_PLACE(PayloadEnum, id, nvtxPayloadEnumAttr_t, schemaId);
SAME_PLACE(ExtensionModule, module, nvtxExtModuleInfo_t, moduleId);
SAME_PLACE(ExtensionModule, segments, nvtxExtModuleInfo_t, segments);
SAME_PLACE(ExtensionSegment, slots, nvtxExtModuleSegment_t, functionSlots);
static_assert(sizeof(PayloadData) == sizeof(nvtxPayloadData_t) &&
              sizeof(PayloadEntry) == sizeof(nvtxPayloadSchemaEntry_t) &&
              sizeof(PayloadSchema) == sizeof(nvtxPayloadSchemaAttr_t) &&
              sizeof(PayloadEnumEntry) == sizeof(nvtxPayloadEnum_t) &&
              sizeof(PayloadEnum) == sizeof(nvtxPayloadEnumAttr_t) &&
              sizeof(ExtensionModule) == sizeof(nvtxExtModuleInfo_t));
#endif

TEST(NvtxAbi, IsThatOfTheHeaders) { SUCCEED(); }  // the compiler has looked

}  // namespace
}  // namespace gs::inject::nvtx
#else
TEST(NvtxAbi, IsThatOfTheHeaders) {
    GTEST_SKIP() << "the NVTX headers of a CUDA toolkit are not installed";
}
#endif
