// Directed cases: every shape and edge that a kernel can get wrong, as small frames, steps and
// rounds on the real backend, each compared with the double-precision reference or, where that has
// no result, with the CPU backend. One table, run on the CPU, on the emulated device, by the
// executor of compiled kernels (tests/kernels/kernel_cases_test.cpp) and, by `gausscope selftest
// --cases`, on a device. The test prints which kernels each case reached, and fails if a kernel is
// not reached: a new kernel, or a new form of one, needs its case. How to add one:
// docs/development.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/check/selftest_checks.h"

namespace gs::cli {

struct DirectedCase {
    std::string name;  ///< "kind: the edge"; known before it runs, so that some can be chosen
    std::function<CheckRow()> check;
    /// Takes seconds on a device and minutes in the emulator, so only devices run it. A test of the
    /// emulated kernels has similar sizes.
    bool large() const { return name.starts_with("large: "); }
};
using CaseList = std::vector<DirectedCase>;
/// Names the result of `check` `name`.
void add_case(CaseList& list, std::string name, std::function<CheckRow()> check);

/// All of them. `backend` outlives the list.
void add_cases(CaseList& list, const Backend& backend);

// ---- its parts, a file each
/// Pictures and gradients against the reference: numbers of Gaussians around blocks, warps and
/// chunks; sizes of pictures; degenerate parameters; lists of every length; rules and cameras.
void add_frame_cases(CaseList& list, const Backend& backend);
/// Every way of blending one frame, forward and backward, gives one picture and one gradient:
/// depths, counters, costs.
void add_blend_cases(CaseList& list, const Backend& backend);
/// Cases of the viewer: tints, pictures left on the device, buffers that are too small.
void add_viewer_cases(CaseList& list, const Backend& backend);
/// Training steps beside the CPU's: degrees, masks, sleepers, locked and broken Gaussians.
void add_training_cases(CaseList& list, const Backend& backend);
/// Rounds of density control and resets of opacity beside the CPU's, row for row.
void add_density_cases(CaseList& list, const Backend& backend);
/// CUDA only: sizes that no picture small enough for daily tests reaches.
void add_device_cases(CaseList& list, const Backend& backend);

}  // namespace gs::cli
