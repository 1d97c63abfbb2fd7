// The command line; with parse_service.cpp the only code that knows CLI11.

#include <algorithm>
#include <array>

#include "app/cli/arguments.h"
#include "app/cli/common.h"
#include "app/cli/parse_parts.h"
#include "trainer/settings.h"

namespace gs::cli {

void add_common(CLI::App& app, CommonArguments& a) {
    const char* group = "Common options";
    app.add_option("--backend", a.backend, "what computes: auto, cpu or cuda")
        ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
        ->group(group)
        ->option_text("NAME");
    app.add_flag("--headless", a.headless, "no window, draw off screen")->group(group);
    app.add_option("--seed", a.seed, "seed of everything random; the same seed gives the same bits")
        ->group(group)
        ->option_text("N");
    app.add_flag("--json", a.json, "the last line on stdout is one JSON object")->group(group);
    app.add_option("--config", a.config,
                   "training settings from a file: JSON, or lines of name = value")
        ->group(group)
        ->option_text("FILE");
    app.add_option("--threads", a.threads,
                   "threads to use, 0 = all cores; results do not depend on it")
        ->check(CLI::Range(0, 1024))
        ->group(group)
        ->option_text("N");
    app.add_flag("-v,--verbose", a.verbose, "say more on stderr")->group(group);
}

CLI::App& add_command(CLI::App& root, Arguments& a, const char* name, const char* description,
                      const char* examples) {
    CLI::App& app = *root.add_subcommand(name, description);
    app.footer(std::string("Examples:\n") + examples);
    app.callback([&a, name] { a.command = name; });
    return app;
}

namespace {

using Settings = std::vector<std::pair<std::string, double>>;

constexpr std::array kNames{"view",  "train", "eval",   "render", "convert", "info",    "sample",
                            "bench", "trace", "record", "attach", "serve",   "selftest"};
constexpr std::array kCommonWithValue{"--backend", "--seed", "--config", "--threads"};
constexpr const char* kVersion = "gausscope " GAUSSCOPE_VERSION;
const CLI::Range kSide(1, 32768);

void add_loading(CLI::App& app, CaptureArguments& a) {
    const char* group = "Capture";
    app.add_option("--downscale", a.downscale,
                   "shrink photos by this whole factor; auto: longest side at most 1600 (default)")
        ->group(group)
        ->option_text("N|auto");
    app.add_option("--max-side", a.max_side, "and to at most this many pixels on the longest side")
        ->check(kSide)
        ->group(group)
        ->option_text("PIXELS");
    app.add_option("--masks", a.masks,
                   "folder of masks, 0 = ignore the pixel; default: masks/ beside the photos")
        ->group(group)
        ->option_text("DIR");
    app.add_option("--test-every", a.test_every,
                   "every N-th photo is held out for testing, 0 = none (default 8)")
        ->check(CLI::Range(0, 1000000))
        ->group(group)
        ->option_text("N");
    app.add_option("--test-views", a.test_views, "hold out these photos instead, comma separated")
        ->group(group)
        ->option_text("NAME,...");
}

void add_background(CLI::App& app, std::string& background, const char* group) {
    app.add_option(
           "--background", background,
           "behind everything, and under transparent photos: r,g,b from 0 to 1, black or white")
        ->group(group)
        ->option_text("R,G,B");
}

std::string flag_of(const SettingField& field) {
    std::string flag = std::string("--") + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

// One option per row of the settings table. The seed is a common option.
void add_settings(CLI::App& app, Settings& out) {
    const TrainingSettings defaults;
    for (const SettingField& field : setting_fields()) {
        const std::string name = field.name;
        if (name == "seed") continue;
        const std::string help =
            std::string(field.help) + fmt::format(" [{:g}]", defaults.*field.value);
        CLI::Option* option;
        if (field.integer && field.min == 0 && field.max == 1)
            option = app.add_flag_function(
                flag_of(field) + ",--no-" + flag_of(field).substr(2) + "{false}",
                [&out, name](std::int64_t n) { out.emplace_back(name, n > 0 ? 1.0 : 0.0); }, help);
        else
            option =
                app.add_option_function<double>(
                       flag_of(field), [&out, name](double v) { out.emplace_back(name, v); }, help)
                    ->check(CLI::Range(field.min, field.max))
                    ->option_text("X");
        option->group(field.group);
    }
}

void add_picture(CLI::App& app, PictureArguments& a) {
    const char* group = "Picture";
    add_background(app, a.background, group);
    app.add_option("--sh-degree", a.sh_degree, "ignore spherical harmonics above this degree")
        ->check(CLI::Range(0, 3))
        ->group(group)
        ->option_text("N");
    app.add_option("--scale", a.scale, "multiply every Gaussian's size")
        ->check(CLI::Range(0.001, 100.0))
        ->group(group)
        ->option_text("X");
    app.add_option("--profile", a.profile, "rules of which program: tight (ours), gsplat, inria")
        ->check(CLI::IsMember({"tight", "gsplat", "inria"}))
        ->group(group)
        ->option_text("NAME");
    app.add_flag("--antialiased", a.antialiased,
                 "opacity compensation for the pixel blur, for scenes trained with it")
        ->group(group);
}

void add_window(CLI::App& app, ViewArguments& a) {
    const char* group = "Studio";
    app.add_option("--script", a.script,
                   "run the commands of this file, one a line (docs/studio.md)")
        ->group(group)
        ->option_text("FILE");
    app.add_option("--width", a.width, "window width")
        ->check(kSide)
        ->group(group)
        ->option_text("PIXELS");
    app.add_option("--height", a.height, "window height")
        ->check(kSide)
        ->group(group)
        ->option_text("PIXELS");
    app.add_option("--ui-scale", a.scale, "size of text and controls, 0 = what the display says")
        ->check(CLI::Range(0.0, 8.0))
        ->group(group)
        ->option_text("X");
}

void add_view(CLI::App& root, Arguments& a) {
    CLI::App& app =
        add_command(root, a, "view", "the studio: look, fly, train, measure",
                    "  gausscope scene.ply                      look at a splat file\n"
                    "  gausscope photos/                        open a capture, ready to train\n"
                    "  gausscope out/point_cloud.ply --capture photos/   compare with the photos\n"
                    "  gausscope view before.pftrace after.json.gz        traces in the timeline, "
                    "to look into and compare\n"
                    "  gausscope view photos/ --headless --script tour.txt   the studio without a "
                    "display, driven by a script\n");
    app.add_option("PATH", a.view.path,
                   "splat file, capture folder, checkpoint or trace; none: an empty studio that "
                   "takes dropped files");
    app.add_option("TRACE", a.view.traces,
                   "traces to open beside it (.pftrace, .json, gzipped or not)");
    app.add_option("--capture", a.view.capture, "photos that belong to a splat file or checkpoint")
        ->option_text("DIR");
    app.add_option(
           "--compare", a.view.compare,
           "splats, a checkpoint or a run's folder to draw beside it, seen from the same camera")
        ->option_text("PATH");
    app.add_option("-o,--output", a.view.output, "where checkpoints and exports go")
        ->option_text("DIR");
    add_window(app, a.view);
    add_loading(app, a.view.loading);
    add_background(app, a.view.loading.background, "Capture");
    add_settings(app, a.view.settings);
    add_common(app, a.common);
}

void add_train(CLI::App& root, Arguments& a) {
    CLI::App& app = add_command(
        root, a, "train", "train Gaussians from a capture",
        "  gausscope train photos/ -o out/                       30,000 steps, as the 3DGS paper\n"
        "  gausscope train photos/ -o out/ --steps 3000          a quick one: the schedule shrinks "
        "with it\n"
        "  gausscope train photos/ -o out/ --resume auto         go on where the last run stopped\n"
        "  gausscope train photos/ -o out/ --view                watch it in the studio\n"
        "  gausscope train photos/ -o out/ --trace t.pftrace     and see where the time went, in "
        "ui.perfetto.dev\n"
        "Ctrl-C saves a checkpoint and says where. The folder gets point_cloud.ply, "
        "checkpoint.gsc, metrics.json, "
        "metrics.csv.\n");
    TrainArguments& t = a.train;
    app.add_option("CAPTURE", t.capture, "folder with sparse/0 (COLMAP) or transforms.json")
        ->required();
    app.add_option("-o,--output", t.output, "folder for the results")
        ->required()
        ->option_text("DIR");
    app.add_option("--resume", t.resume,
                   "continue a checkpoint; auto: the one in DIR, if there is one")
        ->option_text("FILE|auto");
    app.add_option("--eval-every", t.eval_every,
                   "measure the test photos every N steps, 0 = at the end only")
        ->option_text("N");
    app.add_option("--save-every", t.save_every,
                   "save a checkpoint every N steps, 0 = at the end only [5000]")
        ->option_text("N");
    app.add_option("--trace", t.trace, "write the timeline as a Perfetto trace")
        ->option_text("FILE");
    app.add_option("--profile-steps", t.profile_steps,
                   "mark steps A to B for nsys and ncu (--capture-range=cudaProfilerApi)")
        ->option_text("A:B");
    app.add_flag("--view", t.view, "open the studio on it");
    add_window(app, a.view);
    add_loading(app, t.loading);
    add_background(app, t.loading.background, "Capture");
    add_settings(app, t.settings);
    add_common(app, a.common);
}

void add_eval(CLI::App& root, Arguments& a) {
    CLI::App& app = add_command(
        root, a, "eval", "PSNR and SSIM of a scene against the photos of a capture",
        "  gausscope eval out/point_cloud.ply photos/\n"
        "  gausscope eval out/point_cloud.ply photos/ --downscale 3 --test-views 0012 --json\n");
    app.add_option("SCENE", a.eval.scene, "splat file")->required();
    app.add_option("CAPTURE", a.eval.capture, "capture with the photos")->required();
    app.add_flag("--all", a.eval.all_views, "all photos, not only the test photos");
    add_loading(app, a.eval.loading);
    add_picture(app, a.eval.picture);
    add_common(app, a.common);
}

void add_render(CLI::App& root, Arguments& a) {
    RenderArguments& r = a.render;
    CLI::App& app = add_command(root, a, "render", "pictures, depth and maps of a scene to files",
                                "  gausscope render scene.ply --path orbit:120 -o frames/\n"
                                "  gausscope render scene.ply --capture photos/ -o pictures/ "
                                "--maps color,depth --format npy\n"
                                "  gausscope render scene.ply --cameras cameras.json -o pictures/  "
                                "   (docs/cli.md has the format)\n");
    app.add_option("SCENE", r.scene, "splat file")->required();
    app.add_option("-o,--output", r.output, "folder for the files")->required()->option_text("DIR");
    const char* from = "Cameras";
    app.add_option("--cameras", r.cameras, "JSON list of cameras")
        ->group(from)
        ->option_text("FILE");
    app.add_option("--capture", r.capture,
                   "the cameras of a capture; with --path, the circle they suggest")
        ->group(from)
        ->option_text("DIR");
    app.add_option("--path", r.path, "orbit:N, N pictures around the scene")
        ->group(from)
        ->option_text("PATH");
    app.add_option("--format", r.format, "png, or npy (float32, exact)")
        ->check(CLI::IsMember({"png", "npy"}))
        ->option_text("png|npy");
    app.add_option("--maps", r.maps,
                   "what to write: color, alpha, depth, contributors, isects, pairs, comma "
                   "separated, or all")
        ->option_text("NAME,...");
    app.add_option("--width", r.width, "picture width; the camera's own without")
        ->check(kSide)
        ->option_text("PIXELS");
    app.add_option("--height", r.height, "picture height; follows the width without")
        ->check(kSide)
        ->option_text("PIXELS");
    app.add_option("--fov", r.fov, "vertical field of view of --path, degrees [50]")
        ->check(CLI::Range(1.0, 170.0))
        ->option_text("X");
    app.add_flag("--test-only", r.test_only, "of --capture only the test photos' cameras");
    add_loading(app, r.loading);
    add_picture(app, r.picture);
    add_common(app, a.common);
}

void add_files(CLI::App& root, Arguments& a) {
    CLI::App& convert = add_command(root, a, "convert", "between splat formats",
                                    "  gausscope convert in.ply out.spz\n"
                                    "  gausscope convert in.ply out.sog --verify captures/fox\n"
                                    "  gausscope convert scene/lod-meta.json out.ply --lod 2\n");
    convert
        .add_option("IN", a.convert.input,
                    "splat file, or a folder with meta.json or lod-meta.json")
        ->required();
    convert
        .add_option("OUT", a.convert.output,
                    "file to write; its end chooses the format: .ply .compressed.ply .splat .spz "
                    ".sog meta.json .glb "
                    ".gltf .csv")
        ->required();
    convert.add_option("--lod", a.convert.lod, "level of a streamed set, 0 is the finest [0]")
        ->check(CLI::Range(0, 63))
        ->option_text("N");
    convert.add_option("--spz-version", a.convert.spz_version, "3 (gzip) or 4 (zstd) [4]")
        ->check(CLI::Range(3, 4))
        ->option_text("N");
    convert
        .add_option("--verify", a.convert.verify,
                    "draw source and result from the views of a capture or a file of cameras, "
                    "print the difference")
        ->option_text("VIEWS");
    add_common(convert, a.common);

    CLI::App& info = add_command(
        root, a, "info", "what is in a capture or splat file, and what is wrong with it",
        "  gausscope info photos/\n  gausscope info scene.ply --json\n  gausscope info "
        "photos/ --photos      decode every photo as well\n");
    info.add_option("PATH", a.info.path, "capture folder or splat file")->required();
    info.add_flag("--photos", a.info.photos, "decode every photo, to find broken ones");
    info.add_flag("--strict", a.info.strict, "exit code 3 when a warning or an error is found");
    info.add_option("--lod", a.info.lod, "level of a streamed set, 0 is the finest [0]")
        ->check(CLI::NonNegativeNumber);
    info.add_option("--fix", a.info.fix, "write the splats, mended, to this file");
    add_loading(info, a.info.loading);
    add_common(info, a.common);

    CLI::App& sample = add_command(
        root, a, "sample", "write the built-in sample capture: posed photos and sparse points",
        "  gausscope sample diorama/ && gausscope diorama/\n");
    sample.add_option("DIR", a.sample.folder, "folder to write to")->required();
    sample.add_option("--views", a.sample.views, "photos [48]")
        ->check(CLI::Range(1, 1000))
        ->option_text("N");
    sample.add_option("--width", a.sample.width, "photo width [640]")
        ->check(CLI::Range(16, 8192))
        ->option_text("PIXELS");
    sample.add_option("--height", a.sample.height, "photo height [480]")
        ->check(CLI::Range(16, 8192))
        ->option_text("PIXELS");
    sample.add_option("--points", a.sample.points, "sparse points, about [20000]")
        ->check(CLI::Range(1, 10000000))
        ->option_text("N");
    sample.add_flag("--force", a.sample.force, "write into a folder that is not empty");
    add_common(sample, a.common);
}

void add_checks(CLI::App& root, Arguments& a) {
    BenchArguments& b = a.bench;
    CLI::App& bench =
        add_command(root, a, "bench", "time per stage, counters and the machine's limits",
                    "  gausscope bench                                    the built-in scene\n"
                    "  gausscope bench scene.ply --capture photos/ --json > base.json\n"
                    "  gausscope bench scene.ply --capture photos/ --compare base.json    exit "
                    "code 3 when slower\n"
                    "  gausscope bench service --capture photos/          what the profiling "
                    "service costs here\n");
    bench.add_option("SCENE", b.scene, "splat file; none: random Gaussians, always the same");
    bench
        .add_option("--capture", b.capture,
                    "draw from the cameras of this capture, against its photos")
        ->option_text("DIR");
    bench.add_option("--repeats", b.repeats, "timed frames [30]")
        ->check(CLI::Range(3, 100000))
        ->option_text("N");
    bench.add_option("--width", b.width, "picture width")->check(kSide)->option_text("PIXELS");
    bench.add_option("--height", b.height, "picture height")->check(kSide)->option_text("PIXELS");
    bench
        .add_option("--compare", b.compare,
                    "JSON of an earlier bench: fail when a stage is slower beyond doubt")
        ->option_text("BASE");
    bench
        .add_option("--tolerance", b.tolerance,
                    "slower by less than this share is not a failure [0.05]")
        ->check(CLI::Range(0.0, 10.0))
        ->option_text("X");
    bench.add_option("-o,--output", b.output, "write the JSON here too")->option_text("FILE");
    add_loading(bench, b.loading);
    add_common(bench, a.common);

    CLI::App& selftest = add_command(
        root, a, "selftest",
        "check this machine: every stage against the reference, gradients, determinism, OpenGL",
        "  gausscope selftest\n");
    selftest.add_flag("--quick", a.selftest.quick, "smaller scenes");
    add_common(selftest, a.common);
}

// `gausscope PATH` means `gausscope view PATH`: when no subcommand stands before the first argument
// that is no option.
std::vector<std::string> with_command(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "-h" || word == "--help" || word == "--help-all" || word == "--version")
            return words;
        if (std::find(kNames.begin(), kNames.end(), word) != kNames.end()) return words;
        if (std::find(kCommonWithValue.begin(), kCommonWithValue.end(), word) !=
            kCommonWithValue.end()) {
            ++i;
            continue;
        }
        if (word.empty() || word[0] != '-') break;
    }
    words.insert(words.begin(), "view");
    return words;
}

/// Cuts off what stands after "--": it belongs to the command that `record` runs.
std::vector<std::string> take_command(std::vector<std::string>& words) {
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark == words.end()) return {};
    std::vector<std::string> command(mark + 1, words.end());
    words.erase(mark, words.end());
    return command;
}

}  // namespace

std::optional<int> parse(int argc, const char* const* argv, Arguments& out) {
    CLI::App root(
        "gausscope trains, shows and explains 3D Gaussian Splatting.\n`gausscope PATH` opens the "
        "studio on a capture "
        "or splat file.",
        "gausscope");
    root.footer(
        "Examples:\n"
        "  gausscope sample diorama/ && gausscope train diorama/ -o out/ --view\n"
        "  gausscope train photos/ -o out/ && gausscope eval out/point_cloud.ply photos/\n"
        "  gausscope COMMAND --help        options and examples of one command\n"
        "Exit codes: 0 done, 1 failed or stopped while running, 2 wrong usage or unusable input, 3 "
        "a gate fell short.");
    root.set_version_flag("--version", kVersion);
    root.require_subcommand(1);
    root.get_formatter()->column_width(34);
    add_common(root, out.common);
    add_view(root, out);
    add_train(root, out);
    add_eval(root, out);
    add_render(root, out);
    add_files(root, out);
    add_checks(root, out);
    add_service(root, out);
    std::vector<std::string> words = with_command(argc, argv);
    if (std::find(words.begin(), words.end(), "record") != words.end())
        out.record.command = take_command(words);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
        root.parse(words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return root.exit(error);
        const auto chosen = root.get_subcommands();
        const std::string name =
            chosen.empty() ? "gausscope" : "gausscope " + chosen.front()->get_name();
        fmt::print(stderr, "error: {} ({} --help shows what there is)\n", error.what(), name);
        return kUsage;
    }
    if (out.command == "record" && out.record.command.empty()) {
        fmt::print(
            stderr,
            "error: there is no command to record (gausscope record [OPTIONS] -- COMMAND...)\n");
        return kUsage;
    }
    return std::nullopt;
}

}  // namespace gs::cli
