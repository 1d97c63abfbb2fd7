// The directed cases (app/cli/cases) on the CPU backend and on the emulated device, where nvcc is
// with each launch executed from the PTX as well, and which kernels each of them reached. A kernel
// of the stored table that no case reaches fails, so that a new one, or a new form of one, brings
// its case.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/cases/cases.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/support/emulator/emulator.h"
#include "tests/support/emulator/kernel_name.h"
#include "tests/support/emulator/observer.h"
#include "tests/support/ptx_launches/launch_executor.h"
#include "trainer/cuda/cuda_training.h"

namespace gs::cli {
namespace {

/// Kernels without a case, and why that is right.
const std::map<std::string, const char*> kWithoutCase = {
    {"sum_blocks", "of the sums that CUB stands beside; selftest checks them on a device"},
    {"probe", "asks a device for nothing but to run it"},
    {"atomic_kernel", "measures a machine's ceiling, computes nothing"},
    {"copy_kernel", "the same"},
    {"multiply_add_kernel", "the same"},
    {"nothing_kernel", "the same"},
    {"shared_kernel", "the same"},
    {"special_kernel", "the same"},
    // Of the Python module: its tests run them, emulated and as compiled.
    {"project_entries<false>", "cuda_tensor_ops has cases"},
    {"project_entries<true>", "the same"},
    {"project_rows_vjp<false>", "the same"},
    {"project_rows_vjp<true>", "the same"},
    {"add_view_rows", "the same"},
    {"shade_entries", "the same"},
    {"shade_rows_vjp", "the same"},
    {"add_centres", "the same"},
    {"cover_entries", "the same"},
    {"emit_entries", "the same"},
    {"find_tiles", "the same"},
    {"blend_channels", "the same"},
    {"blend_channels_vjp", "the same"},
    {"gather_entries", "the same"},
};

Backend emulated() {
    return {"CUDA (emulated)",
            true,
            [] { return make_cuda_rasterizer(0); },
            [] { return make_cuda_training(0); },
            {},
            0};
}
Backend on_cpu() {
    return {"CPU",
            false,
            []() -> Result<std::unique_ptr<Rasterizer>> { return make_cpu_rasterizer(); },
            []() -> Result<std::unique_ptr<TrainingBackend>> { return make_cpu_training(); },
            {}};
}

/// Names of the kernels launched since it was last asked.
class Reached final : public emulator::LaunchObserver {
  public:
    void after(const emulator::Launched& launched) override {
        names_.insert(emulator::kernel_name(launched.function));
    }
    std::set<std::string> take() { return std::exchange(names_, {}); }

  private:
    std::set<std::string> names_;
};

/// A case in which words of a kernel need not be those of the emulator, and why.
struct NotCompared {
    const char *name, *kernel, *why;
};
constexpr NotCompared kNotCompared[] = {
    {"frame: standard deviations from 0 to near infinity", "project_backward<StoringSink",
     "a gradient through a covariance of 1e38 has no digits left"},
};
/// `complaints` of the launches of one case, a line each.
void expect_executed(const std::string& complaints, const std::string& name) {
    std::istringstream lines(complaints);
    for (std::string line; std::getline(lines, line);) {
        const bool expected = std::ranges::any_of(kNotCompared, [&](const NotCompared& one) {
            return name == one.name && line.starts_with(one.kernel) &&
                   line.find("changed words") != std::string::npos;
        });
        EXPECT_TRUE(expected) << name << ", executed as nvcc compiled it:\n" << line;
    }
}

struct Done {
    CheckRow row;
    std::set<std::string> kernels;
};
/// `executor`: also runs what nvcc made of each kernel; or null. Large cases are left to devices.
std::vector<Done> run_all(const Backend& backend, ptx::LaunchExecutor* executor = nullptr) {
    CaseList list;
    add_cases(list, backend);
    Reached reached;
    auto unwritten_before = emulator::calls("copy of what nobody wrote");
    std::vector<Done> out;
    for (const DirectedCase& one : list) {
        if (one.large()) {
            fmt::print("left to devices: {}\n", one.name);
            continue;
        }
        Done done{one.check(), {}};
        done.kernels = reached.take();
        const auto unwritten = emulator::calls("copy of what nobody wrote");
        EXPECT_EQ(unwritten - std::exchange(unwritten_before, unwritten), 0u)
            << one.name << ": the host copied device memory that nobody had written";
        EXPECT_EQ(done.row.name, one.name);
        EXPECT_TRUE(done.row.passed || !done.row.ran)
            << done.row.backend << ", " << done.row.name << ": " << done.row.measured;
        if (executor != nullptr) expect_executed(executor->take_complaints(), done.row.name);
        out.push_back(std::move(done));
    }
    return out;
}

/// Of the PTX beside the objects of gs_cuda; null in a build without nvcc, and where the
/// environment has asked for one already.
std::unique_ptr<ptx::LaunchExecutor> executor_of_build() {
    const std::string folder = GAUSSCOPE_PTX_FOLDER;
    if (folder.empty() || std::getenv("GAUSSCOPE_EXECUTE_PTX") != nullptr) return nullptr;
    return std::make_unique<ptx::LaunchExecutor>(folder);
}

/// The kernel column of the stored table; names with commas are quoted.
std::vector<std::string> kernels_of_table() {
    std::ifstream file(GAUSSCOPE_KERNEL_TABLE);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) {
        const std::size_t comma = line.find(',');
        if (line.starts_with("#") || line.starts_with("file,") || comma == line.npos) continue;
        const bool quoted = line[comma + 1] == '"';
        const std::size_t first = comma + (quoted ? 2 : 1);
        out.push_back(line.substr(first, line.find(quoted ? '"' : ',', first) - first));
    }
    return out;
}

/// "1-9, 12" of ascending numbers.
std::string ranges_of(const std::vector<std::size_t>& numbers) {
    std::string out;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::size_t end = i;
        while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
        out += fmt::format("{}{}", out.empty() ? "" : ", ", numbers[i]);
        if (end > i) out += fmt::format("-{}", numbers[end]);
        i = end;
    }
    return out;
}

std::map<std::string, std::vector<std::size_t>> cases_by_kernel(const std::vector<Done>& all) {
    std::map<std::string, std::vector<std::size_t>> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const std::string& kernel : all[i].kernels) out[kernel].push_back(i + 1);
    return out;
}

TEST(KernelCases, ReachEveryKernelOnTheEmulatedDevice) {
    const Backend backend = emulated();
    const auto executor = executor_of_build();
    const std::vector<Done> all = run_all(backend, executor.get());
    const auto by_kernel = cases_by_kernel(all);
    fmt::print("cases:\n");
    for (std::size_t i = 0; i < all.size(); ++i)
        fmt::print("{:>4} {:<62} {:>3} kernels\n", i + 1, all[i].row.name, all[i].kernels.size());
    fmt::print("kernel x case:\n");
    for (const auto& [kernel, numbers] : by_kernel)
        fmt::print("{:<52} {:>3}: {}\n", kernel, numbers.size(), ranges_of(numbers));
    if (executor)
        fmt::print("executed as nvcc compiled them (PTX):\n{}", executor->table());
    else
        fmt::print("not executed as compiled: no PTX, because this build has no nvcc\n");
    const std::vector<std::string> table = kernels_of_table();
    EXPECT_GE(table.size(), 50u) << GAUSSCOPE_KERNEL_TABLE;
    for (const std::string& kernel : table)
        EXPECT_TRUE(by_kernel.contains(kernel) || kWithoutCase.contains(kernel))
            << kernel << " has no case: add one in app/cli/cases, or a reason to the list here";
    for (const auto& [kernel, why] : kWithoutCase) {
        EXPECT_NE(std::ranges::find(table, kernel), table.end()) << kernel << " is no more";
        EXPECT_FALSE(by_kernel.contains(kernel) && kernel != "probe") << kernel << " has a case";
    }
}

TEST(KernelCases, HoldOnTheCpu) {
    const Backend backend = on_cpu();
    for (const Done& done : run_all(backend)) EXPECT_TRUE(done.kernels.empty()) << done.row.name;
}

}  // namespace
}  // namespace gs::cli
