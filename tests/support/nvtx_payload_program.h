// Scenarios of nvtx_program.cpp for NVTX's payload extension: collectives annotated as in NCCL,
// layouts of every kind, and false layouts and sizes. The data are in our own declarations,
// whose layout is that of the toolkit's headers (tests/unit/inject_headers_test.cpp); the functions
// are the toolkit's where it is, else those of the library.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/inject/nvtx_payload_abi.h"
#ifdef GAUSSCOPE_TOOLKIT_NVTX
#include <nvtx3/nvToolsExtPayload.h>
#endif

namespace payload_program {

namespace abi = gs::inject::nvtx;
using abi::PayloadData, abi::PayloadEntry, abi::PayloadEnum, abi::PayloadEnumEntry,
    abi::PayloadSchema;

#ifdef GAUSSCOPE_TOOLKIT_NVTX
inline std::uint64_t add(nvtxDomainHandle_t domain, const PayloadSchema& schema) {
    return nvtxPayloadSchemaRegister(domain,
                                     reinterpret_cast<const nvtxPayloadSchemaAttr_t*>(&schema));
}
inline std::uint64_t add(nvtxDomainHandle_t domain, const PayloadEnum& e) {
    return nvtxPayloadEnumRegister(domain, reinterpret_cast<const nvtxPayloadEnumAttr_t*>(&e));
}
inline void push(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    nvtxRangePushPayload(domain, reinterpret_cast<const nvtxPayloadData_t*>(data), count);
}
inline void pop(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    nvtxRangePopPayload(domain, reinterpret_cast<const nvtxPayloadData_t*>(data), count);
}
inline void mark(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    nvtxMarkPayload(domain, reinterpret_cast<const nvtxPayloadData_t*>(data), count);
}
inline nvtxRangeId_t start(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    return nvtxRangeStartPayload(domain, reinterpret_cast<const nvtxPayloadData_t*>(data), count);
}
inline void end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
    nvtxRangeEndPayload(domain, id, nullptr, 0);
}
#else
inline std::intptr_t function(std::uint32_t number) {
    static std::intptr_t slots[63] = {};
    static const bool filled = [] {
        abi::ExtensionSegment segment{0, 63, slots};
        abi::ExtensionModule module{3,       sizeof module, abi::kPayloadModule, 0x104, 1, &segment,
                                    nullptr, nullptr};
        void* library = ::dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
        const auto begin = reinterpret_cast<int (*)(abi::ExtensionModule*)>(
            library != nullptr ? ::dlsym(library, "InitializeInjectionNvtxExtension") : nullptr);
        return begin != nullptr && begin(&module) != 0;
    }();
    return filled ? slots[number] : 0;
}
template <class R, class... Args>
R call(std::uint32_t number, R otherwise, Args... args) {
    const std::intptr_t f = function(number);
    return f != 0 ? reinterpret_cast<R (*)(Args...)>(f)(args...) : otherwise;
}
inline std::uint64_t add(nvtxDomainHandle_t domain, const PayloadSchema& schema) {
    return call(abi::kPayloadSchemaRegister, std::uint64_t{0}, domain, &schema);
}
inline std::uint64_t add(nvtxDomainHandle_t domain, const PayloadEnum& e) {
    return call(abi::kPayloadEnumRegister, std::uint64_t{0}, domain, &e);
}
inline void push(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    call(abi::kRangePushPayload, 0, domain, data, count);
}
inline void pop(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    call(abi::kRangePopPayload, 0, domain, data, count);
}
inline void mark(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    if (const std::intptr_t f = function(abi::kMarkPayload))
        reinterpret_cast<void (*)(nvtxDomainHandle_t, const PayloadData*, std::size_t)>(f)(
            domain, data, count);
}
inline nvtxRangeId_t start(nvtxDomainHandle_t domain, const PayloadData* data, std::size_t count) {
    return call(abi::kRangeStartPayload, nvtxRangeId_t{0}, domain, data, count);
}
inline void end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
    if (const std::intptr_t f = function(abi::kRangeEndPayload))
        reinterpret_cast<void (*)(nvtxDomainHandle_t, nvtxRangeId_t, const PayloadData*,
                                  std::size_t)>(f)(domain, id, nullptr, 0);
}
#endif

inline nvtxEventAttributes_t event(const char* text, const PayloadData* data, std::int32_t count) {
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = text;
    e.payloadType = abi::kPayloadExtension;
    e.reserved0 = count;
    e.payload.ullValue = reinterpret_cast<std::uint64_t>(data);
    return e;
}
inline void range(nvtxDomainHandle_t domain, const char* text, const PayloadData& data) {
    const nvtxEventAttributes_t e = event(text, &data, 1);
    nvtxDomainRangePushEx(domain, &e);
    nvtxDomainRangePop(domain);
}

inline PayloadEntry entry(std::uint64_t type, const char* name, std::uint64_t offset = 0,
                          std::uint64_t flags = 0, std::uint64_t detail = 0) {
    return {flags, type, name, nullptr, detail, offset, nullptr, nullptr};
}
template <std::size_t N>
PayloadSchema schema(const PayloadEntry (&entries)[N], std::uint64_t type = abi::kSchemaStatic,
                     std::uint64_t id = 0, std::size_t size = 0) {
    std::uint64_t fields = abi::kSchemaHasType | abi::kSchemaHasEntries | abi::kSchemaHasCount;
    if (id != 0) fields |= abi::kSchemaHasId;
    if (size != 0) fields |= abi::kSchemaHasSize;
    return {fields, "schema", type, 0, entries, N, size, 0, id, nullptr};
}

struct AllReduce {  // NCCL's
    std::uint64_t communicator;
    std::size_t bytes;
    std::int32_t operation;
};
inline constexpr std::uint64_t kAllReduce = abi::kFirstSchema + 5;
inline constexpr PayloadEnumEntry kReductions[] = {{"sum", 0, 0}, {"max", 2, 0}};

inline std::uint64_t add_all_reduce(nvtxDomainHandle_t nccl) {
    const std::uint64_t reductions =
        add(nccl, PayloadEnum{abi::kEnumHasEntries | abi::kEnumHasCount | abi::kEnumHasSize, "op",
                              kReductions, 2, sizeof(std::int32_t), 0, nullptr});
    const PayloadEntry entries[] = {
        entry(abi::kEntryUint64, "NCCL communicator ID"),
        entry(abi::kEntrySize, "Message size [bytes]", offsetof(AllReduce, bytes)),
        entry(reductions, "Reduction operation", offsetof(AllReduce, operation))};
    return add(nccl, schema(entries, abi::kSchemaStatic, kAllReduce, sizeof(AllReduce)));
}

inline void collectives(nvtxDomainHandle_t nccl) {
    add_all_reduce(nccl);
    const AllReduce sum{0xC0FFEE, 1 << 20, 0}, other{0xC0FFEE, 64, 7};
    range(nccl, "ncclAllReduce", {kAllReduce, sizeof sum, &sum});
    range(nccl, "ncclAllReduce", {kAllReduce, ~std::size_t{0}, &other});  // as the schema says
}

/// Structs in structs, arrays, texts, layouts that follow from the data.
inline void layouts(nvtxDomainHandle_t domain) {
    struct Inner {
        std::int16_t x;
        float y;
    };
    struct Outer {
        std::int8_t first;
        Inner inner[2];
        char text[8];
        double last;
    };
    const PayloadEntry inner[] = {entry(abi::kEntryInt16, "x"), entry(abi::kEntryFloat, "y")};
    const std::uint64_t pair = add(domain, schema(inner));
    const PayloadEntry outer[] = {entry(abi::kEntryInt8, "first"),
                                  entry(pair, "inner", 0, abi::kEntryFixedArray, 2),
                                  entry(abi::kEntryStringUtf8, "text", 0, 0, 8),
                                  entry(abi::kEntryDouble, "last", offsetof(Outer, last))};
    const Outer value{-3, {{-1, 0.5f}, {2, 1.5f}}, {'h', 'i', 0, 'x'}, 2.25};
    range(domain, "structs", {add(domain, schema(outer)), sizeof value, &value});

    const PayloadEntry dynamic[] = {entry(abi::kEntryUint32, "count"),
                                    entry(abi::kEntryUint16, "items", 0, abi::kEntryLengthIndex, 0),
                                    entry(abi::kEntryChar, "word", 0, abi::kEntryZeroTerminated),
                                    entry(abi::kEntryUint8, "after")};
    const unsigned char bytes[] = {3, 0, 0, 0, 10, 0, 20, 0, 30, 0, 'o', 'k', 0, 99};
    range(domain, "dynamic",
          {add(domain, schema(dynamic, abi::kSchemaDynamic)), sizeof bytes, bytes});

    const std::int32_t alone = -40;
    range(domain, "alone", {abi::kEntryInt32, sizeof alone, &alone});
    const PayloadEntry named[] = {
        entry(abi::kEntryRegisteredString, nullptr, 0, abi::kEntryMessage),
        entry(abi::kEntryInt, "step")};
    struct Named {
        void* name;
        int step;
    } const mine{nvtxDomainRegisterStringA(domain, "by payload"), 12};
    const PayloadData data{add(domain, schema(named)), sizeof mine, &mine};
    push(domain, &data, 1);
    const nvtxEventAttributes_t plain = event("inside", nullptr, 0);
    nvtxDomainRangePushEx(domain, &plain);
    nvtxDomainRangePop(domain);
    const PayloadData more{abi::kEntryInt32, sizeof alone, &alone};
    pop(domain, &more, 1);
    mark(domain, &data, 1);
    end(domain, start(domain, &data, 1));
}

/// Whatever the layouts say, nothing past the payload's end may be read: what lies there is not
/// mapped.
inline void lies(nvtxDomainHandle_t domain) {
    constexpr std::size_t kPage = 65536;
    auto* pages = static_cast<unsigned char*>(
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(pages + kPage, kPage, PROT_NONE);
    constexpr std::size_t kSize = 12;
    unsigned char* at = pages + kPage - kSize;
    std::memset(at, 0xFF, kSize);
    const auto try_one = [&](const PayloadEntry& e, std::uint64_t type, std::size_t size = 0) {
        for (const PayloadEntry& first : {entry(abi::kEntryUint32, "length"), e}) {
            const PayloadEntry entries[] = {first, e, entry(abi::kEntryUint64, "bytes"), e};
            const std::uint64_t id = add(domain, schema(entries, type, 0, size));
            range(domain, "lie", {id, kSize, at});
            range(domain, "lie", {id, 0, at + kSize});
        }
    };
    constexpr std::uint64_t kHuge = ~std::uint64_t{0};
    const std::uint64_t self = abi::kFirstSchema + 77;
    const PayloadEntry nested[] = {entry(self, "self", 0, abi::kEntryFixedArray, kHuge),
                                   entry(self, "self"), entry(self, "self"), entry(self, "self")};
    add(domain, schema(nested, abi::kSchemaStatic, self));
    const std::uint64_t wide =
        add(domain, PayloadEnum{abi::kEnumHasEntries | abi::kEnumHasCount | abi::kEnumHasSize, "op",
                                kReductions, 2, 4096, 0, nullptr});
    for (const std::uint64_t type : {abi::kSchemaStatic, abi::kSchemaDynamic, std::uint64_t{3}})
        for (const std::uint64_t flags :
             {std::uint64_t{0}, abi::kEntryFixedArray, abi::kEntryZeroTerminated,
              abi::kEntryLengthIndex, std::uint64_t{4} << 4, std::uint64_t{2}, kHuge})
            for (const std::uint64_t what :
                 {std::uint64_t{abi::kEntryUint64}, std::uint64_t{abi::kEntryInt128},
                  std::uint64_t{abi::kEntryString}, std::uint64_t{abi::kEntryChar},
                  std::uint64_t{abi::kEntryRegisteredString}, std::uint64_t{99}, self, wide}) {
                try_one(entry(what, "entry", 0, flags, kHuge), type);
                try_one(entry(what, nullptr, kHuge - 3, flags, 0), type, kHuge - 1);
                try_one(entry(what, "entry", 11, flags, 1), type, 1);
            }
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{5}, abi::kFirstSchema + 999,
                                   abi::kFirstDynamicSchema + 99'999, kHuge, self})
        range(domain, "lie", {id, kSize, at});
    nvtxEventAttributes_t e = event("lie", nullptr, 1);
    nvtxDomainMarkEx(domain, &e);
    e.reserved0 = -1;
    nvtxDomainMarkEx(domain, &e);
    const PayloadData none{abi::kEntryInt32, 4, nullptr};
    push(domain, &none, 1);
    pop(domain, nullptr, 1'000'000);
    mark(domain, nullptr, 3);
    add(domain, PayloadSchema{});
    add(domain, PayloadEnum{});
    const AllReduce good{1, 2, 2};
    add_all_reduce(domain);  // if there is still space
    range(domain, "after the lies", {kAllReduce, sizeof good, &good});
}

}  // namespace payload_program
