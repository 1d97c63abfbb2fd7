#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/files/findings.h"
#include "app/cli/files/lidar_info.h"
#include "app/cli/machine.h"
#include "app/cli/progress.h"
#include "app/cli/subcommand.h"
#include "app/paths/path_contents.h"
#include "base/parallel.h"
#include "base/shortened.h"
#include "base/try.h"
#include "renderer/device/cuda/device.h"
#include "trainer/replay/step_notes.h"
#include "trainer/run/step_file.h"

namespace gs::cli {
namespace {

struct InfoArguments {
    std::string path;
    CaptureArguments loading;
    bool photos = false;  ///< decode every photo too
    bool strict = false;  ///< exit code 3 when something is found
    int lod = 0;          ///< level of a streamed set, 0 = finest
    std::string fix;      ///< file for the fixed splats, empty: none
};

void add_options(CLI::App& app, InfoArguments& a) {
    app.add_option("PATH", a.path,
                   "capture folder, splat file, checkpoint, a run's folder or a captured step "
                   "[this machine and its GPUs]");
    app.add_flag("--photos", a.photos, "decode every photo to find broken ones");
    app.add_flag("--strict", a.strict, "exit with code 3 on a warning or error");
    app.add_option("--lod", a.lod, "level of a streamed set, 0 = finest [0]")->check(whole_from(0));
    app.add_option("--fix", a.fix, "write the fixed splats to this file");
    add_loading(app, a.loading);
}

Json triple(double x, double y, double z) { return Json::array({number(x), number(y), number(z)}); }

/// Of the values that are not NaN.
Json percentiles_of(Buffer<float> values) {
    const auto end =
        std::remove_if(values.begin(), values.end(), [](float v) { return std::isnan(v); });
    const auto count = end - values.begin();
    if (count == 0) return nullptr;
    // What comes before a found one is smaller, so the next is looked for in the rest.
    auto begin = values.begin();
    const auto at = [&](double share) {
        const auto place =
            values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(count - 1));
        std::nth_element(begin, place, end);
        return *(begin = place);
    };
    const float least = at(0), p5 = at(0.05), p50 = at(0.5), p95 = at(0.95), most = at(1);
    return {{"min", least}, {"p5", p5}, {"p50", p50}, {"p95", p95}, {"max", most}};
}

int exit_code(const InfoArguments& a, const std::vector<Finding>& findings) {
    return a.strict && worst_of(findings) != Severity::note ? kGate : kDone;
}

struct Statistics {
    Json opacity, scale, anisotropy;
};

Statistics statistics_of(const GaussianModel& m) {
    Statistics out;
    constexpr std::size_t kGrain = 16384;
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    Buffer<float> opacity(m.count), scale(m.count), anisotropy(m.count);
    parallel_for(m.count, kGrain, [&](std::size_t i) {
        bool finite = true;
        for (int p = 0; p < m.planes(); ++p) finite &= std::isfinite(m.at(p, i));
        const std::array scales{std::exp(m.at(kLogScales, i)), std::exp(m.at(kLogScales + 1, i)),
                                std::exp(m.at(kLogScales + 2, i))};
        const auto [smallest, largest] = std::ranges::minmax_element(scales);
        opacity[i] = finite ? 1 / (1 + std::exp(-m.at(kOpacityLogits, i))) : kNone;
        scale[i] = finite ? *largest : kNone;
        anisotropy[i] = finite ? *largest / std::max(*smallest, 1e-20f) : kNone;
    });
    Buffer<float>* const columns[] = {&opacity, &scale, &anisotropy};
    Json* const found[] = {&out.opacity, &out.scale, &out.anisotropy};
    parallel_for(3, 1, [&](std::size_t i) { *found[i] = percentiles_of(std::move(*columns[i])); });
    return out;
}

void say_range(const char* name, const Json& range) {
    if (!range.is_null())
        fmt::print("  {:<12} {}\n", name,
                   filled("min {min:.4g}  5% {p5:.4g}  median {p50:.4g}  95% {p95:.4g}  max "
                          "{max:.4g}",
                          range));
}

void say_bounds(const Json& report) {
    const bool far = report["origin"] != Json::array({0.0, 0.0, 0.0});
    if (far)
        say("  origin       ({origin.0}, {origin.1}, {origin.2}), subtracted from positions here",
            report);
    if (!report["bounds"].is_null())
        say("  bounds       ({bounds.lo.0:.4g}, {bounds.lo.1:.4g}, {bounds.lo.2:.4g}) .. "
            "({bounds.hi.0:.4g}, {bounds.hi.1:.4g}, {bounds.hi.2:.4g})",
            report);
}

/// "PATH stays as it is", whatever other name --fix has for it. A SOG folder is written by its
/// meta.json.
Result<void> not_the_source(const std::string& path, const std::string& fix) {
    std::error_code error;
    fs::path folder = fs::path(fix).parent_path();
    if (folder.empty()) folder = ".";
    const bool same =
        fs::equivalent(path, fix, error) ||
        (fs::path(fix).filename() == "meta.json" && fs::equivalent(path, folder, error));
    if (same)
        return fail(ErrorKind::usage, fix, "--fix would overwrite the examined file",
                    "name another file; PATH stays as it is");
    return {};
}

// Writes the fixed splats to --fix's file; nothing else is written.
Result<Json> write_fixed(const SplatFile& scene, const std::string& path) {
    const GaussianModel& model = scene.model;
    const Fixed fixed = fix(model);
    GS_TRY(auto lost, write_splats(path, fixed.model, {.trained = scene.trained}));
    fmt::print("{}: {} Gaussians, of {}\n", path, fixed.model.count, model.count);
    for (const std::string& change : fixed.changes) fmt::print("  fixed: {}\n", change);
    if (fixed.changes.empty()) fmt::print("  nothing to fix\n");
    for (const std::string& note : lost) fmt::print("  note: {}\n", note);
    return Json{{"path", path},
                {"gaussians", fixed.model.count},
                {"changes", fixed.changes},
                {"lost", lost}};
}

Json splat_json(const PathContents& what, const SplatFile& scene, const Statistics& statistics,
                const SplatReport& doctor) {
    const GaussianModel& model = scene.model;
    Json out{{"command", "info"},
             {"kind", "splats"},
             {"path", what.path},
             {"format", scene.format},
             {"gaussians", model.count},
             {"sh_degree", model.sh_degree},
             {"antialiased", model.antialiased},
             {"sky_degree", model.sky.empty() ? Json(nullptr) : Json(model.sky.degree)},
             {"projection", scene.trained.unscented ? "ut" : "ewa"},
             {"widest_angle", scene.trained.widest_angle},
             {"bytes_in_memory", model.bytes()},
             {"bytes_on_disk", splat_bytes(what.model())}};
    Vec3f lo{}, hi{};
    const bool bounded = bounds_of(model, lo, hi);
    out["origin"] = triple(model.origin.x, model.origin.y, model.origin.z);
    out["bounds"] = bounded
                        ? Json{{"lo", triple(lo.x, lo.y, lo.z)}, {"hi", triple(hi.x, hi.y, hi.z)}}
                        : Json(nullptr);
    out.update({{"opacity", statistics.opacity},
                {"scale", statistics.scale},
                {"anisotropy", statistics.anisotropy},
                {"memory", memory_json(doctor)},
                {"notes", scene.notes},
                {"findings", findings_json(doctor.findings)}});
    return out;
}

/// The GPU for the memory check: the chosen one, else the first usable; -1: none.
int device_of(const CommonArguments& common) {
    if (common.backend == "cpu") return -1;
    if (common.device) return *common.device;
    const auto first = first_cuda_device();
    return first ? first->index : -1;
}

Result<int> splat_info(const InfoArguments& a, const PathContents& what,
                       const CommonArguments& common) {
    if (!a.fix.empty()) GS_TRY_VOID(not_the_source(a.path, a.fix));
    ProgressLine line("read");
    const auto scene = read_any_splats(what, {.lod = a.lod, .progress = told_by(line)});
    line.finish();
    if (!scene) return tl::unexpected(scene.error());
    if (a.lod > 0 && !(what.splats && what.splats->has_levels()))
        return fail(ErrorKind::usage, a.path, "has no levels of detail", "omit --lod");
    const GaussianModel& model = scene->model;
    const Statistics statistics = statistics_of(model);
    ProgressLine examining("examine");
    const auto examined =
        examine(model, questions_here(scene->notes, device_of(common)), told_by(examining));
    examining.finish();
    if (!examined) return tl::unexpected(examined.error());
    Json out = splat_json(what, *scene, statistics, *examined);
    say(model.antialiased ? "{path}\n  {format}, {gaussians} Gaussians, degree {sh_degree}, "
                            "antialiased, {bytes_in_memory:bytes} in memory, {bytes_on_disk:bytes} "
                            "on disk"
                          : "{path}\n  {format}, {gaussians} Gaussians, degree {sh_degree}, "
                            "{bytes_in_memory:bytes} in memory, {bytes_on_disk:bytes} on disk",
        out);
    for (const std::string& elsewhere : drawn_otherwise(scene->trained, model.antialiased))
        fmt::print("  {}\n", elsewhere);
    say_bounds(out);
    for (const char* name : {"opacity", "scale", "anisotropy"}) say_range(name, out[name]);
    say_memory(out["memory"]);
    say_findings(out["findings"]);
    if (!a.fix.empty()) {
        GS_TRY(out["fixed"], write_fixed(*scene, a.fix));
    }
    if (common.json) print_json(out);
    return exit_code(a, examined->findings);
}

struct Group {
    std::string text;  ///< size and focal length
    std::size_t views = 0;
};

std::vector<Group> groups_of_cameras(const Capture& capture) {
    std::vector<Group> groups;
    for (const View& v : capture.views) {
        const Camera& c = v.camera;
        const std::string text = fmt::format("{} x {}, fx {:.1f} fy {:.1f} cx {:.1f} cy {:.1f}",
                                             c.width, c.height, c.fx, c.fy, c.cx, c.cy);
        const auto it = std::ranges::find(groups, text, &Group::text);
        if (it == groups.end())
            groups.push_back({text, 1});
        else
            ++it->views;
    }
    return groups;
}

bool point_bounds(const Capture& capture, Vec3f& lo, Vec3f& hi) {
    if (capture.points.empty()) return false;
    lo = hi = capture.points.front().position;
    for (const SparsePoint& p : capture.points) {
        lo = {std::min(lo.x, p.position.x), std::min(lo.y, p.position.y),
              std::min(lo.z, p.position.z)};
        hi = {std::max(hi.x, p.position.x), std::max(hi.y, p.position.y),
              std::max(hi.z, p.position.z)};
    }
    return true;
}

Json capture_json(const InfoArguments& a, const Capture& capture, const CaptureForecast* forecast,
                  const std::vector<Finding>& findings) {
    const std::size_t tests = capture.view_indices(true).size();
    Vec3f lo{}, hi{};
    const bool bounded = point_bounds(capture, lo, hi);
    Json cameras = Json::array();
    for (const View& v : capture.views) {
        const Vec3d p = v.camera.position();
        cameras.push_back({{"name", v.name},
                           {"test", v.test},
                           {"width", v.camera.width},
                           {"height", v.camera.height},
                           {"fx", v.camera.fx},
                           {"fy", v.camera.fy},
                           {"cx", v.camera.cx},
                           {"cy", v.camera.cy},
                           {"position", triple(p.x, p.y, p.z)}});
    }
    Json out{{"command", "info"},
             {"kind", "capture"},
             {"path", a.path},
             {"format", capture.format},
             {"model", capture.model},
             {"models", capture.models},
             {"split", capture.split},
             {"views", capture.views.size()},
             {"train_views", capture.views.size() - tests},
             {"test_views", tests},
             {"points", capture.points.size()},
             {"points_are_random", capture.points_are_random},
             {"photos_decoded", a.photos}};
    out["origin"] = triple(capture.origin.x, capture.origin.y, capture.origin.z);
    out["bounds"] = bounded
                        ? Json{{"lo", triple(lo.x, lo.y, lo.z)}, {"hi", triple(hi.x, hi.y, hi.z)}}
                        : Json(nullptr);
    if (forecast)
        out["photo_bytes"] = forecast->photo_bytes, out["decode_bytes"] = forecast->decode_bytes;
    out.update({{"cameras", cameras},
                {"notes", texts_of(capture.notes)},
                {"skipped", capture.skipped},
                {"unposed", capture.unposed},
                {"findings", findings_json(findings)}});
    return out;
}

Result<int> capture_info(const InfoArguments& a, const CaptureFiles& files,
                         const CommonArguments& common) {
    if (!a.fix.empty())
        return fail(ErrorKind::usage, a.path, "--fix works on splat files; this is a capture",
                    "for a capture, fix its photos and poses");
    GS_TRY(auto options, capture_options(a.loading, common));
    const auto forecast = forecast_capture(files, options);
    options.photos = a.photos;
    ProgressLine line("read");
    options.progress = told_by(line);
    const auto capture = load_capture(files, options);
    line.finish();
    if (!capture) return tl::unexpected(capture.error());
    const auto findings = examine(*capture);
    Json out = capture_json(a, *capture, forecast ? &*forecast : nullptr, findings);
    if (const auto log = open_lidar_log(a.path)) out["lidar"] = lidar_json(*log);
    say(capture->points_are_random
            ? "{path}\n  {format}, {views} views ({train_views} training, {test_views} test), "
              "{points} points (random)"
            : "{path}\n  {format}, {views} views ({train_views} training, {test_views} test), "
              "{points} points",
        out);
    if (!capture->models.empty())
        fmt::print("  model        {}\n", shortened(fmt::format("{} of {}", capture->model,
                                                                fmt::join(capture->models, ", "))));
    if (!capture->view_indices(true).empty())
        fmt::print("  test photos  {}\n", shortened(capture->split));
    const auto groups = groups_of_cameras(*capture);
    for (std::size_t i = 0; i < std::min<std::size_t>(groups.size(), 8); ++i)
        fmt::print("  camera       {}  ({} views)\n", groups[i].text, groups[i].views);
    if (groups.size() > 8) fmt::print("  camera       and {} more\n", groups.size() - 8);
    say_bounds(out);
    if (forecast)
        say("  memory       {photo_bytes:bytes} of photos, {decode_bytes:bytes} more while "
            "decoding",
            out);
    if (out.contains("lidar")) say_lidar(out["lidar"]);
    for (const std::string& skipped : capture->skipped)
        fmt::print("  skipped: {}\n", shortened(skipped));
    say_findings(out["findings"]);
    if (common.json) print_json(out);
    return exit_code(a, findings);
}

Result<int> lidar_info(const InfoArguments& a, const CommonArguments& common) {
    if (!a.fix.empty())
        return fail(ErrorKind::usage, a.path,
                    "--fix works on splat files; this is a lidar recording", "omit --fix");
    GS_TRY(const LidarLog log, open_lidar_log(a.path));
    const Json out{
        {"command", "info"}, {"kind", "lidar"}, {"path", a.path}, {"lidar", lidar_json(log)}};
    say("{path}\n  a lidar recording without photos", out);
    say_lidar(out["lidar"]);
    if (common.json) print_json(out);
    return kDone;
}

Result<int> step_info(const InfoArguments& a, const CommonArguments& common) {
    if (!a.fix.empty())
        return fail(ErrorKind::usage, a.path, "--fix works on splat files; this is a captured step",
                    "open it with gausscope view and export its Gaussians there");
    GS_TRY(const CapturedStep step, read_step(a.path));
    const StepOutputs& made = step.outputs;
    const Json out{{"command", "info"},
                   {"kind", "step"},
                   {"path", a.path},
                   {"step", step.inputs.step + 1},
                   {"capture", step.origin.capture},
                   {"view", step.origin.view},
                   {"gaussians", step.inputs.gaussians},
                   {"kept", step.inputs.model.count},
                   {"visible", made.lists.visible()},
                   {"isects", made.lists.row_from_isect.size()},
                   {"loss", number(made.terms.loss)},
                   {"notes", step_notes(step)}};
    say("{path}\n  a captured training step", out);
    for (const Json& note : out["notes"]) fmt::print("  {}\n", shortened(note.get<std::string>()));
    if (common.json) print_json(out);
    return kDone;
}

Result<int> machine_info(const CommonArguments& common) {
    GS_TRY(const Backend backend, backend_of(common));
    Json out{{"command", "info"}, {"kind", "machine"}, {"backend", backend.name}};
    out.update(machine_json(backend.device));
    say_machine(out);
    say("computes with {backend}", out);
    if (common.json) print_json(out);
    return kDone;
}

Result<int> run(const InfoArguments& a, const CommonArguments& common) {
    if (a.path.empty()) return machine_info(common);
    catch_interrupts();
    const PathContents what = find_contents(a.path);
    if (what.kind == PathKind::capture) return capture_info(a, what.capture, common);
    if (what.kind == PathKind::lidar) return lidar_info(a, common);
    if (what.kind == PathKind::step) return step_info(a, common);
    // What is wrong with a file that has only the name of splats, its reader says best. A folder
    // with a meta.json may be anything.
    const bool named_so = what.splats && !what.is_folder;
    if (what.kind == PathKind::checkpoint || what.kind == PathKind::splats || named_so)
        return splat_info(a, what, common);
    return tl::unexpected(what.problem);
}

}  // namespace

Subcommand info_command() {
    return subcommand<InfoArguments>(
        "info", "show what a capture or splat file contains and its problems; list GPUs",
        "  gausscope info            this machine\n  gausscope info photos/\n  gausscope info "
        "scene.ply --json\n  gausscope info photos/ --photos      decode every photo as well\n",
        add_options, run);
}

}  // namespace gs::cli
