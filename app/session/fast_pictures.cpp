#include "app/session/fast_pictures.h"

#include "app/session/viewer.h"
#include "app/verify/precision.h"
#include "base/format.h"

namespace gs {

std::string words_of_fast(LoadedScene& scene, const ViewRequest& request, bool on_device) {
    if (scene.trainer)
        return "fast pictures: a run's model is drawn exactly; export and open it instead";
    if (const std::string why = why_exact(on_device, *scene.model); !why.empty())
        return "fast pictures: " + why;
    const Camera camera = camera_of(scene, request, 1.0, false);
    RenderOptions options = render_options(scene, request.settings);
    options.precision = Precision::fast;
    RenderResult fast;
    scene.rasterizer->forward(*scene.source, camera, options, *scene.state, fast);
    const double psnr =
        fast_psnr(*scene.rasterizer, *scene.source, camera, options, *scene.state, fast);
    if (psnr >= kSamePicture) return "fast pictures: identical to the exact picture";
    return fmt::format("fast pictures: {} from the exact picture", format_db(psnr));
}

}  // namespace gs
