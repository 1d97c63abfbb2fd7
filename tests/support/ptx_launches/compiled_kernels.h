// The .ptx files of a build, by the readable names of their kernels; and the memory that a launch
// in the emulator can reach, as the executor takes it. For whoever executes launches once more.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tests/support/emulator/observer.h"
#include "tests/support/ptx/execute.h"

namespace gs::ptx {

class CompiledKernels {
  public:
    /// Every .ptx file below the folder. Throws std::runtime_error when there is none, or one
    /// cannot be read.
    explicit CompiledKernels(const std::filesystem::path& folder);
    /// The kernel of a readable name (emulator/kernel_name.h); null where no file has it. Error: an
    /// instruction that the executor does not know.
    Result<const Kernel*> find(const std::string& name);

  private:
    struct Code {
        Module module;
        std::string entry;
        std::optional<Kernel> kernel;  ///< decoded when it is first asked for
    };
    std::map<std::string, Code> code_;
};

/// What the parameters point to, and what records among that point to, as it is now; none when they
/// point to host memory. Words that hold the emulator's poison count as not written.
std::optional<Memory> memory_of(const emulator::Launched& launched);

}  // namespace gs::ptx
