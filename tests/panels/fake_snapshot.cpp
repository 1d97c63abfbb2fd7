#include "tests/panels/fake_snapshot.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "app/commands/commands.h"
#include "base/rng.h"
#include "panels/state/cost_report.h"
#include "panels/state/film_state.h"
#include "panels/state/gaussian_values.h"
#include "panels/state/history_state.h"
#include "panels/state/measure_state.h"
#include "panels/state/notes_state.h"
#include "panels/state/photo_problems.h"
#include "panels/state/verify_report.h"
#include "renderer/maps/colormap.h"
#include "tests/panels/fake_drive.h"
#include "tests/panels/fake_inspection.h"
#include "tests/panels/fake_runs.h"

namespace gs::test {
namespace {

constexpr int kWidth = 960, kHeight = 640, kTile = 16;

/// A repeatable number 0..1 for (a, b).
double noise(std::uint32_t a, std::uint32_t b) {
    std::uint32_t h = a * 0x9e3779b9U ^ (b + 0x7f4a7c15U) * 0x85ebca6bU;
    h ^= h >> 15;
    h *= 0x2c1b3c6dU;
    h ^= h >> 13;
    return static_cast<double>(h & 0xffffffU) / 0x1000000;
}

Image8 picture(double warmth) {
    Image8 image;
    image.width = kWidth;
    image.height = kHeight;
    image.channels = 4;
    image.bytes.resize(std::size_t{4} * kWidth * kHeight);
    std::uint8_t* to = image.bytes.data();
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) {
            const double dx = (x - 480) / 300.0, dy = (y - 340) / 220.0, r = dx * dx + dy * dy;
            const double light = r < 1 ? 0.35 + 0.6 * std::sqrt(1 - r) : 0.12 + 0.25 * y / kHeight;
            const double grain =
                0.03 * noise(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y));
            const auto byte = [&](double v) {
                return static_cast<std::uint8_t>(255 * std::min(1.0, std::max(0.0, v + grain)));
            };
            *to++ = byte(light * warmth);
            *to++ = byte(light * 0.8);
            *to++ = byte(light * (r < 1 ? 0.5 : 1.0));
            *to++ = 255;
        }
    return image;
}

std::shared_ptr<const TimeLapseState> time_lapse() {
    TimeLapseState out{"100", true, {}, 248, 0.006};
    for (const char* name : {"frame_00001.jpg", "from above"}) {
        TimeLapseState::View& view = out.views.emplace_back(TimeLapseState::View{name, {}});
        for (std::uint64_t step = 0; step <= 12'400; step += 100)
            view.pictures.push_back({step, fmt::format("timelapse/{}/{:07}.jpg", name, step)});
    }
    return std::make_shared<const TimeLapseState>(std::move(out));
}

std::shared_ptr<const FilmState> film() {
    FilmState out;
    out.film.path = preset_path(PathPreset::spiral, {{0, 0.2, 0}, {0, -1, 0}, 3, 0.3, 0.9, {}}, 8);
    out.film.path.keys.resize(7);
    out.seconds = out.film.path.seconds();
    const PathCurve curve(out.film.path);
    for (std::size_t i = 0; i < 7; ++i) out.passes.push_back(curve.passes(i));
    for (int i = 0; i <= 100; ++i) out.line.push_back(curve.at(out.seconds * i / 100).position);
    out.length = curve.length();
    out.selected = 2;
    out.at = 1.2;
    out.shown = false;  // or the viewport's pictures would show it
    return std::make_shared<const FilmState>(std::move(out));
}

ImageF tile_map() {
    ImageF map((kWidth + kTile - 1) / kTile, (kHeight + kTile - 1) / kTile, 1);
    for (int y = 0; y < map.height; ++y)
        for (int x = 0; x < map.width; ++x) {
            const double dx = (x - 30) / 16.0, dy = (y - 21) / 11.0;
            const double crowd =
                1400 * std::exp(-2 * (dx * dx + dy * dy)) +
                90 * noise(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y + 7));
            map.at(0, x, y) = static_cast<float>(std::round(crowd));
        }
    return map;
}

std::vector<CameraRow> cameras() {
    std::vector<CameraRow> rows;
    for (std::size_t i = 0; i < 48; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / 48;
        CameraRow row;
        row.view = i;
        row.name = fmt::format("images/frame_{:05}.jpg", i * 7 + 3);
        row.test = i % 8 == 0;
        row.camera =
            look_at({4 * std::cos(angle), -1.3 - 0.5 * std::sin(3 * angle), 4 * std::sin(angle)},
                    {0, 0, 0}, {0, -1, 0}, 960, 640, 0.8);
        const bool measured = i % 11 != 5;
        const double quality = i == 21 ? 17.4 : 27 + 6 * noise(static_cast<std::uint32_t>(i), 3);
        row.psnr = measured ? quality : NAN;
        row.ssim = measured ? 0.8 + 0.15 * noise(static_cast<std::uint32_t>(i), 4) : NAN;
        row.loss = measured ? 0.02 + 0.05 * noise(static_cast<std::uint32_t>(i), 5) : NAN;
        row.measured_step = measured ? (row.test ? 12000 : 12000 + 7 * (i % 57)) : 0;
        row.times_sampled = row.test ? 0 : 295 + static_cast<int>(i % 5);
        for (int k = 0; k < 12; ++k) {
            const double t = (k + 1) / 12.0;
            row.psnr_history.push_back(
                {static_cast<float>(1000 * (k + 1)),
                 static_cast<float>(quality - 12 * std::exp(-4 * t) +
                                    0.5 * noise(static_cast<std::uint32_t>(i),
                                                static_cast<std::uint32_t>(k + 40)))});
            row.loss_history.push_back({static_cast<float>(1000 * (k + 1)),
                                        static_cast<float>(0.04 + 0.3 * std::exp(-5 * t))});
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Photo, render and error of each, the last three not made yet.
std::vector<std::shared_ptr<const SheetPicture>> sheet(const std::vector<CameraRow>& rows) {
    std::vector<std::shared_ptr<const SheetPicture>> out;
    for (const CameraRow& row : rows) {
        auto made = std::make_shared<SheetPicture>();
        made->serial = row.view + 1, made->step = 12000, made->parts = 3;
        made->strip = {3 * 60, 40, 4, {}};
        const double error = std::isfinite(row.psnr) ? (35 - row.psnr) / 20 : 0.5;
        for (int y = 0; y < 40; ++y)
            for (int x = 0; x < 3 * 60; ++x) {
                const int part = x / 60;
                const double r = std::hypot((x % 60 - 30) / 20.0, (y - 20) / 14.0),
                             v = part == 2 ? error * std::exp(-r) : 0.2 + 0.6 / (1 + r * r);
                const auto byte = static_cast<std::uint8_t>(255 * std::min(v, 1.0));
                made->strip.bytes.insert(
                    made->strip.bytes.end(),
                    {byte, static_cast<std::uint8_t>(byte * 3 / 4),
                     static_cast<std::uint8_t>(part == 2 ? 20 : byte / 2 + 5 * row.view % 90),
                     255});
            }
        out.push_back(row.view + 3 < rows.size() ? std::move(made) : nullptr);
    }
    return out;
}

std::shared_ptr<const Image8> crops(std::size_t seed) {
    Image8 out{3 * 60, 50, 3, {}};
    for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x) {
            const int part = x / 60;
            const double r = std::hypot(x % 60 - 30.0, y - 25.0) / 22,
                         v = part == 2                ? std::exp(-r * r)
                             : (part == 0) == (r < 1) ? 0.25
                                                      : 0.7;
            const auto byte = static_cast<std::uint8_t>(255 * v);
            out.bytes.insert(out.bytes.end(),
                             {byte, static_cast<std::uint8_t>(part == 2 ? byte / 3 : byte),
                              static_cast<std::uint8_t>(part == 2 ? 30 : 40 + 37 * seed % 180)});
        }
    return std::make_shared<const Image8>(std::move(out));
}

std::shared_ptr<const PhotoProblems> problems() {
    FoundProblems found;
    found.photos = 48, found.gaussians_seen = 371'204;
    found.mean_error = 0.0231, found.error_sum = 48 * 960 * 640 * found.mean_error;
    found.region_limit = 0.061, found.few_photos = 2, found.apart_cell = 0.09;
    for (std::size_t i = 0; i < 14; ++i) {
        const int x = static_cast<int>(40 + 61 * i), y = static_cast<int>(20 + 37 * i);
        const double pixels = 20'000 - 1'300 * static_cast<double>(i);
        found.regions.push_back({(5 * i + 3) % 48,
                                 {x, y, x + 160, y + 120},
                                 pixels,
                                 0.2 * pixels,
                                 0.2,
                                 11.2 + 0.4 * static_cast<double>(i),
                                 0.97,
                                 0,
                                 i < 12 ? crops(i) : nullptr});
        if (i < 2) found.holes.push_back(found.regions.back());
        if (i < 2) found.holes.back().bare = 4'200 - 900.0 * static_cast<double>(i);
        BlamedGaussian g;
        g.row = 7919 * (i + 1) % 398'214;
        g.error = 812.4 / static_cast<double>(i + 1), g.weight = 5 * g.error;
        g.excess = (static_cast<double>(i % 3) - 1) * g.error;
        g.photos = static_cast<unsigned>(41 - i), g.view = (3 * i + 1) % 48;
        g.opacity = 0.93F, g.size = 0.041F;
        found.gaussians.push_back(g);
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
        Floater f;
        f.rows = {17 + i, 40 + i, 99};
        f.row = 17 + i, f.weight = 941.0 / (i + 1), f.error = 120.5 / (i + 1);
        f.photos = 1 + i % 2, f.view = 9 * i, f.nearness = 0.08 * (i + 1);
        f.near = i != 1, f.apart = i > 0;
        found.floaters.push_back(std::move(f));
    }
    PointInPhotos point{{0.412, -0.233, 1.08}, {}, 48, 29, 6};
    for (std::size_t i = 0; i < 13; ++i)
        point.photos.push_back({(7 * i + 2) % 48,
                                480.5 + 11.0 * static_cast<double>(i),
                                300.25,
                                4.1,
                                0.21 / static_cast<double>(i + 1),
                                {},
                                crops(20 + i)});
    PhotoProblems out;
    out.serial = 3, out.crops = 1;
    out.found = std::make_shared<const FoundProblems>(std::move(found));
    out.point = std::make_shared<const PointInPhotos>(std::move(point));
    out.step = out.point_step = 12'000;
    out.seconds = 14.2;
    out.mark = {8, {330, 210, 490, 330}, "region 2: 11.60 dB"};
    return std::make_shared<const PhotoProblems>(std::move(out));
}

GaussianValues gaussian_values() {
    GaussianValues v;
    v.value = GaussianValue::anisotropy;
    v.histogram = {"anisotropy, largest by smallest axis", "ratio", 1.2, 900, true, {}};
    for (int i = 0; i < 64; ++i)
        v.histogram.counts.push_back(
            static_cast<float>(9000 * std::exp(-std::pow((i - 20) / 14.0, 2)) +
                               400 * noise(static_cast<std::uint32_t>(i), 11)));
    v.lo = 4;
    v.hi = 120;
    v.rows = v.finite = 411874;
    v.within = 302911;
    v.step = 12400;
    return v;
}

CostReport cost_report() {
    CostReport r;
    r.step = 12400;
    r.width = 960, r.height = 640;
    r.from = "photo 12, images/frame_00087.jpg";
    r.note = "gradient of the loss against the photo";
    r.frame = {61.3e6, 108.4e6, 1'304'000, 211'000'000, 74'200'000, 96'100'000};
    r.region = CostReport::Region{
        320, 160, 640, 416, {21.7e6, 40.2e6, 402'000, 84'000'000, 30'100'000, 37'400'000}};
    for (std::uint64_t i = 0; i < 20; ++i)
        r.top.push_back(
            {88211 + 4093 * i % 70000, 412000 - 9000 * i, 31000 + 2000 * (i % 5), 60000 - 900 * i});
    r.gaussians = 212480;
    r.for_half = 9120;
    r.without = CostReport::Without{100, 0.087, 61.9e6, 57.2e6, 16, 9, 27.41, 27.02};
    return r;
}

Curves curves() {
    Curves c;
    for (int i = 0; i < 12400; i += 10) {
        const auto s = static_cast<float>(i);
        const double t = i / 12400.0, n = noise(static_cast<std::uint32_t>(i), 1) - 0.5;
        c.loss.push_back({s, static_cast<float>(0.02 + 0.25 * std::exp(-6 * t) + 0.012 * n)});
        c.train_psnr.push_back({s, static_cast<float>(31.5 - 17 * std::exp(-5 * t) + 1.6 * n)});
        c.gaussians.push_back(
            {s, static_cast<float>(52000 + 360000 / (1 + std::exp(-8 * (t - 0.4))))});
        c.step_ms.push_back({s, static_cast<float>(14 + 22 * t + 3 * n)});
        c.lr_means.push_back({s, static_cast<float>(1.6e-4 * std::pow(0.01, i / 30000.0))});
    }
    for (int k = 0; k <= 12; ++k) {
        c.test_psnr.push_back(
            {static_cast<float>(k * 1000), static_cast<float>(30 - 16 * std::exp(-0.45 * k))});
        c.test_ssim.push_back(
            {static_cast<float>(k * 1000), static_cast<float>(0.93 - 0.5 * std::exp(-0.4 * k))});
    }
    for (int i = 500; i < 12400; i += 500) {
        const auto s = static_cast<float>(i);
        const float t = s / 12400, left = 1 - t;
        c.rounds.target.push_back({s, 420000});
        c.rounds.cloned.push_back({s, 21000 * t * left + 900});
        c.rounds.split.push_back({s, 14000 * t * left});
        c.rounds.added.push_back({s, 0});
        c.rounds.relocated.push_back({s, 0});
        c.rounds.pruned.push_back({s, 9000 * t * t});
    }
    c.marks = {{4200, "densify_gradient 0.0002 -> 0.0003"},
               {8100, "lr_means 0.00016 -> 0.0002"},
               {9300, "the loss rose from 0.031 to 0.052 (means of 50 steps)", true}};
    return c;
}

Histogram histogram_of(const char* name, const char* unit, double lo, double hi, bool logarithmic,
                       double centre) {
    Histogram h{name, unit, lo, hi, logarithmic, {}};
    for (int i = 0; i < 48; ++i) {
        const double x = (i / 48.0 - centre) / 0.18;
        h.counts.push_back(static_cast<float>(40000 * std::exp(-x * x) +
                                              300 * noise(static_cast<std::uint32_t>(i), 9)));
    }
    return h;
}

SceneInfo scene() {
    SceneInfo s;
    s.name = "courtyard";
    s.path = "/data/captures/courtyard";
    s.format = "COLMAP binary";
    s.gaussians = 398214;
    s.sh_degree = 3;
    s.lo = {-6.1F, -2.2F, -5.4F};
    s.hi = {6.4F, 1.1F, 5.9F};
    s.extent = s.radius = 4.6;
    s.core = {{-3, -1.5F, -3}, {3, 0.8F, 3}};
    s.train_views = 42;
    s.test_views = 6;
    s.points = 52114;
    s.skipped = {"images/frame_00101.jpg: truncated JPEG at byte 40960"};
    s.notes = {"photos resampled from OPENCV to a pinhole", "photos shrunk by 2"};
    s.histograms = {histogram_of("opacity", "", 0, 1, false, 0.8),
                    histogram_of("scale", "world units", 1e-4, 1, true, 0.45),
                    histogram_of("anisotropy", "ratio", 1, 1000, true, 0.3),
                    histogram_of("SH energy", "", 1e-4, 10, true, 0.5)};
    s.memory = {{"parameters", 93'985'000}, {"Adam moments", 187'970'000},
                {"gradients", 93'985'000},  {"photos", 82'300'000},
                {"lists", 41'200'000},      {"pictures", 22'100'000}};
    return s;
}

std::vector<SettingRow> settings() {
    using enum SettingKind;
    std::vector<SettingRow> rows{
        {"lr_means", "Learning rates", "Step of the means, x scene extent.", 1.6e-4, 0, 0.01,
         number, true, true},
        {"lr_sh0", "Learning rates", "Base colour.", 2.5e-3, 0, 0.1, number, true, true},
        {"lr_opacity", "Learning rates", "Opacity logits.", 2.5e-2, 0, 1, number, true, true},
        {"lr_scales", "Learning rates", "Log scales.", 5e-3, 0, 0.1, number, true, true},
        {"lambda_dssim", "Loss", "Weight of 1 - SSIM.", 0.2, 0, 1, number, false, true},
        {"sh_degree", "Loss", "Highest SH degree.", 3, 0, 3, count, false, false},
        {"densify_every", "Density", "Steps between rounds.", 100, 1, 10000, count, true, true},
        {"densify_gradient", "Density", "Gradient of clones and splits.", 2e-4, 0, 0.01, number,
         true, true},
        {"max_gaussians", "Density", "Growth stops there.", 5e6, 1, 5e7, count, true, true},
        {"strategy", "Density", "How Gaussians are added and removed.", 0, 0, 1, choice},
        {"random_background", "Background", "New in every step.", 0, 0, 1, toggle, false, true}};
    for (SettingRow& row : rows) {
        row.usual = row.value;
        row.source = "3DGS, the authors' code";
        row.slider_min = row.logarithmic ? row.value / 100 : row.min;
        row.slider_max = row.logarithmic ? row.value * 100 : row.max;
    }
    const auto strategy = std::ranges::find(rows, "strategy", &SettingRow::name);
    strategy->choices = {{"adc", "adaptive: clone, split and prune", {}},
                         {"mcmc", "relocate, up to max_gaussians", {"noise", "max_gaussians"}}};
    rows[0].usual = 2e-4;  // one that was changed
    return rows;
}

DoctorReport doctor() {
    DoctorReport r;
    r.serial = 1;
    r.findings = {{"not-finite-positions",
                   Severity::error,
                   "3 Gaussians have a position that is NaN or infinite",
                   3,
                   {"#17", "#18", "#4711"},
                   "they draw nothing, and some other programs fail on them",
                   "a fix removes them",
                   true,
                   true},
                  {"looking-away",
                   Severity::warning,
                   "2 views look away from every point",
                   2,
                   {"images/frame_00010.jpg", "images/frame_00024.jpg"},
                   "their poses are probably wrong, and wrong poses make floaters and blur",
                   "check the axes of the poses, or leave these photos away",
                   false},
                  {"photos-left-out",
                   Severity::warning,
                   "1 view is left out",
                   1,
                   {"images/frame_00101.jpg: truncated JPEG at byte 40960"},
                   "what only they show is missing",
                   "add the missing photos, or pose them again",
                   false},
                  {"invisible",
                   Severity::note,
                   "1,204 Gaussians are too transparent to be drawn (opacity below 1/255)",
                   1204,
                   {"#2", "#3"},
                   "memory and time for nothing",
                   "a fix removes them; the picture stays the same",
                   true,
                   true}};
    r.planned = true;
    r.now = {398'214, 2'000'000, 93'985'000, 194'000'000, 105'000'000, 220'000'000};
    r.at_cap = {5'000'000, 25'000'000, 1'180'000'000, 2'440'000'000, 1'310'000'000, 2'640'000'000};
    r.photo_bytes = 82'300'000;
    r.width = 960;
    r.height = 640;
    r.host = {4'000'000'000, 3'190'000};
    r.seconds = 0.31;
    r.can_fix = true;
    r.fixes = {"duplicates"};
    r.unsaved = true;
    r.changes = {"12 Gaussians removed as copies"};
    return r;
}

ViewFrame frame_of(ViewMode mode, const Camera& camera) {
    ViewFrame f;
    f.serial = 871;
    f.step = 12400;
    f.mode = mode;
    f.camera = camera;
    f.rgba = picture(1.0);
    f.milliseconds = 11.3;
    f.visible = 214803;
    f.isects = 1'302'114;
    f.psnr = 29.84;
    if (mode != ViewMode::isects && mode != ViewMode::pairs) return f;
    f.map = tile_map();
    f.map_cell = kTile;
    f.unit = "Gaussians/tile";
    const ColormapRange range = colormap_range(f.map, {});
    f.range_lo = range.lo;
    f.range_hi = range.hi;
    f.map_min = range.min;
    f.map_max = range.max;
    f.map_mean = range.mean;
    f.map_p50 = range.p50;
    f.map_p95 = range.p95;
    f.rgba =
        apply_colormap(f.map, kTile, kWidth, kHeight, Colormap::viridis, range.lo, range.hi, false);
    return f;
}

/// Builds nested spans of one frame on a track. With a GPU stream, a span only launches work there.
struct Writer {
    TraceBatch& batch;
    std::uint32_t track;
    std::int64_t now;
    bool gpu = false;
    std::int64_t gpu_now = 0;
    std::uint64_t launches = 0;

    static constexpr std::uint32_t kStream = 3;
    static constexpr double kFaster = 8;  // the GPU than the CPU of the fake numbers

    void span(Stage stage, double ms, std::uint8_t depth) {
        const auto name = static_cast<std::uint32_t>(stage) + 1;
        const auto length = static_cast<std::int64_t>(gpu ? 20'000 + 4'000 * ms : ms * 1e6);
        batch.spans.push_back({now, now + length, 0, track, name, depth, false});
        if (gpu) {
            gpu_now = std::max(gpu_now, now + 8'000);
            const std::int64_t end = gpu_now + static_cast<std::int64_t>(ms * 1e6 / kFaster);
            batch.gpu_work.push_back(stage_work({gpu_now, end, 0, kStream, name, 0, false},
                                                {now, track, depth}, ++launches));
            gpu_now = end + 2'000;
        }
        now += length;
    }
    void frame(Stage stage, std::int64_t begin, std::uint64_t number) {
        batch.spans.push_back(
            {begin, now, number, track, static_cast<std::uint32_t>(stage) + 1, 0, true});
        now = std::max(now, gpu_now - 3'000'000);  // the host runs ahead only so far
    }
};

void one_iteration(Writer& w, int number) {
    const auto n = [&](std::uint32_t k) {
        return 0.85 + 0.3 * noise(static_cast<std::uint32_t>(number), k);
    };
    const std::int64_t begin = w.now;
    w.span(Stage::cull, 0.4 * n(1), 1);
    w.span(Stage::project, 2.6 * n(2), 1);
    w.span(Stage::emit, 1.1 * n(3), 1);
    w.span(Stage::sort, 2.2 * n(4), 1);
    w.span(Stage::ranges, 0.2 * n(5), 1);
    w.span(Stage::blend, 8.1 * n(6), 1);
    w.span(Stage::loss, 2.4 * n(7), 1);
    w.span(Stage::blend_backward, 14.8 * n(8), 1);
    w.span(Stage::project_backward, 3.9 * n(9), 1);
    w.span(Stage::adam, 2.0 * n(10), 1);
    if (number % 40 == 0) w.span(Stage::density, 9.5, 1);
    w.now += 60'000;
    w.frame(Stage::iteration, begin, static_cast<std::uint64_t>(number));
}

void one_view_frame(Writer& w, int number) {
    const std::int64_t begin = w.now;
    w.span(Stage::cull, 0.3, 1);
    w.span(Stage::project, 1.9, 1);
    w.span(Stage::sort, 1.6, 1);
    w.span(Stage::blend, 6.4, 1);
    w.span(Stage::pack, 0.9, 1);
    w.frame(Stage::view_frame, begin, static_cast<std::uint64_t>(number));
}

/// Every stage, one figure too far off; seen from elsewhere than the viewport's picture.
VerifyReport verified() {
    VerifyReport out;
    out.serial = 1;
    out.scene = "courtyard";
    out.step = 12400;
    out.width = 640, out.height = 420;
    out.x0 = 200, out.y0 = 100, out.x1 = 328, out.y1 = 228;
    out.gaussians = 398214;
    out.pixels = 16302;
    out.fragile = 82;
    out.seconds = 1.3;
    out.range = 4e-5;
    out.rows = {
        {"centre", 2e-3, {}, "px", "projection", false, 21034, 1, 3.1e-5, 4e-2},
        {"colour", 2e-5, {}, "", "projection", false, 21034, 1, 2.4e-7, 6e-4},
        {"count per pixel", 0, {}, "Gaussians", "lists", false, 16302},
        {"colour", 2e-5, {}, "", "picture", false, 16302, 1, 4.2e-4, 1.8e-2},
        {"value", 1e-5, {}, "relative", "loss", false, 1, 1, 3.3e-8, 3.3e-8},
        {"all parameters", 1e-4, {}, "relative", "gradients", false, 240113, 1, 6.1e-6, 1.5}};
    const char* const places[] = {"Gaussian 118203", "Gaussian 7", "",
                                  "pixel 251,140",   "",           "Gaussian 20017"};
    for (std::size_t i = 0; i < out.rows.size(); ++i) out.rows[i].where = places[i];
    return out;
}

}  // namespace

void fill_store(TraceStore& store, int iterations, std::int64_t end_ns, bool gpu) {
    TraceBatch batch;
    batch.pid = 1;
    batch.process_name = "gausscope";
    batch.tracks = {
        {0, 1, 10, "ui", false}, {1, 1, 11, "engine", false}, {2, 1, 12, "loader 1", true}};
    if (gpu)
        batch.tracks.push_back(
            {Writer::kStream, 1, 0, "CUDA stream training", false, TrackKind::gpu_stream});
    for (std::size_t i = 0; i < kStageCount; ++i)
        batch.names.push_back({static_cast<std::uint32_t>(i) + 1, kStageNames[i]});
    const std::int64_t begin =
        end_ns - static_cast<std::int64_t>(iterations) * (gpu ? 6'500'000 : 45'000'000);
    Writer engine{batch, 1, begin, gpu}, ui{batch, 0, begin};
    for (int i = 0; i < iterations; ++i) {
        one_iteration(engine, 12400 - iterations + i);
        if (i % 4 == 0) one_view_frame(engine, i / 4);
        while (ui.now < engine.now) {
            const std::int64_t from = ui.now;
            ui.span(Stage::ui_panels, 2.1, 1);
            ui.span(Stage::ui_present, 0.8, 1);
            ui.frame(Stage::ui, from, static_cast<std::uint64_t>(i));
            ui.now = from + 16'600'000;
        }
    }
    Writer loader{batch, 2, begin};
    for (int i = 0; i < 400; ++i) loader.span(Stage::decode_photo, 0.05, 0);
    batch.open = {{engine.now, 12400, 1, static_cast<std::uint32_t>(Stage::iteration) + 1, 0}};
    batch.read_ns = engine.now + 9'000'000;
    batch.written = batch.spans.size();
    store.ingest(batch);
}

StageCost cost_of(Stage stage, double measured_ms, double floor_ms, double bytes, double operations,
                  CostLimit limit, bool counted) {
    StageCost cost;
    cost.measured_ms = measured_ms;
    cost.floor.stage = stage;
    cost.floor.floor_ms = floor_ms;
    cost.floor.limit = limit;
    cost.floor.work.bytes = bytes;
    cost.floor.work.operations = operations;
    cost.floor.work.counted = counted;
    return cost;
}

void put_on_gpu(Snapshot& s) {
    s.backend = "CUDA (NVIDIA H200, sm_90)";
    s.device = "NVIDIA H200";
    s.present_path = "interop";
    s.device_memory = DeviceMemory{151'000'000'000, 139'400'000'000, 8'123'000'000};
    s.training.step_ms = 4.7;
    SceneInfo info = *s.scene;
    info.memory = {
        {"parameters", 93'985'000, true}, {"Adam moments", 187'970'000, true},
        {"photos", 1'482'300'000, true},  {"arrays of a frame", 611'200'000, true, 488'900'000},
        {"pictures", 22'100'000, true},   {"photos", 82'300'000}};
    s.scene = std::make_shared<SceneInfo>(std::move(info));
    StageCosts costs;
    costs.machine = "NVIDIA H200";
    costs.sample = "iteration";
    costs.measured = true;
    costs.bytes_per_second = 4.1e12;
    costs.operations_per_second = 5.6e13;
    costs.stages = {
        cost_of(Stage::cull, 0.05, 0.021, 3.2e6, 2.4e6, CostLimit::launch, true),
        cost_of(Stage::project, 0.325, 0.21, 8.6e8, 1.1e9, CostLimit::memory, true),
        cost_of(Stage::emit, 0.137, 0.05, 2.1e8, 9.0e7, CostLimit::memory, false),
        cost_of(Stage::sort, 0.275, 0.19, 7.9e8, 0, CostLimit::memory, true),
        cost_of(Stage::ranges, 0.025, 0.004, 1.6e7, 0, CostLimit::memory, true),
        cost_of(Stage::blend, 1.01, 0.55, 1.9e8, 3.1e10, CostLimit::arithmetic, true),
        cost_of(Stage::loss, 0.3, 0.1, 2.0e8, 5.6e9, CostLimit::arithmetic, false),
        cost_of(Stage::blend_backward, 1.85, 1.2, 4.4e8, 6.7e10, CostLimit::arithmetic, true),
        cost_of(Stage::project_backward, 0.49, 0.32, 1.3e9, 2.2e9, CostLimit::memory, true),
        cost_of(Stage::adam, NAN, NAN, 0, 0, CostLimit::none, false)};
    s.costs = std::make_shared<StageCosts>(std::move(costs));
}

std::vector<CommandInfo> fake_table() {
    const CommandTable table = all_commands();
    return {table.infos().begin(), table.infos().end()};
}

void put_beside(Snapshot& snapshot) {
    SceneInfo second = scene();
    second.name = "garden.ply";
    second.format = "3DGS PLY (binary)";
    snapshot.other = std::make_shared<SceneInfo>(std::move(second));
    ViewFrame frame = *snapshot.frame;
    auto other = std::make_shared<ViewFrame>(frame);
    frame.name = "A";
    frame.scene = "courtyard";
    frame.psnr_between = 27.31;
    frame.ssim_between = 0.9021;
    other->name = "B";
    other->scene = "garden.ply";
    other->step = 0;
    if (!other->rgba.bytes.empty()) other->rgba = picture(0.7);
    frame.other = std::move(other);
    snapshot.frame = std::make_shared<ViewFrame>(std::move(frame));
    snapshot.view.with = CompareWith::scene;
    snapshot.view.compare = Compare::split;
}

Snapshot fake_snapshot(const TraceStore& store, ViewMode mode) {
    Snapshot s;
    s.scene = std::make_shared<SceneInfo>(scene());
    s.curves = std::make_shared<Curves>(curves());
    s.cameras = std::make_shared<std::vector<CameraRow>>(cameras());
    s.sheet = std::make_shared<std::vector<std::shared_ptr<const SheetPicture>>>(sheet(*s.cameras));
    s.time_lapse = time_lapse();
    s.film = film();
    s.notes = std::make_shared<const NotesState>(NotesState{
        {{NoteOn::place, "the vase floats: no photo sees its foot", {0, 900, 0}, 0, 8100},
         {NoteOn::gaussian, "one needle through the whole courtyard", {0, 900, 1}, 17, 12400},
         {NoteOn::span,
          "why does this sort take so long?",
          {},
          0,
          12400,
          1000,
          2000,
          "sort on engine"}},
        "/data/runs/courtyard/notes.json"});
    s.problems = problems();
    s.looks = fake_looks();
    s.lab = fake_lab();
    s.drive = std::make_shared<const DriveState>(fake_drive());
    s.view.color_by.value = GaussianValue::anisotropy;
    s.values = std::make_shared<GaussianValues>(gaussian_values());
    s.cost_report = std::make_shared<CostReport>(cost_report());
    s.settings = std::make_shared<std::vector<SettingRow>>(settings());
    s.doctor = std::make_shared<DoctorReport>(doctor());
    s.inspection = fake_inspection();
    SelectionState selection;
    selection.selected = 1'284;
    selection.hidden = 312;
    selection.locked = 20;
    selection.bounded = true;
    selection.lo = {-0.62F, -0.41F, -0.2F};
    selection.hi = {0.31F, 0.18F, 0.55F};
    selection.unsaved = true;
    s.selection = std::make_shared<SelectionState>(selection);
    HistoryState history{
        {{EditOf::camera_path, "box: 1,402 Gaussians selected", 0}}, 4, 96'000, 512u << 20};
    for (const char* label : {"hidden 312 Gaussians", "brush: 1,284 Gaussians selected",
                              "deleted 96 Gaussians", "moved 1,284 Gaussians"})
        history.rows.push_back({EditOf::gaussians, label, 0});
    s.history = std::make_shared<HistoryState>(history);
    MarkedGaussian marked{17, {0.2F, -0.1F, 0.3F}, {}, 0.83F};
    marked.axes = {Vec3f{0.3F, 0, 0}, Vec3f{0, 0.1F, 0}, Vec3f{0, 0, 0.05F}};
    s.marked = std::make_shared<MarkedGaussian>(marked);
    MeasureState measured;
    // Behind the camera: no line of it is in the picture.
    measured.points = {{7.1, -5.6, 14.2}, {8.8, -5.5, 14.1}, {8.6, -5.5, 13.8}, {8.6, -6.7, 13.8}};
    measured.metres_per_unit = 0.75;
    measured.up = Vec3d{0, -1, 0};
    s.measured = std::make_shared<const MeasureState>(std::move(measured));
    s.verified = std::make_shared<VerifyReport>(verified());
    s.activities = {{"export", "writing /data/exports/courtyard.sog", 0.42, 3.1}};
    s.notices = {{1,
                  false,
                  "exported 398,214 Gaussians to courtyard.spz (12.1 MiB)",
                  {"SPZ clamps colours: 1,234 values beyond -3.33..3.33"}},
                 {2, true, "/data/junk.ply: has no vertices", {}}};
    s.camera = look_at({3.4, -2.6, 5.6}, {0, 0, 0}, {0, -1, 0}, kWidth, kHeight, 0.8);
    s.frame = std::make_shared<ViewFrame>(frame_of(mode, s.camera));
    s.training.state = RunState::training;
    s.training.step = 12400;
    s.training.total_steps = 30000;
    s.training.loss = 0.0412;
    s.training.train_psnr = 30.11;
    s.training.test_psnr = 28.93;
    s.training.test_step = 12000;
    s.training.test_ssim = 0.912;
    s.training.step_ms = 36.4;
    s.training.strategy = "grows along a curve to 420000";
    s.training.eta_seconds = 641;
    s.training.gaussians = 398214;
    s.training.viewer_share = 0.183;
    s.training.last_checkpoint = "/data/runs/courtyard/checkpoint.gsc";
    s.view.mode = mode;
    s.trace = &store;
    s.recent = {"/data/captures/courtyard", "/data/runs/fox-2026-11-21-1", "/data/captures/fox",
                "/data/splats/garden.ply"};
    s.backend = "CPU (AVX3_SPR, 16 threads)";
    s.device = "Intel Xeon Platinum 8481C";
    s.process_bytes = 812'000'000;
    s.process_peak_bytes = 905'000'000;
    for (int i = 0; i < 200; ++i)
        s.memory_history.add({i * 2.0, 300'000'000 + static_cast<std::uint64_t>(i) * 1'500'000,
                              500'000'000 + static_cast<std::uint64_t>(i) * 1'560'000 +
                                  (i % 40 == 20 ? 90'000'000u : 0u),
                              0});
    s.machine_bytes = 33'500'000'000;
    s.ui_fps = 58.7;
    s.ui_ms = 4.1;
    s.dropped_records = 12;
    return s;
}

}  // namespace gs::test
