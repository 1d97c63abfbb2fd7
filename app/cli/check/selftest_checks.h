// The rows of selftest: each check reports its measurement and its limit. They take their backend
// as an argument, so that tests can run the CUDA ones in the emulator. Called by selftest.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/backend/backend.h"
#include "base/comparison.h"
#include "renderer/scene/capture.h"

namespace gs::cli {

struct CheckRow {
    std::string backend;  ///< "CPU", "CUDA", "reference", "OpenGL"
    std::string name;
    std::string measured;  ///< with limit and unit
    bool passed = false;
    bool ran = true;  ///< false: it could not run here, `measured` says why
    double milliseconds = 0;
};
/// The check of what was compared; `before`: what the report says first.
CheckRow compared(const char* backend, std::string name, const std::vector<ComparisonRow>& rows,
                  const std::string& before = {});
using CheckList = std::vector<std::function<CheckRow()>>;

/// Sizes of the scenes.
struct SelftestEffort {
    std::size_t gaussians = 1500;
    double picture = 1;              ///< of the sides of pictures
    int steps = 150;                 ///< of training
    std::size_t sorted = 1'000'000;  ///< random keys
    static SelftestEffort quick() { return {200, 1, 30, 100'000}; }
};

/// Any backend, every stage: pictures and gradients against the reference under several rules,
/// poison, loss, the optimizer against a dense one, training twice with the same bits. `backend`
/// outlives the list.
void add_backend_checks(CheckList& list, const Backend& backend, const SelftestEffort& effort);
/// Checks of the CPU only: bits over thread counts; a splat file there and back.
void add_cpu_checks(CheckList& list, const SelftestEffort& effort);
/// Checks of CUDA only: the device, its sort and scan, both blend backwards, a density round and
/// training losses beside the CPU's, released memory.
void add_cuda_checks(CheckList& list, const Backend& backend, const SelftestEffort& effort);
/// The reference's own gradients against differences.
void add_reference_checks(CheckList& list);
/// An off-screen OpenGL context: draws and reads back; with a CUDA backend, its pictures in a
/// texture of it. Says why where there is none.
void add_gl_checks(CheckList& list, const Backend& backend);

// ---- shared by the files of checks
const char* label_of(const Backend& backend);
/// Four views of random Gaussians, and points to start from.
std::shared_ptr<const Capture> proof_capture(const SelftestEffort& effort);
bool same_bits(const GaussianModel& a, const GaussianModel& b);
/// Throw where it cannot be made: the check says so.
std::unique_ptr<Rasterizer> rasterizer_of(const Backend& backend);
std::unique_ptr<TrainingBackend> training_of(const Backend& backend);

}  // namespace gs::cli
