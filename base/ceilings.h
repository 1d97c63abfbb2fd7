// Ceilings: what a machine can do at most, measured by bare loops. The floors of
// profiler/analysis/cost_model.h divide by these; bench prints them, the studio's roofline is drawn
// from them. Filled by raster/cpu/ceilings.h and device/cuda/ceilings.h.
#pragma once

#include <limits>
#include <string>

namespace gs {

/// Per second and machine: all threads of a CPU, all multiprocessors of a GPU. NaN: not measured
/// here, or there is no such thing.
struct Ceilings {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    std::string machine;  ///< "NVIDIA H200", "CPU (AVX-512, 2 threads)"
    bool cuda = false;
    double copy_bytes = kUnknown;   ///< read plus written by a large copy
    double triad_bytes = kUnknown;  ///< CPU: read plus written by a = b + s c
    double lane_operations =
        kUnknown;  ///< fused multiply-adds, one per lane: two floating-point operations each
    double special_operations = kUnknown;  ///< GPU: exponentials, reciprocals, ...
    double shared_bytes = kUnknown;        ///< GPU: read from shared memory
    double atomics_spread = kUnknown;      ///< GPU: float additions to addresses of their own
    double atomics_contended = kUnknown;   ///< GPU: float additions to one address
    double blend_pairs = kUnknown;         ///< CPU: (Gaussian, pixel) pairs of a bare blending loop
    double launch_seconds = kUnknown;  ///< empty kernel (or parallel loop) alone, from call to done
    double launch_interval_seconds = kUnknown;  ///< between empty kernels launched back to back
    double measured_in_seconds = 0;             ///< what measuring took
};

}  // namespace gs
