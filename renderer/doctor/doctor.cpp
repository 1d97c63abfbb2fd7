#include "renderer/doctor/doctor.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/list_growth.h"

namespace gs {
namespace {

// Bytes of the arrays of one frame, as the CUDA backend lays them out (raster/cuda/frame.h); the
// CPU's are of the same kind. A Gaussian: splat, coverage, three numbers; two pairs to sort by
// depth and a first emission.
constexpr std::uint64_t kFramePerGaussian = 48 + 32 + 3 * 4 + 5 * 4;
// A pair: keys and payloads before and after sorting, the slot, 10 bytes of partial pictures.
constexpr std::uint64_t kFramePerIsect = 4 * 4 + 4 + 10;
// With gradients besides: the slot of the emission, the mask of what was blended, the gradient's
// record.
constexpr std::uint64_t kGradientsPerIsect = 4 + 1 + 48;
constexpr std::uint64_t kFramePerPixel = 5 * 4;  // colour, alpha, depth
constexpr std::uint64_t kGradientsPerPixel =
    7 * 4 + 3;  // picture, its gradient, transmittance; the photo's bytes
constexpr std::uint64_t kOptimizerPerGaussian = 4 + 3 * 4;

/// Sum of these lines of /proc/meminfo, bytes.
std::uint64_t meminfo(std::initializer_list<std::string_view> lines) {
    std::ifstream file("/proc/meminfo");
    std::uint64_t sum = 0, kibibytes = 0;
    for (std::string word; file >> word;)
        if (std::find(lines.begin(), lines.end(), word) != lines.end() && file >> kibibytes)
            sum += kibibytes * 1024;
    return sum;
}

}  // namespace

Severity worst_of(std::span<const Finding> findings) {
    Severity worst = Severity::note;
    for (const Finding& f : findings) worst = std::max(worst, f.severity);
    return worst;
}

MemoryPlan plan_memory(std::uint64_t gaussians, int sh_degree, double isects_per_gaussian,
                       int width, int height) {
    MemoryPlan out;
    const auto planes = static_cast<std::uint64_t>(plane_count(sh_degree));
    const std::uint64_t pixels =
        static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
    out.gaussians = gaussians;
    out.isects = static_cast<std::uint64_t>(isects_per_gaussian * static_cast<double>(gaussians));
    const std::uint64_t listed = std::min<std::uint64_t>(out.isects, kMostListed);
    out.parameters = gaussians * planes * 4;
    out.optimizer = gaussians * (planes * 8 + kOptimizerPerGaussian);
    out.frame_view =
        gaussians * kFramePerGaussian + listed * kFramePerIsect + pixels * kFramePerPixel;
    out.frame_train = out.frame_view + listed * kGradientsPerIsect + pixels * kGradientsPerPixel;
    return out;
}

std::uint64_t available_host_bytes() { return meminfo({"MemAvailable:"}); }
std::uint64_t total_host_bytes() { return meminfo({"MemTotal:", "SwapTotal:"}); }

}  // namespace gs
