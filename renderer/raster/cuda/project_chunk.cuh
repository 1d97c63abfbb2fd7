// Project, what its kernels are made of (project.cu, project_unscented.cu): a block of 256 threads
// for a chunk of 256 Gaussians. The chunk's 16 bounding spheres are tested first, and a chunk out
// of view costs 256 bytes of bounds and nothing more. A thread reads 16 bytes, mean and opacity,
// the other 28 of geometry only when both pass, and the 192 bytes of SH are read for survivors
// alone, by neighbouring threads. Values that are read together are waited for once: nothing
// between the loads branches, and the frame's constants are in shared memory. Memory is the
// bottleneck: about 16 N' + V (28 + 192) bytes in, 80 V out, N' = Gaussians of the chunks in view;
// three times as much in where the optimizer's moments are read along; 96 bytes of SH where they
// are read as halves.
#pragma once

#include <cuda_fp16.h>

#include "renderer/math/mip_filter.h"
#include "renderer/math/sh.h"
#include "renderer/raster/cuda/block_rank.cuh"
#include "renderer/raster/cuda/half_colors.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "renderer/raster/cuda/shared_constants.cuh"
#include "renderer/raster/cuda/stages.h"
#include "renderer/raster/cuda/tile_rows.cuh"

namespace gs::cuda {

struct ProjectParams {
    ModelView model;
    const FrameConstants* constants;
    FrameCounts* counts;
    Splat* splats;                      ///< [slot]
    Coverage* coverage;                 ///< [slot]
    std::uint32_t* depth_of_slot;       ///< [slot]
    std::uint32_t* gaussian_from_slot;  ///< [slot]
    std::uint32_t* isects_of_slot;      ///< [slot]
    std::uint32_t* chunk_slots;         ///< [chunk]
    unsigned long long* isect_total;
    TintView tint;      ///< of the tinted kernels
    HalfColors colors;  ///< of the fast kernels
};

using ProjectKernel = void (*)(ProjectParams);
/// Of project_unscented.cu.
ProjectKernel unscented_kernel(const LazyView& lazy, bool tinted);

GS_DEVICE std::uint32_t word_of(const TintView& tint, std::uint32_t gaussian) {
    return gaussian < tint.count ? tint.words[gaussian] : GaussianTint::kOwn;
}

/// A block's bounds; of one without, what always may show.
GS_DEVICE BlockBounds bounds_of(const ModelView& model, std::uint32_t block) {
    if (static_cast<std::uint64_t>(block) * kBlock >= model.count) return {0, 0, 0, -1.0f};
    if (model.bounds == nullptr) return {0, 0, 0, __int_as_float(0x7f800000)};
    return model.bounds[block];
}
template <class Camera>
GS_DEVICE bool block_may_show(const FrameConstants& c, const BlockBounds& b) {
    if (!(b.radius >= 0.0f)) return b.radius != b.radius;
    if (b.radius > 3e38f) return true;
    // In single precision where the CPU has double: widened by what rounding can move the centre.
    const Vec3f t = c.camera.translation;
    const float terms = fabsf(b.x) + fabsf(b.y) + fabsf(b.z) + fabsf(t.x) + fabsf(t.y) + fabsf(t.z);
    const Vec3f center = c.camera.rotation * Vec3f{b.x, b.y, b.z} + t;
    const float radius = b.radius * fmaxf(1.0f, c.scale_modifier) + 2e-6f * terms;
    if constexpr (kThroughLens<Camera>)
        return sphere_may_show(c.cone, center, radius, c.rules.near_plane);
    else
        return sphere_may_show(c.sides, center, radius, c.rules.near_plane);
}

/// Of a point in camera axes that the camera sees.
GS_DEVICE float depth_of(const math::Pinhole<float>&, Vec3f at) { return at.z; }
GS_DEVICE float depth_of(const math::LensCamera<float>& camera, Vec3f at) {
    return math::lens_depth(camera.lens, at);
}

/// Pictures of straight cameras end at their sides.
template <class Camera>
GS_DEVICE float wrap_of(const FrameConstants& c) {
    return kThroughLens<Camera> ? c.wrap : 0.0f;
}

/// The decisions of the CPU backend's ProjectBlock (math::visible), after the cheapest of them
/// alone. False: draws nothing. The splat's colour is left open.
template <class Camera, class Reader>
GS_DEVICE bool project_gaussian(const FrameConstants& c, const Reader& gaussian, Vec3f& mean,
                                Splat& splat, Coverage& cover) {
    const Camera& camera = camera_of<Camera>(c);
    mean = gaussian.mean();
    const float logit = gaussian.opacity_logit();
    if (c.clipped != 0 && !math::inside(c.clip.lo, c.clip.hi, mean)) return false;
    const float depth = depth_of(camera, camera.rotation * mean + camera.translation);
    float opacity = math::sigmoid(logit);
    const bool faint = !(opacity > 0.9999f * c.rules.alpha_min);  // compensation only lowers it
    if (faint || !(depth > c.rules.near_plane && depth < 1e10f)) return false;
    Vec3f scale = gaussian.scale(c.scale_modifier);
    const Quatf quat = gaussian.quat();
    if (gaussian.filtered())
        if (const float filter = c.scale_modifier * gaussian.filter(); filter > 0.0f) {
            opacity = opacity * math::mip_kept(scale, filter);
            scale = math::mip_scale(scale, filter);
        }
    const auto projected = math::project(camera, mean, scale, quat);
    const auto conic = math::conic_of(projected.cov, projected.det, c.blur);
    if (c.antialiased != 0) opacity = opacity * conic.compensation;
    const float limit = 2.0f * math::log(opacity / c.rules.alpha_min);
    const Sym2<float> blurred{projected.cov.xx + c.blur, projected.cov.xy,
                              projected.cov.yy + c.blur};
    const Vec2f extent{math::sqrt(limit * blurred.xx), math::sqrt(limit * blurred.yy)};
    const Vec2f box = profile_box(c.rules, blurred, extent), at = projected.mean;
    const math::FrameBounds<float> frame{c.rules.near_plane, static_cast<float>(c.width),
                                         static_cast<float>(c.height)};
    if (!math::visible(frame, projected, conic, c.blur, limit, box)) return false;

    const TileBox tiles =
        tile_box(c.rules, at, extent, box, c.tiles_x, c.tiles_y, wrap_of<Camera>(c));
    if (tiles.empty()) return false;
    cover = {conic.inverse.xx,
             conic.inverse.xy,
             conic.inverse.yy,
             limit,
             static_cast<std::uint16_t>(tiles.columns.first),
             static_cast<std::uint16_t>(tiles.rows.first),
             static_cast<std::uint16_t>(tiles.columns.end),
             static_cast<std::uint16_t>(tiles.rows.end),
             c.rules.exact_tiles && tiles.several() ? 1u : 0u,
             0u};
    splat.x = at.x;
    splat.y = at.y;
    splat.a = 0.5f * kLog2E * conic.inverse.xx;
    splat.c = 0.5f * kLog2E * conic.inverse.yy;
    // Rounding can make the form of a very long needle indefinite, and it would then grow away from
    // its centre.
    const float widest = math::sqrt(4.0f * splat.a * splat.c) * 0.999999f,
                b = kLog2E * conic.inverse.xy;
    splat.b = b < -widest ? -widest : (widest < b ? widest : b);
    splat.l = kLog2E * math::log(opacity);
    splat.depth = depth;
    splat.extent_x = extent.x;
    splat.extent_y = extent.y;
    return true;
}

/// How many tiles it is listed in; and which, where a mask can say it, so that emit need not look
/// at the splat again.
GS_DEVICE std::uint32_t count_isects(Coverage& cover, const Splat& splat, int tiles_x, float wrap) {
    const std::uint32_t width = static_cast<std::uint32_t>(cover.x1 - cover.x0),
                        box = width * static_cast<std::uint32_t>(cover.y1 - cover.y0);
    if (cover.exact == 0) return box;
    std::uint32_t isects = 0, mask = 0, row_begin = 0;
    bool fits = box <= 32;
    for (int row = cover.y0; row < cover.y1; ++row, row_begin += width) {
        const TileRange range = row_tiles(cover, splat, row, tiles_x, wrap);
        const std::uint32_t tiles = static_cast<std::uint32_t>(range.end - range.first);
        isects += tiles;
        fits = fits && (tiles == 0 || (range.first >= cover.x0 && range.end <= cover.x1));
        if (fits && tiles > 0)
            mask |= low_bits(tiles)
                    << (row_begin + static_cast<std::uint32_t>(range.first - cover.x0));
    }
    cover.mask = fits ? mask : 0;
    return isects;
}

/// The coefficients of one Gaussian as round_colors left them, all in registers: each 16 bytes are
/// loaded once, and as one.
template <int kDegree>
struct HalfCoefficients {
    uint4 groups[half_groups(kDegree)];

    GS_DEVICE Vec3f sh(int k) const { return {value(3 * k), value(3 * k + 1), value(3 * k + 2)}; }
    GS_DEVICE float value(int i) const {
        const uint4& eight = groups[i / 8];
        const int at = i / 2 % 4;
        const std::uint32_t two = at == 0   ? eight.x
                                  : at == 1 ? eight.y
                                  : at == 2 ? eight.z
                                            : eight.w;
        return __half2float(
            __ushort_as_half(static_cast<unsigned short>(i % 2 == 0 ? two & 0xffffu : two >> 16)));
    }
};
struct HalfReader {
    const uint4* own;
    std::uint64_t stride;
};
template <int kDegree>
GS_DEVICE HalfCoefficients<kDegree> coefficients_of(const HalfReader& gaussian) {
    HalfCoefficients<kDegree> out;
    GS_UNROLL
    for (int i = 0; i < half_groups(kDegree); ++i)
        out.groups[i] = __ldg(gaussian.own + static_cast<std::size_t>(i) * gaussian.stride);
    return out;
}
/// Read as they are asked for.
template <int kDegree, bool kLazy, bool kCoded>
GS_DEVICE const ModelReader<kLazy, kCoded>& coefficients_of(
    const ModelReader<kLazy, kCoded>& gaussian) {
    return gaussian;
}

template <bool kLazy, bool kHalf, bool kCoded>
GS_DEVICE auto color_reader(const ProjectParams& p, std::uint32_t gaussian) {
    if constexpr (kHalf)
        return HalfReader{reinterpret_cast<const uint4*>(p.colors.words) + gaussian,
                          p.colors.stride};
    else
        return ModelReader<kLazy, kCoded>(p.model, gaussian);
}

/// A degree known when compiling keeps the bases in registers and the loads without a branch
/// between them.
template <int kDegree, class Reader>
GS_DEVICE Vec3f color_of(const Reader& gaussian, Vec3f direction) {
    float basis[sh_bases(kDegree)];
    math::sh_basis(kDegree, direction, basis);
    const auto& coefficients = coefficients_of<kDegree>(gaussian);
    Vec3f color{0.5f, 0.5f, 0.5f};
    GS_UNROLL
    for (int k = 0; k < sh_bases(kDegree); ++k) color += basis[k] * coefficients.sh(k);
    return color;
}
template <class Reader>
GS_DEVICE Vec3f color_of(int degree, const Reader& gaussian, Vec3f direction) {
    if (degree == 0) return color_of<0>(gaussian, direction);
    if (degree == 1) return color_of<1>(gaussian, direction);
    if (degree == 2) return color_of<2>(gaussian, direction);
    return color_of<3>(gaussian, direction);
}

/// What the kernels do. `kHalf`: colours come from ProjectParams::colors, and the
/// model is current. `kCoded`: its moments are.
template <class Camera, bool kLazy, bool kTinted, bool kHalf, bool kCoded = false>
GS_DEVICE void project_chunk(const ProjectParams& p) {
    GS_SHARED(std::uint32_t, blocks_in_view, 1);
    GS_SHARED(std::uint32_t, warp_counts, kChunk / kWarp);
    GS_SHARED(std::uint32_t, survivors, kChunk);
    GS_SHARED(float, ray_then_color, 3 * kChunk);  // of the Gaussian, by its place in the chunk
    GS_SHARED(std::uint32_t, constants, kConstantWords<Camera>);
    const std::uint32_t chunk = blockIdx.x, thread = threadIdx.x;
    const FrameConstants& c = share_constants<kChunk, Camera>(p.constants, constants);
    BlockBounds bounds{0, 0, 0, -1.0f};
    if (thread < kBlocksPerChunk) bounds = bounds_of(p.model, chunk * kBlocksPerChunk + thread);
    __syncthreads();
    if (warp_id() == 0) {
        const std::uint32_t mask = __ballot_sync(kAllLanes, block_may_show<Camera>(c, bounds)),
                            lane = static_cast<std::uint32_t>(lane_id());
        if (lane == 0) {
            blocks_in_view[0] = mask;
            if (mask == 0) p.chunk_slots[chunk] = 0;
            if (mask != 0)
                atomicAdd(&p.counts->candidates, static_cast<std::uint32_t>(__popc(mask)) *
                                                     static_cast<std::uint32_t>(kBlock));
        }
    }
    __syncthreads();
    if (blocks_in_view[0] == 0) return;

    const std::uint32_t gaussian = chunk * kChunk + thread;
    bool visible = gaussian < p.model.count && (blocks_in_view[0] >> (thread / kBlock) & 1u) != 0;
    if constexpr (kTinted) visible = visible && !GaussianTint::hidden(word_of(p.tint, gaussian));
    Splat splat;
    Coverage cover;
    std::uint32_t isects = 0;
    if (visible) {
        Vec3f mean;
        visible = project_gaussian<Camera>(c, ModelReader<kLazy, kCoded>(p.model, gaussian), mean,
                                           splat, cover);
        if (visible) isects = count_isects(cover, splat, c.tiles_x, wrap_of<Camera>(c));
        visible = isects > 0;
        const Vec3f ray = c.camera.w_from_z * mean - c.ray_origin;
        ray_then_color[thread] = ray.x;
        ray_then_color[kChunk + thread] = ray.y;
        ray_then_color[2 * kChunk + thread] = ray.z;
    }
    const BlockRank shaded = block_rank(visible, warp_counts);
    if (visible) survivors[shaded.rank] = thread;
    __syncthreads();
    if (thread < shaded.total) {
        const std::uint32_t at = survivors[thread];
        const Vec3f ray{ray_then_color[at], ray_then_color[kChunk + at],
                        ray_then_color[2 * kChunk + at]};
        const Vec3f color =
            color_of(c.sh_degree, color_reader<kLazy, kHalf, kCoded>(p, chunk * kChunk + at),
                     math::normalize(ray));
        ray_then_color[at] = color.x;
        ray_then_color[kChunk + at] = color.y;
        ray_then_color[2 * kChunk + at] = color.z;
    }
    __syncthreads();
    if (visible) {
        const Vec3f color{ray_then_color[thread], ray_then_color[kChunk + thread],
                          ray_then_color[2 * kChunk + thread]};
        splat.red = shown_channel(color.x);
        splat.green = shown_channel(color.y);
        splat.blue = shown_channel(color.z);
        // False for NaN, Inf and absurd numbers: a Gaussian with such coefficients draws nothing.
        visible = dot(color, color) < 1e30f;
        if constexpr (kTinted) {
            const std::uint32_t word = word_of(p.tint, gaussian);
            splat.red = GaussianTint::shown(splat.red, word, 0);
            splat.green = GaussianTint::shown(splat.green, word, 1);
            splat.blue = GaussianTint::shown(splat.blue, word, 2);
        }
    }
    const BlockRank kept = block_rank(visible, warp_counts);
    if (thread == 0) p.chunk_slots[chunk] = kept.total;
    if (visible) {
        const std::uint32_t slot = chunk * kChunk + kept.rank;
        p.splats[slot] = splat;
        p.coverage[slot] = cover;
        p.depth_of_slot[slot] = __float_as_uint(splat.depth);
        p.gaussian_from_slot[slot] = gaussian;
        p.isects_of_slot[slot] = isects;
    }
    const std::uint32_t of_warp = warp_sum(visible ? isects : 0u);
    __syncthreads();
    if (lane_id() == 0) warp_counts[warp_id()] = of_warp;
    __syncthreads();
    if (thread != 0) return;
    unsigned long long of_chunk = 0;
    for (int w = 0; w < kChunk / kWarp; ++w) of_chunk += warp_counts[w];
    if (of_chunk > 0) atomicAdd(p.isect_total, of_chunk);
}

}  // namespace gs::cuda
