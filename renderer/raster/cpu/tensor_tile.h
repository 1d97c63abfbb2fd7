// One tile of a picture with any number of channels: what tensor_blend.cpp hands to the kernels of
// tensor_tile.cpp. Private to raster/cpu.
#pragma once

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/tensor_splat.h"

namespace gs::cpu {

/// A Gaussian for blending along rays, by slot.
struct RayBody {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    Vec3f mean;          ///< world
    float log2_opacity;
};
/// The rays of one tile's pixels, [square][16]. World axes.
struct PixelRays {
    Vec3d origin, direction;  ///< amid those that see anything; direction of length 1
    /// What each is more than that: planes x, y, z.
    alignas(64) float directions[3 * kTilePixels], origins[3 * kTilePixels];
    bool seen[kTilePixels];  ///< the lens sees something there
};

struct ChannelParams {
    /// The lists, size and rules; of the pictures and counters only list_end and touched, which has
    /// a bit for each square here.
    BlendParams lists;
    const std::uint32_t* entry_from_slot;
    std::size_t channels;
    const float* colors;      ///< [entry][channels]
    const float* background;  ///< [channels], or null
    float* picture;           ///< [height][width][channels]
    float* alpha;             ///< [height][width]
    // Blending along rays; or null: by the splats' ellipses.
    const RayBody* bodies;  ///< by slot
    const PixelRays* rays;  ///< of the tile
};
using enum tensor::IsectSum;
/// The same along rays, with respect to M (origin - mean) and to M.
enum RaySum : std::size_t { kRayV, kRayArm, kRayWhitening = kRayArm + 3, kRayChannels = 13 };
inline std::size_t sums_before_channels(bool along_rays) {
    return along_rays ? std::size_t{kRayChannels} : std::size_t{kChannels};
}
struct ChannelBackwardParams {
    ChannelParams forward;
    const float *v_picture, *v_alpha;  ///< or null
    float* sums;  ///< [emission][sums_before_channels() + channels], all are written
};
void blend_channels(const ChannelParams& params, std::uint32_t tile);
void blend_channels_backward(const ChannelBackwardParams& params, std::uint32_t tile);

}  // namespace gs::cpu
