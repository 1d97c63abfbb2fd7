// The stored render cases (reference/render/*.npz, reference/brush/*.safetensors) as scene,
// cameras, options, and what is expected. Used by the oracle's tests and by those of every backend.
#pragma once

#include <string>
#include <vector>

#include "renderer/reference/rasterize.h"
#include "tests/support/arrays.h"

namespace gs::test {

struct RenderCase {
    Arrays file;
    reference::Parameters scene;  ///< raw parameters: logarithms and logits of what the file has
    std::vector<Camera> cameras;
    reference::Options options;
};
RenderCase load_render_case(const std::string& name);

/// Upstream gradient of the files' loss: W0 r + W1 g + W2 b + W3 alpha + 0.1 W4 depth, Wc =
/// cos(0.05 (c+1) x + 0.11 y + c).
reference::PictureGradient case_upstream(int width, int height);
/// The files' loss of one picture.
double case_loss(const reference::Picture& picture);

/// Expected gradients of a render case with respect to raw parameters. `means`: "out_v_means" or
/// the detached ones.
reference::Parameters expected_gradients(const RenderCase& c,
                                         const std::string& means = "out_v_means");

/// A Brush case: one camera, 4-channel picture over black, gradients without the view-direction
/// path.
RenderCase load_brush_case(const std::string& name);
reference::Parameters expected_brush_gradients(const RenderCase& c);
/// v_out_img split into colour and alpha.
reference::PictureGradient brush_upstream(const RenderCase& c);

/// The planes first .. last of a gradient, for comparisons by kind of parameter.
std::vector<double> planes_of(const reference::Parameters& p, int first, int last);
struct PlaneGroup {
    const char* name;
    int first, last;
};
/// means, log_scales, quats, opacity_logits, sh (all of it), as present.
std::vector<PlaneGroup> plane_groups(const reference::Parameters& p);

}  // namespace gs::test
