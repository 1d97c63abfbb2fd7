#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "base/format.h"
#include "base/nth.h"
#include "base/parallel.h"
#include "renderer/doctor/doctor.h"
#include "renderer/doctor/rows.h"
#include "renderer/io/captures/lens_mask.h"
#include "renderer/scene/camera_lens.h"
#include "renderer/scene/lost_views.h"

namespace gs {
namespace {

constexpr std::size_t kFewUnposed = 10;  // one photo without pose per this many with one
constexpr std::size_t kFewPoints = 100, kFewViews = 3;
constexpr int kTinyPhoto = 64, kHugePhoto = 8192;  // pixels: longest side below, or above
constexpr double kOffCentre = 0.05;                // of the side
constexpr double kLeastBaseline = 1e-3;            // of the distance to the points
constexpr double kCornersOfACircle = 0.25;         // 1 - pi / 4 of a square, and a little
constexpr double kFewPixels = 0.01;                // share that a wide lens may lack in its corners
constexpr double kRoughPoses = 2;                  // pixels: good reconstructions have 0.3 to 1.2

using Findings = std::vector<Finding>;

// What is wrong with some of the views: they are counted, the first ones are named.
struct ViewRule {
    const char* id;
    Severity severity;
    const char* what;
    const char* consequence;
    const char* advice;
};

template <class Wrong>
void add_views(const Capture& capture, const ViewRule& rule, Wrong&& wrong, Findings& out) {
    Finding f{rule.id, rule.severity, "", 0, {}, rule.consequence, rule.advice, false};
    for (std::size_t i = 0; i < capture.views.size(); ++i)
        if (wrong(i) && f.count++ < kFindingExamples) f.examples.push_back(capture.views[i].name);
    f.what = counted(f.count, "view", rule.what);
    if (f.count > 0) out.push_back(std::move(f));
}

void add_one(const char* id, Severity severity, std::string what, const char* consequence,
             const char* advice, Findings& out, std::uint64_t count = 1) {
    out.push_back({id, severity, std::move(what), count, {}, consequence, advice, false});
}

void add_shutter(const CaptureNote& note, std::size_t rolling, std::size_t views, Findings& out) {
    const bool all = rolling == views;
    add_one("rolling-shutter", Severity::note, note.text,
            all ? "each row has its own time"
                : "photos from a moving camera are skewed if it is ignored",
            all            ? "nothing"
            : rolling == 0 ? "give poses of the first and last row (viewmat_start, viewmat_end), "
                             "and do not use --undistort"
                           : "add poses of the first and last row (viewmat_start, viewmat_end) to "
                             "the other photos as well",
            out);
}

void add_left_out(const Capture& capture, Findings& out) {
    std::vector<std::string> left_out = capture.skipped;
    left_out.insert(left_out.end(), capture.missing.begin(), capture.missing.end());
    if (!left_out.empty()) {
        const bool all = !capture.missing.empty() && capture.missing.size() == capture.views.size();
        Finding f{"photos-left-out",
                  all ? Severity::error : Severity::warning,
                  counted(left_out.size(), "view", "are skipped"),
                  left_out.size(),
                  {},
                  all ? "no view is left to train on" : "areas that only they show are missing",
                  "add the missing photos, or pose them again",
                  false};
        left_out.resize(std::min(left_out.size(), kFindingExamples));
        f.examples = std::move(left_out);
        out.push_back(std::move(f));
    }
    if (capture.unposed.empty()) return;
    // A few are left out by any reconstruction.
    const bool many = capture.unposed.size() * kFewUnposed > capture.views.size();
    const auto shown =
        static_cast<std::ptrdiff_t>(std::min(capture.unposed.size(), kFindingExamples));
    out.push_back(
        {"photos-without-pose", many ? Severity::warning : Severity::note,
         counted(capture.unposed.size(), "photo", "have no pose"), capture.unposed.size(),
         std::vector<std::string>(capture.unposed.begin(), capture.unposed.begin() + shown),
         "areas that only they show are missing",
         "pose them as well, or remove them from the folder", false});
}

/// What a note of loading means, by its kind; the first is of any other. Shutters: add_shutter().
struct NoteRule {
    CaptureNote::Kind kind;
    const char* id;
    Severity severity;
    const char* consequence;
    const char* advice;
};
constexpr NoteRule kNoteRules[] = {
    {CaptureNote::Kind::other, "loading", Severity::note, "the capture is used as it was read",
     "nothing, if this is intended"},
    {CaptureNote::Kind::photo_size, "photo-size", Severity::warning,
     "right if all photos were scaled, wrong if they were cropped",
     "use the photos that were posed"},
    {CaptureNote::Kind::lens, "lens", Severity::note,
     "the edges of wide lenses are cut off, and photos are blurred",
     "omit --undistort unless something needs pinholes"},
    {CaptureNote::Kind::own_lens, "own-lens", Severity::note,
     "programs that support only pinholes show splats learned from very wide lenses differently",
     "nothing; use --undistort if something needs pinholes"},
    {CaptureNote::Kind::split, "split", Severity::warning,
     "scores may be of other photos than intended",
     "correct the names in the list, or hold out others (--test-views, --test-every)"},
    {CaptureNote::Kind::rig, "rigs", Severity::warning,
     "photos stay where the model has them; --refine-poses moves those of a frame together",
     "export the model again, or adjust it with its rigs"},
    {CaptureNote::Kind::origin, "far-from-zero", Severity::note,
     "positions are shown relative to the origin; written files include it",
     "nothing; see docs/captures.md"},
    {CaptureNote::Kind::mask, "masks", Severity::warning,
     "areas that they should hide are trained like the rest",
     "name each mask after its photo (or its name plus .png), with the photo's aspect"}};

// What loading left out or had to change.
void add_loading(const Capture& capture, Findings& out) {
    add_left_out(capture, out);
    const auto rolling = static_cast<std::size_t>(std::ranges::count_if(
        capture.views, [](const View& view) { return view.camera.rolling(); }));
    for (const CaptureNote& note : capture.notes) {
        if (note.kind == CaptureNote::Kind::shutter) {
            add_shutter(note, rolling, capture.views.size(), out);
            continue;
        }
        const auto found = std::ranges::find(kNoteRules, note.kind, &NoteRule::kind);
        const NoteRule& rule = found == std::end(kNoteRules) ? kNoteRules[0] : *found;
        add_one(rule.id, rule.severity, note.text, rule.consequence, rule.advice, out);
    }
}

void add_counts(const Capture& capture, Findings& out) {
    const std::size_t tests = capture.view_indices(true).size();
    if (capture.views.size() == tests)
        add_one("no-training-views", Severity::error, "every view is a test view",
                "no view is left to train on", "hold out fewer views (--test-every, --test-views)",
                out);
    else if (tests == 0)
        add_one("no-test-views", Severity::note, "no view is a test view",
                "quality cannot be measured", "hold out every eighth view (--test-every 8)", out);
    if (capture.views.size() < kFewViews)
        add_one("few-views", Severity::warning,
                fmt::format("only {}", counted(capture.views.size(), "view")),
                "geometry needs at least three views", "take and pose more photos", out,
                capture.views.size());
    if (capture.points_are_random)
        add_one("random-points", Severity::note,
                "training starts from random points, not from the reconstruction's",
                "training needs more steps and makes more floaters",
                "export the points of the reconstruction as well", out, capture.points.size());
    else if (capture.points.size() < kFewPoints)
        add_one("few-points", Severity::warning,
                fmt::format("only {}", counted(capture.points.size(), "sparse point")),
                "training starts from almost nothing, and density control has to add the rest",
                "reconstruct with more features, or remove the points to start from random ones",
                out, capture.points.size());
}

void add_pictures(const Capture& capture, Findings& out) {
    const auto camera = [&](std::size_t i) -> const Camera& { return capture.views[i].camera; };
    const auto longest = [&](std::size_t i) { return std::max(camera(i).width, camera(i).height); };
    add_views(
        capture,
        {"off-centre", Severity::note, "have a principal point more than 5 % off the centre",
         "supported here; programs that assume the centre show these views shifted",
         "check that the photos were not cropped after they were posed"},
        [&](std::size_t i) {
            const Camera& c = camera(i);
            return std::abs(c.cx - 0.5 * c.width) > kOffCentre * c.width ||
                   std::abs(c.cy - 0.5 * c.height) > kOffCentre * c.height;
        },
        out);
    add_views(
        capture,
        {"tiny-photos", Severity::warning, "are smaller than 64 pixels",
         "they contribute almost nothing to training",
         "use the full-size photos, or a smaller --downscale"},
        [&](std::size_t i) { return longest(i) < kTinyPhoto; }, out);
    add_views(
        capture,
        {"huge-photos", Severity::note, "are larger than 8192 pixels",
         "steps are slow, and photos take memory from Gaussians",
         "downscale them while loading (--downscale)"},
        [&](std::size_t i) { return longest(i) > kHugePhoto; }, out);
    std::map<std::array<int, 2>, std::size_t> sizes;
    for (std::size_t i = 0; i < capture.views.size(); ++i)
        ++sizes[{camera(i).width, camera(i).height}];
    if (sizes.size() > 1) {
        add_one("mixed-sizes", Severity::note,
                fmt::format("the photos have {} different sizes", sizes.size()),
                "large photos weigh more in training than small ones",
                "nothing, if several cameras were used", out, sizes.size());
        for (const auto& [size, views] : sizes)
            if (out.back().examples.size() < kFindingExamples)
                out.back().examples.push_back(
                    fmt::format("{} x {} ({})", size[0], size[1], counted(views, "view")));
    }
}

void add_duplicate_cameras(const Capture& capture, Findings& out) {
    std::vector<std::uint8_t> repeats(capture.views.size(), 0);
    std::map<std::array<double, 12>, std::size_t> seen;
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const Camera& c = capture.views[i].camera;
        std::array<double, 12> pose{c.translation.x, c.translation.y, c.translation.z};
        for (std::size_t k = 0; k < 9; ++k) pose[3 + k] = c.rotation.m[k / 3][k % 3];
        repeats[i] = seen.emplace(pose, i).second ? 0 : 1;
    }
    add_views(
        capture,
        {"duplicate-cameras", Severity::warning, "have exactly the same pose as an earlier one",
         "they add no parallax; if one is a test view, its score is meaningless",
         "remove repeated photos, and check the poses if the photos differ"},
        [&](std::size_t i) { return repeats[i] != 0; }, out);
}

// Photos whose lens folds back inside the picture: where it does, nothing is learned or measured.
void add_folds(const Capture& capture, Findings& out) {
    std::map<std::vector<double>, std::size_t> known;  // lens: its place in `lenses`
    std::vector<const Camera*> lenses;
    std::vector<std::size_t> lens_of;
    for (const View& view : capture.views) {
        const auto [at, is_new] = known.try_emplace(lens_key(view.camera), lenses.size());
        if (is_new) lenses.push_back(&view.camera);
        lens_of.push_back(at->second);
    }
    std::vector<LensFold> folds(lenses.size());
    parallel_for(lenses.size(), 1, [&](std::size_t i) { folds[i] = fold_of(*lenses[i]); });
    Finding f{"lens-folds", Severity::note, "", 0, {}, "", "", false};
    double share = 0;
    const LensFold* worst = nullptr;
    const Camera* camera = nullptr;
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const LensFold& fold = folds[lens_of[i]];
        if (fold.share == 0) continue;
        share += fold.share;
        if (f.count++ < kFindingExamples) f.examples.push_back(capture.views[i].name);
        if (worst == nullptr || fold.share > worst->share)
            worst = &fold, camera = lenses[lens_of[i]];
    }
    if (worst == nullptr) return;
    // A fisheye that fills its circle lacks the corners, whatever its polynomial does there.
    const bool corners = math::measures_distance(*camera) && worst->share <= kCornersOfACircle;
    if (!corners && worst->share > kFewPixels) f.severity = Severity::warning;
    f.what = fmt::format(
        "{} a lens that folds back inside the picture: {:.1f} % of the pixels have no ray, from "
        "{:.0f} px off the principal point on",
        counted(f.count, "view", f.count == 1 ? "has" : "have"),
        100 * share / static_cast<double>(f.count), worst->radius_px);
    f.consequence = "these pixels are ignored in training and in scores";
    f.advice =
        corners ? "nothing, if photos are black there"
        : worst->sign_helps
            ? fmt::format("check the sign of k1: it is {:g}, and with {:g} every pixel has a ray",
                          camera->distortion[0], -camera->distortion[0])
            : fmt::format("check the lens's coefficients (k1 = {:g}), or crop the photos",
                          camera->distortion[0]);
    out.push_back(std::move(f));
}

double distance_between(Vec3d a, Vec3d b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

struct Box {
    Vec3d lo{}, hi{};
    bool any = false;
    void add(Vec3d p) {
        if (!any) lo = hi = p;
        any = true;
        lo = {std::min(lo.x, p.x), std::min(lo.y, p.y), std::min(lo.z, p.z)};
        hi = {std::max(hi.x, p.x), std::max(hi.y, p.y), std::max(hi.z, p.z)};
    }
    double extent() const { return std::max({hi.x - lo.x, hi.y - lo.y, hi.z - lo.z}); }
    Vec3d centre() const { return 0.5 * (lo + hi); }
};

void add_geometry(const Capture& capture, Findings& out) {
    const std::vector<std::uint8_t> lost = lost_views(capture);
    add_views(
        capture,
        {"lost-poses", Severity::warning,
         "are more than 10 times as far away as every other camera and most points",
         "their poses are probably wrong; the scene's size is taken from the other cameras",
         "pose these photos again, or remove them from the capture"},
        [&](std::size_t i) { return lost[i] != 0; }, out);
    Box cameras;
    for (std::size_t i = 0; i < capture.views.size(); ++i)
        if (lost[i] == 0) cameras.add(capture.views[i].camera.position());
    if (!cameras.any) return;
    const std::vector<Vec3d> points =
        capture.points_are_random ? std::vector<Vec3d>() : some_points(capture.points);
    const double baseline = cameras.extent();
    std::vector<double> distances;
    for (const Vec3d p : points) distances.push_back(distance_between(p, cameras.centre()));
    const double distance = distances.empty() ? 0 : quantile(distances, 0.5);
    const double world = std::max(baseline, distance);
    if (world > 0 && (world < kSmallestScene || world > kLargestScene))
        add_one("world-scale", Severity::warning,
                fmt::format("cameras and points are {:.3g} units apart", world),
                world < kSmallestScene
                    ? "other programs draw nothing closer to a camera than 0.01 or 0.2 units"
                    : "learning rates of positions and the flying speed suit up to 100,000 units",
                "scale the reconstruction to about metres", out);
    if (capture.views.size() > 1 && distance > 0 && baseline < kLeastBaseline * distance)
        add_one("no-parallax", Severity::warning,
                fmt::format("the cameras are within {:.3g} units, the points {:.3g} away", baseline,
                            distance),
                "depth cannot be found from photos taken from one place",
                "move the camera between photos", out);
    if (capture.reprojection_px > kRoughPoses)
        add_one("rough-poses", Severity::warning,
                fmt::format("its reprojection error is {:.1f} pixels", capture.reprojection_px),
                "poses or lenses are inaccurate: the result is blurred",
                "train with --refine-poses, or pose the photos again", out);
    if (points.empty()) return;
    std::vector<std::uint8_t> blind(capture.views.size(), 0);
    parallel_for(capture.views.size(), 1, [&](std::size_t i) {
        blind[i] = sees_any(capture.views[i].camera, points) ? 0 : 1;
    });
    add_views(
        capture,
        {"looking-away", Severity::warning, "look away from every point",
         "their poses are probably wrong, and wrong poses make floaters and blur",
         "check the axes of the poses, or remove these photos"},
        [&](std::size_t i) { return blind[i] != 0; }, out);
}

}  // namespace

std::vector<Finding> examine(const Capture& capture) {
    Findings out;
    add_counts(capture, out);
    add_loading(capture, out);
    add_pictures(capture, out);
    add_folds(capture, out);
    add_duplicate_cameras(capture, out);
    add_geometry(capture, out);
    std::ranges::stable_sort(out, std::greater{}, &Finding::severity);
    return out;
}

}  // namespace gs
