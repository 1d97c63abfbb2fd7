// The kernels of a step's beams. Forward walks a tile's list in pieces that its block keeps in
// shared memory. Backward walks it from the end and skips pieces that no ray reached. What a tile
// gives a Gaussian is added in a fixed order, and then its tiles in theirs: the same bits twice.
// The formulas are derived at the top of renderer/rays/trace_backward.cpp.
#include "trainer/cuda/beams.h"

#include <bit>

#include "renderer/device/cuda/launch.h"
#include "renderer/math/mip_filter.h"
#include "renderer/raster/cuda/model_reader.cuh"
#include "renderer/raster/ray_form.h"
#include "trainer/cuda/adam_sink.cuh"
#include "trainer/lidar/beam_step.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256, kRays = kRaysPerTile, kWarps = kRays / kWarp, kPiece = 32,
                        kLaneSums = 16;  // kBeamSums and what fills them up

/// A Gaussian as it is drawn.
struct DrawnGaussian {
    Vec3f mean, scale;
    float filter;  ///< world units, 0: none
    Quatf quat;
    float opacity;
    /// Without rotation and opacity, which are not read of Gaussians far from all beams.
    template <class Reader>
    GS_DEVICE explicit DrawnGaussian(const Reader& reader)
        : mean(reader.mean()),
          scale(reader.scale(1.0f)),
          filter(reader.filtered() ? reader.filter() : 0.0f) {
        if (filter > 0.0f) scale = math::mip_scale(scale, filter);
    }
    template <class Reader>
    GS_DEVICE void complete(const Reader& reader) {
        quat = reader.quat();
        opacity = math::sigmoid(reader.opacity_logit());
        if (filter > 0.0f) opacity *= math::mip_kept(reader.scale(1.0f), filter);
    }
};

/// False: no ray can meet it. `kCoded`: the model's moments are in 16 bits.
template <bool kCoded>
GS_DEVICE bool prepare(const BeamJob& p, std::uint32_t row, BeamGaussian& out, RayOutline& outline,
                       float& distance) {
    const BeamInputs& in = *p.beams.inputs;
    const ModelReader<true, kCoded> reader(p.model, row);
    DrawnGaussian g(reader);
    const Vec3d arm = Vec3d{g.mean.x, g.mean.y, g.mean.z} - in.place;
    distance = static_cast<float>(math::sqrt(dot(arm, arm)));
    if (!(distance <= FLT_MAX) ||
        in.places.beyond(g.mean, fmaxf(fmaxf(g.scale.x, g.scale.y), g.scale.z)))
        return false;
    g.complete(reader);
    const Mat3f m = math::whitening(g.scale, g.quat);
    for (int k = 0; k < 9; ++k) out.whitening[k] = m.m[k / 3][k % 3];
    out.mean = g.mean;
    out.log2_opacity = log2f(g.opacity);
    return in.places.outline(g.scale, g.quat, m, g.opacity, in.rules.alpha_min, outline);
}

/// A thread a row; one behind the last has no pairs.
template <bool kCoded>
GS_KERNEL(kThreads, 2)
void count_beam_pairs(BeamJob p) {
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (row > p.model.count) return;
    std::uint32_t pairs = 0;
    BeamGaussian gaussian{};
    RayOutline outline{};
    float distance = 0;
    if (row < p.model.count && prepare<kCoded>(p, row, gaussian, outline, distance))
        p.beams.inputs->places.place_in(gaussian.mean, outline, [&](std::uint32_t) { ++pairs; });
    p.beams.first[row] = pairs;  // added up next
    if (pairs == 0) return;
    const unsigned long long before =
        atomicAdd(&p.beams.totals->pairs, static_cast<unsigned long long>(pairs));
    if (before + pairs > p.beams.pairs) p.counts->overflow = 1;
}

/// A thread a row.
template <bool kCoded>
GS_KERNEL(kThreads, 2)
void emit_beam_pairs(BeamJob p) {
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (p.flags->halted != 0 || row >= p.model.count) return;
    const BeamArrays& b = p.beams;
    const std::uint32_t first = b.first[row], end = b.first[row + 1];
    if (first == end) return;
    RayOutline outline{};
    float distance = 0;
    if (!prepare<kCoded>(p, row, b.gaussians[first], outline, distance)) return;
    const auto near = static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(distance));
    std::uint32_t at = first;
    b.inputs->places.place_in(b.gaussians[first].mean, outline, [&](std::uint32_t tile) {
        if (at == end) return;  // the compiler may round it otherwise here
        b.keys[0][at] = static_cast<std::uint64_t>(tile) << 32 | near;
        b.sorted[0][at] = at;
        b.gaussian_of[at++] = first;
    });
}

/// A thread a sorted pair: where its tile's list begins and ends.
GS_KERNEL(kThreads, 2) void find_beam_lists(BeamJob p) {
    const BeamArrays& b = p.beams;
    const std::uint32_t k = blockIdx.x * kThreads + threadIdx.x;
    if (p.flags->halted != 0 || k >= b.first[p.model.count]) return;
    const std::uint64_t tile = b.keys[0][k] >> 32;
    if (tile >= b.inputs->tiles) return;  // of no pair
    if (k == 0 || b.keys[0][k - 1] >> 32 != tile) b.begin[tile] = k;
    if (k + 1 == b.pairs || b.keys[0][k + 1] >> 32 != tile) b.end[tile] = k + 1;
}

/// A thread's ray, by what it is more than its tile's.
struct BeamRay {
    const RayTile& tile;
    std::uint32_t slot;
    bool is_one;
    Vec3f direction, origin;
    GS_DEVICE BeamRay(const BeamInputs& in, std::uint32_t index)
        : tile(in.places.tiles[index]),
          slot(tile.first + threadIdx.x),
          is_one(threadIdx.x < tile.count),
          direction(is_one ? at(in.direction_off, in.slots) : Vec3f{}),
          origin(is_one ? at(in.origin_off, in.slots) : Vec3f{}) {}
    GS_DEVICE Vec3f at(const float* planes, std::uint32_t stride) const {
        return {planes[slot], planes[std::size_t{stride} + slot],
                planes[2 * std::size_t{stride} + slot]};
    }
};

/// A ray at a Gaussian: cpu::RayMeeting. Nothing here may be contracted otherwise, so that forward
/// and backward decide alike.
struct BeamMeeting {
    Vec3f step, aside;
    float inverse, back, power, distance;
};
GS_DEVICE float fixed_row(const float* m, Vec3f v, float more) {
    return __fmaf_rn(m[0], v.x, __fmaf_rn(m[1], v.y, __fmaf_rn(m[2], v.z, more)));
}
GS_DEVICE float fixed_dot(Vec3f a, Vec3f b) {
    return __fmaf_rn(a.x, b.x, __fmaf_rn(a.y, b.y, __fmul_rn(a.z, b.z)));
}
GS_DEVICE Vec3f fixed_cross(Vec3f a, Vec3f b) {
    return {__fmaf_rn(a.y, b.z, -__fmul_rn(a.z, b.y)), __fmaf_rn(a.z, b.x, -__fmul_rn(a.x, b.z)),
            __fmaf_rn(a.x, b.y, -__fmul_rn(a.y, b.x))};
}
/// False: it is not blended, whatever the light.
GS_DEVICE bool meet(const RayForm& g, const BeamRay& ray, float log2_alpha_min, BeamMeeting& out) {
    constexpr float kHalfLog2E = 0.72134752f;  // exp(-x / 2) = 2^(-x kHalfLog2E)
    const Vec3f off = ray.direction,
                turned{fixed_row(g.whitening, off, 0.0f), fixed_row(g.whitening + 3, off, 0.0f),
                       fixed_row(g.whitening + 6, off, 0.0f)},
                arm{fixed_row(g.whitening, ray.origin, __fmaf_rn(g.along, turned.x, g.arm[0])),
                    fixed_row(g.whitening + 3, ray.origin, __fmaf_rn(g.along, turned.y, g.arm[1])),
                    fixed_row(g.whitening + 6, ray.origin, __fmaf_rn(g.along, turned.z, g.arm[2]))};
    out.step = {__fadd_rn(turned.x, g.step[0]), __fadd_rn(turned.y, g.step[1]),
                __fadd_rn(turned.z, g.step[2])};
    out.inverse = __fdiv_rn(1.0f, fixed_dot(out.step, out.step));
    out.back = __fmul_rn(fixed_dot(arm, out.step), out.inverse);
    out.aside = fixed_cross(arm, out.step);
    out.power = __fmaf_rn(-kHalfLog2E, __fmul_rn(fixed_dot(out.aside, out.aside), out.inverse),
                          g.log2_opacity);
    out.distance = __fsub_rn(g.along, out.back);
    return out.power >= log2_alpha_min && out.distance >= 0.0f;
}
/// Entry `k` of the sorted lists.
GS_DEVICE RayForm form_of(const BeamArrays& b, const RayTile& tile, std::uint32_t k) {
    const BeamGaussian& g = b.gaussians[b.gaussian_of[b.sorted[0][k]]];
    return ray_form(g.whitening, g.mean, g.log2_opacity, tile.origin, tile.direction);
}

/// A block a tile.
GS_KERNEL(kRays, 4) void trace_beams(BeamJob p) {
    GS_SHARED(RayForm, forms, kRays);
    const BeamArrays& b = p.beams;
    const BeamInputs& in = *b.inputs;
    if (p.flags->halted != 0 || blockIdx.x >= in.tiles) return;
    const BeamRay ray(in, blockIdx.x);
    const std::uint32_t begin = b.begin[blockIdx.x], end = b.end[blockIdx.x];
    float t = 1.0f;
    std::uint32_t last = 0;
    bool open = ray.is_one;
    for (std::uint32_t from = begin; from < end; from += kRays) {
        if (__syncthreads_or(open) == 0) break;
        if (from + threadIdx.x < end) forms[threadIdx.x] = form_of(b, ray.tile, from + threadIdx.x);
        __syncthreads();
        const std::uint32_t here = min(end - from, kRays);
        for (std::uint32_t j = 0; j < here && open; ++j) {
            BeamMeeting at;
            if (!meet(forms[j], ray, in.log2_alpha_min, at)) continue;
            const float behind =
                __fsub_rn(t, __fmul_rn(fminf(exp2f(at.power), in.rules.alpha_max), t));
            open = behind > in.rules.transmittance_min;
            if (!open) break;
            t = behind;
            last = from - begin + j + 1;
        }
    }
    if (!ray.is_one) return;
    b.through[ray.slot] = t;
    b.last[ray.slot] = last;
    b.dark[ray.slot] = -log(fmax(static_cast<double>(1.0f - t), kLeastAlpha));
}

/// A ray on its way back.
struct RayBack {
    float through;  ///< behind the Gaussian under way
    float behind;   ///< what everything farther back adds to the loss
    float off;      ///< sum of weight x distance from the return
    float v_alpha;  ///< of all light that is stopped
    float measured;
};
/// `v`: what the ray gives the Gaussian. False: it has not blended it.
GS_DEVICE bool pass_back(const BeamInputs& in, const RayForm& g, const BeamRay& ray, RayBack& back,
                         float (&v)[kLaneSums]) {
    BeamMeeting at;
    if (!meet(g, ray, in.log2_alpha_min, at)) return false;
    const float raw = exp2f(at.power), alpha = fminf(raw, in.rules.alpha_max),
                passes = 1.0f / (1.0f - alpha), t = back.through * passes, w = alpha * t,
                past = at.distance - back.measured, amiss = fminf(fabsf(past), kFarOff),
                worth = in.each * amiss + back.v_alpha,
                v_hit = amiss < kFarOff ? copysignf(in.each, past) : 0.0f,
                v_power =
                    raw < in.rules.alpha_max ? (t * worth - back.behind * passes) * raw : 0.0f;
    back.through = t;
    back.behind += w * worth;
    back.off += w * amiss;
    const float h = w * v_hit * at.inverse;
    const Vec3f p = at.inverse * fixed_cross(at.step, at.aside), v_arm = -v_power * p - h * at.step,
                turned = -h * p,
                direction = Vec3f{static_cast<float>(ray.tile.direction.x),
                                  static_cast<float>(ray.tile.direction.y),
                                  static_cast<float>(ray.tile.direction.z)} +
                            ray.direction,
                nearest = g.offset() + g.along * ray.direction + ray.origin - at.back * direction;
    const float arms[3] = {v_arm.x, v_arm.y, v_arm.z}, turns[3] = {turned.x, turned.y, turned.z},
                from[3] = {nearest.x, nearest.y, nearest.z},
                along[3] = {direction.x, direction.y, direction.z};
    GS_UNROLL
    for (int k = 0; k < 3; ++k) {
        v[k] = arms[k];
        GS_UNROLL
        for (int i = 0; i < 3; ++i) v[3 + 3 * k + i] = arms[k] * from[i] + turns[k] * along[i];
    }
    v[12] = v_power;
    return true;
}
/// Lane 2 i and the one behind get the sum over the warp of value i: each exchange halves the
/// values that a lane still has. A template, because nvcc does not unroll a loop over `half`: it
/// then finds v[] by number, which takes several times the instructions.
template <int half = kLaneSums / 2>
GS_DEVICE float sum_for_lane(float (&v)[kLaneSums]) {
    const bool upper = (lane_id() & (2 * half)) != 0;
    GS_UNROLL
    for (int i = 0; i < half; ++i) {
        const float other = __shfl_xor_sync(kAllLanes, upper ? v[i] : v[half + i], 2 * half);
        v[i] = (upper ? v[half + i] : v[i]) + other;
    }
    if constexpr (half > 1)
        return sum_for_lane<half / 2>(v);
    else
        return v[0] + __shfl_xor_sync(kAllLanes, v[0], 1);
}

/// A block a tile.
GS_KERNEL(kRays, 4) void trace_beams_backward(BeamJob p) {
    GS_SHARED(RayForm, forms, kPiece);
    GS_SHARED(float, partial, kWarps* kPiece* kLaneSums);  // [warp][place in the piece][sum]
    GS_SHARED(std::uint32_t, masks, kWarps);               // places that have some
    const BeamArrays& b = p.beams;
    const BeamInputs& in = *b.inputs;
    if (p.flags->halted != 0 || blockIdx.x >= in.tiles) return;
    const BeamRay ray(in, blockIdx.x);
    const std::uint32_t begin = b.begin[blockIdx.x], end = b.end[blockIdx.x],
                        warp = static_cast<std::uint32_t>(warp_id()),
                        last = ray.is_one ? b.last[ray.slot] : 0;
    RayBack back{};
    if (ray.is_one) {
        back.through = b.through[ray.slot];
        back.measured = in.measured[ray.slot];
        back.v_alpha = -in.each / fmaxf(1.0f - back.through, static_cast<float>(kLeastAlpha));
    }
    for (std::uint32_t from = (end - begin + kPiece - 1) / kPiece * kPiece; from > 0;) {
        from -= kPiece;
        if (__syncthreads_or(last > from) == 0) continue;
        const std::uint32_t here = min(end - begin - from, kPiece);
        if (threadIdx.x < here)
            forms[threadIdx.x] = form_of(b, ray.tile, begin + from + threadIdx.x);
        __syncthreads();
        std::uint32_t mask = 0;
        for (std::uint32_t j = here; j-- > 0;) {
            float v[kLaneSums] = {};
            const bool met = from + j < last && pass_back(in, forms[j], ray, back, v);
            if (__any_sync(kAllLanes, met) == 0) continue;
            mask |= 1u << j;
            const float sum = sum_for_lane(v);
            const auto lane = static_cast<std::uint32_t>(lane_id());
            if (lane % 2 == 0) partial[(warp * kPiece + j) * kLaneSums + lane / 2] = sum;
        }
        if (lane_id() == 0) masks[warp] = mask;
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < here * kLaneSums; i += kRays) {
            const std::uint32_t j = i / kLaneSums, k = i % kLaneSums;
            float sum = 0;
            for (std::uint32_t w = 0; w < kWarps; ++w)
                if ((masks[w] >> j & 1u) != 0) sum += partial[w * kPiece * kLaneSums + i];
            if (k < kBeamSums)
                b.sums[std::size_t{b.sorted[0][begin + from + j]} * kBeamSums + k] = sum;
        }
    }
    if (ray.is_one) b.off[ray.slot] = static_cast<double>(back.off);
}

/// The gradient of a Gaussian's geometry, of what its tiles gave.
GS_DEVICE void geometry_of(const DrawnGaussian& g, const double (&sums)[kBeamSums],
                           float (&out)[kGeometryPlanes]) {
    const Mat3f m = math::whitening(g.scale, g.quat);
    Mat3f v_whitening;
    for (int k = 0; k < 9; ++k) v_whitening.m[k / 3][k % 3] = static_cast<float>(sums[3 + k]);
    const Vec3f v_mean =
        -(transpose(m) * Vec3f{static_cast<float>(sums[0]), static_cast<float>(sums[1]),
                               static_cast<float>(sums[2])});
    const auto v = math::whitening_vjp(g.scale, g.quat, m, v_whitening);
    const float v_opacity = static_cast<float>(sums[12]);
    const float scales[3] = {g.scale.x, g.scale.y, g.scale.z},
                slopes[3] = {v.log_scale.x, v.log_scale.y, v.log_scale.z};
    out[kMeans] = v_mean.x;
    out[kMeans + 1] = v_mean.y;
    out[kMeans + 2] = v_mean.z;
    GS_UNROLL
    for (int i = 0; i < 3; ++i) {
        const float slope = scales[i] > kWidestByBeams ? fmaxf(slopes[i], 0.0f) : slopes[i];
        out[kLogScales + i] =
            g.filter > 0.0f ? math::mip_log_scale_vjp(math::mip_share_of_drawn(scales[i], g.filter),
                                                      slope, v_opacity)
                            : slope;
    }
    out[kQuats] = v.quat.w;
    out[kQuats + 1] = v.quat.x;
    out[kQuats + 2] = v.quat.y;
    out[kQuats + 3] = v.quat.z;
    out[kOpacityLogits] = v_opacity;
}

/// A thread a row.
template <bool kCoded>
GS_KERNEL(kThreads, 2)
void add_beams(BeamJob p) {
    const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
    if (p.flags->halted != 0 || row >= p.model.count) return;
    const std::uint32_t begin = p.beams.first[row], end = p.beams.first[row + 1];
    if (begin == end || locked_tag(p.tags[row])) return;
    double sums[kBeamSums] = {};
    for (std::uint32_t pair = begin; pair < end; ++pair) GS_UNROLL
    for (std::uint32_t k = 0; k < kBeamSums; ++k)
        sums[k] += static_cast<double>(p.beams.sums[std::size_t{pair} * kBeamSums + k]);
    const ModelReader<true, kCoded> reader(p.model, row);
    float gradient[kGeometryPlanes];
    DrawnGaussian g(reader);
    g.complete(reader);
    geometry_of(g, sums, gradient);
    gradient[kOpacityLogits] *= 1.0f - math::sigmoid(reader.opacity_logit());
    SoundGradients sound;
    GS_UNROLL
    for (const float v : gradient) sound.add(v);
    if (sound.largest == 0.0f && sound.poison == 0.0f) return;
    if (!sound.all()) {
        atomicAdd(&p.counts->poisoned, 1u);
        return;
    }
    const bool more = p.batch.seen[row] != 0;
    p.batch.seen[row] = 1;
    float* at = p.batch.sums + row;
    GS_UNROLL
    for (int plane = 0; plane < kGeometryPlanes; ++plane, at += p.model.stride)
        *at = more ? *at + gradient[plane] : gradient[plane];
    for (int plane = kSh0; plane < p.step->planes && !more; ++plane, at += p.model.stride) *at = 0;
}

Grid rows_of(const BeamJob& job, std::size_t more = 0) {
    return grid_for(job.model.count + more, kThreads);
}

}  // namespace

void launch_list_beams(const Stream& stream, Primitives& primitives, const BeamJob& job) {
    const bool coded = job.model.lazy.coded();
    fill_bytes(job.beams.totals, 0, sizeof(BeamTotals), stream);
    launch(stream, "count_beam_pairs", rows_of(job, 1),
           coded ? count_beam_pairs<true> : count_beam_pairs<false>, job);
    primitives.exclusive_sum(job.beams.first, job.beams.first, job.model.count + std::size_t{1},
                             stream);
}

void launch_learn_beams(const Stream& stream, Primitives& primitives, const BeamJob& given) {
    BeamJob job = given;
    const bool coded = job.model.lazy.coded();
    BeamArrays& b = job.beams;
    const auto clear = [&](void* from, std::size_t bytes) { fill_bytes(from, 0, bytes, stream); };
    fill_bytes(b.keys[0], 0xff, b.pairs * sizeof(std::uint64_t), stream);  // of no pair, at the end
    clear(b.begin, 2 * b.tiles * sizeof(std::uint32_t));
    clear(b.sums, std::size_t{b.pairs} * kBeamSums * sizeof(float));
    clear(b.off, 2 * b.slots * sizeof(double));
    launch(stream, "emit_beam_pairs", rows_of(job),
           coded ? emit_beam_pairs<true> : emit_beam_pairs<false>, job);
    Swap<std::uint64_t> keys{{b.keys[0], b.keys[1]}};
    Swap<std::uint32_t> sorted{{b.sorted[0], b.sorted[1]}};
    primitives.sort_pairs(keys, sorted, b.pairs, 32 + std::bit_width(b.tiles), stream);
    b.keys[0] = keys.now();
    b.sorted[0] = sorted.now();
    launch(stream, "find_beam_lists", grid_for(b.pairs, kThreads), find_beam_lists, job);
    launch(stream, "trace_beams", {b.tiles, kRays}, trace_beams, job);
    launch(stream, "trace_beams_backward", {b.tiles, kRays}, trace_beams_backward, job);
    launch(stream, "add_beams", rows_of(job), coded ? add_beams<true> : add_beams<false>, job);
    primitives.sum(b.off, &b.totals->off, b.slots, stream);
    primitives.sum(b.dark, &b.totals->dark, b.slots, stream);
}

}  // namespace gs::cuda
