// Exact evaluation along rays, fast: Gaussians as rays meet them (math/along_ray.h), in float and
// in parallel, with tiles over angle so that a ray tries only the Gaussians that may touch it. For
// the beams of a lidar, each from its own place and moment, and for cameras' rays. The oracle is
// reference/rays.h. Backward gives
// what training takes. Called by `render --lidar`, `eval --lidar`, the trainer, the bench and, for
// cameras, by ray_rasterizer.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Rises with the azimuth of (x, y), from -2 at -180 degrees to 2 at 180, without trigonometry.
GS_HD inline float quarter_turns(Vec2<float> v) {
    const float share = v.y / (::fabsf(v.x) + ::fabsf(v.y));
    return v.x >= 0 ? share : v.y >= 0 ? 2 - share : -2 - share;
}

/// At most, in one tile.
inline constexpr std::uint32_t kRaysPerTile = 128;

/// A wedge of azimuths, cut into tiles by elevation. In axes of the RayTiles' frame.
struct RayBin {
    float low = 0, high = 0;                  ///< radians
    Vec2<float> inward_low{}, inward_high{};  ///< normals of its two planes, x and y
    Vec2<float> ahead{};                      ///< along its middle
    std::uint32_t first_tile = 0, tiles = 0;
    Vec3d origin;      ///< world: the middle of its rays' origins
    float spread = 0;  ///< how far they lie from it
};
struct RayTile {
    std::uint32_t first = 0, count = 0;  ///< of the rays in order of tiles
    float low = 0, high = 0;             ///< slope over its bin's middle: see RayBin::ahead
    Vec3d origin, direction;  ///< world; the middle of its rays, the direction of length 1
    bool parted = false;      ///< its rays do not all start at `origin`
};

/// A ray by the angles of its direction in the frame.
struct AimedRay {
    double azimuth, elevation;
    std::uint32_t ray;
};

/// Rays in groups that look almost the same way, prepared once for any number of models. Nothing
/// is assumed of how many rays fall together.
class RayTiles {
  public:
    /// `frame`: a place near all origins, and axes (frame from world) with x ahead and z up for
    /// which elevations stay far from +-90 degrees; where they do not, tiles only get larger.
    /// In parallel; the same on any number of threads.
    RayTiles(std::span<const CameraRay> rays, const Pose& frame_from_world);

    std::size_t rays() const { return rays_; }
    const Pose& frame() const { return frame_; }
    /// From the frame's place to the farthest origin, world units.
    float spread() const { return spread_; }
    const std::vector<RayBin>& bins() const { return bins_; }
    const std::vector<RayTile>& tiles() const { return tiles_; }
    /// [tile order] which of the given rays stands there.
    const std::vector<std::uint32_t>& ray_of() const { return ray_of_; }
    /// Planes x, y, z [tile order] of what a ray's direction, and its origin, is more than its
    /// tile's. Tiles begin at multiples of 16.
    const Buffer<float>& direction_off() const { return direction_off_; }
    const Buffer<float>& origin_off() const { return origin_off_; }
    std::size_t slots() const { return ray_of_.size(); }
    std::uint64_t bytes() const;

  private:
    std::vector<AimedRay> aim(std::span<const CameraRay> rays);
    /// For a bin of `count` rays, and its tiles.
    void make_room(std::size_t count);
    void fill_bin(std::span<const CameraRay> rays, std::span<AimedRay> all, RayBin& bin);
    void fill_tile(std::span<const CameraRay> rays, std::span<const AimedRay> of, double half_bin,
                   RayTile& tile);

    std::size_t rays_ = 0;
    Pose frame_;
    float spread_ = 0;
    std::vector<RayBin> bins_;
    std::vector<RayTile> tiles_;
    std::vector<std::uint32_t> ray_of_;
    Buffer<float> direction_off_, origin_off_;
};
/// A frame for the rays of a camera: x ahead and z up, as its one pose stands.
Pose ray_frame(const Camera& camera);
/// RayTiles::ray_of() where a tile's last slots hold no ray.
inline constexpr std::uint32_t kNoRay = ~0u;

/// Front to back: by distance from a place or, with `axis`, by depth along it.
struct RayOrder {
    Vec3d place;
    std::optional<Vec3d> axis;
    double near_plane = 0.01;  ///< of `axis`: what is less deep is left out
};

/// Planes of means, scales, rotations and opacities as trace_rays() takes them.
void copy_geometry(ParameterSource& source, GaussianModel& out);

struct RayLists;  // lists.h

/// [ray], in the order that the rays were given in; what meets nothing has zeros.
struct RayImage {
    std::vector<Vec3f> signal;  ///< sum of weight x signal; empty without signals
    std::vector<float> alpha;   ///< sum of weights
    std::vector<float> hit;     ///< sum of weight x distance along the ray
    std::vector<float> median;  ///< distance of the Gaussian that brings T below 0.5; 0: none does
    std::vector<float> transmittance;  ///< in the end
    // What it took.
    std::size_t visible = 0;  ///< Gaussians in some tile's list
    std::size_t pairs = 0;    ///< of a tile and a Gaussian
    // For backward.
    std::vector<std::uint32_t> last;  ///< 1 + place in its tile's list of the last one blended
    std::shared_ptr<const RayLists> lists;
};
/// `signals`: three numbers a Gaussian, or empty. Gaussians behind a ray's origin are left out, and
/// alphas below the rules' least; nothing is blurred. Parameters that are not finite draw nothing.
/// Results do not depend on the number of threads.
RayImage trace_rays(const GaussianModel& model, std::span<const Vec3f> signals,
                    const RayTiles& tiles, const RayOrder& order, const RasterRules& rules);

/// d loss / d RayImage, [ray]; what is empty is zero. In double: of a range that is hit / alpha the
/// two shares nearly cancel.
struct RayImageGradient {
    std::vector<Vec3f> signal;
    std::vector<double> alpha, hit;
    /// Where light should be taken: that taken at distance t, by each Gaussian its weight, counts
    /// pull x min(|t - measured|, far) in the loss.
    std::vector<float> measured;
    float pull = 0, far = 0;
};
struct RaysBackward {
    std::vector<Vec3f> signals;  ///< [Gaussian]; empty without signals
    std::vector<float> off;      ///< [ray] the sum of weight x min(|t - measured|, far)
};
/// Of trace_rays() with the same arguments, which gave `image`. Gradients of means, scales,
/// rotations and opacities go to `sink` block by block, each block once; its mask has those that a
/// ray of them met. The same bits on any number of threads.
RaysBackward trace_rays_backward(const GaussianModel& model, std::span<const Vec3f> signals,
                                 const RayTiles& tiles, const RasterRules& rules,
                                 const RayImage& image, const RayImageGradient& v,
                                 GradientSink& sink);

}  // namespace gs
