#include "app/sample/sample_capture.h"

#include <chrono>
#include <cmath>
#include <mutex>

#include "app/sample/render.h"
#include "app/sample/scene.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

struct Observation {
    std::uint32_t pixel;
    sample::Probe probe;
};
struct SampleView {
    Camera camera;
    std::vector<Observation> observations;
};

/// An earlier sample with more views leaves photos that no longer belong to any camera.
void forget_photos_from(const fs::path& folder, std::size_t first) {
    std::error_code error;
    for (std::size_t i = first; fs::remove(folder / "images" / sample_photo_name(i), error); ++i) {
    }
}

std::vector<std::uint32_t> pixels_to_probe(const SampleOptions& o, std::size_t view) {
    const auto pixels = static_cast<std::uint64_t>(o.width) * static_cast<std::uint64_t>(o.height);
    // Half of the pixels see the background, so twice as many are needed.
    const int wanted = (2 * o.points + o.views - 1) / o.views;
    std::vector<std::uint32_t> out;
    for (int i = 0; i < wanted; ++i)
        out.push_back(static_cast<std::uint32_t>(
            random_bits(o.seed, view, static_cast<std::uint64_t>(i)) % pixels));
    return out;
}

Result<SampleView> make_view(const sample::Geometry& geometry, const SampleOptions& options,
                             const fs::path& folder, std::size_t i) {
    SampleView view{sample_camera(options, static_cast<int>(i)), {}};
    const auto pixels = pixels_to_probe(options, i);
    const sample::Picture picture = sample::render(geometry, view.camera, pixels);
    for (std::size_t k = 0; k < pixels.size(); ++k)
        if (picture.probes[k].found) view.observations.push_back({pixels[k], picture.probes[k]});
    if (auto done = write_png(folder / "images" / sample_photo_name(i), picture.rgba); !done)
        return tl::unexpected(done.error());
    return view;
}

// Formats: colmap.github.io/format.html. Every point is seen by the one photo that found it.
Result<void> write_model(const fs::path& folder, const std::vector<SampleView>& views) {
    const Camera& c = views.front().camera;
    std::string cameras = "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n";
    cameras += fmt::format("1 PINHOLE {} {} {:.17g} {:.17g} {:.17g} {:.17g}\n", c.width, c.height,
                           c.fx, c.fy, c.cx, c.cy);
    std::string images =
        "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n# POINTS2D[] as (X, Y, "
        "POINT3D_ID)\n";
    std::string points =
        "# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)\n";
    std::uint64_t next_point = 1;
    for (std::size_t i = 0; i < views.size(); ++i) {
        const Camera& camera = views[i].camera;
        const Quatd q = quat_from_rotation(camera.rotation);
        const Vec3d t = camera.translation;
        images += fmt::format("{} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} 1 {}\n",
                              i + 1, q.w, q.x, q.y, q.z, t.x, t.y, t.z, sample_photo_name(i));
        const auto width = static_cast<std::uint32_t>(camera.width);
        for (std::size_t k = 0; k < views[i].observations.size(); ++k) {
            const auto& [pixel, probe] = views[i].observations[k];
            images += fmt::format("{}{}.5 {}.5 {}", k == 0 ? "" : " ", pixel % width, pixel / width,
                                  next_point);
            points += fmt::format("{} {:.6f} {:.6f} {:.6f} {} {} {} 0.5 {} {}\n", next_point++,
                                  probe.position.x, probe.position.y, probe.position.z,
                                  probe.rgb[0], probe.rgb[1], probe.rgb[2], i + 1, k);
        }
        images += '\n';
    }
    const fs::path model = folder / "sparse" / "0";
    if (auto done = write_text_file(model / "cameras.txt", cameras); !done) return done;
    if (auto done = write_text_file(model / "images.txt", images); !done) return done;
    return write_text_file(model / "points3D.txt", points);
}

}  // namespace

std::string sample_photo_name(std::size_t i) { return fmt::format("view_{:03}.png", i); }

Camera sample_camera(const SampleOptions& options, int view) {
    // Radians; more digits would be other files than those that results are stored for.
    constexpr double kHalfTurn = 3.14159265358979, kTurns = 3, kFovY = 40 * kHalfTurn / 180;
    const double share = (view + 0.5) / options.views;
    const double azimuth = 2 * kHalfTurn * kTurns * share - 1.9;
    const double elevation = (9 + 51 * share) * kHalfTurn / 180;
    const double distance = 6.7 + 0.3 * std::sin(7 * azimuth);
    const Vec3d target{sample::kSceneCenter.x, sample::kSceneCenter.y,
                       sample::kSceneCenter.z - 0.1 - 0.3 * share};
    const Vec3d eye{target.x + distance * std::cos(elevation) * std::cos(azimuth),
                    target.y + distance * std::cos(elevation) * std::sin(azimuth),
                    target.z + distance * std::sin(elevation)};
    return look_at(eye, target, {0, 0, 1}, options.width, options.height, kFovY);
}

Result<SampleReport> write_sample_capture(const fs::path& folder, const SampleOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    GS_TRY(auto shapes, sample::make_scene(options.scenery));
    for (const fs::path& sub : {folder / "images", folder / "sparse" / "0"})
        GS_TRY_VOID(make_folder(sub));
    forget_photos_from(folder, static_cast<std::size_t>(options.views));
    const sample::Geometry geometry(std::move(shapes));
    const auto count = static_cast<std::size_t>(options.views);
    std::vector<SampleView> views(count);
    std::mutex mutex;
    std::optional<Error> failure;
    std::size_t done = 0;
    parallel_for(count, 1, [&](std::size_t i) {
        {
            const std::lock_guard lock(mutex);
            if (failure) return;
        }
        auto view = make_view(geometry, options, folder, i);
        const std::lock_guard lock(mutex);
        if (!view) {
            failure = view.error();
            return;
        }
        views[i] = std::move(*view);
        ++done;
        if (options.progress && !options.progress("photos", done, count) && !failure)
            failure = Error{ErrorKind::cancelled,
                            folder.string(),
                            "stopped before all photos were written",
                            "",
                            {},
                            {}};
    });
    if (failure) return tl::unexpected(*failure);
    if (auto written = write_model(folder, views); !written) return tl::unexpected(written.error());

    SampleReport report{count, 0, seconds_since(start)};
    for (const SampleView& view : views) report.points += view.observations.size();
    return report;
}

}  // namespace gs
