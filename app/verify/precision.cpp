#include "app/verify/precision.h"

#include "renderer/maps/picture_error.h"
#include "renderer/math/psnr.h"

namespace gs {

std::string why_exact(bool cuda, const GaussianModel& model) {
    if (!cuda) return "the CPU backend has no fast mode: exact pictures";
    if (model.sh_degree == 0)
        return "these colours do not depend on the view, so half precision saves no memory: exact "
               "pictures";
    return {};
}

double fast_psnr(Rasterizer& rasterizer, ParameterSource& source, const Camera& camera,
                 RenderOptions options, ForwardState& state, const RenderResult& drawn) {
    options.precision = Precision::exact;
    RenderResult exact;
    rasterizer.forward(source, camera, options, state, exact);
    return math::psnr_of(mean_squared_error(drawn, PictureReference(exact)));
}

}  // namespace gs
