// Prints a trace for `gausscope trace`: processes and tracks, stages, kernels, copies, CUDA calls,
// and missing data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/files/import.h"
#include "profiler/store/store.h"

namespace gs::cli {

inline constexpr std::size_t kAllCalls = ~std::size_t{0};  ///< of a file every call counts

const char* kind_text(TrackKind kind);  ///< "GPU stream"

/// Work or calls of one name.
struct NamedTime {
    std::string_view name;
    Stage stage = Stage::other;
    std::uint64_t count = 0, bytes = 0;
    double total_ms = 0, max_ms = 0;
};
/// Totals of a trace's GPUs and CUDA calls, the largest first.
struct GpuTotals {
    std::vector<NamedTime> stages;  ///< kernels by the stage map, or by kind
    bool by_kind = false;           ///< no kernel is one of 3D Gaussian Splatting's
    std::vector<NamedTime> kernels, copies, calls;
    double kernel_ms = 0;
};
GpuTotals gpu_totals(const TraceStore& store);

/// The file's data that is not in the store, as a sentence; empty: none is missing.
std::string lost_on_reading(const ImportSummary& read, const TraceStore& store);

void print_trace(const std::string& path, const ImportSummary& read, const TraceStore& store);
nlohmann::ordered_json trace_json(const std::string& path, const ImportSummary& read,
                                  const TraceStore& store);

}  // namespace gs::cli
