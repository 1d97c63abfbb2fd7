#include "app/backend/training_plan.h"

#include <algorithm>
#include <cmath>

#include "renderer/doctor/doctor.h"
#include "trainer/density/round_rows.h"
#include "trainer/density/row_arrays.h"
#include "trainer/settings/strategy.h"

namespace gs {
namespace {

// Measured with small captures on the CPU: code, libraries, threads.
constexpr std::uint64_t kProgram = 34'000'000;
constexpr std::uint64_t kPlyOfSplat = 17 * 4;  // and three numbers for each further harmonic
constexpr std::uint64_t kPoint = 16;
// Of a Gaussian met by beams: about one pair with a tile of them (docs/lidar.md), and on the CPU a
// copy of its geometry.
constexpr std::uint64_t kRays = 44 + 132, kRaysOnDevice = 4 + 132;

struct Row {
    std::uint64_t parameters = 0, moments = 0, statistics = 0;
    std::uint64_t all() const { return parameters + moments + statistics; }
};
Row bytes_of_row(const TrainingSettings& settings) {
    const int planes = plane_count(static_cast<int>(settings.sh_degree));
    const RunArrays none;
    const std::string_view parameters = "parameters", moments = "Adam moments";
    Row out;
    each_row_array(
        [&](const RowArray& array, const auto& values) {
            if (!array.used(settings)) return;
            auto& sum = array.use == parameters ? out.parameters
                        : array.use == moments  ? out.moments
                                                : out.statistics;
            sum += array.columns(planes) * sizeof(*values.data());
        },
        none);
    return out;
}

/// (Gaussian, tile) pairs of a Gaussian in a picture of `pixels`, measured on trained scenes: their
/// Gaussians get smaller as they share the pixels with more.
double isects_of_one(double gaussians, double pixels) {
    const double side = 0.52 * std::sqrt(pixels / gaussians) + 1;
    return side * side;
}

/// Rows of storage just before it grows to those of `most`.
std::uint64_t capacity_before(std::uint64_t first, std::uint64_t most) {
    std::uint64_t capacity = padded_capacity(first);
    while (true) {
        const std::uint64_t next = grown_capacity(capacity, capacity + 1, most);
        if (next >= most || next <= capacity) return capacity;
        capacity = next;
    }
}

std::uint64_t sum_of(const TrainingPlan& plan, bool device, std::uint64_t PlannedMemory::*bytes) {
    std::uint64_t sum = 0;
    for (const PlannedMemory& use : plan.memory)
        if (use.device == device) sum += use.*bytes;
    return sum;
}

}  // namespace

std::uint64_t TrainingPlan::at_first(bool device) const {
    return sum_of(*this, device, &PlannedMemory::first);
}
std::uint64_t TrainingPlan::at_most(bool device) const {
    return sum_of(*this, device, &PlannedMemory::most);
}

TrainingPlan plan_training(const CaptureForecast& capture, const TrainingSettings& settings,
                           bool on_device, std::uint64_t checkpoints, TrainingStart start) {
    TrainingPlan out;
    const std::uint64_t cap = peak_gaussians(settings);
    out.first =
        start.gaussians > 0 ? start.gaussians : std::clamp<std::uint64_t>(capture.points, 1, cap);
    const bool grows = static_cast<double>(start.steps) < settings.densify_until;
    out.most = start.gaussians > 0 && !grows ? out.first : std::max(out.first, cap);
    const Row row = bytes_of_row(settings);
    const double pixels = static_cast<double>(capture.width) * capture.height;
    const int degree = static_cast<int>(settings.sh_degree);
    const auto frame = [&](std::uint64_t gaussians) {
        const double isects = isects_of_one(static_cast<double>(gaussians), pixels);
        return plan_memory(gaussians, degree, isects, capture.width, capture.height).frame_train;
    };
    const auto by_row = [&](const char* what, std::uint64_t bytes, bool device) {
        out.memory.push_back({what, device, out.first * bytes, out.most * bytes});
    };
    const auto always = [&](const char* what, std::uint64_t bytes) {
        out.memory.push_back({what, false, bytes, bytes});
    };
    always("program", kProgram);
    always("photos", capture.photo_bytes);
    if (settings.coarse_until > 0) always("smaller photos", capture.photo_bytes * 5 / 16);
    always("points", capture.points * kPoint);
    by_row("parameters", row.parameters, on_device);
    by_row("Adam moments", row.moments, on_device);
    by_row("density statistics", row.statistics, on_device);
    if (settings.batch > 1 || settings.lidar_weight > 0) {
        const auto planes = static_cast<std::uint64_t>(plane_count(degree));
        by_row("gradients of a batch", 4 * planes + (on_device ? 4 : 0), on_device);
    }
    if (on_device && (settings.refine_poses || settings.refine_intrinsics))
        by_row("gradients of cameras",
               (settings.refine_poses ? 24 : 0) + (settings.refine_intrinsics ? 1 : 0), true);
    if (settings.lidar_weight > 0) by_row("rays", on_device ? kRaysOnDevice : kRays, on_device);
    out.memory.push_back(
        {"lists and pictures of a step", on_device, frame(out.first), frame(out.most)});
    // Saving copies what is drawn, from a device all of the run; growing has the moments twice.
    const std::uint64_t copied = on_device ? row.all() : row.parameters,
                        grown = out.most > out.first && !on_device
                                    ? capacity_before(out.first, out.most) * row.moments
                                    : 0;
    out.memory.push_back({grown > out.most * copied ? "growing" : "saving", false,
                          std::max(capture.decode_bytes, out.first * copied),
                          std::max(out.most * copied, grown)});
    const auto more = static_cast<std::uint64_t>(plane_count(degree) - plane_count(0));
    out.disk = out.most * ((checkpoints + 1) * row.all() + kPlyOfSplat + 4 * more);
    return out;
}

bool fits(const TrainingPlan& plan, const MemoryLimits& free) {
    const auto within = [](std::uint64_t needed, std::uint64_t has) {
        return has == 0 || needed <= has;
    };
    return within(plan.at_most(false), free.host) && within(plan.at_most(true), free.device);
}

std::uint64_t most_that_fit(const CaptureForecast& capture, TrainingSettings settings,
                            bool on_device, const MemoryLimits& free, TrainingStart start) {
    std::uint64_t low = 0, high = static_cast<std::uint64_t>(settings.max_gaussians) + 1;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        settings.max_gaussians = static_cast<double>(middle);
        const TrainingPlan plan = plan_training(capture, settings, on_device, 1, start);
        (fits(plan, free) ? low : high) = middle;
    }
    // Two digits are said easily, and more than the sums are good for.
    std::uint64_t unit = 1;
    while (low / unit >= 100) unit *= 10;
    return low / unit * unit;
}

}  // namespace gs
