// Cases of the viewer on a backend: tinted and hidden Gaussians, pictures that stay on the device,
// frames that need larger buffers than the last one.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/cli/cases/cases.h"
#include "app/cli/cases/runs.h"
#include "app/cli/cases/scenes.h"
#include "app/cli/check/proof_scene.h"
#include "base/rng.h"
#include "renderer/device/device_picture.h"
#include "renderer/io/images/image_io.h"

namespace gs::cli {
namespace {

RenderResult drawn_by(Rasterizer& rasterizer, const CaseScene& scene, const RenderOptions& o) {
    const auto source = rasterizer.source_of(scene.model);
    const auto state = rasterizer.make_state();
    RenderResult out;
    rasterizer.forward(*source, scene.camera, o, *state, out);
    return out;
}

/// Tints of every kind, for fewer rows than there are: those behind are as they are.
std::shared_ptr<const GaussianTint> some_tints(std::size_t rows) {
    auto tint = std::make_shared<GaussianTint>();
    tint->serial = 1;
    tint->words.resize_discard(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        const std::uint32_t words[] = {GaussianTint::kOwn, GaussianTint::kHidden,
                                       GaussianTint::word(255, 10, 0),
                                       GaussianTint::word(0, 90, 200, 100)};
        tint->words[i] = words[random_bits(41, 0, i) % 4];
    }
    return tint;
}

/// A fisheye of 115 degrees in place of the pinhole.
CaseScene bent(CaseScene scene) {
    return through_lens(std::move(scene), CameraModel::opencv_fisheye, 2.0, {0.02, -0.01, 0, 0});
}

/// The projection: the pinhole, the fisheye, or the fisheye by the unscented transform.
enum class Through { pinhole, lens, points };

CheckRow check_tint(const Backend& backend, Through through) {
    CaseScene scene = case_scene(500, 2, 60, 44, 41);
    if (through != Through::pinhole) scene = bent(std::move(scene));
    RenderOptions o;
    if (through == Through::points) o.projection = ProjectionMethod::ut;
    o.tint = some_tints(450);
    o.gradients = false;
    return compared(label_of(backend), {},
                    likeness(drawn_by(*rasterizer_of(backend), scene, o),
                             drawn_by(*make_cpu_rasterizer(), scene, o)));
}

/// Sleepers are drawn with the steps they slept through.
CheckRow check_run(const Backend& backend, bool tinted, Through through, bool compact) {
    RenderResult pictures[2];
    RenderOptions o;
    if (through == Through::points) o.projection = ProjectionMethod::ut;
    if (tinted) o.tint = some_tints(150);
    for (int k = 0; k < 2; ++k) {
        const auto training = k == 0 ? training_of(backend) : make_cpu_training();
        training->start(case_capture(20, 20), busy_run(200, 45, false, compact));
        const Camera camera = make_proof_camera(45, 0, 50, 40);
        training->render(through == Through::pinhole ? camera : bent({{}, camera}).camera, o,
                         pictures[k]);
    }
    return compared(label_of(backend), {}, likeness(pictures[0], pictures[1]));
}

struct DisplayCase {
    int width, height;
    Precision precision = Precision::exact;
    int degree = 3;
    bool tinted = false;
};
std::string name_of(const DisplayCase& c) {
    const std::string name = fmt::format("viewer: {} x {} left on the device", c.width, c.height);
    if (c.precision != Precision::fast) return name;
    return name + fmt::format(", fast, degree {}{}", c.degree, c.tinted ? ", tinted" : "");
}
/// A picture is opaque.
void compare_bytes(const DevicePicture& picture, const Image8& truth, int frame,
                   ComparisonRow& out) {
    picture.download([&](std::span<const std::uint8_t> bytes) {
        for (std::size_t i = 0; i < 4 * truth.pixels(); ++i)
            out.add(i % 4 == 3 ? 255 : truth.bytes[i / 4 * 3 + i % 4],
                    i % 4 == 3 && bytes[i] != 255 ? -1 : bytes[i],
                    [&] { return fmt::format("byte {} of frame {}", i, frame); });
    });
}
/// The bytes that would be on the screen are those of forward()'s picture, exactly drawn, give or
/// take 1: a device may fuse the multiplication by 255 with what rounds it; and 1 more where they
/// are drawn fast.
CheckRow check_display(const Backend& backend, const DisplayCase& asked) {
    const auto [width, height, precision, degree, tinted] = asked;
    const CaseScene scene = case_scene(500, degree, width, height, 42);
    const auto rasterizer = rasterizer_of(backend);
    const auto source = rasterizer->source_of(scene.model);
    const auto state = rasterizer->make_state();
    RenderOptions o{.depth = false, .gradients = false};
    if (tinted) o.tint = some_tints(450);
    RenderResult result;
    rasterizer->forward(*source, scene.camera, o, *state, result);
    const Image8 truth = to_bytes(result.color);
    o.precision = precision;
    const auto picture = rasterizer->forward_for_display(*source, scene.camera, o, *state, result);
    if (!picture)
        return {label_of(backend), {}, "draws in host memory", !backend.cuda, backend.cuda};
    ComparisonRow bytes{"bytes differ by", precision == Precision::fast ? 2.0 : 1.0};
    compare_bytes(*picture, truth, 0, bytes);
    return compared(label_of(backend), {}, {bytes});
}

/// A viewer whose camera moves: one state, whose frames are recorded and replayed on a device. The
/// bytes of each are compared with those of forward(), which is never replayed.
CheckRow check_steady_view(const Backend& backend, std::size_t gaussians, int width, int height,
                           int frames) {
    const CaseScene scene = case_scene(gaussians, 2, width, height, 47);
    const auto rasterizer = rasterizer_of(backend);
    const auto source = rasterizer->source_of(scene.model);
    const auto shown = rasterizer->make_state(), drawn = rasterizer->make_state();
    const RenderOptions o{.depth = false, .gradients = false};
    RenderResult result, truth;
    ComparisonRow bytes{"bytes differ by", 1};
    for (int frame = 0; frame < frames; ++frame) {
        Camera camera = scene.camera;
        camera.translation.x += 0.3 * std::sin(0.7 * frame);
        camera.translation.y += 0.2 * std::cos(0.4 * frame);
        const auto picture = rasterizer->forward_for_display(*source, camera, o, *shown, result);
        if (!picture)
            return {label_of(backend), {}, "draws in host memory", !backend.cuda, backend.cuda};
        rasterizer->forward(*source, camera, o, *drawn, truth);
        compare_bytes(*picture, to_bytes(truth.color), frame, bytes);
    }
    return compared(label_of(backend), {}, {bytes}, fmt::format("{} frames: ", frames));
}

/// A frame that needs much larger buffers than the one before, and then smaller ones again: each as
/// a new rasterizer draws it, bit for bit.
CheckRow check_rooms(const Backend& backend) {
    const CaseScene small = case_scene(20, 1, 20, 20, 43), large = covering_scene(900, 3, 129, 97);
    const auto rasterizer = rasterizer_of(backend);
    const auto state = rasterizer->make_state();
    ComparisonRow bits{"other bits than with large buffers from the start:", 0, Measure::bits};
    std::uint64_t isects = 0;
    for (const CaseScene* scene : {&small, &large, &small, &large}) {
        const auto source = rasterizer->source_of(scene->model);
        RenderResult got;
        rasterizer->forward(*source, scene->camera, {}, *state, got);
        const RenderResult fresh = drawn_by(*rasterizer_of(backend), *scene, {});
        bits.add_all(fresh.color.values, got.color.values);
        bits.add_all(fresh.depth.values, got.depth.values);
        isects = std::max(isects, got.counters.isects);
    }
    CheckRow row = compared(label_of(backend), {}, {bits},
                            fmt::format("up to {} pairs of Gaussian and tile: ", isects));
    row.passed = row.passed && isects > 8192;
    return row;
}

}  // namespace

void add_viewer_cases(CaseList& list, const Backend& backend) {
    const Backend* const b = &backend;
    for (const Through through : {Through::pinhole, Through::lens, Through::points}) {
        const char* const lens = through == Through::pinhole ? ""
                                 : through == Through::lens  ? ", by a fisheye"
                                                             : ", by seven points";
        add_case(list, fmt::format("viewer: tinted and hidden Gaussians{}", lens),
                 [b, through] { return check_tint(*b, through); });
        for (const bool compact : {false, true})
            for (const bool tinted : {false, true})
                add_case(list,
                         fmt::format("viewer: a run under way{}{}{}", tinted ? ", tinted" : "",
                                     lens, compact ? ", compact moments" : ""),
                         [=] { return check_run(*b, tinted, through, compact); });
    }
    constexpr DisplayCase kDisplays[] = {{60, 44},
                                         {1, 1},
                                         {257, 3},
                                         {60, 44, Precision::fast, 1},
                                         {60, 44, Precision::fast, 2},
                                         {60, 44, Precision::fast, 3},
                                         {60, 44, Precision::fast, 3, true}};
    for (const DisplayCase& one : kDisplays)
        add_case(list, name_of(one), [b, one] { return check_display(*b, one); });
    add_case(list, "viewer: frames that outgrow their buffers", [b] { return check_rooms(*b); });
    add_case(list, "viewer: twelve frames from twelve cameras, replayed",
             [b] { return check_steady_view(*b, 500, 60, 44, 12); });
    add_case(list, "large: 400 frames of 100,000 Gaussians, replayed",
             [b] { return check_steady_view(*b, 100'000, 640, 360, 400); });
}

}  // namespace gs::cli
