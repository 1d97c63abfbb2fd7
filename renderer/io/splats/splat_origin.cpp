#include "renderer/io/splats/splat_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr const char* kOriginNote = "coordinates are far from zero";
constexpr const char* kRounded = "single precision had rounded";
constexpr std::size_t kPositionsSampled = 1u << 16;

template <class PositionOf>
std::vector<Vec3d> sample_of(std::size_t count, const PositionOf& position_of) {
    std::vector<Vec3d> sample;
    const std::size_t stride = count / kPositionsSampled + 1;
    for (std::size_t i = 0; i < count; i += stride) sample.push_back(position_of(i));
    return sample;
}

}  // namespace

std::string origin_note(Vec3d origin) {
    return fmt::format(
        "{}: the origin {} is subtracted from positions, and added again by formats that can hold "
        "it",
        kOriginNote, text_of_origin(origin));
}

bool is_origin_note(const std::string& note) {
    return note.starts_with(kOriginNote) && note.find(kRounded) == std::string::npos;
}

Vec3d origin_of_columns(std::span<const double> x, std::span<const double> y,
                        std::span<const double> z, const std::optional<Vec3d>& said) {
    const std::vector<Vec3d> sample = sample_of(x.size(), [&](std::size_t i) {
        return Vec3d{x[i], y[i], z[i]};
    });
    if (said) {
        const auto nearer = std::count_if(sample.begin(), sample.end(), [&](Vec3d p) {
            const Vec3d off = p - *said;
            return dot(off, off) < dot(p, p);
        });
        if (2 * static_cast<std::size_t>(nearer) > sample.size()) return *said;
    }
    return origin_for({}, sample);
}

void settle_origin(SplatFile& file) {
    GaussianModel& model = file.model;
    if (!is_zero(model.origin)) return;
    const Vec3d origin = origin_for({}, sample_of(model.count, [&](std::size_t i) {
                                        return world_position(model.mean(i), {});
                                    }));
    if (is_zero(origin)) return;
    set_origin(model, origin);
    const double furthest = std::max({std::abs(origin.x), std::abs(origin.y), std::abs(origin.z)});
    file.notes.push_back(origin_note(origin) +
                         fmt::format("; the file's {} them to steps of {:g}", kRounded,
                                     std::exp2(std::floor(std::log2(furthest)) - 23)));
}

}  // namespace gs
