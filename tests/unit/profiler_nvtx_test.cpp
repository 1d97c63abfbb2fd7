// A tool attached to NVTX sees every span as a range of the domain "gausscope". The tool is this
// test: NVTX, being header-only, asks for an initialiser of this name before it looks for a library
// to load.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

#include "base/record/scope.h"

namespace {

struct Seen {
    std::string domain;
    std::vector<std::string> strings;  // a handle is an index + 1
    std::vector<std::string> events;   // "push blend 3", "pop"
};
Seen seen;

nvtxDomainHandle_t on_domain(const char* name) {
    seen.domain = name;
    return reinterpret_cast<nvtxDomainHandle_t>(&seen);
}
nvtxStringHandle_t on_string(nvtxDomainHandle_t, const char* text) {
    seen.strings.emplace_back(text);
    return reinterpret_cast<nvtxStringHandle_t>(seen.strings.size());
}
int on_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    EXPECT_EQ(domain, reinterpret_cast<nvtxDomainHandle_t>(&seen));
    std::string text =
        "push " + seen.strings.at(reinterpret_cast<std::size_t>(event->message.registered) - 1);
    if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
        text += " " + std::to_string(event->payload.ullValue);
    seen.events.push_back(text);
    return 0;
}
int on_pop(nvtxDomainHandle_t) {
    seen.events.emplace_back("pop");
    return 0;
}

template <class F>
void hook(NvtxFunctionTable table, std::size_t id, F function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

int attach_tool(NvtxGetExportTableFunc_t get_table) {
    const auto* callbacks =
        static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks == nullptr ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
        return 0;
    hook(table, NVTX_CBID_CORE2_DomainCreateA, on_domain);
    hook(table, NVTX_CBID_CORE2_DomainRegisterStringA, on_string);
    hook(table, NVTX_CBID_CORE2_DomainRangePushEx, on_push);
    hook(table, NVTX_CBID_CORE2_DomainRangePop, on_pop);
    return 1;
}

}  // namespace

namespace gs {
namespace {

TEST(Nvtx, SpansAreRangesOfTheSameNameAndPayload) {
    InitializeInjectionNvtx2_fnptr = attach_tool;
    ASSERT_TRUE(start_recording());
    ASSERT_EQ(seen.domain, "gausscope");
    {
        const Span outer(Stage::iteration, 3);
        const Span inner(Stage::blend);
    }
    { const Span again(Stage::blend); }
    const std::vector<std::string> expected{"push iteration 3", "push blend", "pop", "pop",
                                            "push blend",       "pop"};
    EXPECT_EQ(seen.events, expected);
    EXPECT_EQ(seen.strings.size(), 2u);
    set_recording(false);
    { const Span off(Stage::adam); }
    EXPECT_EQ(seen.events, expected);
}

}  // namespace
}  // namespace gs
