// Another vendor's NVTX tool, for the tests of chaining: writes a line per call to the file
// NVTX_TOOL_LOG names. Its handles are small numbers, so a handle that is not its own is detected
// at once.
#include <cstdio>
#include <cstdlib>

#include "profiler/inject/nvtx_abi.h"

namespace {

using namespace gs::inject::nvtx;

std::FILE* file = nullptr;
std::uintptr_t handles = 0;
int level = 0;

const char* text_of(const EventAttributes* e) {
    static char text[64];
    if (e->message_type == kMessageAscii) return e->message.ascii;
    std::snprintf(text, sizeof text, "#%zu",
                  reinterpret_cast<std::uintptr_t>(e->message.registered));
    return text;
}
std::size_t number(void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

int on_push_a(const char* text) {
    std::fprintf(file, "push %s\n", text);
    return level++;
}
int on_pop() {
    std::fprintf(file, "pop\n");
    return --level;
}
RangeId on_start_a(const char* text) {
    std::fprintf(file, "start %s\n", text);
    return 4711;
}
void on_end(RangeId id) { std::fprintf(file, "end %llu\n", static_cast<unsigned long long>(id)); }
Domain on_domain(const char* name) {
    std::fprintf(file, "domain %s = %zu\n", name, ++handles);
    return reinterpret_cast<Domain>(handles);
}
void on_destroy(Domain domain) { std::fprintf(file, "destroy %zu\n", number(domain)); }
String on_string(Domain domain, const char* text) {
    std::fprintf(file, "string %zu %s = %zu\n", number(domain), text, ++handles);
    return reinterpret_cast<String>(handles);
}
int on_domain_push(Domain domain, const EventAttributes* e) {
    std::fprintf(file, "push in %zu %s\n", number(domain), text_of(e));
    return level++;
}
int on_domain_pop(Domain domain) {
    std::fprintf(file, "pop in %zu\n", number(domain));
    return --level;
}

template <class F>
void hook(FunctionTable table, std::uint32_t id, F* function) {
    *table[id] = reinterpret_cast<Function>(function);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(GetExportTable get_table) {
    const char* path = std::getenv("NVTX_TOOL_LOG");
    file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr) return 0;
    std::setvbuf(file, nullptr, _IOLBF, 0);
    const auto* callbacks = static_cast<const Callbacks*>(get_table(gs::inject::nvtx::kCallbacks));
    FunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks->get_module_function_table(kCore, &table, &size) == 0) return 0;
    hook(table, kRangePushA, on_push_a);
    hook(table, kRangePop, on_pop);
    hook(table, kRangeStartA, on_start_a);
    hook(table, kRangeEnd, on_end);
    if (callbacks->get_module_function_table(kCore2, &table, &size) == 0) return 0;
    hook(table, kDomainCreateA, on_domain);
    hook(table, kDomainDestroy, on_destroy);
    hook(table, kDomainRegisterStringA, on_string);
    hook(table, kDomainRangePushEx, on_domain_push);
    hook(table, kDomainRangePop, on_domain_pop);
    return 1;
}
