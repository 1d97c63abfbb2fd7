// One tile of a picture with any number of channels: what tensor_blend.cpp hands to the kernels of
// tensor_tile.cpp. Private to raster/cpu.
#pragma once

#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {

struct ChannelParams {
    /// The lists, size and rules; of the pictures and counters only list_end and touched.
    BlendParams lists;
    const std::uint32_t* entry_from_slot;
    std::size_t channels;
    const float* colors;      ///< [entry][channels]
    const float* background;  ///< [channels], or null
    float* picture;           ///< [height][width][channels]
    float* alpha;             ///< [height][width]
};
/// Sums over the pixels of one isect, then one for each channel: of weight * d loss / d channel.
/// v = d loss / d ln alpha.
enum IsectSum : std::size_t {
    kV,
    kVx,
    kVy,
    kVxx,
    kVxy,
    kVyy,
    kPullX,  ///< of |v d log2 alpha / d mean|
    kPullY,
    kChannels,
};
struct ChannelBackwardParams {
    ChannelParams forward;
    const float *v_picture, *v_alpha;  ///< or null
    float* sums;                       ///< [emission][kChannels + channels], all are written
};
void blend_channels(const ChannelParams& params, std::uint32_t tile);
void blend_channels_backward(const ChannelBackwardParams& params, std::uint32_t tile);

}  // namespace gs::cpu
