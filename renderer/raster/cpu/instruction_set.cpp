// Which instruction set the SIMD kernels run on: the best one found, or one chosen for tests and
// comparisons.
#include <hwy/targets.h>

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/rasterizer.h"

namespace gs {
namespace {

// What the kernels may be compiled for, best first; HWY_TARGETS (third_party/CMakeLists.txt) is
// what they are. The last runs everywhere: scalar code, or SSE2 since Highway 1.1.
constexpr std::int64_t kCompiled[] = {HWY_AVX3, HWY_AVX2, HWY_STATIC_TARGET};

/// Highway names a compiler's target; people say AVX-512.
std::string name_of(std::int64_t target) {
    return target <= HWY_AVX3 ? "AVX-512" : hwy::TargetName(target);
}

std::int64_t supported_targets() {
    hwy::SetSupportedTargetsForTest(0);  // forget an earlier choice
    return (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
}

}  // namespace

std::string cpu_instruction_set() { return name_of(cpu::instruction_set()); }

std::vector<std::string> cpu_instruction_sets() {
    const std::int64_t supported = supported_targets();
    std::vector<std::string> names;
    for (const std::int64_t target : kCompiled)
        if ((supported & target) != 0) names.push_back(name_of(target));
    return names;
}

bool choose_cpu_instruction_set(std::string_view name) {
    const std::int64_t supported = supported_targets();
    for (const std::int64_t target : kCompiled)
        if ((supported & target) != 0 && (name.empty() || name == name_of(target))) {
            if (!name.empty()) hwy::SetSupportedTargetsForTest(target);
            hwy::GetChosenTarget().Update(target);
            return true;
        }
    return false;
}

}  // namespace gs
