// GPUs as the performance model sees them: multiprocessors, clock, memory, latencies, each figure
// with the place it comes from. Files of assets/devices, one a GPU, so that a user's own GPU is a
// file in the configuration folder; and the table of architectures, what one multiprocessor does a
// clock. Used by gpu_model.h, `predict` and the Limits panel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/expected.h"

namespace gs {

/// What one multiprocessor of an architecture does, and holds.
struct GpuArchitecture {
    std::string name;   ///< "90": of compute capability 9.0
    std::string code;   ///< whose compiled code its costs are taken from: its own where we count it
    double issue = 4;   ///< warp instructions a clock
    double fp32 = 128;  ///< lanes a clock; likewise
    double integer = 64;
    double special = 16;
    double shared_bytes = 128;  ///< a clock
    double l2_bytes = 36;       ///< a clock, as measured of all multiprocessors together
    int warps = 64, blocks = 32, registers = 65536;
    int shared_memory = 100 * 1024;  ///< bytes
};

struct GpuDevice {
    std::string id;        ///< "h200": what --gpu takes
    std::string name;      ///< "NVIDIA H200 SXM, 141 GB"
    std::string known_as;  ///< part of what its driver calls it: "H200"
    GpuArchitecture architecture;
    double multiprocessors = 0;
    double clock_ghz = 0;       ///< boost
    double memory_gb = 0;       ///< GB
    double bandwidth_gb_s = 0;  ///< of its memory, by the data sheet
    double sustained_gb_s = 0;  ///< what streaming kernels were seen to reach, or 0.88 of the sheet
    double l2_mb = 0;
    double l2_latency = 0, memory_latency = 0;   ///< clocks
    std::map<std::string, std::string> sources;  ///< of each figure, by its name in the file

    /// Warp instructions a second, all multiprocessors.
    double issue_rate() const { return multiprocessors * clock_ghz * 1e9 * architecture.issue; }
};

/// One file of assets/devices; `architectures` as read from assets/gpu/architectures.json. `origin`
/// is for messages. Errors: not JSON, a figure that is missing, not a positive number or without a
/// source, an architecture that is not in the table.
Result<GpuDevice> parse_gpu_device(const std::string& id, const std::string& text,
                                   const std::map<std::string, GpuArchitecture>& architectures,
                                   const std::string& origin);
Result<std::map<std::string, GpuArchitecture>> parse_gpu_architectures(const std::string& text,
                                                                       const std::string& origin);

/// All of them, the user's among them, by id. A wrong user file is reported and left out.
std::vector<GpuDevice> gpu_devices();
/// "h200,rtx4090", also "H200, RTX4090", each once however often it is named; or "all". Errors
/// (usage): one that is not there, with the names of those that are.
Result<std::vector<GpuDevice>> gpu_devices_named(const std::string& list);

/// The one that a driver calls `name` ("NVIDIA A100-SXM4-80GB"): whose `known_as` is in it as whole
/// words, the longest of several, and is not followed by a word of another model ("Ti", "D",
/// "Laptop", "NVL"). With as many multiprocessors as the driver reports; 0: unknown. Null: none.
const GpuDevice* gpu_called(const std::vector<GpuDevice>& gpus, const std::string& name,
                            int multiprocessors = 0);

}  // namespace gs
