#include "renderer/rays/ray_rasterizer.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/frame_size.h"
#include "renderer/raster/view_setup.h"
#include "renderer/rays/rays.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

/// Of a ray, its tile and its image, while a picture is drawn.
constexpr std::uint64_t kBytesOfPixel = 200;

struct RayState final : ForwardState {
    GaussianModel geometry{0, 0};  ///< as it is drawn: what is not has no opacity
    std::vector<Vec3f> colors;
    PixelDirections directions;
    std::size_t bytes() const override {
        return geometry.bytes() + colors.capacity() * sizeof(Vec3f) + directions.bytes();
    }
};

/// Rays of a picture, row by row through the pixels' centres, each from the pose of its own moment.
std::vector<CameraRay> rays_of(const Camera& camera) {
    const CameraPixels pixels(camera);
    const auto width = static_cast<std::size_t>(camera.width);
    std::vector<CameraRay> out(width * static_cast<std::size_t>(camera.height));
    parallel_for(out.size(), 4096, [&](std::size_t i) {
        out[i] = pixels.ray_of(static_cast<double>(i % width) + 0.5,
                               static_cast<double>(i / width) + 0.5);
    });
    return out;
}

/// What a Gaussian is drawn by, from the options and the camera.
class Preparation {
  public:
    Preparation(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                bool by_distance, RayState& out)
        : source_(source),
          params_(cpu::make_project_params(camera, options, source.sh_degree())),
          place_(camera.position()),
          by_distance_(by_distance),
          larger_(std::log(options.scale_modifier)),
          out_(out) {}
    void run() {
        copy_geometry(source_, out_.geometry);
        out_.colors.resize(out_.geometry.count);
        parallel_for(out_.geometry.blocks(), 64, [&](std::size_t block) { prepare(block); });
    }

  private:
    void prepare(std::size_t block) {
        GaussianModel& model = out_.geometry;
        alignas(64) float scratch[48 * kBlock];
        const std::size_t first = block * kBlock, lanes = std::min(kBlock, model.count - first);
        cpu::ProjectedBlock shaded{.mask = (1u << lanes) - 1};
        cpu::hide_block(params_, block, shaded);
        cpu::shade_block(params_, {model.plane(0) + first, model.capacity},
                         source_.sh(block, scratch), block, shaded);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::size_t i = first + lane;
            if ((shaded.mask >> lane & 1) == 0 || !shows(model.mean(i))) {
                model.at(kOpacityLogits, i) = -std::numeric_limits<float>::infinity();
                continue;
            }
            for (int k = 0; k < 3; ++k) model.at(kLogScales + k, i) += larger_;
            out_.colors[i] = {shaded.color[0][lane], shaded.color[1][lane], shaded.color[2][lane]};
        }
    }
    /// By depth along an axis, RayOrder leaves out what is too near.
    bool shows(Vec3f mean) const {
        if (params_.clipped && !math::inside(params_.clip.lo, params_.clip.hi, mean)) return false;
        const Vec3d arm = Vec3d{mean.x, mean.y, mean.z} - place_;
        const double near = params_.rules.near_plane;
        return !by_distance_ || dot(arm, arm) > near * near;
    }

    ParameterSource& source_;
    const cpu::ProjectParams params_;
    const Vec3d place_;
    const bool by_distance_;
    const float larger_;
    RayState& out_;
};

/// Where rays are in the camera's depth: depth = begins + slope x distance.
struct DepthAlong {
    float begins = 0, slope = 1;
};

class RayRasterizer final : public Rasterizer {
  public:
    std::string name() const override { return make_cpu_rasterizer()->name() + ", along rays"; }
    std::unique_ptr<ForwardState> make_state() const override {
        return std::make_unique<RayState>();
    }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override;
    void backward(ParameterSource&, const Camera&, const RenderOptions&, ForwardState&,
                  const RenderResult&, const PixelGradients&, GradientSink&) override {
        CHECK(false, "pictures along rays have no gradients");
    }
};

void RayRasterizer::forward(ParameterSource& source, const Camera& camera,
                            const RenderOptions& options, ForwardState& state,
                            RenderResult& result) {
    check_drawable(camera, options);
    CHECK(!options.gradients && !options.counters && !camera.orthographic(),
          "pictures along rays have no gradients, counters and parallel rays");
    const auto pixels =
        static_cast<std::size_t>(camera.width) * static_cast<std::size_t>(camera.height);
    check_memory(camera, "rays", pixels * kBytesOfPixel);
    auto& drawn = static_cast<RayState&>(state);
    const bool by_distance = math::measures_distance(camera);
    Preparation(source, camera, options, by_distance, drawn).run();
    RasterRules rules = rules_for(options);
    rules.transmittance_min = ending_transmittance(rules);
    RayOrder order{camera.position(), camera.forward(), static_cast<double>(rules.near_plane)};
    if (by_distance) order.axis.reset();
    const std::vector<CameraRay> rays = rays_of(camera);
    const RayImage image =
        trace_rays(drawn.geometry, drawn.colors, RayTiles(rays, ray_frame(camera)), order, rules);

    result = {};
    result.width = camera.width;
    result.height = camera.height;
    result.counters.gaussians = result.counters.candidates = source.count();
    result.counters.visible = image.visible;
    result.counters.isects = image.pairs;
    result.color.resize(camera.width, camera.height, 3);
    result.alpha.resize(camera.width, camera.height, 1);
    if (options.depth) result.depth.resize(camera.width, camera.height, 1);
    if (options.median_depth) result.median_depth.resize(camera.width, camera.height, 1);
    parallel_for(pixels, 4096, [&](std::size_t i) {
        const Vec3f color = (image.signal.empty() ? Vec3f{} : image.signal[i]) +
                            image.transmittance[i] * options.background;
        result.color.plane(0)[i] = color.x;
        result.color.plane(1)[i] = color.y;
        result.color.plane(2)[i] = color.z;
        result.alpha.plane(0)[i] = image.alpha[i];
        DepthAlong along;
        if (!by_distance && rays[i].valid)
            along = {static_cast<float>(dot(camera.forward(), rays[i].origin - order.place)),
                     static_cast<float>(dot(camera.forward(), rays[i].direction))};
        if (options.depth)
            result.depth.plane(0)[i] = along.begins * image.alpha[i] + along.slope * image.hit[i];
        if (options.median_depth)
            result.median_depth.plane(0)[i] =
                image.median[i] > 0 ? along.begins + along.slope * image.median[i] : 0.0f;
    });
    if (const Sky* sky = sky_to_draw(source, options))
        draw_sky(*sky, camera, options.background, {0, static_cast<std::size_t>(camera.height)},
                 drawn.directions, result);
}

}  // namespace

std::unique_ptr<Rasterizer> make_ray_rasterizer() { return std::make_unique<RayRasterizer>(); }

}  // namespace gs
