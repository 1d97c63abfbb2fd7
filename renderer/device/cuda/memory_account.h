// What this process holds of device memory, and how such sizes are written in messages. Private to
// device/cuda.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace gs::cuda {

/// Bytes allocated through allocate_device() and not freed.
inline std::atomic<std::uint64_t>& held_device_bytes() {
    static std::atomic<std::uint64_t> bytes{0};
    return bytes;
}

/// "1.2 GiB", below a tenth of one "3.5 MiB".
inline std::string gibibytes(std::uint64_t bytes) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const double mebibytes = static_cast<double>(bytes) / kMiB;
    return mebibytes < 100 ? fmt::format("{:.1f} MiB", mebibytes)
                           : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace gs::cuda
