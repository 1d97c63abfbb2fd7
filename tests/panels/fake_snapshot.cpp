#include "tests/panels/fake_snapshot.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "app/commands/commands.h"
#include "panels/state/cost_report.h"
#include "panels/state/film_state.h"
#include "panels/state/gaussian_values.h"
#include "panels/state/history_state.h"
#include "panels/state/measure_state.h"
#include "panels/state/notes_state.h"
#include "panels/state/verify_report.h"
#include "renderer/maps/colormap.h"
#include "tests/panels/fake_drive.h"
#include "tests/panels/fake_inspection.h"
#include "tests/panels/fake_runs.h"

namespace gs::test {
namespace {

constexpr int kWidth = 960, kHeight = 640, kTile = 16;

Image8 picture(double warmth) {
    Image8 image{.width = kWidth, .height = kHeight, .channels = 4};
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
        CameraRow row{.view = i,
                      .name = fmt::format("images/frame_{:05}.jpg", i * 7 + 3),
                      .test = i % 8 == 0};
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

GaussianValues gaussian_values() {
    GaussianValues v{
        .value = GaussianValue::anisotropy,
        .histogram = {"anisotropy, largest by smallest axis", "ratio", 1.2, 900, true, {}}};
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
    CostReport r{.step = 12400};
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
    r.without = CostWithout{100, 0.087, 61.9e6, 57.2e6, 16, 9, 27.41, 27.02};
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
    return {.name = "courtyard",
            .path = "/data/captures/courtyard",
            .format = "COLMAP binary",
            .gaussians = 398214,
            .sh_degree = 3,
            .lo = {-6.1F, -2.2F, -5.4F},
            .hi = {6.4F, 1.1F, 5.9F},
            .extent = 4.6,
            .radius = 4.6,
            .core = {{-3, -1.5F, -3}, {3, 0.8F, 3}},
            .train_views = 42,
            .test_views = 6,
            .points = 52114,
            .skipped = {"images/frame_00101.jpg: truncated JPEG at byte 40960"},
            .notes = {"photos resampled from OPENCV to a pinhole", "photos shrunk by 2"},
            .histograms = {histogram_of("opacity", "", 0, 1, false, 0.8),
                           histogram_of("scale", "world units", 1e-4, 1, true, 0.45),
                           histogram_of("anisotropy", "ratio", 1, 1000, true, 0.3),
                           histogram_of("SH energy", "", 1e-4, 10, true, 0.5)},
            .memory = {{"parameters", 93'985'000},
                       {"Adam moments", 187'970'000},
                       {"gradients", 93'985'000},
                       {"photos", 82'300'000},
                       {"lists", 41'200'000},
                       {"pictures", 22'100'000}}};
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

ViewFrame frame_of(ViewMode mode, const Camera& camera) {
    ViewFrame f{.serial = 871,
                .step = 12400,
                .mode = mode,
                .camera = camera,
                .rgba = picture(1.0),
                .milliseconds = 11.3,
                .visible = 214803,
                .isects = 1'302'114};
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

/// Every stage, one figure too far off; seen from elsewhere than the viewport's picture.
VerifyReport verified() {
    VerifyReport out{.serial = 1, .scene = "courtyard", .step = 12400};
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

/// What was selected, changed and measured in the scene.
void put_edits(Snapshot& s) {
    SelectionState selection{.selected = 1'284,
                             .hidden = 312,
                             .locked = 20,
                             .bounded = true,
                             .lo = {-0.62F, -0.41F, -0.2F},
                             .hi = {0.31F, 0.18F, 0.55F},
                             .unsaved = true};
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
}

void put_training(TrainingStatus& t) {
    t.state = RunState::training;
    t.step = 12400;
    t.total_steps = 30000;
    t.loss = 0.0412;
    t.train_psnr = 30.11;
    t.test_psnr = 28.93;
    t.test_step = 12000;
    t.test_ssim = 0.912;
    t.step_ms = 36.4;
    t.strategy = "grows along a curve to 420000";
    t.eta_seconds = 641;
    t.gaussians = 398214;
    t.viewer_share = 0.183;
    t.last_checkpoint = "/data/runs/courtyard/checkpoint.gsc";
}

}  // namespace

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
    s.problems = fake_problems();
    s.looks = fake_looks();
    s.lab = fake_lab();
    s.drive = std::make_shared<const DriveState>(fake_drive());
    s.view.color_by.value = GaussianValue::anisotropy;
    s.values = std::make_shared<GaussianValues>(gaussian_values());
    s.cost_report = std::make_shared<CostReport>(cost_report());
    s.settings = std::make_shared<std::vector<SettingRow>>(settings());
    s.doctor = std::make_shared<DoctorReport>(fake_doctor());
    s.inspection = fake_inspection();
    put_edits(s);
    s.verified = std::make_shared<VerifyReport>(verified());
    s.activities = {{"export", "writing /data/exports/courtyard.sog", 0.42, 3.1}};
    s.notices = {{1,
                  false,
                  "exported 398,214 Gaussians to courtyard.spz (12.1 MiB)",
                  {"SPZ clamps colours: 1,234 values beyond -3.33..3.33"}},
                 {2, true, "/data/junk.ply: has no vertices", {}}};
    s.camera = look_at({3.4, -2.6, 5.6}, {0, 0, 0}, {0, -1, 0}, kWidth, kHeight, 0.8);
    s.frame = std::make_shared<ViewFrame>(frame_of(mode, s.camera));
    put_training(s.training);
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
