// Compares pictures and gradients of small frames with the double-precision reference.
#include <fmt/core.h>

#include <functional>
#include <numbers>
#include <utility>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/check/verify.h"
#include "app/verify/gradient_store.h"

namespace gs::cli {
namespace {

enum class Truth {
    gradients,  ///< the reference's picture and gradients
    picture,    ///< the reference's picture
    cpu,        ///< the CPU's picture: what is finite differs between single and double precision
};
struct FrameCase {
    std::string name;
    std::function<CaseScene()> scene;
    RenderOptions options{};
    Truth truth = Truth::gradients;
};
using FrameCases = std::vector<FrameCase>;

/// The picture, and gradients that are taken but not judged.
RenderResult drawn_both_ways(Rasterizer& rasterizer, const CaseScene& scene,
                             const RenderOptions& options) {
    const auto source = rasterizer.source_of(scene.model);
    const auto state = rasterizer.make_state();
    RenderResult out;
    rasterizer.forward(*source, scene.camera, options, *state, out);
    PixelGradients upstream;
    upstream.color.resize(out.width, out.height, 3);
    upstream.color.values.fill(1e-2f);
    GradientStore store(scene.model);
    rasterizer.backward(*source, scene.camera, options, *state, out, upstream, store);
    return out;
}

CheckRow check_frame_case(const Backend& backend, const FrameCase& c) {
    const CaseScene scene = c.scene();
    const auto rasterizer = rasterizer_of(backend);
    if (c.truth == Truth::cpu)
        return compared(label_of(backend), {},
                        likeness(drawn_both_ways(*rasterizer, scene, c.options),
                                 drawn_both_ways(*make_cpu_rasterizer(), scene, c.options)));
    return compared(
        label_of(backend), {},
        verify_frame(scene.model, scene.camera, c.options, *rasterizer, c.truth == Truth::gradients)
            .rows);
}

/// Around a warp, a block of 16, a projection block of 256 and several of them; every SH degree.
void add_counts(FrameCases& out) {
    int degree = 0;
    for (const std::size_t count : {0u, 1u, 31u, 32u, 33u, 255u, 256u, 257u, 700u})
        out.push_back({fmt::format("{} Gaussians, SH degree {}", count, degree % 4),
                       [count, d = degree++ % 4] { return case_scene(count, d, 40, 24, count); }});
}

/// Around a pixel, a sub-tile of 8 x 4, a tile of 16 x 16; one row, one column.
void add_sizes(FrameCases& out) {
    for (const auto& [width, height] : {std::pair{1, 1},
                                        {8, 4},
                                        {9, 5},
                                        {15, 17},
                                        {16, 16},
                                        {17, 15},
                                        {1, 70},
                                        {70, 1},
                                        {129, 16}})
        out.push_back({fmt::format("a picture of {} x {}", width, height),
                       [w = width, h = height] { return case_scene(120, 1, w, h, 3); }});
}

/// Gaussians around a camera that stands among them.
CaseScene surrounding_scene(std::size_t count, int width, int height) {
    CaseScene out = case_scene(count, 2, width, height, 23);
    out.camera = axis_camera(width, height);
    out.camera.translation = {0.1, -0.05, 0.2};
    for (std::size_t i = 0; i < count; ++i)
        for (int axis = 0; axis < 3; ++axis) out.model.at(kMeans + axis, i) *= 2.5f;
    return out;
}

// Scenes through lenses, for either projection.
CaseScene fisheye_scene() {
    return through_lens(surrounding_scene(260, 48, 48), CameraModel::opencv_fisheye, 3.84,
                        {-0.02, 0.004, -0.0005, 0});
}

/// Depths from behind the camera over the near plane to the far one.
CaseScene depths_scene() {
    CaseScene out = case_scene(192, 2, 40, 30, 11);
    out.camera = axis_camera(40, 30);
    const float depths[] = {-1000, -1,   -1e-3f, 0,    0.005f, 0.0099f, 0.01f, 0.0101f,
                            0.05f, 0.2f, 1,      1000, 1e6f,   1e9f,    1e11f, 4};
    for (std::size_t i = 0; i < out.model.count; ++i) {
        const float depth = depths[i % 16];
        out.model.at(kMeans + 2, i) = depth - 4;
        // Near the axis, where the view is narrow, so that Gaussians before the near plane would be
        // seen.
        for (int axis = 0; axis < 2; ++axis)
            out.model.at(kMeans + axis, i) *= 0.1f * std::min(std::max(depth, 0.01f), 4.0f);
    }
    return out;
}

/// One plane of every Gaussian takes these values in turn.
CaseScene with_values(std::vector<float> values, int first_plane, int planes, std::uint64_t seed) {
    CaseScene out = case_scene(180, 1, 40, 30, seed);
    for (std::size_t i = 0; i < out.model.count; ++i)
        for (int p = 0; p < planes; ++p)
            out.model.at(first_plane + p, i) =
                values[(i + i / values.size() * static_cast<std::size_t>(p)) % values.size()];
    return out;
}

void add_degenerate(FrameCases& out) {
    out.push_back({"values that no file should hold",
                   [] {
                       CaseScene s = case_scene(600, 3, 40, 30, 12);
                       break_every_other(s.model);
                       return s;
                   },
                   {},
                   Truth::cpu});
    out.push_back({"depths from behind the camera to beyond the far plane", depths_scene});
    out.push_back({"standard deviations from 0 to near infinity",
                   [] {
                       return with_values({-104, -88.7f, -40, -3, -2, -2.5f, 2, 24, 44, 60, 88},
                                          kLogScales, 3, 13);
                   },
                   {},
                   Truth::cpu});
    out.push_back({"opacities of 0, of 1, and around the least that shows", [] {
                       return with_values(
                           {-100, -20, -5.6f, -5.55f, -5.54f, -5.53f, -5.5f, 0, 6, 20, 100},
                           kOpacityLogits, 1, 14);
                   }});
    out.push_back({"rotations of length 0 and 1e10",
                   [] {
                       CaseScene s = case_scene(160, 1, 40, 30, 15);
                       const float lengths[] = {0, 1e-30f, 1e-10f, 1, 1e10f};
                       for (std::size_t i = 0; i < s.model.count; ++i)
                           for (int k = 0; k < 4; ++k) s.model.at(kQuats + k, i) *= lengths[i % 5];
                       return s;
                   },
                   {},
                   Truth::cpu});
    out.push_back({"colours below 0 and far above 1", [] {
                       return with_values({-3, -1.8f, -1.7f, 0, 2, 9}, kSh0, 3, 16);
                   }});
    out.push_back({"everything behind the camera", [] {
                       CaseScene s = case_scene(300, 1, 40, 30, 17);
                       s.camera = axis_camera(40, 30);
                       for (std::size_t i = 0; i < s.model.count; ++i)
                           s.model.at(kMeans + 2, i) -= 10;
                       return s;
                   }});
    out.push_back({"everything outside the picture", [] {
                       CaseScene s = case_scene(300, 1, 40, 30, 18);
                       s.camera = axis_camera(40, 30);
                       for (std::size_t i = 0; i < s.model.count; ++i)
                           s.model.at(kMeans, i) += i % 2 == 0 ? 20.0f : -20.0f;
                       return s;
                   }});
    out.push_back({"all at one depth", [] {
                       CaseScene s = case_scene(400, 1, 40, 30, 19);
                       s.camera = axis_camera(40, 30);
                       for (std::size_t i = 0; i < s.model.count; ++i)
                           s.model.at(kMeans + 2, i) = 0.25f;
                       return s;
                   }});
}

/// A work item holds 1,024 Gaussians of a tile at most; a thread block brings 256 at a time.
void add_lists(FrameCases& out) {
    out.push_back(
        {"64 Gaussians that cover 63 tiles each", [] { return covering_scene(64, 1, 129, 97); }});
    out.push_back(
        {"one in 37 Gaussians covers the picture", [] { return covering_scene(400, 37, 97, 65); }});
    out.push_back({"a Gaussian over 300 tiles, whose rows a block adds up",
                   [] { return covering_scene(3, 2, 320, 240); }});
    const RenderOptions absolute{.absolute = true};
    out.push_back({"pulls without signs, of rows that a block adds up",
                   [] { return covering_scene(3, 2, 320, 240); }, absolute});
    out.push_back({"pulls without signs, of rows that warps add up",
                   [] { return covering_scene(64, 1, 129, 97); }, absolute});
    for (const std::size_t count : {256u, 257u, 1024u, 1025u})
        out.push_back({fmt::format("{} faint Gaussians in one tile", count),
                       [count] { return crowded_scene(count, 16, 16, 0.01f); }});
    out.push_back({"2600 faint Gaussians in a tile: three items, no pixel ends",
                   [] { return crowded_scene(2600, 16, 16, 0.006f); }});
    out.push_back({"1300 Gaussians in a tile, pixels end in the second item",
                   [] { return crowded_scene(1300, 16, 16, 0.012f); }});
    out.push_back({"1100 opaque Gaussians in a tile: all pixels end at once",
                   [] { return crowded_scene(1100, 16, 16, 0.97f); }});
    out.push_back({"six tiles of 1100 Gaussians, of which few pixels end",
                   [] { return crowded_scene(1100, 40, 20, 0.02f); }});
}

void add_rules(FrameCases& out) {
    const auto scene = [] { return case_scene(300, 3, 49, 35, 21); };
    const auto add = [&](const char* name, RenderOptions options) {
        out.push_back({name, scene, options});
    };
    RenderOptions o{.compatibility = Compatibility::gsplat};
    add("profile gsplat: boxes", o);
    o.compatibility = Compatibility::inria;
    add("profile inria: squares", o);
    o = {};
    o.antialiased = true;
    add("antialiased", o);
    o = {};
    o.blur = 0;
    add("without blur", o);
    o = {};
    o.background = {1, 0.5f, 0.25f};
    add("a background", o);
    const auto under_sky = [](CaseScene s) {
        s.model.sky.degree = 3;
        for (std::size_t i = 0; i < s.model.sky.sh.size(); ++i)
            s.model.sky.sh[i] = random_uniform(29, 700, i) - 0.6f;
        return s;
    };
    out.push_back({"a sky", [=] { return under_sky(case_scene(60, 1, 49, 35, 29)); }, o});
    out.push_back(
        {"a sky behind a fisheye of 220 degrees", [=] { return under_sky(fisheye_scene()); }, o});
    o = {};
    o.most_pairs = 200;
    add("in groups of tiles", o);
    out.push_back(
        {"Gaussians over 300 tiles in groups", [] { return covering_scene(3, 2, 320, 240); }, o});
    for (const int degree : {0, 1, 2}) {
        o = {};
        o.sh_degree = degree;
        add(std::array{"degree limited to 0", "degree limited to 1",
                       "degree limited to 2"}[static_cast<std::size_t>(degree)],
            o);
    }
    o = {};
    o.near_plane = 4.5f;
    add("a near plane within the scene", o);
    o = {};
    o.clip = ClipBox{{-0.5f, -1, -1}, {1, 0.7f, 1}};
    out.push_back({"a box that cuts", scene, o, Truth::picture});
    o = {};
    o.scale_modifier = 0.1f;
    out.push_back({"standard deviations times 0.1", scene, o, Truth::picture});
    o.scale_modifier = 2.5f;
    out.push_back({"standard deviations times 2.5", scene, o, Truth::picture});
    out.push_back({"parallel rays",
                   [] {
                       CaseScene s = case_scene(300, 2, 49, 35, 22);
                       s.camera.model = CameraModel::orthographic;
                       s.camera.fx = s.camera.fy = 14;
                       return s;
                   },
                   {},
                   Truth::picture});
}

CaseScene panorama(CaseScene scene) {
    return through_lens(std::move(scene), CameraModel::equirectangular, 2 * std::numbers::pi, {});
}
CaseScene seam_scene() { return panorama(surrounding_scene(260, 72, 36)); }
CaseScene distorted(CaseScene scene) {
    return through_lens(std::move(scene), CameraModel::opencv, 0.9, {0.05, 0.01, 0.001, -0.002});
}
CaseScene wide_row_scene() { return distorted(covering_scene(3, 2, 320, 240)); }
CaseScene many_tiles_scene() { return distorted(covering_scene(64, 1, 129, 97)); }
CaseScene prism_scene() {
    return through_lens(surrounding_scene(200, 40, 40), CameraModel::thin_prism_fisheye, 2.6,
                        {0.02, -0.005, 0.002, -0.001, 0.001, 0, 0.003, -0.002});
}
CaseScene broken_panorama() {
    CaseScene s = surrounding_scene(400, 48, 24);
    break_every_other(s.model);
    return panorama(std::move(s));
}

/// Cameras that are no pinholes have projections of their own.
void add_lenses(FrameCases& out) {
    out.push_back({"a distorted lens", [] {
                       return through_lens(case_scene(300, 3, 49, 35, 24), CameraModel::full_opencv,
                                           0.9,
                                           {0.1, 0.03, 0.002, -0.003, 0.01, 0.12, 0.02, 0.004,
                                            0.003, -0.002, -0.004, 0.001});
                   }});
    out.push_back({"a Gaussian over 300 tiles of a distorted lens, whose rows a block adds up",
                   wide_row_scene});
    out.push_back({"64 Gaussians that cover 63 tiles each of a distorted lens", many_tiles_scene});
    out.push_back({"a fisheye of 220 degrees among the Gaussians", fisheye_scene});
    out.push_back({"ftheta by its inverse polynomial", [] {
                       return through_lens(
                           surrounding_scene(200, 48, 40), CameraModel::ftheta, 3.4,
                           {0, 1, -0.01, 0.02, -0.003, 0.0005, 1, 0.002, -0.001, 2.2, 1});
                   }});
    out.push_back({"a panorama, its seam within a tile", seam_scene});
    out.push_back({"a panorama of 1100 faint Gaussians over its seam", [] {
                       CaseScene s = crowded_scene(1100, 40, 20, 0.012f);
                       s.camera.translation.z = -1.5;  // behind the camera
                       return panorama(std::move(s));
                   }});
    const RenderOptions clipped{.clip = ClipBox{{-2, -1, -2}, {2, 1.5f, 2}}};
    out.push_back({"a box that cuts, through a fisheye", prism_scene, clipped, Truth::picture});
    out.push_back(
        {"values that no file should hold, through a panorama", broken_panorama, {}, Truth::cpu});
}

/// And so has the unscented transform.
void add_unscented(FrameCases& out) {
    RenderOptions ut;
    ut.projection = ProjectionMethod::ut;
    RenderOptions clipped = ut;
    clipped.clip = ClipBox{{-2, -1, -2}, {2, 1.5f, 2}};
    clipped.antialiased = true;
    for (FrameCase one :
         FrameCases{{"a pinhole", [] { return case_scene(300, 3, 49, 35, 25); }, ut},
                    {"a fisheye of 220 degrees among the Gaussians", fisheye_scene, ut},
                    {"a panorama, its seam within a tile", seam_scene, ut},
                    {"a Gaussian over 300 tiles, whose rows a block adds up", wide_row_scene, ut},
                    {"64 Gaussians that cover 63 tiles each", many_tiles_scene, ut},
                    {"a box that cuts, antialiased", prism_scene, clipped, Truth::picture},
                    {"values that no file should hold", broken_panorama, ut, Truth::cpu}}) {
        one.name = "by seven points: " + one.name;
        out.push_back(std::move(one));
    }
}

}  // namespace

void add_frame_cases(CaseList& list, const Backend& backend) {
    FrameCases cases;
    add_counts(cases);
    add_sizes(cases);
    add_degenerate(cases);
    add_lists(cases);
    add_rules(cases);
    add_lenses(cases);
    add_unscented(cases);
    for (FrameCase& c : cases) {
        std::string name = "frame: " + c.name;
        add_case(list, std::move(name),
                 [b = &backend, one = std::move(c)] { return check_frame_case(*b, one); });
    }
}

}  // namespace gs::cli
