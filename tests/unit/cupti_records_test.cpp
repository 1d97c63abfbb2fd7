// The parts of CUPTI's use that need no process: records of every generation and damaged ones,
// names, buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/record/ring.h"
#include "profiler/inject/cupti_buffers.h"
#include "profiler/inject/cupti_names.h"
#include "profiler/inject/cupti_records.h"
#include "tests/support/mock_cuda/mock_cupti_records.h"

namespace gs::inject::cupti {
namespace {

namespace rec = mock::records;
using abi::ActivityKind;

/// A CUPTI that knows the names of two calls.
Result name_of(int domain, std::uint32_t cbid, const char** name) {
    *name = domain == kRuntimeDomain && cbid == 211  ? "cudaLaunchKernel_v7000"
            : domain == kDriverDomain && cbid == 307 ? "cuLaunchKernel"
            : domain == kRuntimeDomain && cbid == 10 ? "cudaGetLastError_v3020"
                                                     : nullptr;
    return *name != nullptr ? kSuccess : 1;
}

const Functions& functions() {
    static const Functions f = [] {
        Functions made{};
        made.GetCallbackName = name_of;
        return made;
    }();
    return f;
}

std::unique_ptr<RecordConverter> converter(std::uint32_t version) {
    auto made = std::make_unique<RecordConverter>();
    made->begin(*layouts_of(version), functions());
    return made;
}

template <class Record>
Conversion convert(RecordConverter& c, const Record& record, abi::ActivityRecord& out,
                   std::size_t left = sizeof(Record)) {
    // Exactly `left` bytes, so that a sanitizer sees every step beyond.
    const std::vector<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(&record),
                                          reinterpret_cast<const std::uint8_t*>(&record) + left);
    return c.convert(bytes.data(), left, out);
}

template <class Detail>
Detail detail_of(const abi::ActivityRecord& r) {
    Detail d;
    std::memcpy(&d, r.detail, sizeof d);
    return d;
}

rec::Kernel9 a_kernel() {
    rec::Kernel9 k{};
    k.kind = kConcurrentKernel;
    k.registers = 96;
    k.start = 1000, k.end = 5000;
    k.device = 3, k.context = 2, k.stream = 17;
    k.grid[0] = 70000, k.grid[1] = 3, k.grid[2] = 2;
    k.block[0] = 32, k.block[1] = 8, k.block[2] = 1;
    k.static_shared = 4096, k.dynamic_shared = 99000;
    k.local_per_thread = 70000;
    k.correlation = 4711;
    k.name = "_Z5blendPKfPf";
    k.graph = 9;
    return k;
}

void expect_kernel(const abi::ActivityRecord& r) {
    const auto d = detail_of<abi::KernelDetail>(r);
    EXPECT_EQ(r.kind, static_cast<std::uint8_t>(ActivityKind::kernel));
    EXPECT_EQ(r.begin, 1000u);
    EXPECT_EQ(r.end, 5000u);
    EXPECT_EQ(r.correlation, 4711u);
    EXPECT_EQ(r.device, 3);
    EXPECT_EQ(r.stream, 17u);
    EXPECT_EQ(r.name, register_string("blend"));
    EXPECT_EQ(d.grid_x, 70000u);
    EXPECT_EQ(d.grid_y, 3);
    EXPECT_EQ(d.block_x, 32);
    EXPECT_EQ(d.block_y, 8);
    EXPECT_EQ(d.registers, 96);
    EXPECT_EQ(d.static_shared, 4096u);
    EXPECT_EQ(d.dynamic_shared, 99000u);
    EXPECT_EQ(d.local_per_thread, 65535);  // that many or more
    EXPECT_EQ(d.graph, 9u);
    EXPECT_EQ(d.context, 2);
}

TEST(CuptiRecords, KernelsOfBothGenerations) {
    abi::ActivityRecord out;
    const rec::Kernel9 k9 = a_kernel();
    ASSERT_EQ(convert(*converter(20), k9, out), Conversion::converted);
    expect_kernel(out);
    rec::Kernel10 k10{};
    k10.base = k9;
    ASSERT_EQ(convert(*converter(130001), k10, out), Conversion::converted);
    expect_kernel(out);
    // A CUPTI newer than any we know is read as the newest.
    ASSERT_EQ(convert(*converter(140000), k10, out), Conversion::converted);
    expect_kernel(out);
    // A record of 12.x is no whole record of 13.x.
    EXPECT_EQ(convert(*converter(130001), k9, out), Conversion::damaged);
    EXPECT_EQ(layouts_of(17), nullptr);
}

TEST(CuptiRecords, CopiesAndFills) {
    rec::Memcpy5 m{};
    m.kind = kMemcpy;
    m.source = 2, m.target = 3, m.flags = 1;
    m.bytes = 1u << 30;
    m.start = 10, m.end = 20;
    m.stream = 5, m.context = 1, m.device = 1;
    m.correlation = 8;
    abi::ActivityRecord out;
    ASSERT_EQ(convert(*converter(24), m, out), Conversion::converted);
    const auto d = detail_of<abi::CopyDetail>(out);
    EXPECT_EQ(out.name, register_string("copy host to device"));
    EXPECT_EQ(out.flags, abi::kAsynchronous);
    EXPECT_EQ(d.bytes, 1u << 30);
    EXPECT_EQ(d.source, static_cast<std::uint8_t>(abi::MemoryType::pinned));
    EXPECT_EQ(d.target, static_cast<std::uint8_t>(abi::MemoryType::device));
    m.target = 7, m.source = 200, m.flags = 0;
    ASSERT_EQ(convert(*converter(24), m, out), Conversion::converted);
    EXPECT_EQ(detail_of<abi::CopyDetail>(out).target,
              static_cast<std::uint8_t>(abi::MemoryType::managed));
    EXPECT_EQ(detail_of<abi::CopyDetail>(out).source,
              static_cast<std::uint8_t>(abi::MemoryType::unknown));
    EXPECT_EQ(out.flags, 0);

    rec::MemcpyPeer4 p{};
    p.kind = kMemcpyPeer;
    p.source = p.target = 3;
    p.start = 10, p.end = 20, p.correlation = 77, p.bytes = 64;
    ASSERT_EQ(convert(*converter(24), p, out), Conversion::converted);
    EXPECT_EQ(out.correlation, 77u);
    EXPECT_EQ(out.name, register_string("copy device to device"));

    rec::Memset4 s{};
    s.kind = kMemset;
    s.start = 10, s.end = 20, s.bytes = 256, s.memory = 3, s.flags = 1;
    ASSERT_EQ(convert(*converter(130000), s, out), Conversion::converted);
    EXPECT_EQ(out.kind, static_cast<std::uint8_t>(ActivityKind::fill));
    EXPECT_EQ(detail_of<abi::CopyDetail>(out).bytes, 256u);
}

TEST(CuptiRecords, CallsWaitsOverheadsMemory) {
    abi::ActivityRecord out;
    auto c = converter(130001);
    rec::Api call{kRuntime, 211, 10, 20, 1, 4242, 5, 2};
    ASSERT_EQ(convert(*c, call, out), Conversion::converted);
    EXPECT_EQ(out.stream, 4242u);
    EXPECT_EQ(out.name, register_string("cudaLaunchKernel"));
    EXPECT_EQ(detail_of<abi::ApiDetail>(out).result, 2u);
    EXPECT_EQ(out.flags, 0);
    call.kind = kDriver, call.cbid = 307;
    ASSERT_EQ(convert(*c, call, out), Conversion::converted);
    EXPECT_EQ(out.flags, abi::kDriverApi);
    call.kind = kRuntime, call.cbid = 10;
    EXPECT_EQ(convert(*c, call, out), Conversion::unwanted);
    call.cbid = ~0u;
    EXPECT_EQ(convert(*c, call, out), Conversion::unwanted);

    // A wait names only its context; earlier kernel records say which device that is on.
    rec::Kernel10 k{};
    k.base = a_kernel();
    ASSERT_EQ(convert(*c, k, out), Conversion::converted);
    rec::Synchronization2 sync{};
    sync.base = {kSynchronization, 3, 10, 20, 6, 2, 17, kNoStream};
    ASSERT_EQ(convert(*c, sync, out), Conversion::converted);
    EXPECT_EQ(out.device, 3);
    EXPECT_EQ(detail_of<abi::SyncDetail>(out).type,
              static_cast<std::uint32_t>(abi::SyncType::stream));
    EXPECT_EQ(detail_of<abi::SyncDetail>(out).event, 0u);
    ASSERT_EQ(convert(*converter(24), sync.base, out), Conversion::converted);

    rec::Overhead3 o{};
    o.base = {kOverhead, 5u << 16, kObjectThread, 1, 777, 0, 10, 20, 0, 0};
    ASSERT_EQ(convert(*c, o, out), Conversion::converted);
    EXPECT_EQ(out.stream, 777u);
    EXPECT_EQ(detail_of<abi::OverheadDetail>(out).type,
              static_cast<std::uint32_t>(abi::OverheadType::function_load));
    o.base.type = 77u << 16;
    ASSERT_EQ(convert(*c, o, out), Conversion::converted);
    EXPECT_EQ(detail_of<abi::OverheadDetail>(out).type,
              static_cast<std::uint32_t>(abi::OverheadType::other));

    rec::Memory4 m{};
    m.base.kind = kMemory, m.base.operation = 2, m.base.memory = 3;
    m.base.bytes = 512, m.base.address = 0x7000, m.base.timestamp = 99;
    ASSERT_EQ(convert(*c, m, out), Conversion::converted);
    EXPECT_EQ(out.begin, 99u);
    EXPECT_EQ(out.flags, abi::kReleases);
    EXPECT_EQ(detail_of<abi::MemoryDetail>(out).address, 0x7000u);
}

TEST(CuptiRecords, DamagedOnesAreRefused) {
    auto c = converter(130001);
    abi::ActivityRecord out;
    rec::Kernel10 k{};
    k.base = a_kernel();
    for (std::size_t left = 0; left < sizeof k; ++left)
        EXPECT_EQ(convert(*c, k, out, left), Conversion::damaged) << left;
    k.base.end = k.base.start - 1;
    EXPECT_EQ(convert(*c, k, out), Conversion::damaged);
    k.base.start = k.base.end = 0;
    EXPECT_EQ(convert(*c, k, out), Conversion::damaged);
    k.base = a_kernel();
    k.base.name = nullptr;
    ASSERT_EQ(convert(*c, k, out), Conversion::converted);
    EXPECT_EQ(out.name, 0u);
    k.base.kind = 0;
    EXPECT_EQ(convert(*c, k, out), Conversion::damaged);
    k.base.kind = 12345;
    EXPECT_EQ(convert(*c, k, out), Conversion::unwanted);
}

// Whatever the bytes are, as long as a kernel's name is one or null.
TEST(CuptiRecords, AnyBytes) {
    std::mt19937 random(3);
    const std::uint32_t kinds[] = {1, 2, 3, 4, 5, 10, 17, 22, 38, 49, 51, 0, 99};
    for (const std::uint32_t version : {18u, 19u, 20u, 26u, 130000u}) {
        auto c = converter(version);
        for (int i = 0; i < 20000; ++i) {
            std::vector<std::uint8_t> bytes(random() % 240);
            for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
            const std::uint32_t kind = kinds[random() % std::size(kinds)];
            if (bytes.size() >= 4) std::memcpy(bytes.data(), &kind, 4);
            const bool has_name = (kind == 3 || kind == 10) && bytes.size() >= 112;
            if (has_name) std::memset(bytes.data() + 104, 0, 8);
            abi::ActivityRecord out;
            if (c->convert(bytes.data(), bytes.size(), out) != Conversion::converted) continue;
            EXPECT_GE(out.end, out.begin);
            EXPECT_NE(out.kind, 0);
            EXPECT_LE(out.kind, static_cast<std::uint8_t>(ActivityKind::memory));
        }
    }
}

// ---- names ----

std::string readable(const std::string& symbol, std::size_t room = abi::kMaxStringBytes + 1) {
    std::string out(room, '?');
    readable_kernel_name(symbol.c_str(), out.data(), room);
    return out.c_str();
}

TEST(CuptiNames, WhatAKernelIsCalled) {
    EXPECT_EQ(readable("_Z5blendPKfPf"), "blend");
    EXPECT_EQ(readable("plain_c_kernel"), "plain_c_kernel");
    EXPECT_EQ(readable("_ZN6gsplat11adam_kernelIfEEvjPT_"), "gsplat::adam_kernel<float>");
    EXPECT_EQ(readable("_ZN12_GLOBAL__N_16kernelEv"), "(anonymous namespace)::kernel");
    EXPECT_EQ(readable("_ZN12_GLOBAL__N_16kernelIiEEvT_"), "(anonymous namespace)::kernel<int>");
    EXPECT_EQ(readable("_Z1fIFvifEEvv"), "f<void (int, float)>");
    EXPECT_EQ(readable(""), "");
    EXPECT_EQ(readable("_Znonsense"), "_Znonsense");
}

TEST(CuptiNames, TooLongNamesKeepTheirIdentifier) {
    std::string deep = "_ZN3cub6kernelI";
    for (int i = 0; i < 20; ++i) deep += "N6thrust6detail11policy_typeI";
    deep += "i";
    for (int i = 0; i < 20; ++i) deep += "EE";
    deep += "EEvv";
    const std::string text = readable(deep);
    EXPECT_LE(text.size(), abi::kMaxStringBytes);
    EXPECT_TRUE(text.starts_with("cub::kernel<thrust::detail::policy_type<")) << text;
    EXPECT_NE(text.find(".."), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(">")) << text;  // brackets stay balanced
    EXPECT_EQ(std::count(text.begin(), text.end(), '<'), std::count(text.begin(), text.end(), '>'));
    const std::string flat = readable(std::string(1000, 'x'));
    EXPECT_EQ(flat, std::string(abi::kMaxStringBytes, 'x'));
    EXPECT_EQ(readable(std::string(20000, 'y')).substr(0, 3), "yyy");
}

TEST(CuptiNames, OneIdForOneName) {
    const StringId id = kernel_name("_Z5blendPKfPf");
    EXPECT_NE(id, 0u);
    // CUPTI may give the same name at another place, and another name at the same place.
    char place[64] = "_Z5blendPKfPf";
    EXPECT_EQ(kernel_name(place), id);
    std::strcpy(place, "_Z4sortPj");
    EXPECT_NE(kernel_name(place), id);
    EXPECT_EQ(kernel_name(nullptr), 0u);
    std::set<StringId> ids;
    for (int i = 0; i < 6000; ++i) ids.insert(kernel_name(("kernel_" + std::to_string(i)).c_str()));
    EXPECT_EQ(kernel_name("kernel_5"), *std::next(ids.begin(), 5));
}

TEST(CuptiNames, CallsWorthARecord) {
    const auto name = [](const char* full) { return std::string(ApiCalls::recorded_name(full)); };
    EXPECT_EQ(name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
    EXPECT_EQ(name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
    EXPECT_EQ(name("__cudaLaunchKernel_v13000"), "cudaLaunchKernel");
    EXPECT_EQ(name("cuLaunchKernelEx_ptsz"), "cuLaunchKernelEx");
    EXPECT_EQ(name("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
    EXPECT_EQ(name("cudaStreamSynchronize_v3020"), "cudaStreamSynchronize");
    EXPECT_EQ(name("cuMemFree_v2"), "cuMemFree_v2");
    EXPECT_EQ(name("cudaMallocAsync_v11020"), "cudaMallocAsync");
    EXPECT_EQ(name("cudaGraphLaunch_v10000"), "cudaGraphLaunch");
    EXPECT_EQ(name("cuLibraryLoadData"), "cuLibraryLoadData");
    for (const char* other :
         {"cudaGetLastError_v3020", "cuCtxGetCurrent", "cudaGraphAddMemcpyNode_v10000",
          "cudaEventRecord_v3020", "cudaLaunchHostFunc_v10000", "cudaFuncGetAttributes_v3020",
          "cuMemGetInfo_v2", "nonsense", ""})
        EXPECT_EQ(name(other), "") << other;
}

// ---- buffers ----

TEST(CuptiBuffers, NoMoreThanThereAre) {
    auto pool = std::make_unique<BufferPool>();
    EXPECT_EQ(pool->take(5, 10), nullptr);  // nothing before it is asked for
    EXPECT_EQ(pool->oldest_out(7), 7u);
    ASSERT_TRUE(pool->prepare());
    std::vector<std::uint8_t*> out;
    while (std::uint8_t* buffer = pool->take(5, 10)) out.push_back(buffer);
    EXPECT_EQ(out.size(), BufferPool::kBuffers);
    EXPECT_EQ(pool->records_out(), 10 * BufferPool::kBuffers);
    EXPECT_EQ(std::set<std::uint8_t*>(out.begin(), out.end()).size(), out.size());
    std::size_t valid = 0;
    EXPECT_EQ(pool->next_full(valid), nullptr);
    EXPECT_TRUE(pool->complete(out[5], 1000));
    EXPECT_FALSE(pool->complete(out[5], 1000));  // twice
    EXPECT_FALSE(pool->complete(out[5] + 8, 1000));
    EXPECT_FALSE(pool->complete(nullptr, 1000));
    EXPECT_EQ(pool->next_full(valid), out[5]);
    EXPECT_EQ(valid, 1000u);
    EXPECT_EQ(pool->take(5, 10), nullptr);  // still being read
    pool->free(out[5]);
    EXPECT_EQ(pool->take(5, 10), out[5]);
    EXPECT_TRUE(pool->complete(out[7], ~std::size_t{0}));
    EXPECT_EQ(pool->next_full(valid), out[7]);
    EXPECT_EQ(valid, BufferPool::kBytes);  // never more than there is
    pool->recall();
    std::size_t free = 0;
    while (pool->take(5, 10) != nullptr) ++free;
    EXPECT_EQ(free, BufferPool::kBuffers - 1);  // all but the one that is being read
}

}  // namespace
}  // namespace gs::inject::cupti
