// NVTX's payload extension between a program and a tool, as far as we take part in it, declared by
// us as nvtx_abi.h declares the rest. Numbers and layouts are those of nvToolsExtPayload.h and
// nvtxDetail/nvtxExtTypes.h; tests/unit/inject_headers_test.cpp compares them.
//
// How a tool gets in: the first call of the extension in a program or shared object calls the
// library's InitializeInjectionNvtxExtension with the module's slots, one a function. What the tool
// leaves zero does nothing. Unlike NVTX's own, slots are filled once and for all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::inject::nvtx {

inline constexpr std::uint16_t kPayloadModule = 2;
/// EventAttributes::payload_type: payload.u64 points to reserved0 PayloadData.
inline constexpr std::int32_t kPayloadExtension = static_cast<std::int32_t>(0xDFBD0009);

enum PayloadFunction : std::uint32_t {
    kPayloadSchemaRegister = 0,
    kPayloadEnumRegister,
    kMarkPayload,
    kRangePushPayload,
    kRangePopPayload,
    kRangeStartPayload,
    kRangeEndPayload,
};

struct ExtensionSegment {
    std::size_t id, slot_count;
    std::intptr_t* slots;
};
struct ExtensionModule {
    std::uint16_t version, struct_size, module, compatibility;
    std::size_t segment_count;
    ExtensionSegment* segments;
    std::intptr_t (*get_export)(std::uint32_t);
    const void* info;
};

struct PayloadData {
    std::uint64_t schema;
    std::size_t size;  ///< bytes, all ones: as the schema says
    const void* payload;
};

// PayloadEntry::flags
inline constexpr std::uint64_t kEntryPointers = 2 | 4 | 8;  ///< it lies elsewhere
inline constexpr std::uint64_t kEntryArrays = 7 << 4;
inline constexpr std::uint64_t kEntryFixedArray = 1 << 4, kEntryZeroTerminated = 2 << 4,
                               kEntryLengthIndex = 3 << 4;
inline constexpr std::uint64_t kEntryMessage = 1 << 10;

/// PayloadEntry::type below kFirstSchema.
enum EntryType : std::uint64_t {
    kEntryChar = 1,
    kEntryUchar,
    kEntryShort,
    kEntryUshort,
    kEntryInt,
    kEntryUint,
    kEntryLong,
    kEntryUlong,
    kEntryLonglong,
    kEntryUlonglong,
    kEntryInt8,
    kEntryUint8,
    kEntryInt16,
    kEntryUint16,
    kEntryInt32,
    kEntryUint32,
    kEntryInt64,
    kEntryUint64,
    kEntryFloat,
    kEntryDouble,
    kEntryLongdouble,
    kEntrySize,
    kEntryAddress,
    kEntryWchar,
    kEntryChar8,
    kEntryChar16,
    kEntryChar32,
    kEntryByte = 32,
    kEntryInt128,
    kEntryUint128,
    kEntryFloat16 = 42,
    kEntryFloat32,
    kEntryFloat64,
    kEntryFloat128,
    kEntryBf16 = 50,
    kEntryTf32 = 52,
    kEntryCategory = 68,
    kEntryColor,
    kEntryScope,
    kEntryPid32,
    kEntryPid64,
    kEntryTid32,
    kEntryTid64,
    kEntryString,
    kEntryStringUtf8,
    kEntryRegisteredString = 80,
};
inline constexpr std::uint64_t kFirstSchema = 1 << 24, kFirstDynamicSchema = std::uint64_t{1} << 32;

struct PayloadEntry {
    std::uint64_t flags, type;
    const char *name, *description;
    std::uint64_t detail;  ///< length of an array or string, or where it is
    std::uint64_t offset;
    const void *semantics, *reserved;
};
inline constexpr std::uint64_t kSchemaStatic = 1, kSchemaDynamic = 2;
// PayloadSchema::fields
inline constexpr std::uint64_t kSchemaHasType = 1 << 2, kSchemaHasEntries = 1 << 4,
                               kSchemaHasCount = 1 << 5, kSchemaHasSize = 1 << 6,
                               kSchemaHasAlignment = 1 << 7, kSchemaHasId = 1 << 8;
struct PayloadSchema {
    std::uint64_t fields;
    const char* name;
    std::uint64_t type, flags;
    const PayloadEntry* entries;
    std::size_t count, static_size, pack_align;
    std::uint64_t id;
    void* extension;
};

struct PayloadEnumEntry {
    const char* name;
    std::uint64_t value;
    std::int8_t is_flag;
};
// PayloadEnum::fields
inline constexpr std::uint64_t kEnumHasEntries = 1 << 2, kEnumHasCount = 1 << 3,
                               kEnumHasSize = 1 << 4, kEnumHasId = 1 << 5;
struct PayloadEnum {
    std::uint64_t fields;
    const char* name;
    const PayloadEnumEntry* entries;
    std::size_t count, size;
    std::uint64_t id;
    void* extension;
};
static_assert(sizeof(PayloadEntry) == 64 && sizeof(PayloadSchema) == 80 &&
              sizeof(PayloadEnumEntry) == 24 && sizeof(PayloadEnum) == 56 &&
              sizeof(PayloadData) == 24 && sizeof(ExtensionModule) == 40);

}  // namespace gs::inject::nvtx
