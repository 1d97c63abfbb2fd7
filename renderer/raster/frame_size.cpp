#include "renderer/raster/frame_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/machine.h"

namespace gs {
namespace {

constexpr int kLeastFrameSide = 16;  // px

/// The size whose lists, or pictures, would be `share` as large: both grow with the pixels.
std::string size_that_fits(const Camera& camera, double share) {
    const double scale = std::sqrt(0.9 * std::clamp(share, 0.0, 1.0));
    const int width = static_cast<int>(camera.width * scale),
              height = static_cast<int>(camera.height * scale);
    if (width < kLeastFrameSide || height < kLeastFrameSide)
        return "; it has too many Gaussians in view";
    return fmt::format("; about {} x {} would fit", width, height);
}

}  // namespace

void refuse_row(const Camera& camera, std::uint64_t pairs, std::uint64_t most) {
    const double n = static_cast<double>(pairs), limit = static_cast<double>(most);
    throw FrameTooLarge(fmt::format(
        "a row of tiles of a panorama of {} x {} has {} (Gaussian, tile) pairs; for gradients the "
        "limit is {}{}",
        camera.width, camera.height, format_count(n), format_count(limit),
        size_that_fits(camera, limit * limit / (n * n))));  // a row grows with the width alone
}

void refuse_memory(const Camera& camera, const char* what, std::uint64_t bytes,
                   std::uint64_t free) {
    std::string lack = "more memory than exists";
    if (bytes > 0) {
        const double n = static_cast<double>(bytes), room = static_cast<double>(free);
        lack = fmt::format("{} of memory, {} are free{}", format_bytes(n), format_bytes(room),
                           size_that_fits(camera, room / n));
    }
    throw FrameTooLarge(fmt::format("a picture of {} x {} needs for its {} {}", camera.width,
                                    camera.height, what, lack));
}

void check_memory(const Camera& camera, const char* what, std::uint64_t bytes) {
    if (bytes < kSmallFrame) return;
    const std::uint64_t free = free_machine_bytes();
    if (free > 0 && bytes > free) refuse_memory(camera, what, bytes, free);
}

}  // namespace gs
