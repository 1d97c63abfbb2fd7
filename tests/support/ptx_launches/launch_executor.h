// Every kernel that the emulator runs is run once more, from what nvcc made of it, on the memory
// that the emulator's run began with; then every word of device memory must be what the emulator
// left, exactly or within the tolerance of the kernel. So each test of the emulated backend also
// tests the compiled code.
//
//   GAUSSCOPE_EXECUTE_PTX=build build/tests/test_raster    any program that links gs_cuda_emulated
//
// A launch with pointers to host memory (kernel tests on plain vectors) is left out and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/emulator/observer.h"
#include "tests/support/ptx/execute.h"
#include "tests/support/ptx_launches/compiled_kernels.h"
#include "tests/support/ptx_launches/word_compare.h"

namespace gs::ptx {

/// What executing one kernel's launches came to.
struct KernelRecord {
    std::uint64_t launches = 0, left_out = 0, blocks = 0;
    WordDifferences words;
    Report costs;  ///< added up; without faults
    double seconds = 0;
    std::uint64_t wrong = 0;  ///< launches with faults or words beyond the tolerance
};

/// How far words may differ after that kernel, and why; equal bits unless named in the table.
Tolerance tolerance_of(const std::string& kernel);

class LaunchExecutor final : public emulator::LaunchObserver {
  public:
    /// The .ptx files below `folder`. Throws as CompiledKernels.
    explicit LaunchExecutor(const std::filesystem::path& folder);
    void before(const emulator::Launched& launched) override;
    void after(const emulator::Launched& launched) override;

    /// By readable name (emulator/kernel_name.h).
    const std::map<std::string, KernelRecord>& kernels() const { return kernels_; }
    /// A line a kernel, and one for all.
    std::string table() const;
    /// What each kernel did, for cost_table.h.
    std::map<std::string, Report> costs() const;
    /// What was wrong since it was last asked, a line each, at most a few a kernel; empty: every
    /// launch was as it should be.
    std::string take_complaints();

  private:
    /// True: something is wrong.
    bool execute_once(const Kernel& kernel, const emulator::Launched& launched,
                      const Memory& before, KernelRecord& record);
    void complain(const std::string& kernel, const std::string& text);

    CompiledKernels compiled_;
    std::map<std::string, KernelRecord> kernels_;
    std::map<std::string, std::vector<std::string>> complaints_;  // by kernel
    std::optional<Memory> before_;  // the launch under way began with it
};

}  // namespace gs::ptx
