// One event of a Chrome JSON trace as it was read, and what the words in it mean. Used by
// import_chrome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/store/event.h"

namespace gs::chrome {

/// A number or text of an event. Microseconds are kept as they are written: a double would round
/// away nanoseconds.
struct Scalar {
    std::string text;
    double number = 0;
    bool is_number = false;
};

struct JsonEvent {
    std::string name, phase, category, id, thread_name, labels;
    std::string scope, local_id, global_id;  ///< of asynchronous events
    std::string nvtx_category;
    std::optional<Scalar> begin, length, pid, tid;
    std::uint64_t byte = 0;                               ///< where it begins in the file
    std::vector<std::pair<std::string, double>> numbers;  ///< of args
    std::uint64_t payload = 0;
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    bool has_payload = false;
    PayloadKind payload_kind = PayloadKind::whole;
    std::string source, target;              ///< of a copy
    std::string collective, element, group;  ///< of a collective: its name, type, process group

    /// A number of args; 0 when there is none, or none that is whole and positive.
    std::uint64_t number(std::string_view wanted) const;
    std::uint32_t small(std::string_view wanted) const;
};

/// "12.3456" microseconds -> 12345 ns. None when that is no time.
std::optional<std::int64_t> nanoseconds(const Scalar& us);
/// Why the field of an event is no time, for the note on skipped events; empty: it is one.
/// `negative`: it may be; our own times may, after files of several clocks came together.
std::string time_fault(const std::optional<Scalar>& us, const char* field, bool negative = false);

/// A kernel, copy, fill or graph, as torch.profiler writes them and our export does; without times
/// and name.
GpuWorkEvent gpu_work_of(const JsonEvent& event);
/// The description of a collective: "allreduce of Float, group 0 of 8 ranks"; empty: it is none.
std::string collective_text(const JsonEvent& event);
/// What a collective takes of this rank, bytes; 0: unknown.
std::uint64_t collective_bytes(const JsonEvent& event);
/// A counter's name from torch's "[memory]" instant: "PyTorch allocated, GPU 0 [MiB]".
std::string memory_name(const JsonEvent& event, std::string_view what);
/// "Stream Sync".
SyncType sync_type(std::string_view name);
/// Takes one of the numbers torch writes of a device.
void take_device_property(std::string_view key, const Scalar& value, GpuDeviceEvent& device);

}  // namespace gs::chrome
