// A camera and options as the kernels read them.
#include <cmath>

#include "renderer/raster/cuda/pipeline.h"

namespace gs::cuda {

FrameConstants FramePipeline::constants_of(const Camera& camera, const RenderOptions& options,
                                           int model_sh_degree) {
    FrameConstants c{};
    c.camera = math::make_pinhole<float>(camera.rotation, camera.translation, camera.fx, camera.fy,
                                         camera.cx, camera.cy, camera.width, camera.height,
                                         camera.orthographic());
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

}  // namespace gs::cuda
