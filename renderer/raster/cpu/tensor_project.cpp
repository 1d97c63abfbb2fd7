// Projection of flat arrays, in double: one Gaussian at a time through every camera, so that sums
// over cameras need no atomics. Sums over Gaussians go by parts whose size is fixed.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "renderer/raster/tensor_entry.h"

namespace gs::tensor {

void project(const ProjectInput& in, const ProjectOutput& out) {
    const std::vector<View> views = views_of(in, in.sizes.views(), !in.unscented);
    parallel_for(in.sizes.entries(), kPart, [&](std::size_t e) {
        project_entry(in, views[view_of_entry(in.sizes, e)], e, out);
    });
}

void project_vjp(const ProjectInput& in, const std::int32_t* radii, const ProjectSeeds& seeds,
                 const ProjectGradients& out) {
    const std::vector<View> views = views_of(in, in.sizes.views(), !in.unscented);
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras,
                      parts = (n + kPart - 1) / kPart;
    // [batch][part][camera]
    std::vector<ViewSums> sums(in.sizes.batches * parts * cameras);
    parallel_for(in.sizes.batches * parts, 1, [&](std::size_t task) {
        const std::size_t batch = task / parts, begin = task % parts * kPart;
        for (std::size_t i = begin; i < std::min(n, begin + kPart); ++i) {
            RowSums row_sums;
            const std::size_t row = batch * n + i;
            for (std::size_t camera = 0; camera < cameras; ++camera) {
                const std::size_t view = batch * cameras + camera, e = view * n + i;
                if (radii[2 * e] > 0 && radii[2 * e + 1] > 0)
                    entry_vjp(in, views[view], row, e, seeds, row_sums,
                              out.viewmats ? &sums[task * cameras + camera] : nullptr);
            }
            put_row(out, row, row_sums);
        }
    });
    if (out.viewmats == nullptr) return;
    for (std::size_t view = 0; view < in.sizes.views(); ++view) {
        float* to = out.viewmats + 16 * view;
        std::fill_n(to, 16, 0.0f);
        const std::size_t batch = view / cameras, camera = view % cameras;
        for (int k = 0; k < 12; ++k) {
            double sum = 0;
            for (std::size_t part = 0; part < parts; ++part)
                sum += sums[(batch * parts + part) * cameras + camera].m[k];
            to[k] = static_cast<float>(sum);
        }
    }
}

}  // namespace gs::tensor
