#include "profiler/analysis/occupancy.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::uint32_t kWarp = 32;  // threads, of every NVIDIA GPU
constexpr std::uint32_t kRegisterUnit =
    256;  ///< registers are given to warps in these (compute capability >= 3.0)
constexpr std::uint32_t kMaxRegisters = 255;  ///< a thread

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// Warps are spread over the parts of a multiprocessor, each with its share of the registers.
std::uint32_t parts_of(const GpuDeviceEvent& d) {
    return d.compute_major == 6 && d.compute_minor == 0 ? 2 : 4;
}
std::uint32_t shared_unit(const GpuDeviceEvent& d) { return d.compute_major >= 8 ? 128 : 256; }
/// The driver keeps 1 KiB of each block's shared memory for itself since compute capability 8.0.
std::uint32_t shared_reserve(const GpuDeviceEvent& d) { return d.compute_major >= 8 ? 1024 : 0; }

std::uint32_t blocks_by_registers(const KernelShape& k, const GpuDeviceEvent& d,
                                  std::uint32_t warps) {
    const std::uint32_t parts = parts_of(d),
                        per_warp = round_up(k.registers * kWarp, kRegisterUnit);
    if (k.registers > kMaxRegisters) return 0;
    // The check at launch takes the warps as if they came in whole rounds over the parts.
    if (std::uint64_t{per_warp} * round_up(warps, parts) > d.registers_per_multiprocessor) return 0;
    return d.registers_per_multiprocessor / parts / per_warp * parts / warps;
}

std::uint32_t blocks_by_shared(const KernelShape& k, const GpuDeviceEvent& d) {
    return d.shared_per_multiprocessor /
           round_up(k.shared_bytes + shared_reserve(d), shared_unit(d));
}

}  // namespace

KernelShape shape_of(const GpuWork& w) {
    return {std::uint64_t{w.grid[0]} * w.grid[1] * w.grid[2],
            std::uint32_t{w.block[0]} * w.block[1] * w.block[2], w.registers,
            w.static_shared + w.dynamic_shared};
}

const char* name_of(OccupancyLimit limit) {
    switch (limit) {
        case OccupancyLimit::warps:
            return "warps";
        case OccupancyLimit::blocks:
            return "blocks";
        case OccupancyLimit::registers:
            return "registers";
        case OccupancyLimit::shared_memory:
            return "shared memory";
        case OccupancyLimit::none:
            break;
    }
    return "-";
}

Occupancy occupancy_of(const KernelShape& k, const GpuDeviceEvent& d) {
    Occupancy out;
    if (k.threads_per_block == 0 || k.blocks == 0 || d.warps_per_multiprocessor == 0 ||
        d.multiprocessors == 0)
        return out;
    const std::uint32_t warps = (k.threads_per_block + kWarp - 1) / kWarp;
    std::uint32_t least = d.warps_per_multiprocessor / warps;
    out.limit = OccupancyLimit::warps;
    const auto also = [&](std::uint32_t blocks, OccupancyLimit limit) {
        if (blocks >= least) return;
        least = blocks;
        out.limit = limit;
    };
    if (d.blocks_per_multiprocessor > 0) also(d.blocks_per_multiprocessor, OccupancyLimit::blocks);
    if (d.registers_per_multiprocessor > 0 && k.registers > 0)
        also(blocks_by_registers(k, d, warps), OccupancyLimit::registers);
    if (d.shared_per_multiprocessor > 0 && k.shared_bytes + shared_reserve(d) > 0)
        also(blocks_by_shared(k, d), OccupancyLimit::shared_memory);
    out.blocks_per_multiprocessor = least;
    if (least == 0) return out;
    out.share = static_cast<double>(least * warps) / d.warps_per_multiprocessor;
    out.waves = static_cast<double>(k.blocks) / (static_cast<double>(least) * d.multiprocessors);
    out.used_share = std::min(1.0, static_cast<double>(k.blocks) / d.multiprocessors);
    return out;
}

}  // namespace gs
