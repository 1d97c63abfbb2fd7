#include "base/record/nvtx.h"

#include <atomic>

#include "base/record/scope.h"
#include "base/record/strings.h"

#ifdef GAUSSCOPE_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

namespace gs::detail {
namespace {

constinit nvtxDomainHandle_t domain = nullptr;
// Tools take a registered string as a pointer: no copying and hashing per range. Two threads may
// both register a name once.
constinit std::atomic<nvtxStringHandle_t> handles[StringTable::kMaxStrings + 1] = {};

nvtxStringHandle_t handle_of(StringId name) {
    if (name > StringTable::kMaxStrings) name = 0;
    nvtxStringHandle_t handle = handles[name].load(std::memory_order_acquire);
    if (handle != nullptr) return handle;
    char text[abi::kMaxStringBytes + 1];
    string_table.copy_text(name, text);
    handle = nvtxDomainRegisterStringA(domain, text[0] != '\0' ? text : "?");
    handles[name].store(handle, std::memory_order_release);
    return handle;
}

}  // namespace

bool nvtx_listens() noexcept {
    if (domain == nullptr)
        domain = nvtxDomainCreateA("gausscope");  // null when no tool is attached
    return domain != nullptr;
}

void nvtx_push(StringId name, std::uint64_t payload, bool has_payload) noexcept {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = handle_of(name);
    if (has_payload) {
        event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        event.payload.ullValue = payload;
    }
    nvtxDomainRangePushEx(domain, &event);
}

void nvtx_pop() noexcept { nvtxDomainRangePop(domain); }

}  // namespace gs::detail

#else

namespace gs::detail {

bool nvtx_listens() noexcept { return false; }
void nvtx_push(StringId, std::uint64_t, bool) noexcept {}
void nvtx_pop() noexcept {}

}  // namespace gs::detail

#endif
