// GAUSSCOPE_EXECUTE_PTX=folder: any program with the emulated backend executes what nvcc made of
// its kernels, prints what came of it at its end, and fails when anything was wrong.
// GAUSSCOPE_PTX_LINES=file.csv: what each line of source cost goes there.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>

#include "tests/support/ptx/cost_table.h"
#include "tests/support/ptx_launches/launch_executor.h"

// The linker takes this file for the name's sake (CMakeLists.txt).
extern "C" {
int gs_execute_ptx_by_environment = 1;
}

namespace gs::ptx {
namespace {

class ByEnvironment {
  public:
    ByEnvironment() {
        const char* const folder = std::getenv("GAUSSCOPE_EXECUTE_PTX");
        if (folder == nullptr || *folder == '\0') return;
        try {
            executor_ = std::make_unique<LaunchExecutor>(folder);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "GAUSSCOPE_EXECUTE_PTX: %s\n", error.what());
            std::_Exit(1);
        }
    }
    ~ByEnvironment() {
        if (!executor_ || executor_->kernels().empty()) return;
        const auto costs = executor_->costs();
        std::printf("kernels executed as nvcc compiled them (PTX):\n%s%s",
                    executor_->table().c_str(), cost_table(costs).c_str());
        if (const char* const lines = std::getenv("GAUSSCOPE_PTX_LINES"); lines != nullptr) {
            std::ofstream file(lines);
            if (!(file << cost_lines(costs)).flush()) {
                std::fprintf(stderr, "GAUSSCOPE_PTX_LINES: %s cannot be written\n", lines);
                std::_Exit(1);
            }
        }
        const std::string wrong = executor_->take_complaints();
        std::fputs(wrong.c_str(), stderr);
        std::fflush(stdout);
        if (!wrong.empty()) std::_Exit(1);
    }
    ByEnvironment(const ByEnvironment&) = delete;
    ByEnvironment& operator=(const ByEnvironment&) = delete;

  private:
    std::unique_ptr<LaunchExecutor> executor_;
} by_environment;

}  // namespace
}  // namespace gs::ptx
