#include "trainer/cuda/density_kernels.h"

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "trainer/density/morton_code.h"
#include "trainer/density/row_identity.h"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

GS_DEVICE std::uint32_t thread_index() { return blockIdx.x * kThreads + threadIdx.x; }
GS_DEVICE float value_of(const ModelView& model, int plane, std::uint32_t row) {
    return model.values[static_cast<std::size_t>(plane) * model.stride + row];
}
/// One addition a warp. All lanes call it. Integers: any order gives the same.
GS_DEVICE void count_lanes(bool counts, std::uint32_t* to) {
    const unsigned mask = __ballot_sync(kAllLanes, counts);
    if (lane_id() == 0 && mask != 0) atomicAdd(to, static_cast<std::uint32_t>(__popc(mask)));
}

GS_DEVICE Fate fate_of_row(const DensityInputs& in, std::uint32_t row, bool may_grow) {
    const ModelView& model = in.model;
    const int planes = plane_count(model.sh_degree);
    float sum = 0;  // NaN or infinite as soon as one of them is
    for (int p = 0; p < planes; ++p) sum += 0.0f * value_of(model, p, row);
    const float largest =
        fmaxf(value_of(model, kLogScales, row),
              fmaxf(value_of(model, kLogScales + 1, row), value_of(model, kLogScales + 2, row)));
    return fate_of({locked_tag(in.statistics.tags[row]),
                    {value_of(model, kMeans, row), value_of(model, kMeans + 1, row),
                     value_of(model, kMeans + 2, row)},
                    value_of(model, kOpacityLogits, row),
                    largest,
                    sum == 0.0f,
                    in.statistics.gradient_sum[row],
                    in.statistics.views[row],
                    in.statistics.radius_px[row]},
                   in.rules, may_grow);
}

GS_KERNEL(kThreads, 4)
void decide(DensityInputs in) {
    const std::uint32_t row = thread_index();
    const bool used = row < in.model.count;
    const Fate fate = used ? fate_of_row(in, row, true) : Fate::remove;
    const bool grows = fate == Fate::clone || fate == Fate::split;
    if (used) {
        in.fates[row] = fate;
        in.marks[row] = grows ? 1 : 0;
    }
    count_lanes(used && fate != Fate::remove, &in.counts->survivors);
    count_lanes(grows, &in.counts->wanted);
}

struct ListGrowingParams {
    DensityInputs in;
    const std::uint32_t* places;
    std::uint32_t *keys, *rows;
};
GS_KERNEL(kThreads, 4)
void list_growing(ListGrowingParams p) {
    const std::uint32_t row = thread_index();
    if (row >= p.in.model.count) return;
    const Fate fate = p.in.fates[row];
    if (fate != Fate::clone && fate != Fate::split) return;
    const std::uint32_t place = p.places[row];
    // Pulls are not negative, so their bits are in their order.
    const float pull = density_pull(p.in.statistics.gradient_sum[row], p.in.statistics.views[row]);
    p.keys[place] = ~static_cast<std::uint32_t>(__float_as_int(pull));
    p.rows[place] = row;
}

struct LimitParams {
    DensityInputs in;
    const std::uint32_t* rows;
    std::uint32_t room, wanted;
};
GS_KERNEL(kThreads, 4)
void limit_growth(LimitParams p) {
    const std::uint32_t i = p.room + thread_index();
    if (i >= p.wanted) return;
    const std::uint32_t row = p.rows[i];
    p.in.fates[row] = fate_of_row(p.in, row, false);
}

GS_KERNEL(kThreads, 4)
void count_rows(DensityInputs in) {
    const std::uint32_t row = thread_index();
    const bool used = row < in.model.count;
    const Fate fate = used ? in.fates[row] : Fate::keep;
    if (used) in.marks[row] = rows_of(fate);
    count_lanes(used && fate == Fate::clone, &in.counts->cloned);
    count_lanes(used && fate == Fate::split, &in.counts->split);
    count_lanes(used && fate == Fate::remove, &in.counts->pruned);
}

GS_KERNEL(kThreads, 4)
void count_new(DensityInputs in) {
    const std::uint32_t row = thread_index();
    if (row >= in.model.count) return;
    const Fate fate = in.fates[row];
    in.marks[row] = fate == Fate::clone ? 1 : fate == Fate::split ? 2 : 0;
}

/// Unsigned integers in the order of floats, and back.
GS_DEVICE std::uint32_t ordered_bits(float x) {
    const std::uint32_t bits = static_cast<std::uint32_t>(__float_as_int(x));
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
GS_DEVICE float from_ordered_bits(std::uint32_t bits) {
    return __int_as_float(static_cast<int>((bits & 0x80000000u) != 0 ? bits & 0x7fffffffu : ~bits));
}

struct ListRowsParams {
    DensityInputs in;
    ListPlan plan;
    NewRows out;
};
GS_DEVICE void add_row(const ListRowsParams& p, std::uint32_t place, std::uint32_t source,
                       Origin origin, std::uint32_t tag, Vec3f mean) {
    p.out.source[place] = source;
    p.out.origin[place] = origin;
    p.out.tag[place] = tag;
    const float at[3] = {mean.x, mean.y, mean.z};
    for (int axis = 0; axis < 3; ++axis)
        p.out.mean[3 * static_cast<std::size_t>(place) + axis] = at[axis];
    if (!finite_position(mean)) return;
    for (int axis = 0; axis < 3; ++axis) {
        // Most rows do not widen the bounds: a look saves the atomic.
        const std::uint32_t bits = ordered_bits(at[axis]);
        if (bits < p.in.counts->lo[axis]) atomicMin(&p.in.counts->lo[axis], bits);
        if (bits > p.in.counts->hi[axis]) atomicMax(&p.in.counts->hi[axis], bits);
    }
}
GS_KERNEL(kThreads,
          2)  // a child's place is computed in double precision, which needs the registers
void list_rows(ListRowsParams p) {
    const std::uint32_t row = thread_index();
    const ModelView& model = p.in.model;
    if (row >= model.count) return;
    const Fate fate = p.in.fates[row];
    if (fate == Fate::remove) return;
    const std::uint32_t place = p.plan.first[row],
                        new_id = later_id(p.plan.next_id, p.plan.new_first[row]);
    const auto vector = [&](int plane) {
        return Vec3f{value_of(model, plane, row), value_of(model, plane + 1, row),
                     value_of(model, plane + 2, row)};
    };
    const Vec3f mean = vector(kMeans);
    if (fate != Fate::split) {
        add_row(p, place, row, fate == Fate::clone ? Origin::original : Origin::kept,
                p.in.statistics.tags[row], mean);
        if (fate == Fate::clone) add_row(p, place + 1, row, Origin::copy, new_id, mean);
        return;
    }
    const Vec3f log_scale = vector(kLogScales);
    const Quatd quat{value_of(model, kQuats, row), value_of(model, kQuats + 1, row),
                     value_of(model, kQuats + 2, row), value_of(model, kQuats + 3, row)};
    for (std::uint32_t child = 0; child < 2; ++child)
        add_row(p, place + child, row, child == 0 ? Origin::first_child : Origin::second_child,
                later_id(new_id, child),
                child_mean(p.in.rules.long_axis, mean, log_scale, quat, row, p.plan.seed,
                           p.plan.step, child));
}

struct MortonParams {
    const DensityCounts* counts;
    const float* mean;
    std::uint32_t rows;
    std::uint64_t* keys;
    std::uint32_t* order;
};
GS_KERNEL(kThreads, 4)
void morton_keys(MortonParams p) {
    const std::uint32_t i = thread_index();
    if (i >= p.rows) return;
    double lo[3], hi[3];
    for (int axis = 0; axis < 3; ++axis) {
        lo[axis] = static_cast<double>(from_ordered_bits(p.counts->lo[axis]));
        hi[axis] = static_cast<double>(from_ordered_bits(p.counts->hi[axis]));
    }
    const float* mean = p.mean + 3 * static_cast<std::size_t>(i);
    p.keys[i] = morton_code({mean[0], mean[1], mean[2]}, morton_grid(lo, hi));
    p.order[i] = i;
}

struct ReorderParams {
    NewRows from;
    const std::uint32_t* order;
    std::uint32_t rows;
    NewRows to;
};
GS_KERNEL(kThreads, 4)
void reorder(ReorderParams p) {
    const std::uint32_t i = thread_index();
    if (i >= p.rows) return;
    const std::uint32_t from = p.order[i];
    p.to.source[i] = p.from.source[from];
    p.to.origin[i] = p.from.origin[from];
    p.to.tag[i] = p.from.tag[from];
    for (int axis = 0; axis < 3; ++axis)
        p.to.mean[3 * static_cast<std::size_t>(i) + axis] =
            p.from.mean[3 * static_cast<std::size_t>(from) + axis];
}

struct MoveParams {
    ModelView model;
    NewRows rows;
    std::uint32_t count, cleared;
    int first, planes;
    float* scratch;  ///< [plane][count]
};
/// A thread per row and plane, rows first. False beyond the end.
GS_DEVICE bool place_of(std::uint32_t rows, int planes, std::uint32_t& row, int& plane) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
    row = static_cast<std::uint32_t>(i % rows);
    plane = static_cast<int>(i / rows);
    return plane < planes;
}
/// Column `plane` of the moments, or of their codes.
template <class T>
GS_DEVICE T* moment_at(const ModelView& model, std::uint32_t row, int plane) {
    constexpr std::uint32_t kRows = kBlock;
    const LazyView& lazy = model.lazy;
    T* first;
    if constexpr (std::is_same_v<T, float>)
        first = lazy.moments;
    else
        first = lazy.codes;
    const int columns = std::is_same_v<T, float> ? 2 * lazy.model_planes : lazy.model_planes;
    return first +
           (static_cast<std::size_t>(row / kRows) * static_cast<std::size_t>(columns) +
            static_cast<std::size_t>(plane)) *
               kRows +
           row % kRows;
}

GS_KERNEL(kThreads, 4)
void gather_values(MoveParams p) {
    std::uint32_t row;
    int plane;
    if (!place_of(p.count, p.planes, row, plane)) return;
    p.scratch[static_cast<std::size_t>(plane) * p.count + row] =
        value_of(p.model, p.first + plane, p.rows.source[row]);
}
GS_KERNEL(kThreads, 4)
void store_values(MoveParams p) {
    std::uint32_t row;
    int plane;
    if (!place_of(p.count, p.planes, row, plane)) return;
    p.model.values[static_cast<std::size_t>(p.first + plane) * p.model.stride + row] =
        p.scratch[static_cast<std::size_t>(plane) * p.count + row];
}
template <class T>
GS_KERNEL(kThreads, 4)
void gather_moments(MoveParams p) {
    std::uint32_t row;
    int plane;
    if (!place_of(p.count, p.planes, row, plane)) return;
    reinterpret_cast<T*>(p.scratch)[static_cast<std::size_t>(plane) * p.count + row] =
        keeps_moments(p.rows.origin[row])
            ? *moment_at<T>(p.model, p.rows.source[row], p.first + plane)
            : T{0};
}
template <class T>
GS_KERNEL(kThreads, 4)
void store_moments(MoveParams p) {
    std::uint32_t row;
    int plane;
    if (!place_of(p.cleared, p.planes, row, plane)) return;
    const T* from = reinterpret_cast<const T*>(p.scratch);
    *moment_at<T>(p.model, row, p.first + plane) =
        row < p.count ? from[static_cast<std::size_t>(plane) * p.count + row] : T{0};
}

struct ChildrenParams {
    ModelView model;
    NewRows rows;
    std::uint32_t count;
    DensityRules rules;
};
GS_KERNEL(kThreads, 2)  // logarithms in double precision
void place_children(ChildrenParams p) {
    const std::uint32_t row = thread_index();
    if (row >= p.count) return;
    const float* mean = p.rows.mean + 3 * static_cast<std::size_t>(row);
    become(
        [&](int plane) -> float& {
            return p.model.values[static_cast<std::size_t>(plane) * p.model.stride + row];
        },
        p.rows.origin[row], {mean[0], mean[1], mean[2]}, p.rules);
}

struct ShareParams {
    ModelView model;
    const std::uint8_t* shares;
    const std::uint32_t* tags;
    std::uint32_t count;
    SharingRules rules;
};
GS_KERNEL(kThreads, 2)  // logarithms in double precision
void share_places(ShareParams p) {
    const std::uint32_t row = thread_index();
    if (row >= p.count) return;
    const auto value = [&](int plane) -> float& {
        return p.model.values[static_cast<std::size_t>(plane) * p.model.stride + row];
    };
    share_place(value, p.shares[row], id_of_tag(p.tags[row]), p.rules);
}

struct OpacityParams {
    ModelView model;
    const std::uint32_t* tags;
    float most;
};
GS_KERNEL(kThreads, 4)
void lower_opacity(OpacityParams p) {
    const std::uint32_t row = thread_index();
    if (row >= p.model.count || locked_tag(p.tags[row])) return;
    float& logit = p.model.values[static_cast<std::size_t>(kOpacityLogits) * p.model.stride + row];
    logit = p.most < logit ? p.most : logit;
}

}  // namespace

void launch_decide(const Stream& stream, const DensityInputs& in) {
    launch(stream, "density_decide", grid_for(in.model.count, kThreads), decide, in);
}
void launch_list_growing(const Stream& stream, const DensityInputs& in, const std::uint32_t* places,
                         std::uint32_t* keys, std::uint32_t* rows) {
    launch(stream, "density_list_growing", grid_for(in.model.count, kThreads), list_growing,
           ListGrowingParams{in, places, keys, rows});
}
void launch_limit(const Stream& stream, const DensityInputs& in, const std::uint32_t* rows,
                  std::uint32_t room, std::uint32_t wanted) {
    launch(stream, "density_limit", grid_for(wanted > room ? wanted - room : 0, kThreads),
           limit_growth, LimitParams{in, rows, room, wanted});
}
void launch_count_rows(const Stream& stream, const DensityInputs& in) {
    launch(stream, "density_count_rows", grid_for(in.model.count, kThreads), count_rows, in);
}
void launch_count_new(const Stream& stream, const DensityInputs& in) {
    launch(stream, "density_count_new", grid_for(in.model.count, kThreads), count_new, in);
}
void launch_list_rows(const Stream& stream, const DensityInputs& in, const ListPlan& plan,
                      const NewRows& out) {
    launch(stream, "density_list_rows", grid_for(in.model.count, kThreads), list_rows,
           ListRowsParams{in, plan, out});
}
void launch_morton_keys(const Stream& stream, const DensityCounts* counts, const float* mean,
                        std::uint32_t rows, std::uint64_t* keys, std::uint32_t* order) {
    launch(stream, "morton_keys", grid_for(rows, kThreads), morton_keys,
           MortonParams{counts, mean, rows, keys, order});
}
void launch_reorder(const Stream& stream, const NewRows& from, const std::uint32_t* order,
                    std::uint32_t rows, const NewRows& to) {
    launch(stream, "density_reorder", grid_for(rows, kThreads), reorder,
           ReorderParams{from, order, rows, to});
}
void launch_gather_values(const Stream& stream, const ModelView& model, const NewRows& rows,
                          std::uint32_t count, int first, int planes, float* scratch) {
    launch(stream, "gather_values",
           grid_for(std::size_t{count} * static_cast<std::size_t>(planes), kThreads), gather_values,
           MoveParams{model, rows, count, count, first, planes, scratch});
}
void launch_store_values(const Stream& stream, const ModelView& model, std::uint32_t count,
                         int first, int planes, const float* scratch) {
    launch(stream, "store_values",
           grid_for(std::size_t{count} * static_cast<std::size_t>(planes), kThreads), store_values,
           MoveParams{model, {}, count, count, first, planes, const_cast<float*>(scratch)});
}
void launch_gather_moments(const Stream& stream, const ModelView& model, const NewRows& rows,
                           std::uint32_t count, int first, int planes, float* scratch) {
    launch(stream, "gather_moments",
           grid_for(std::size_t{count} * static_cast<std::size_t>(planes), kThreads),
           model.lazy.coded() ? gather_moments<std::uint16_t> : gather_moments<float>,
           MoveParams{model, rows, count, count, first, planes, scratch});
}
void launch_store_moments(const Stream& stream, const ModelView& model, std::uint32_t count,
                          std::uint32_t cleared, int first, int planes, const float* scratch) {
    launch(stream, "store_moments",
           grid_for(std::size_t{cleared} * static_cast<std::size_t>(planes), kThreads),
           model.lazy.coded() ? store_moments<std::uint16_t> : store_moments<float>,
           MoveParams{model, {}, count, cleared, first, planes, const_cast<float*>(scratch)});
}
void launch_place_children(const Stream& stream, const ModelView& model, const NewRows& rows,
                           std::uint32_t count, const DensityRules& rules) {
    launch(stream, "place_children", grid_for(count, kThreads), place_children,
           ChildrenParams{model, rows, count, rules});
}
void launch_share_places(const Stream& stream, const ModelView& model, const std::uint8_t* shares,
                         const std::uint32_t* tags, std::uint32_t count,
                         const SharingRules& rules) {
    launch(stream, "share_places", grid_for(count, kThreads), share_places,
           ShareParams{model, shares, tags, count, rules});
}
void launch_lower_opacity(const Stream& stream, const ModelView& model, const std::uint32_t* tags,
                          float most) {
    launch(stream, "lower_opacity", grid_for(model.count, kThreads), lower_opacity,
           OpacityParams{model, tags, most});
}

}  // namespace gs::cuda
