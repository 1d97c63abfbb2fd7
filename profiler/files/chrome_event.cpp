#include "profiler/files/chrome_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "profiler/files/import_events.h"

namespace gs::chrome {
namespace {

MemoryType memory_type_in(std::string_view text) {
    constexpr std::pair<std::string_view, MemoryType> kWords[] = {{"ageable", MemoryType::pageable},
                                                                  {"inned", MemoryType::pinned},
                                                                  {"evice", MemoryType::device},
                                                                  {"rray", MemoryType::array},
                                                                  {"anaged", MemoryType::managed}};
    for (const auto& [word, type] : kWords)
        if (text.find(word) != text.npos) return type;
    return MemoryType::unknown;
}

/// "Memcpy HtoD (Pageable -> Device)": what torch and CUPTI call the ends of a copy.
void take_ends(std::string_view name, GpuWorkEvent& work) {
    const std::size_t open = name.find('('), arrow = name.find("->"), to = name.find(" to ");
    if (open != name.npos && arrow != name.npos && open < arrow) {
        work.source = memory_type_in(name.substr(open, arrow - open));
        work.target = memory_type_in(name.substr(arrow));
    } else if (name.starts_with("copy ") && to != name.npos) {  // our own words
        work.source = memory_type_in(name.substr(0, to));
        work.target = memory_type_in(name.substr(to));
    }
}

}  // namespace

std::uint64_t JsonEvent::number(std::string_view wanted) const {
    const auto found = std::find_if(numbers.begin(), numbers.end(),
                                    [&](const auto& n) { return n.first == wanted; });
    const double value = found == numbers.end() ? 0 : found->second;
    return value >= 0 && value < 1.8e19 ? static_cast<std::uint64_t>(value) : 0;
}

std::uint32_t JsonEvent::small(std::string_view wanted) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(wanted), ~0u));
}

std::optional<std::int64_t> nanoseconds(const Scalar& us) {
    const char *at = us.text.data(), *const stop = at + us.text.size();
    std::int64_t whole = 0;
    const bool negative = at != stop && *at == '-';
    const auto [rest, error] = std::from_chars(at, stop, whole);
    std::int64_t part = 0;
    const char* digit = rest;
    if (digit != stop && *digit == '.') {
        std::int64_t place = 100;
        for (++digit; digit != stop && *digit >= '0' && *digit <= '9'; ++digit, place /= 10)
            part += place * (*digit - '0');
    }
    if (error != std::errc() || digit != stop) {  // with an exponent, or no number
        double value = us.number;
        if (!us.is_number && std::from_chars(at, stop, value).ec != std::errc())
            return std::nullopt;
        value *= 1000;
        if (!(std::abs(value) < static_cast<double>(kMaxImportTime))) return std::nullopt;
        return static_cast<std::int64_t>(std::llround(value));
    }
    if (std::abs(static_cast<double>(whole)) * 1000 >= static_cast<double>(kMaxImportTime))
        return std::nullopt;
    return whole * 1000 + (negative ? -part : part);
}

std::string time_fault(const std::optional<Scalar>& us, const char* field, bool negative) {
    if (!us) return fmt::format("events without {}", field);
    double number = us->number;
    if (!us->is_number) {
        const char* const stop = us->text.data() + us->text.size();
        const auto read = std::from_chars(us->text.data(), stop, number);
        if (us->text.empty() || read.ec == std::errc::invalid_argument || read.ptr != stop)
            return fmt::format("events whose {} is not numeric", field);
    }
    if (std::isnan(number)) return fmt::format("events whose {} is not a number (NaN)", field);
    if (number < 0 && !negative) return fmt::format("events whose {} is negative", field);
    if (!nanoseconds(*us)) return fmt::format("events whose {} is too large for a time", field);
    return {};
}

GpuWorkEvent gpu_work_of(const JsonEvent& e) {
    GpuWorkEvent work{.kind = e.category == "kernel"       ? GpuWorkKind::kernel
                              : e.category == "gpu_memcpy" ? GpuWorkKind::copy
                              : e.category == "gpu_memset" ? GpuWorkKind::fill
                                                           : GpuWorkKind::graph};
    work.correlation = e.number("correlation");
    work.device = e.small("device");
    work.context = e.small("context");
    work.stream = e.small("stream");
    work.bytes = e.number("bytes");
    std::copy(std::begin(e.grid), std::end(e.grid), work.grid);
    std::copy(std::begin(e.block), std::end(e.block), work.block);
    work.registers = e.small("registers per thread");
    work.static_shared = e.small("static shared memory");
    // Torch gives the sum of both kinds.
    work.dynamic_shared =
        std::max(e.small("shared memory"), work.static_shared) - work.static_shared;
    work.local_per_thread = e.small("local memory per thread");
    work.graph = e.small("graph id");
    work.asynchronous = e.number("synchronous") == 0;
    if (work.kind == GpuWorkKind::copy) take_ends(e.name, work);
    if (!e.source.empty()) work.source = memory_type_in(e.source);
    if (!e.target.empty()) work.target = memory_type_in(e.target);
    return work;
}

std::string collective_text(const JsonEvent& e) {
    if (e.collective.empty()) return {};
    std::string text = e.collective;
    if (!e.element.empty()) text += " of " + e.element;
    if (!e.group.empty()) text += ", group " + e.group;
    if (const auto ranks = e.number("Group size")) text += fmt::format(" of {} ranks", ranks);
    return text;
}

std::uint64_t collective_bytes(const JsonEvent& e) {
    constexpr std::pair<std::string_view, std::uint64_t> kBytes[] = {
        {"Byte", 1},   {"Char", 1},         {"Bool", 1},          {"Float8", 1}, {"Short", 2},
        {"Half", 2},   {"BFloat16", 2},     {"Int", 4},           {"Float", 4},  {"Long", 8},
        {"Double", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16}};
    const auto of = std::find_if(std::begin(kBytes), std::end(kBytes), [&](const auto& known) {
        return e.element == known.first || (known.second == 1 && e.element.starts_with("Float8"));
    });
    return of == std::end(kBytes) ? 0 : of->second * e.number("In msg nelems");
}

std::string memory_name(const JsonEvent& e, std::string_view what) {
    const bool gpu = e.number("Device Type") == 1;
    return fmt::format("PyTorch {}, {} [MiB]", what,
                       gpu ? fmt::format("GPU {}", e.number("Device Id")) : "host");
}

SyncType sync_type(std::string_view name) {
    return name.find("Wait") != name.npos      ? SyncType::stream_wait_event
           : name.find("Stream") != name.npos  ? SyncType::stream
           : name.find("Event") != name.npos   ? SyncType::event
           : name.find("Context") != name.npos ? SyncType::context
                                               : SyncType::unknown;
}

void take_device_property(std::string_view key, const Scalar& value, GpuDeviceEvent& device) {
    const auto is = [&](const char* wanted) { return key == wanted; };
    if (is("name")) device.name = value.text;
    if (!value.is_number || !(value.number >= 0 && value.number <= 1e15)) return;
    const auto whole = static_cast<std::uint64_t>(value.number);
    const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole, ~0u));
    const auto small = static_cast<int>(std::min<std::uint64_t>(whole, 1u << 30));
    if (is("id")) device.device = number;
    if (is("totalGlobalMem")) device.memory_bytes = whole;
    if (is("computeMajor")) device.compute_major = small;
    if (is("computeMinor")) device.compute_minor = small;
    if (is("numSms")) device.multiprocessors = small;
    if (is("maxThreadsPerMultiprocessor")) device.warps_per_multiprocessor = number / 32;
    if (is("regsPerMultiprocessor")) device.registers_per_multiprocessor = number;
    if (is("sharedMemPerMultiprocessor")) device.shared_per_multiprocessor = number;
    if (is("sharedMemPerBlockOptin")) device.shared_per_block = number;
}

}  // namespace gs::chrome
