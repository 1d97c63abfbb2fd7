#include "profiler/inject/cupti_records.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace gs::inject::cupti {
namespace {

using abi::ActivityKind, abi::MemoryType, abi::OverheadType;

template <class T>
T get(const std::uint8_t* record, std::size_t offset) noexcept {
    T value;
    std::memcpy(&value, record + offset, sizeof value);
    return value;
}
std::uint32_t word(const std::uint8_t* record, std::size_t offset) noexcept {
    return get<std::uint32_t>(record, offset);
}
std::uint64_t wide(const std::uint8_t* record, std::size_t offset) noexcept {
    return get<std::uint64_t>(record, offset);
}

template <class T>
T narrow(std::uint64_t value) noexcept {
    constexpr T kMost = static_cast<T>(~T{0});
    return value > kMost ? kMost : static_cast<T>(value);
}

template <class Detail>
void set_detail(abi::ActivityRecord& out, const Detail& detail) noexcept {
    static_assert(sizeof detail == sizeof out.detail);
    std::memcpy(out.detail, &detail, sizeof detail);
}

/// Fields that most records share. False: CUPTI could not time it (it says so by zeros).
template <class Layout>
bool set_times(abi::ActivityRecord& out, ActivityKind kind, const Layout& l,
               const std::uint8_t* r) noexcept {
    out.kind = static_cast<std::uint8_t>(kind);
    out.begin = wide(r, l.start);
    out.end = wide(r, l.end);
    out.correlation = l.correlation != 0 ? word(r, l.correlation) : 0;
    return out.begin != 0 && out.end >= out.begin;
}
template <class Layout>
void set_place(abi::ActivityRecord& out, const Layout& l, const std::uint8_t* r) noexcept {
    out.device = narrow<std::uint8_t>(word(r, l.device));
    out.stream = word(r, l.stream);
}

MemoryType memory_type(std::uint32_t kind) noexcept {
    if (kind <= 5) return static_cast<MemoryType>(kind);
    return kind == 6 ? MemoryType::device : kind == 7 ? MemoryType::managed : MemoryType::unknown;
}

OverheadType overhead_type(std::uint32_t kind) noexcept {
    if (kind == 1) return OverheadType::compiler;
    constexpr OverheadType kUpper[] = {OverheadType::other,
                                       OverheadType::buffer_flush,
                                       OverheadType::instrumentation,
                                       OverheadType::resource,
                                       OverheadType::module_load,
                                       OverheadType::function_load,
                                       OverheadType::command_buffer_full,
                                       OverheadType::buffer_flush};  // asking for a buffer
    const std::uint32_t upper = kind >> 16;
    return (kind & 0xFFFF) == 0 && upper < std::size(kUpper) ? kUpper[upper] : OverheadType::other;
}

/// 0: host, 1: device (also arrays and managed memory), 2: unknown.
int side_of(MemoryType type) noexcept {
    if (type == MemoryType::unknown) return 2;
    return type == MemoryType::pageable || type == MemoryType::pinned ? 0 : 1;
}

}  // namespace

void RecordConverter::begin(const Layouts& layouts, const Functions& cupti) noexcept {
    constexpr const char* kSides[] = {"host", "device", "?"};
    layouts_ = &layouts;
    calls_.find(cupti);
    char text[] = "copy device to device";
    for (std::size_t from = 0; from < 3; ++from)
        for (std::size_t to = 0; to < 3; ++to) {
            std::strcpy(text, "copy ");
            std::strcat(std::strcat(std::strcat(text, kSides[from]), " to "), kSides[to]);
            copy_names_[from][to] = register_string(from == 2 && to == 2 ? "copy" : text);
        }
    fill_name_ = register_string("fill");
    graph_name_ = register_string("CUDA graph");
    std::fill(std::begin(devices_), std::end(devices_), std::uint8_t{0});
}

std::size_t RecordConverter::bytes_of(std::uint32_t kind) const noexcept {
    switch (kind) {
        case kKernel:
        case kConcurrentKernel:
            return layouts_->kernel.bytes;
        case kMemcpy:
            return layouts_->copy.bytes;
        case kMemcpyPeer:
            return layouts_->peer.bytes;
        case kMemset:
            return layouts_->fill.bytes;
        case kDriver:
        case kRuntime:
            return layouts_->api.bytes;
        case kSynchronization:
            return layouts_->sync.bytes;
        case kOverhead:
            return layouts_->overhead.bytes;
        case kMemory:
            return layouts_->memory.bytes;
        case kGraphTrace:
            return layouts_->graph.bytes;
        default:
            return 0;
    }
}

Conversion RecordConverter::convert(const std::uint8_t* r, std::size_t left,
                                    abi::ActivityRecord& out) noexcept {
    if (layouts_ == nullptr || left < sizeof(std::uint32_t)) return Conversion::damaged;
    const std::uint32_t kind = word(r, 0);
    const std::size_t bytes = bytes_of(kind);
    if (bytes == 0) return kind == 0 ? Conversion::damaged : Conversion::unwanted;
    if (left < bytes) return Conversion::damaged;
    out = {};
    switch (kind) {
        case kMemcpy:
            return copy(layouts_->copy, r, out);
        case kMemcpyPeer:
            return copy(layouts_->peer, r, out);
        case kMemset:
            return fill(r, out);
        case kDriver:
            return api(r, true, out);
        case kRuntime:
            return api(r, false, out);
        case kSynchronization:
            return synchronization(r, out);
        case kOverhead:
            return overhead(r, out);
        case kMemory:
            return memory(r, out);
        case kGraphTrace:
            return graph(r, out);
        default:
            return kernel(r, out);
    }
}

Conversion RecordConverter::kernel(const std::uint8_t* r, abi::ActivityRecord& out) noexcept {
    const KernelLayout& l = layouts_->kernel;
    if (!set_times(out, ActivityKind::kernel, l, r)) return Conversion::damaged;
    set_place(out, l, r);
    const std::uint32_t context = word(r, l.context);
    learn_context(context, out.device);
    out.name = kernel_name(std::bit_cast<const char*>(wide(r, l.name)));
    abi::KernelDetail d{};
    d.grid_x = word(r, l.grid);
    d.grid_y = narrow<std::uint16_t>(word(r, l.grid + 4u));
    d.grid_z = narrow<std::uint16_t>(word(r, l.grid + 8u));
    d.block_x = narrow<std::uint16_t>(word(r, l.block));
    d.block_y = narrow<std::uint16_t>(word(r, l.block + 4u));
    d.block_z = narrow<std::uint16_t>(word(r, l.block + 8u));
    d.registers = get<std::uint16_t>(r, l.registers);
    d.static_shared = word(r, l.static_shared);
    d.dynamic_shared = word(r, l.dynamic_shared);
    d.graph = word(r, l.graph);
    d.context = narrow<std::uint16_t>(context);
    d.local_per_thread = narrow<std::uint16_t>(word(r, l.local_per_thread));
    set_detail(out, d);
    return Conversion::converted;
}

Conversion RecordConverter::copy(const CopyLayout& l, const std::uint8_t* r,
                                 abi::ActivityRecord& out) noexcept {
    if (!set_times(out, ActivityKind::copy, l, r)) return Conversion::damaged;
    set_place(out, l, r);
    const std::uint32_t context = word(r, l.context);
    learn_context(context, out.device);
    const MemoryType source = memory_type(r[l.source]), target = memory_type(r[l.target]);
    out.flags = (r[l.flags] & 1) != 0 ? abi::kAsynchronous : std::uint16_t{0};
    out.name = copy_name(source, target);
    abi::CopyDetail d{};
    d.bytes = wide(r, l.size);
    d.source = static_cast<std::uint8_t>(source);
    d.target = static_cast<std::uint8_t>(target);
    d.context = narrow<std::uint16_t>(context);
    d.graph = word(r, l.graph);
    set_detail(out, d);
    return Conversion::converted;
}

Conversion RecordConverter::fill(const std::uint8_t* r, abi::ActivityRecord& out) noexcept {
    const FillLayout& l = layouts_->fill;
    if (!set_times(out, ActivityKind::fill, l, r)) return Conversion::damaged;
    set_place(out, l, r);
    out.flags = (get<std::uint16_t>(r, l.flags) & 1) != 0 ? abi::kAsynchronous : std::uint16_t{0};
    out.name = fill_name_;
    abi::CopyDetail d{};
    d.bytes = wide(r, l.size);
    d.target = static_cast<std::uint8_t>(memory_type(get<std::uint16_t>(r, l.memory)));
    d.context = narrow<std::uint16_t>(word(r, l.context));
    d.graph = word(r, l.graph);
    set_detail(out, d);
    return Conversion::converted;
}

Conversion RecordConverter::api(const std::uint8_t* r, bool driver,
                                abi::ActivityRecord& out) noexcept {
    const ApiLayout& l = layouts_->api;
    const std::uint32_t cbid = word(r, l.cbid);
    if (!set_times(out, ActivityKind::api, l, r)) return Conversion::damaged;
    out.name = calls_.name_of(driver, cbid);
    if (out.name == 0) return Conversion::unwanted;
    out.stream = word(r, l.thread);
    out.flags = driver ? abi::kDriverApi : std::uint16_t{0};
    set_detail(out, abi::ApiDetail{word(r, l.result), cbid, {}});
    return Conversion::converted;
}

Conversion RecordConverter::synchronization(const std::uint8_t* r,
                                            abi::ActivityRecord& out) noexcept {
    const SyncLayout& l = layouts_->sync;
    if (!set_times(out, ActivityKind::synchronization, l, r)) return Conversion::damaged;
    const std::uint32_t type = word(r, l.type), stream = word(r, l.stream),
                        event = word(r, l.event);
    abi::SyncDetail d{};
    d.type = type <= static_cast<std::uint32_t>(abi::SyncType::context) ? type : 0;
    d.context = word(r, l.context);
    d.event = event == kNoStream ? 0 : event;
    out.device = device_of_context(d.context);
    out.stream = stream == kNoStream ? 0 : stream;
    set_detail(out, d);
    return Conversion::converted;
}

Conversion RecordConverter::overhead(const std::uint8_t* r, abi::ActivityRecord& out) noexcept {
    const OverheadLayout& l = layouts_->overhead;
    if (!set_times(out, ActivityKind::overhead, l, r)) return Conversion::damaged;
    out.stream = word(r, l.object_kind) == kObjectThread ? word(r, l.thread) : 0;
    set_detail(out, abi::OverheadDetail{
                        static_cast<std::uint32_t>(overhead_type(word(r, l.type))), 0, {}});
    return Conversion::converted;
}

Conversion RecordConverter::memory(const std::uint8_t* r, abi::ActivityRecord& out) noexcept {
    const MemoryLayout& l = layouts_->memory;
    out.kind = static_cast<std::uint8_t>(ActivityKind::memory);
    out.begin = out.end = wide(r, l.time);
    if (out.begin == 0) return Conversion::damaged;
    out.correlation = word(r, l.correlation);
    set_place(out, l, r);
    out.flags = word(r, l.operation) == kMemoryRelease ? abi::kReleases : std::uint16_t{0};
    abi::MemoryDetail d{};
    d.bytes = wide(r, l.size);
    d.address = wide(r, l.address);
    d.type = static_cast<std::uint8_t>(memory_type(word(r, l.memory)));
    set_detail(out, d);
    return Conversion::converted;
}

Conversion RecordConverter::graph(const std::uint8_t* r, abi::ActivityRecord& out) noexcept {
    const GraphLayout& l = layouts_->graph;
    if (!set_times(out, ActivityKind::graph, l, r)) return Conversion::damaged;
    set_place(out, l, r);
    out.name = graph_name_;
    abi::KernelDetail d{};
    d.graph = word(r, l.graph);
    d.context = narrow<std::uint16_t>(word(r, l.context));
    set_detail(out, d);
    return Conversion::converted;
}

StringId RecordConverter::copy_name(MemoryType source, MemoryType target) noexcept {
    return copy_names_[side_of(source)][side_of(target)];
}

std::uint8_t RecordConverter::device_of_context(std::uint32_t context) const noexcept {
    return context < std::size(devices_) && devices_[context] != 0
               ? static_cast<std::uint8_t>(devices_[context] - 1)
               : std::uint8_t{0};
}

void RecordConverter::learn_context(std::uint32_t context, std::uint8_t device) noexcept {
    if (context < std::size(devices_) && device < 255)
        devices_[context] = static_cast<std::uint8_t>(device + 1);
}

}  // namespace gs::inject::cupti
