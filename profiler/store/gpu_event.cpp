#include "profiler/store/gpu_event.h"

#include <array>

namespace gs {
namespace {

struct Word {
    std::string_view begins;
    ApiKind kind;
};
// Without "cuda" or "cu"; more particular beginnings first.
constexpr auto kWords = std::to_array<Word>({
    {"GraphLaunch", ApiKind::graph_launch},
    {"LaunchHostFunc", ApiKind::other},
    {"Launch", ApiKind::launch},
    {"Memcpy", ApiKind::copy},
    {"MemPrefetch", ApiKind::copy},
    {"Memset", ApiKind::fill},
    {"DeviceSynchronize", ApiKind::synchronize},
    {"CtxSynchronize", ApiKind::synchronize},
    {"StreamSynchronize", ApiKind::synchronize},
    {"EventSynchronize", ApiKind::synchronize},
    {"ThreadSynchronize", ApiKind::synchronize},
    {"Malloc", ApiKind::allocate},
    {"HostAlloc", ApiKind::allocate},
    {"MemHostAlloc", ApiKind::allocate},
    {"MemAlloc", ApiKind::allocate},
    {"MemCreate", ApiKind::allocate},
    {"Free", ApiKind::release},
    {"MemFree", ApiKind::release},
    {"MemRelease", ApiKind::release},
});

}  // namespace

ApiKind api_kind_of(std::string_view call) {
    if (call.starts_with("cuda"))
        call.remove_prefix(4);
    else if (call.starts_with("cu"))
        call.remove_prefix(2);
    else
        return ApiKind::other;
    for (const Word& word : kWords)
        if (call.starts_with(word.begins)) return word.kind;
    return ApiKind::other;
}

std::string_view name_of(MemoryType type) {
    switch (type) {
        case MemoryType::pageable:
            return "pageable";
        case MemoryType::pinned:
            return "pinned";
        case MemoryType::device:
            return "device";
        case MemoryType::array:
            return "array";
        case MemoryType::managed:
            return "managed";
        default:
            return "unknown";
    }
}

std::string_view name_of(OverheadType type) {
    switch (type) {
        case OverheadType::compiler:
            return "compiling";
        case OverheadType::buffer_flush:
            return "handing over records";
        case OverheadType::instrumentation:
            return "instrumentation";
        case OverheadType::resource:
            return "resources";
        case OverheadType::module_load:
            return "loading a module";
        case OverheadType::function_load:
            return "loading a function";
        case OverheadType::command_buffer_full:
            return "command buffer full";
        default:
            return "overhead";
    }
}

std::string work_text(GpuWorkKind kind, MemoryType source, MemoryType target) {
    switch (kind) {
        case GpuWorkKind::copy: {
            if (source == MemoryType::unknown && target == MemoryType::unknown) return "copy";
            return "copy " + std::string(name_of(source)) + " to " + std::string(name_of(target));
        }
        case GpuWorkKind::fill:
            return "fill";
        case GpuWorkKind::graph:
            return "graph";
        default:
            return "kernel";
    }
}

}  // namespace gs
