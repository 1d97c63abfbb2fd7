// Splats of flat arrays into pictures with any number of channels, and back, as
// cpu/tensor_blend.cpp: the tiles of each splat, a sort by image, tile and depth, then a block a
// tile and a thread a pixel. Channels are taken kPass at a time, each time through the whole list.
// Backward goes through it from the front as the CPU does, adds what the pixels of a tile say of a
// splat in a fixed order, and then a splat's tiles in theirs.
#include <bit>
#include <stdexcept>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/device/cuda/primitives.h"
#include "renderer/raster/cuda/tensor_stages.h"
#include "renderer/raster/tensor_splat.h"
#include "renderer/raster/tile_cover.h"

namespace gs::cuda {
namespace {

using namespace tensor;

constexpr std::uint32_t kThreads = 256, kWarps = kThreads / kWarp, kPass = 8;
static_assert(kThreads == kTileSize * kTileSize);
/// What sort and scan take.
constexpr std::size_t kMostItems = 0x7ffffffe;

/// The lists of all images. A pair is a splat in a tile; pairs are numbered by entry, and within
/// it by tile: emissions.
struct Lists {
    BlendInput in;  ///< BlendInput::first is empty: the kernels have their own
    const std::int64_t* first;
    RasterRules rules;
    float log2_alpha_min;
    std::uint32_t entries, images, pairs;
    int tiles_x, tiles_y;
    FlatSplat* splats;           ///< [entry]
    std::uint32_t* emission;     ///< [entry + 1] where its pairs begin
    std::uint32_t* entry_of;     ///< [emission]
    std::uint32_t* sorted;       ///< emissions by image, tile and depth
    std::uint32_t *begin, *end;  ///< [image][tile] of `sorted`
    GS_HD std::size_t tiles() const {
        return static_cast<std::size_t>(tiles_x) * static_cast<std::size_t>(tiles_y);
    }
};

/// The columns of a row of tiles that a splat shows in, as cover_block.
struct Cover {
    TileBox box;
    bool exact;
    GS_DEVICE Cover(const Lists& p, const FlatSplat& s)
        : box(tile_box(p.rules, s.mean, s.extent, s.extent, p.tiles_x, p.tiles_y)),
          exact(p.rules.exact_tiles && box.several()) {}
    GS_DEVICE int rows_end() const { return box.empty() ? box.rows.first : box.rows.end; }
    GS_DEVICE TileRange row(const Lists& p, const FlatSplat& s, int row) const {
        return exact ? ellipse_row(s.conic, s.limit, s.mean, s.extent, row, p.tiles_x)
                     : box.columns;
    }
};

struct CoverParams {
    Lists lists;
    unsigned long long* total;  ///< 0 at first
};
/// A thread an entry; one behind the last has no pairs.
GS_KERNEL(kThreads, 2) void cover_entries(CoverParams p) {
    const Lists& l = p.lists;
    const std::size_t e = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (e > l.entries) return;
    std::uint32_t pairs = 0;
    FlatSplat splat;
    if (e < l.entries && flat_splat(l.in, e, splat)) {
        l.splats[e] = splat;
        const Cover cover(l, splat);
        for (int row = cover.box.rows.first; row < cover.rows_end(); ++row) {
            const TileRange range = cover.row(l, splat, row);
            pairs += static_cast<std::uint32_t>(range.end - range.first);
        }
    }
    l.emission[e] = pairs;  // summed up next
    if (pairs > 0) atomicAdd(p.total, static_cast<unsigned long long>(pairs));
}

struct EmitParams {
    Lists lists;
    std::uint64_t* keys;  ///< [emission] tile of all images, then depth
};
GS_DEVICE std::uint32_t image_of(const Lists& l, std::size_t e) {
    std::uint32_t low = 0, high = l.images;  // first[low] <= e < first[high]
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        if (l.first[middle] <= static_cast<std::int64_t>(e))
            low = middle;
        else
            high = middle;
    }
    return low;
}
/// A thread an entry.
GS_KERNEL(kThreads, 2) void emit_entries(EmitParams p) {
    const Lists& l = p.lists;
    const std::size_t e = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (e >= l.entries) return;
    std::uint32_t at = l.emission[e];
    if (at == l.emission[e + 1]) return;
    const FlatSplat splat = l.splats[e];
    const Cover cover(l, splat);
    const std::size_t image = image_of(l, e);
    const std::uint64_t depth = ordered_bits(l.in.depths[e]);
    for (int row = cover.box.rows.first; row < cover.rows_end(); ++row) {
        const TileRange range = cover.row(l, splat, row);
        for (int column = range.first; column < range.end; ++column, ++at) {
            const auto tile = static_cast<std::size_t>(row * l.tiles_x + column);
            p.keys[at] = (image * l.tiles() + tile) << 32 | depth;
            l.sorted[at] = at;
            l.entry_of[at] = static_cast<std::uint32_t>(e);
        }
    }
}

/// A thread a sorted pair: where its tile's list begins and ends.
GS_KERNEL(kThreads, 2) void find_tiles(EmitParams p) {
    const Lists& l = p.lists;
    const std::uint32_t k = blockIdx.x * kThreads + threadIdx.x;
    if (k >= l.pairs) return;
    const std::uint64_t tile = p.keys[k] >> 32;
    if (k == 0 || p.keys[k - 1] >> 32 != tile) l.begin[tile] = k;
    if (k == l.pairs - 1 || p.keys[k + 1] >> 32 != tile) l.end[tile] = k + 1;
}

/// A thread's pixel; outside of the picture nothing is open.
struct Pixel {
    std::size_t at;  ///< of all images
    float x, y;      ///< its centre
    bool open;
    std::uint32_t image;
    GS_DEVICE explicit Pixel(const Lists& l) {
        const std::uint32_t tiles = static_cast<std::uint32_t>(l.tiles()),
                            tile = blockIdx.x % tiles;
        const int column = static_cast<int>(tile) % l.tiles_x * kTileSize +
                           static_cast<int>(threadIdx.x) % kTileSize,
                  row = static_cast<int>(tile) / l.tiles_x * kTileSize +
                        static_cast<int>(threadIdx.x) / kTileSize;
        image = blockIdx.x / tiles;
        at = (std::size_t{image} * static_cast<std::size_t>(l.in.height) +
              static_cast<std::size_t>(row)) *
                 static_cast<std::size_t>(l.in.width) +
             static_cast<std::size_t>(column);
        x = static_cast<float>(column) + 0.5f;
        y = static_cast<float>(row) + 0.5f;
        open = column < l.in.width && row < l.in.height;
    }
};
/// What meeting a splat needs.
struct NearSplat {
    float x, y, s, r, w, log2_opacity;
    std::uint32_t entry, emission;
};
GS_DEVICE NearSplat near_splat(const Lists& l, std::uint32_t k) {
    const std::uint32_t emission = l.sorted[k], entry = l.entry_of[emission];
    const FlatSplat& s = l.splats[entry];
    return {s.mean.x, s.mean.y, s.s, s.r, s.w, s.log2_opacity, entry, emission};
}
/// A splat at a pixel. Nothing here may be contracted, so that forward and backward decide alike.
struct Met {
    float dx, dy;  ///< from the splat's mean
    float raw;     ///< alpha before its limit
    float weight;
    float behind;  ///< transmittance behind it
};
/// False: nothing is blended. Closes a pixel that would let too little through.
GS_DEVICE bool meet(const Lists& l, const NearSplat& s, Pixel& pixel, float t, Met& m) {
    m.dx = __fsub_rn(pixel.x, s.x), m.dy = __fsub_rn(pixel.y, s.y);
    const float along = __fmaf_rn(s.s, m.dx, __fmul_rn(s.r, m.dy)), across = __fmul_rn(s.w, m.dy),
                power = __fmaf_rn(-across, across, __fmaf_rn(-along, along, s.log2_opacity));
    if (!(power >= l.log2_alpha_min)) return false;
    m.raw = exp2f(power);
    m.weight = __fmul_rn(m.raw < l.rules.alpha_max ? m.raw : l.rules.alpha_max, t);
    m.behind = __fsub_rn(t, m.weight);
    pixel.open = m.behind > l.rules.transmittance_min;
    return pixel.open;
}

struct BlendParams {
    Lists lists;
    float *picture, *alphas;
};
GS_KERNEL(kThreads, 2) void blend_channels(BlendParams p) {
    GS_SHARED(NearSplat, splats, kThreads);
    const Lists& l = p.lists;
    const std::size_t channels = l.in.channels;
    const std::uint32_t begin = l.begin[blockIdx.x], end = l.end[blockIdx.x];
    const Pixel start(l);
    for (std::size_t first = 0; first < channels; first += kPass) {
        Pixel pixel = start;
        float t = 1.0f, sums[kPass] = {};
        for (std::uint32_t from = begin; from < end; from += kThreads) {
            if (__syncthreads_or(pixel.open) == 0) break;
            if (from + threadIdx.x < end) splats[threadIdx.x] = near_splat(l, from + threadIdx.x);
            __syncthreads();
            const std::uint32_t here = min(end - from, kThreads);
            for (std::uint32_t j = 0; j < here && pixel.open; ++j) {
                Met m;
                const NearSplat& splat = splats[j];
                if (!meet(l, splat, pixel, t, m)) continue;
                const float* color = l.in.colors + splat.entry * channels + first;
                GS_UNROLL
                for (std::uint32_t k = 0; k < kPass; ++k)
                    if (first + k < channels) sums[k] += m.weight * color[k];
                t = m.behind;
            }
        }
        if (!start.open) continue;
        const float* background = l.in.backgrounds != nullptr
                                      ? l.in.backgrounds + start.image * channels + first
                                      : nullptr;
        GS_UNROLL
        for (std::uint32_t k = 0; k < kPass; ++k)
            if (first + k < channels)
                p.picture[start.at * channels + first + k] =
                    background != nullptr ? sums[k] + t * background[k] : sums[k];
        if (first == 0) p.alphas[start.at] = 1.0f - t;
    }
}

struct BackwardParams {
    Lists lists;
    BlendSeeds seeds;
    float* sums;  ///< [emission][kChannels + channels], 0 at first
};
/// Sum k (IsectSum, then channels) of one pixel; v = d loss / d ln alpha.
GS_DEVICE float sum_of(std::size_t k, const NearSplat& s, const Met& m, float v,
                       const float* seeds) {
    const float vx = v * m.dx, vy = v * m.dy;
    switch (k) {
        case kV:
            return v;
        case kVx:
            return vx;
        case kVy:
            return vy;
        case kVxx:
            return vx * m.dx;
        case kVxy:
            return vx * m.dy;
        case kVyy:
            return vy * m.dy;
        case kPullX:
            return fabsf(2.0f * s.s * (s.s * vx + s.r * vy));
        case kPullY:
            return fabsf(2.0f * (s.s * s.r * vx + (s.r * s.r + s.w * s.w) * vy));
        default:
            return seeds != nullptr ? m.weight * seeds[k - kChannels] : 0.0f;
    }
}
GS_DEVICE float warp_total(float value) {
    for (int step = kWarp / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(kAllLanes, value, step);
    return value;
}
GS_KERNEL(kThreads, 2) void blend_channels_vjp(BackwardParams p) {
    GS_SHARED(NearSplat, splats, kThreads);
    GS_SHARED(float, partial, kWarps* kWarp);  // [warp][sum]
    const Lists& l = p.lists;
    const std::size_t channels = l.in.channels, stride = kChannels + channels;
    const std::uint32_t begin = l.begin[blockIdx.x], end = l.end[blockIdx.x],
                        warp = static_cast<std::uint32_t>(warp_id());
    Pixel pixel(l);
    const float* seeds =
        p.seeds.v_colors != nullptr ? p.seeds.v_colors + pixel.at * channels : nullptr;
    // What lies behind, as its gradient sees it.
    float t = 1.0f, rest = 0.0f;
    if (pixel.open && p.seeds.v_alphas != nullptr)
        rest -= (1.0f - p.seeds.alphas[pixel.at]) * p.seeds.v_alphas[pixel.at];
    for (std::size_t k = 0; pixel.open && seeds != nullptr && k < channels; ++k)
        rest += p.seeds.colors[pixel.at * channels + k] * seeds[k];
    for (std::uint32_t from = begin; from < end; from += kThreads) {
        if (__syncthreads_or(pixel.open) == 0) break;
        if (from + threadIdx.x < end) splats[threadIdx.x] = near_splat(l, from + threadIdx.x);
        __syncthreads();
        const std::uint32_t here = min(end - from, kThreads);
        for (std::uint32_t j = 0; j < here; ++j) {
            const NearSplat splat = splats[j];
            Met m{};
            const bool met = pixel.open && meet(l, splat, pixel, t, m);
            if (__syncthreads_or(met) == 0) continue;
            float v = 0.0f;
            if (met) {
                const float* color = l.in.colors + splat.entry * channels;
                float pulled = 0.0f;
                for (std::size_t k = 0; seeds != nullptr && k < channels; ++k)
                    pulled += seeds[k] * color[k];
                rest -= m.weight * pulled;
                t = m.behind;
                if (m.raw <= l.rules.alpha_max) v = m.weight * (pulled - rest / m.behind);
            }
            const bool any = __any_sync(kAllLanes, met) != 0;
            for (std::size_t first = 0; first < stride; first += kWarp) {
                const auto count = static_cast<std::uint32_t>(
                    stride - first < kWarp ? stride - first : std::size_t{kWarp});
                for (std::uint32_t k = 0; k < count; ++k) {
                    const float sum =
                        any ? warp_total(met ? sum_of(first + k, splat, m, v, seeds) : 0.0f) : 0.0f;
                    if (lane_id() == 0) partial[warp * kWarp + k] = sum;
                }
                __syncthreads();
                if (threadIdx.x < count) {
                    float sum = 0.0f;
                    for (std::uint32_t w = 0; w < kWarps; ++w)
                        sum += partial[w * kWarp + threadIdx.x];
                    p.sums[splat.emission * stride + first + threadIdx.x] = sum;
                }
                __syncthreads();
            }
        }
    }
}

struct GatherParams {
    Lists lists;
    const float* sums;
    BlendGradients out;
};
/// A warp an entry, a lane every 32nd of its sums.
GS_KERNEL(kThreads, 2) void gather_entries(GatherParams p) {
    GS_SHARED(double, shapes, kWarps* kChannels);
    const Lists& l = p.lists;
    const std::size_t e = std::size_t{blockIdx.x} * kWarps + static_cast<std::size_t>(warp_id()),
                      channels = l.in.channels, stride = kChannels + channels,
                      shape = static_cast<std::size_t>(warp_id()) * kChannels;
    if (e >= l.entries) return;
    const std::size_t begin = l.emission[e], end = l.emission[e + 1];
    for (std::size_t k = static_cast<std::size_t>(lane_id()); k < stride; k += kWarp) {
        double sum = 0;
        for (std::size_t at = begin; at < end; ++at) sum += p.sums[at * stride + k];
        if (k < kChannels)
            shapes[shape + k] = sum;
        else
            p.out.colors[e * channels + k - kChannels] = static_cast<float>(sum);
    }
    __syncwarp();
    if (lane_id() != 0) return;
    double sums[kChannels];
    for (std::size_t k = 0; k < kChannels; ++k) sums[k] = shapes[shape + k];
    if (begin < end) return put_shape(l.in, e, sums, p.out);
    const auto clear = [e](float* to, std::size_t each) {
        for (std::size_t k = 0; to != nullptr && k < each; ++k) to[e * each + k] = 0;
    };
    clear(p.out.means2d, 2), clear(p.out.conics, 3), clear(p.out.opacities, 1);
    clear(p.out.absolute, 2);
}

/// The memory of Lists.
struct Made {
    explicit Made(const Stream& of) : stream(of.get(), "tensors") {}
    Stream stream;
    DeviceBuffer<std::int64_t> first{"images", &stream};
    DeviceBuffer<FlatSplat> splats{"splats", &stream};
    DeviceBuffer<std::uint32_t> emission{"pairs of splats", &stream},
        entry_of{"splats of pairs", &stream}, sorted{"sorted pairs", &stream},
        spare{"sorted pairs", &stream}, tiles{"lists of tiles", &stream};
    Lists lists{};
};
class CudaLists final : public BlendLists {
  public:
    CudaLists(const Stream& stream, int device)
        : device_(device), made(std::make_unique<Made>(stream)) {}
    ~CudaLists() override {
        const ChosenDevice chosen(device_);
        made.reset();
    }

  private:
    int device_;

  public:
    std::unique_ptr<Made> made;
};

Lists lists_of(const BlendInput& in) {
    Lists l{};
    l.in = in;
    l.in.first = {};
    l.rules = rules_of(Compatibility::tight);
    l.rules.alpha_max = in.alpha_max;
    l.log2_alpha_min = std::log2(kLeastAlpha32);
    l.tiles_x = (in.width + kTileSize - 1) / kTileSize;
    l.tiles_y = (in.height + kTileSize - 1) / kTileSize;
    const auto entries = static_cast<std::size_t>(in.first.back());
    if (entries > kMostItems || in.images() * l.tiles() > kMostItems)
        throw std::length_error("more than 2 G splats or tiles of all pictures");
    l.entries = static_cast<std::uint32_t>(entries);
    l.images = static_cast<std::uint32_t>(in.images());
    return l;
}

/// Sizes, and what is known without the number of pairs. Waits for that number.
void cover(const BlendInput& in, Primitives& primitives, Made& made) {
    Lists& l = made.lists = lists_of(in);
    const Stream& stream = made.stream;
    made.first.upload(in.first, stream);
    made.splats.resize_discard(l.entries, stream);
    made.emission.resize_discard(l.entries + std::size_t{1}, stream);
    made.tiles.resize_discard(std::size_t{2} * l.images * l.tiles(), stream);
    l.first = made.first.data(), l.splats = made.splats.data(), l.emission = made.emission.data();
    l.begin = made.tiles.data(), l.end = l.begin + l.images * l.tiles();
    fill_bytes(l.begin, 0, made.tiles.size() * sizeof(std::uint32_t), stream);
    DeviceBuffer<unsigned long long> total("number of pairs", &stream);
    total.resize_discard(1, stream);
    fill_bytes(total.data(), 0, sizeof(unsigned long long), stream);
    launch(stream, "cover tensors", grid_for(l.entries + std::size_t{1}, kThreads), cover_entries,
           CoverParams{l, total.data()});
    primitives.exclusive_sum(l.emission, l.emission, l.entries + std::size_t{1}, stream);
    unsigned long long pairs = 0;
    copy_to_host(&pairs, total.data(), sizeof pairs, stream);
    stream.synchronize();
    if (pairs > kMostItems)
        throw std::length_error("the pictures have more than 2 G (Gaussian, tile) pairs");
    l.pairs = static_cast<std::uint32_t>(pairs);
}

void sort_pairs(Primitives& primitives, Made& made) {
    Lists& l = made.lists;
    const Stream& stream = made.stream;
    DeviceBuffer<std::uint64_t> keys("keys of pairs", &stream), other("keys of pairs", &stream);
    keys.resize_discard(l.pairs, stream), other.resize_discard(l.pairs, stream);
    made.entry_of.resize_discard(l.pairs, stream), made.sorted.resize_discard(l.pairs, stream);
    made.spare.resize_discard(l.pairs, stream);
    l.entry_of = made.entry_of.data(), l.sorted = made.sorted.data();
    launch(stream, "emit tensors", grid_for(l.entries, kThreads), emit_entries,
           EmitParams{l, keys.data()});
    Swap<std::uint64_t> key{{keys.data(), other.data()}};
    Swap<std::uint32_t> value{{made.sorted.data(), made.spare.data()}};
    primitives.sort_pairs(key, value, l.pairs, 32 + std::bit_width(l.images * l.tiles()), stream);
    if (value.current != 0) std::swap(made.sorted, made.spare);
    made.spare = DeviceBuffer<std::uint32_t>("sorted pairs", &stream);
    l.sorted = made.sorted.data();
    launch(stream, "tiles of tensors", grid_for(l.pairs, kThreads), find_tiles,
           EmitParams{l, key.now()});
}

}  // namespace

std::unique_ptr<const BlendLists> blend_tensors(const Stream& stream, int device,
                                                const BlendInput& in, float* colors, float* alphas,
                                                bool gradients) {
    auto lists = std::make_unique<CudaLists>(stream, device);
    Made& made = *lists->made;
    Primitives primitives(&stream);
    cover(in, primitives, made);
    if (made.lists.pairs > 0) sort_pairs(primitives, made);
    launch(stream, "blend tensors", {static_cast<std::uint32_t>(made.tiles.size() / 2), kThreads},
           blend_channels, BlendParams{made.lists, colors, alphas});
    return gradients ? std::move(lists) : nullptr;
}

void blend_tensors_vjp(const Stream& stream, const BlendInput& in, const BlendLists& lists,
                       const BlendSeeds& seeds, const BlendGradients& out) {
    const Made& made = *static_cast<const CudaLists&>(lists).made;
    Lists l = made.lists;
    l.in = in;  // the caller may have moved its arrays
    l.in.first = {};
    const std::size_t stride = kChannels + in.channels;
    DeviceBuffer<float> sums("gradients of pairs", &stream);
    sums.resize_discard(l.pairs * stride, stream);
    fill_bytes(sums.data(), 0, sums.size() * sizeof(float), stream);
    if (l.pairs > 0)
        launch(stream, "blend tensors backward",
               {static_cast<std::uint32_t>(made.tiles.size() / 2), kThreads}, blend_channels_vjp,
               BackwardParams{l, seeds, sums.data()});
    launch(stream, "gather tensors", grid_for(std::size_t{l.entries} * kWarp, kThreads),
           gather_entries, GatherParams{l, sums.data(), out});
    if (stream.get() == made.stream.get()) return;
    Event done;  // the lists' memory is given back on their own stream
    done.record(stream);
    done.hold(made.stream);
}

}  // namespace gs::cuda
