// What is found wrong with a model by its photos, as plain values: regions of photos, Gaussians
// that take part in errors, floaters, and one place in every photo that sees it. Found by
// problem_search.h and same_point.h; panels show them, `gausscope eval --worst` lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/vec.h"
#include "renderer/scene/image.h"
#include "renderer/scene/photo_source.h"

namespace gs {

/// Pixels x0 <= x < x1, y0 <= y < y1.
struct PhotoRect {
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    int width() const { return x1 - x0; }
    int height() const { return y1 - y0; }
};

/// Errors are means over the channels of |picture - photo|, of values clamped to 0..1.
struct PhotoRegion {
    std::size_t view = 0;  ///< of the capture
    PhotoRect rect{};      ///< around the region's blocks
    double pixels = 0;     ///< of its blocks, masked ones left out
    double error_sum = 0;  ///< over these: what regions are ranked by
    double mean_error = 0;
    double psnr = 0;        ///< dB, of these pixels
    double mean_alpha = 1;  ///< how much of the light stops there
    double bare = 0;  ///< pixels where the photo shows something and the model nothing: what holes
                      ///< are ranked by
    /// Render, photo and error beside each other, RGB; null: not drawn (yet).
    std::shared_ptr<const Image8> crops;
};

/// A Gaussian and the errors that it takes part in; sums are over the pixels of all photos.
struct BlamedGaussian {
    std::uint64_t row = 0;
    Vec3f mean{};
    double error = 0;   ///< sum of weight x error, pixels
    double weight = 0;  ///< sum of weight: the pixels that it makes up
    /// Sum of weight x (picture - photo): near +error it is too bright everywhere, near -error too
    /// dark, near 0 it is right on average.
    double excess = 0;
    unsigned photos = 0;          ///< that it makes up kSeenWeight pixels of
    std::size_t view = 0;         ///< where it takes part in the largest sum of errors
    float opacity = 0, size = 0;  ///< size: the largest standard deviation, world units
};
inline constexpr float kSeenWeight = 0.5f;

/// Neighbouring Gaussians that float: few photos see them, and they are near a camera or apart from
/// everything.
struct Floater {
    std::vector<std::uint32_t> rows;  ///< ascending
    std::uint64_t row = 0;            ///< the one with the largest weight
    Vec3f centre{};                   ///< mean of the means by weight
    double weight = 0, error = 0;     ///< sums over its Gaussians
    unsigned photos = 0;              ///< the most that see one of them
    std::size_t view = 0;             ///< of the Gaussian `row`
    /// Depth in the photo that it is nearest to, over the depth of what that photo sees (its
    /// median).
    double nearness = 0;
    bool near = false, apart = false;  ///< why
};

struct FoundProblems {
    std::vector<PhotoRegion> regions;       ///< largest sum of errors first
    std::vector<PhotoRegion> holes;         ///< most bare pixels first
    std::vector<BlamedGaussian> gaussians;  ///< largest sum of errors first
    std::vector<Floater> floaters;          ///< largest weight first
    std::size_t photos = 0;                 ///< that were looked at
    UnreadPhotos unread{};                  ///< the others
    std::uint64_t gaussians_seen = 0;       ///< that make up a pixel or more of all photos
    double mean_error = 0;                  ///< over all pixels that count
    double error_sum = 0;
    double region_limit = 0;  ///< mean error from which a block is part of a region
    unsigned few_photos = 0;  ///< floaters are seen by at most this many photos
    double apart_cell = 0;    ///< Gaussians farther apart than this belong to different clusters
};

/// A place in the world in one of the photos that see it.
struct PointInPhoto {
    std::size_t view = 0;
    double x = 0, y = 0;  ///< pixels of the photo
    double depth = 0;     ///< of the place, world units
    double error = 0;     ///< mean over kPointReach pixels to each side, those masked left out
    PhotoRect rect{};     ///< that `crops` shows
    std::shared_ptr<const Image8> crops;  ///< as PhotoRegion::crops
};
inline constexpr int kPointReach = 4;

struct PointInPhotos {
    Vec3d point{};
    std::vector<PointInPhoto> photos;  ///< largest error first
    /// Photos; those that are none of the other three see it.
    std::size_t looked_at = 0, outside = 0, hidden = 0;
    UnreadPhotos unread{};
};

}  // namespace gs
