#include "tests/support/render_case.h"

#include <cmath>

#include "tests/support/data.h"
#include "tests/support/npz.h"
#include "tests/support/safetensors.h"

namespace gs::test {
namespace {

void fill(reference::Parameters& out, int first_plane, int planes, const Array& from,
          double (*f)(double)) {
    for (std::size_t i = 0; i < out.count; ++i)
        for (int k = 0; k < planes; ++k)
            out.at(first_plane + k, i) =
                f(from[i * static_cast<std::size_t>(planes) + static_cast<std::size_t>(k)]);
}
double same(double x) { return x; }
double log_of(double x) { return std::log(x); }
double logit_of(double o) { return std::log(o / (1 - o)); }

void fill_sh(reference::Parameters& out, const Array& from) {
    const std::size_t bases = from.dim(1);
    for (std::size_t i = 0; i < out.count; ++i)
        for (std::size_t k = 0; k < bases; ++k)
            for (std::size_t c = 0; c < 3; ++c)
                out.sh(static_cast<int>(k), static_cast<int>(c), i) = from[(i * bases + k) * 3 + c];
}

int degree_of(const Array& sh) {
    return static_cast<int>(std::lround(std::sqrt(static_cast<double>(sh.dim(1))))) - 1;
}

Camera camera_from(const Array& view, const Array& k, int width, int height) {
    Camera camera{.width = width, .height = height, .fx = k[0], .fy = k[4], .cx = k[2], .cy = k[5]};
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 3; ++c) camera.rotation.m[r][c] = view[4 * r + c];
    camera.translation = {view[3], view[7], view[11]};
    return camera;
}

double weight(int c, int x, int y) { return std::cos(0.05 * (c + 1) * x + 0.11 * y + c); }

}  // namespace

RenderCase load_render_case(const std::string& name) {
    RenderCase c{.file = load_npz(data_path("reference/render/" + name + ".npz"))};
    const Arrays& f = c.file;
    c.scene = reference::Parameters(f["in_means"].dim(0), degree_of(f["in_sh"]));
    fill(c.scene, kMeans, 3, f["in_means"], same);
    fill(c.scene, kLogScales, 3, f["in_scales"], log_of);
    fill(c.scene, kQuats, 4, f["in_quats"], same);
    fill(c.scene, kOpacityLogits, 1, f["in_opacities"], logit_of);
    fill_sh(c.scene, f["in_sh"]);
    const int width = static_cast<int>(f["in_width"].scalar()),
              height = static_cast<int>(f["in_height"].scalar());
    for (std::size_t i = 0; i < f["in_viewmats"].dim(0); ++i)
        c.cameras.push_back(
            camera_from(f["in_viewmats"].slice(i), f["in_Ks"].slice(i), width, height));
    c.options.background = {f["in_background"][0], f["in_background"][1], f["in_background"][2]};
    c.options.sh_degree = static_cast<int>(f["in_sh_degree"].scalar());
    c.options.antialiased = f["in_antialiased"].scalar() != 0;
    c.options.blur = f["in_eps2d"].scalar();
    c.options.near_plane = f["in_near"].scalar();
    return c;
}

reference::PictureGradient case_upstream(int width, int height) {
    reference::PictureGradient v;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            for (int c = 0; c < 3; ++c) v.color.push_back(weight(c, x, y));
            v.alpha.push_back(weight(3, x, y));
            v.depth.push_back(0.1 * weight(4, x, y));
        }
    return v;
}

double case_loss(const reference::Picture& picture) {
    const auto w = case_upstream(picture.width, picture.height);
    double loss = 0;
    for (std::size_t i = 0; i < picture.color.size(); ++i) loss += picture.color[i] * w.color[i];
    for (std::size_t i = 0; i < picture.pixels(); ++i)
        loss += picture.alpha[i] * w.alpha[i] + picture.depth[i] * w.depth[i];
    return loss;
}

reference::Parameters expected_gradients(const RenderCase& c, const std::string& means) {
    reference::Parameters v(c.scene.count, c.scene.sh_degree);
    fill(v, kMeans, 3, c.file[means], same);
    fill(v, kLogScales, 3, c.file["out_v_scales"], same);
    fill(v, kQuats, 4, c.file["out_v_quats"], same);
    fill(v, kOpacityLogits, 1, c.file["out_v_opacities"], same);
    fill_sh(v, c.file["out_v_sh"]);
    for (std::size_t i = 0; i < v.count; ++i) {
        for (std::size_t k = 0; k < 3; ++k)
            v.at(kLogScales + static_cast<int>(k), i) *= c.file["in_scales"][3 * i + k];
        const double o = c.file["in_opacities"][i];
        v.at(kOpacityLogits, i) *= o * (1 - o);
    }
    return v;
}

RenderCase load_brush_case(const std::string& name) {
    RenderCase c{.file = load_safetensors(data_path("reference/brush/" + name + ".safetensors"))};
    const Arrays& f = c.file;
    c.scene = reference::Parameters(f["means"].dim(0), degree_of(f["coeffs"]));
    fill(c.scene, kMeans, 3, f["means"], same);
    fill(c.scene, kLogScales, 3, f["scales"], same);
    fill(c.scene, kQuats, 4, f["quats"], same);
    fill(c.scene, kOpacityLogits, 1, f["opacities"], same);
    fill_sh(c.scene, f["coeffs"]);
    Camera camera{.height = static_cast<int>(f["out_img"].dim(0))};
    camera.width = static_cast<int>(f["out_img"].dim(1));
    camera.fx = camera.fy = 0.5 * camera.width;  // 90 degrees across
    camera.cx = 0.5 * camera.width;
    camera.cy = 0.5 * camera.height;
    camera.translation = {-0.123, -0.456, 8.0};
    c.cameras.push_back(camera);
    c.options.detach_direction = true;
    return c;
}

reference::Parameters expected_brush_gradients(const RenderCase& c) {
    reference::Parameters v(c.scene.count, c.scene.sh_degree);
    fill(v, kMeans, 3, c.file["v_means"], same);
    fill(v, kLogScales, 3, c.file["v_scales"], same);
    fill(v, kQuats, 4, c.file["v_quats"], same);
    fill(v, kOpacityLogits, 1, c.file["v_opacities"], same);
    fill_sh(v, c.file["v_coeffs"]);
    return v;
}

reference::PictureGradient brush_upstream(const RenderCase& c) {
    reference::PictureGradient v;
    const Array& image = c.file["v_out_img"];
    for (std::size_t i = 0; i < image.size(); ++i)
        (i % 4 < 3 ? v.color : v.alpha).push_back(image[i]);
    return v;
}

std::vector<double> planes_of(const reference::Parameters& p, int first, int last) {
    const auto at = [&](int plane) {
        return p.values.begin() +
               static_cast<std::ptrdiff_t>(static_cast<std::size_t>(plane) * p.count);
    };
    return {at(first), at(last + 1)};
}

std::vector<PlaneGroup> plane_groups(const reference::Parameters& p) {
    return {{"means", kMeans, kMeans + 2},
            {"log_scales", kLogScales, kLogScales + 2},
            {"quats", kQuats, kQuats + 3},
            {"opacity_logits", kOpacityLogits, kOpacityLogits},
            {"sh", kSh0, p.planes() - 1}};
}

}  // namespace gs::test
