// Compatibility profiles, block bounds: the parts of rasterizer.h that belong to no backend.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

RasterRules rules_of(Compatibility compatibility) {
    RasterRules rules{};
    rules.near_plane = 0.01f;
    rules.alpha_max = 0.99f;
    rules.alpha_min = 1.0f / 255.0f;
    rules.transmittance_min = 1e-4f;
    rules.stop_at_equal = true;
    rules.exact_tiles = true;
    if (compatibility == Compatibility::gsplat) {
        rules.extent_sigma = 3.33f;
        rules.exact_tiles = false;
    } else if (compatibility == Compatibility::inria) {
        rules.near_plane = 0.2f;
        rules.stop_at_equal = false;
        rules.extent_sigma = 3.0f;
        rules.square_extent = true;
        rules.exact_tiles = false;
    }
    return rules;
}

const char* name_of(Compatibility compatibility) {
    switch (compatibility) {
        case Compatibility::tight:
            return "tight";
        case Compatibility::gsplat:
            return "gsplat";
        case Compatibility::inria:
            return "inria";
    }
    return "tight";
}

Result<Compatibility> compatibility_from_name(std::string_view name) {
    for (const Compatibility c :
         {Compatibility::tight, Compatibility::gsplat, Compatibility::inria})
        if (name == name_of(c)) return c;
    return fail(ErrorKind::usage, "", fmt::format("no compatibility profile '{}'", name),
                "choose tight, gsplat or inria");
}

const char* name_of(ProjectionMethod projection) {
    return projection == ProjectionMethod::ut ? "ut" : "ewa";
}

Result<ProjectionMethod> projection_from_name(std::string_view name) {
    for (const ProjectionMethod p : {ProjectionMethod::ewa, ProjectionMethod::ut})
        if (name == name_of(p)) return p;
    return fail(ErrorKind::usage, "", fmt::format("no projection '{}'", name), "choose ewa or ut");
}

void compute_bounds(const GaussianModel& model, Buffer<BlockBounds>& out) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kReachSigma = 3.4f;
    out.resize_discard(model.blocks());
    parallel_for(model.blocks(), 64, [&](std::size_t block) {
        const std::size_t begin = block * kBlock, end = std::min(begin + kBlock, model.count);
        Vec3f lo{kInfinity, kInfinity, kInfinity}, hi{-kInfinity, -kInfinity, -kInfinity};
        float reach = 0.0f;
        for (std::size_t i = begin; i < end; ++i) {
            const Vec3f m = model.mean(i);
            const float log_scale = std::max({model.at(kLogScales, i), model.at(kLogScales + 1, i),
                                              model.at(kLogScales + 2, i)});
            if (!std::isfinite(m.x + m.y + m.z) || std::isnan(log_scale))
                continue;  // draws nothing
            lo = {std::min(lo.x, m.x), std::min(lo.y, m.y), std::min(lo.z, m.z)};
            hi = {std::max(hi.x, m.x), std::max(hi.y, m.y), std::max(hi.z, m.z)};
            reach = std::max(reach, kReachSigma * std::exp(log_scale));
        }
        BlockBounds& b = out[block];
        if (!(lo.x <= hi.x)) {
            b = {0, 0, 0, -1.0f};  // nothing in it: no frustum touches a negative radius
            return;
        }
        const Vec3f half = 0.5f * (hi - lo), center = lo + half;
        b = {center.x, center.y, center.z, std::sqrt(dot(half, half)) * 1.0001f + reach};
    });
}

}  // namespace gs
