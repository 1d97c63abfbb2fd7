// A camera and options as the kernels read them, and which kernels it takes.
#include <cmath>

#include "renderer/raster/cuda/pipeline.h"
#include "renderer/scene/camera_lens.h"

namespace gs::cuda {

FrameConstants FramePipeline::constants_of(const Camera& camera, const RenderOptions& options,
                                           int model_sh_degree) {
    FrameConstants c{};
    c.camera = pinhole_of(camera);
    if (draws_through_lens(camera, options)) {
        const auto lens = math::make_lens_camera<double>(camera);
        c.lens = {math::lens_camera_cast<float>(lens)};
        c.cone = to_float(view_cone(camera, lens.lens));
    }
    c.wrap = wrap_width(camera);
    c.ray_origin = ray_origin(camera);
    c.width = camera.width;
    c.height = camera.height;
    c.tiles_x = (camera.width + kTileSize - 1) / kTileSize;
    c.tiles_y = (camera.height + kTileSize - 1) / kTileSize;
    c.rules = rules_for(options);
    c.log2_alpha_min = std::log2(c.rules.alpha_min);
    c.transmittance_min = ending_transmittance(c.rules);
    c.blur = options.blur;
    c.scale_modifier = options.scale_modifier;
    c.antialiased = options.antialiased ? 1 : 0;
    c.sh_degree = used_sh_degree(options, model_sh_degree);
    c.background = options.background;
    const ViewSides<double> sides = view_sides(camera);
    for (int i = 0; i < 4; ++i) {
        c.sides.normal[i] = {static_cast<float>(sides.normal[i].x),
                             static_cast<float>(sides.normal[i].y),
                             static_cast<float>(sides.normal[i].z)};
        c.sides.offset[i] = static_cast<float>(sides.offset[i]);
    }
    c.clipped = options.clip.has_value() ? 1 : 0;
    c.clip = options.clip.value_or(ClipBox{});
    return c;
}

FrameLimits FramePipeline::limits_of(const Camera& camera, const RenderOptions& options) {
    return {.width = camera.width,
            .height = camera.height,
            .tiles = ((camera.width + kTileSize - 1) / kTileSize) *
                     ((camera.height + kTileSize - 1) / kTileSize),
            .lens = draws_through_lens(camera, options),
            .unscented = draws_unscented(camera, options),
            .wraps = wrap_width(camera) > 0.0f};
}

}  // namespace gs::cuda
