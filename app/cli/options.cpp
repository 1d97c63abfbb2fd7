#include "app/cli/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/try.h"
#include "renderer/rays/ray_rasterizer.h"

namespace gs::cli {
namespace {

Result<double> parse_number(const std::string& text, const char* what) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0 || !std::isfinite(value))
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a number ({})", text, what));
    return value;
}

Result<int> parse_downscale(const std::string& text) {
    if (text == "auto") return 0;
    const auto value = parse_number(text, "--downscale");
    if (!value || *value < 1 || *value > 64 || *value != std::floor(*value))
        return fail(
            ErrorKind::usage, "",
            fmt::format("--downscale {} is neither auto nor a whole number from 1 to 64", text));
    return static_cast<int>(*value);
}

/// How many random points; 0: the capture's own.
Result<std::size_t> parse_init(const std::string& text) {
    if (text == "points") return 0;
    if (text == "random") return kRandomPoints;
    const auto count =
        text.starts_with("random:") ? parse_number(text.substr(7), "--init") : Result<double>(-1.0);
    if (!count || *count < 1 || *count > 1e7 || *count != std::floor(*count))
        return fail(ErrorKind::usage, "",
                    fmt::format("--init {} is not points, random or random:N with N from 1 to "
                                "10000000",
                                text));
    return static_cast<std::size_t>(*count);
}

void say_forecast(const CaptureForecast& forecast) {
    log_info("{} photos of up to {} x {}, {} points; needs {}, {} more while decoding",
             forecast.photos, forecast.width, forecast.height, forecast.points,
             human_bytes(forecast.photo_bytes), human_bytes(forecast.decode_bytes));
    if (forecast.streamed_bytes > 0)
        log_info("another {} of photos are read again when their turn comes",
                 human_bytes(forecast.streamed_bytes));
    const auto pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 &&
        forecast.photo_bytes + forecast.decode_bytes >
            static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page))
        log_warning(
            "this exceeds the {} of free memory; --downscale 2 needs a quarter, train "
            "--photo-memory MIB sets a limit",
            human_bytes(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)));
}

}  // namespace

CLI::Validator number_from(double least, double most) {
    return {[=](std::string& text) {
                char* end = nullptr;
                const double value = std::strtod(text.c_str(), &end);
                const bool good = !text.empty() && *end == 0 && value >= least && value <= most;
                return good ? std::string()
                            : fmt::format("{} is not a number from {} to {}", text, least, most);
            },
            ""};
}

void add_stall_after(CLI::App& app, double& after_s) {
    const auto read = [](std::string& text) {
        if (text == "auto") return text = "0", std::string();
        std::string wrong = number_from(0, 1e9)(text);
        if (wrong.empty() && std::stod(text) == 0) text = "inf";
        return wrong;
    };
    add_value(app, "--stall-after S|auto", after_s,
              "report a stall after S seconds without progress, 0 = never [auto: 5 "
              "iterations, at least 30 s]")
        ->transform(CLI::Validator(read, ""));
}

CLI::Validator whole_from(double least, double most) {
    return {[=](std::string& text) {
                char* end = nullptr;
                const double value = std::strtod(text.c_str(), &end);
                const bool good = !text.empty() && *end == 0 && value >= least && value <= most &&
                                  value == std::floor(value);
                return good ? std::string()
                            : fmt::format("{} is not a whole number from {:.0f} to {:.0f}", text,
                                          least, most);
            },
            ""};
}

CLI::Validator picture_side() { return whole_from(1, 32768); }

void add_common(CLI::App& app, CommonArguments& a) {
    const char* group = "Common options";
    add_value(app, "--backend NAME", a.backend, CLI::IsMember({"auto", "cpu", "cuda"}),
              "backend: auto, cpu or cuda")
        ->group(group);
    add_value(app, "--device N", a.device, whole_from(0, 127),
              "CUDA index of the GPU to use, from 0 [the first usable; with a window, the "
              "display's GPU]")
        ->group(group);
    app.add_flag("--headless", a.headless, "draw off screen, without a window")->group(group);
    add_value(app, "--seed N", a.seed, whole_from(0, kMostSteps),
              "random seed; the same seed gives the same bits")
        ->group(group);
    app.add_flag("--json", a.json, "print one JSON object as the last line on stdout")
        ->group(group);
    add_value(app, "--config FILE", a.config,
              "training settings from a file: JSON, or lines of name = value")
        ->group(group);
    add_value(app, "--threads N", a.threads, whole_from(0, 1024),
              "threads to use, 0 = all cores; results do not depend on it")
        ->group(group);
    app.add_flag("-v,--verbose", a.verbose, "print more messages on stderr")->group(group);
}

void add_spill(CLI::App& app, std::string& folder) {
    add_value(app, "--spill DIR", folder,
              "spill trace data to unnamed temporary files in DIR, on disk; --memory may then "
              "exceed the machine's");
}

void add_stacks(CLI::App& app, int& hz) {
    // CLI11 2.4 checks a counted flag that is not given as well: as 0.
    app.add_flag("--stacks{99}", hz,
                 "sample call stacks (C++ and Python) of its threads, 99 or HZ times a "
                 "second (--stacks=HZ, 0 = off)")
        ->check(whole_from(0, 10000));
}

void add_loading(CLI::App& app, CaptureArguments& a) {
    const char* group = "Capture";
    add_value(app, "--downscale N|auto", a.downscale,
              "shrink photos by this whole factor; auto: longest side at most 1600 (default)")
        ->group(group);
    add_given(app, "--max-side PIXELS", a.max_side, picture_side(),
              "limit the longest side to this many pixels")
        ->group(group);
    add_value(app, "--masks DIR|none", a.masks,
              "folder of masks (0 = ignore the pixel), or none; default: masks/ next to the photos")
        ->group(group);
    app.add_flag_function(
           "--undistort,!--no-undistort", [&a](std::int64_t given) { a.undistort = given > 0; },
           "resample photos to pinholes and ignore rolling shutter; by default each photo keeps "
           "its lens and shutter")
        ->group(group);
    add_value(app, "--init points|random[:N]", a.init,
              "start from the capture's points, or from N random points (100000) in the box "
              "the cameras look at [points]")
        ->group(group);
    if (app.get_option_no_throw("--model") == nullptr)
        add_value(app, "--model NAME", a.model,
                  "load this COLMAP model or OpenSfM reconstruction of several, for example "
                  "sparse/1 [the one with the most photos]")
            ->group(group);
    add_value(app, "--test-every N", a.test_every, whole_from(0, 1000000),
              "hold out every Nth photo for testing, 0 = none [the photos that the capture "
              "lists, else 8]")
        ->group(group);
    add_value(app, "--test-views NAME,...", a.test_views, "hold out these photos, comma separated")
        ->group(group);
}

void add_photo_memory(CLI::App& app, CaptureArguments& a) {
    add_given(app, "--photo-memory MIB", a.photo_memory_mib, whole_from(1, 1 << 24),
              "limit the photos' memory; other photos are reread when needed, with the same result "
              "[no limit]")
        ->group("Capture");
}

void add_background(CLI::App& app, std::string& background, const char* group) {
    add_value(app, "--background R,G,B", background,
              "background, also of transparent photos: r,g,b from 0 to 1, black or white")
        ->group(group);
}

namespace {

std::string flag_of(const SettingField& field) {
    std::string flag = std::string("--") + field.name;
    std::ranges::replace(flag, '_', '-');
    return flag;
}

/// One option says all of them.
bool is_crop(const SettingField& field) { return std::string_view(field.group) == "Crop"; }

}  // namespace

bool is_setting_switch(std::string_view word) {
    return std::ranges::any_of(setting_fields(), [&](const SettingField& field) {
        if (field.kind != SettingKind::toggle || is_crop(field)) return false;
        const std::string flag = flag_of(field);
        return word == flag || word == "--no-" + flag.substr(2);
    });
}

void add_settings(CLI::App& app, std::vector<std::pair<std::string, double>>& out) {
    const TrainingSettings defaults;
    for (const SettingField& field : setting_fields()) {
        const std::string name = field.name;
        if (name == "seed" || is_crop(field)) continue;
        std::string help = field.help;
        std::vector<std::string> choices;
        for (const SettingChoice& choice : field.choices) {
            help += fmt::format("{} {}: {}", choices.empty() ? ":" : ";", choice.word, choice.help);
            choices.emplace_back(choice.word);
        }
        help += fmt::format(" [{}]", field.text(field.of(defaults)));
        const auto take = [&out, name](double value) { out.emplace_back(name, value); };
        CLI::Option* option;
        if (field.kind == SettingKind::toggle)
            option = app.add_flag_function(
                flag_of(field) + ",--no-" + flag_of(field).substr(2) + "{false}",
                [take](std::int64_t n) { take(n > 0 ? 1.0 : 0.0); }, help);
        else if (field.kind == SettingKind::choice)
            option = app.add_option_function<std::string>(
                            flag_of(field),
                            [take, &field](const std::string& word) {
                                take(field.value_of(word).value_or(0));
                            },
                            help)
                         ->check(CLI::IsMember(choices))
                         ->option_text(fmt::format("{}", fmt::join(choices, "|")));
        else
            option =
                app.add_option_function<double>(flag_of(field), take, help)
                    ->check(field.kind == SettingKind::count ? whole_from(field.min, field.max)
                                                             : number_from(field.min, field.max))
                    ->option_text("X");
        option->group(field.group);
    }
    const auto take_crop = [&out](const std::string& text) {
        const auto box = text == "none" ? std::optional<ClipBox>() : *parse_box(text);
        for (auto& value : crop_values(box)) out.push_back(std::move(value));
    };
    app.add_option_function<std::string>(
           "--crop", take_crop, "train only inside this box, in world units; none = everywhere")
        ->check(CLI::Validator(
            [](std::string& text) {
                const auto box = parse_box(text);
                return text == "none" || box ? std::string() : box.error().text();
            },
            ""))
        ->option_text("X0,Y0,Z0,X1,Y1,Z1")
        ->group("Crop");
}

Result<ClipBox> parse_box(const std::string& text) {
    std::array<float, 6> v{};
    std::size_t begin = 0, n = 0;
    for (; begin <= text.size() && n < v.size(); ++n) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        GS_TRY(const double value, parse_number(text.substr(begin, end - begin), "of a box"));
        v[n] = static_cast<float>(value);
        begin = end + 1;
    }
    if (n < v.size() || begin <= text.size())
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a box", text),
                    "use six numbers X0,Y0,Z0,X1,Y1,Z1: the lower and the upper corner");
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (v[axis] > v[axis + 3])
            return fail(
                ErrorKind::usage, "",
                fmt::format("the box ends before it begins: {} > {}", v[axis], v[axis + 3]));
    return ClipBox{{v[0], v[1], v[2]}, {v[3], v[4], v[5]}};
}

void add_picture(CLI::App& app, PictureArguments& a) {
    const char* group = "Picture";
    add_background(app, a.background, group);
    add_value(app, "--sh-degree N", a.sh_degree, whole_from(0, 3),
              "ignore spherical harmonics above this degree")
        ->group(group);
    add_value(app, "--scale X", a.scale, number_from(0.001, 100), "multiply every Gaussian's size")
        ->group(group);
    add_value(app, "--profile NAME", a.profile, CLI::IsMember({"tight", "gsplat", "inria"}),
              "rasterization rules: tight (gausscope), gsplat, inria")
        ->group(group);
    app.add_flag("--antialiased", a.antialiased,
                 "opacity compensation for the pixel blur, for scenes trained with it")
        ->group(group);
    add_value(app, "--projection NAME", a.projection, CLI::IsMember({"auto", "ewa", "ut"}),
              "project by the lens's Jacobian (ewa), by seven points through the camera (ut), "
              "or as trained [auto]")
        ->group(group);
    add_value(app, "--pairs-at-once N", a.most_pairs, whole_from(0),
              "list at most N (Gaussian, tile) pairs at once and draw the picture in groups of "
              "tiles, the same to the bit [0: what fits]")
        ->group(group);
}

void add_exact(CLI::App& app, PictureArguments& a) {
    app.add_flag("--exact", a.exact,
                 "evaluate Gaussians along each pixel's ray instead of projecting them, on the CPU")
        ->group("Picture");
}

Result<Backend> picture_backend(const PictureArguments& a, const CommonArguments& common) {
    if (!a.exact) return backend_of(common);
    if (a.antialiased || a.projection != "auto" || a.most_pairs > 0)
        return fail(ErrorKind::usage, "", "--exact projects nothing",
                    "omit --projection, --antialiased and --pairs-at-once");
    GS_TRY(const CommonArguments on, on_rays(common, "--exact", "omit --backend and --device"));
    GS_TRY(Backend out, backend_of(on));
    out.make_rasterizer = []() -> Result<std::unique_ptr<Rasterizer>> {
        return make_ray_rasterizer();
    };
    return out;
}

const char* projection_of(const PictureArguments& a, const RenderOptions& options) {
    return a.exact ? "rays" : name_of(options.projection);
}

void add_window(CLI::App& app, WindowArguments& a) {
    const char* group = "Studio";
    add_value(app, "--script FILE", a.script,
              "run the commands in this file, one per line (docs/commands.md)")
        ->group(group);
    add_given(app, "--width PIXELS", a.width, picture_side(), "window width")->group(group);
    add_given(app, "--height PIXELS", a.height, picture_side(), "window height")->group(group);
    add_value(app, "--ui-scale X", a.scale, number_from(0, 8),
              "size of text and controls, 0 = the display's scale")
        ->group(group);
}

void apply(const CommonArguments& common) {
    set_thread_count(common.threads);
    set_log_level(common.verbose ? LogLevel::debug : LogLevel::info);
}

Result<Backend> backend_of(const CommonArguments& common) {
    return choose_backend(common.backend, common.device.value_or(-1));
}

Result<CommonArguments> on_rays(const CommonArguments& common, const std::string& what,
                                const std::string& advice) {
    CommonArguments out = common;
    if (common.backend == "cpu") return out;
    const std::string why = what + " draws along rays, which only the CPU can";
    if (common.backend == "cuda" || common.device) return fail(ErrorKind::usage, "", why, advice);
    out.backend = "cpu";
    GS_TRY(const Backend usual, backend_of(common));
    if (usual.cuda) log_warning("computing on the CPU, not on {}: {}", usual.name, why);
    return out;
}

Result<std::unique_ptr<Rasterizer>> make_rasterizer(const CommonArguments& common) {
    GS_TRY(const auto backend, backend_of(common));
    return backend.make_rasterizer();
}

Result<CaptureOptions> capture_options(const CaptureArguments& arguments,
                                       const CommonArguments& common) {
    CaptureOptions options;
    GS_TRY(options.downscale, parse_downscale(arguments.downscale));
    GS_TRY(options.background, parse_color(arguments.background));
    GS_TRY(options.random_points, parse_init(arguments.init));
    options.max_side = arguments.max_side;
    options.photo_memory = arguments.photo_memory_mib << 20;
    options.masks = arguments.masks;
    options.lidars = arguments.lidars;
    if (arguments.undistort) options.undistort = *arguments.undistort;
    options.test_views = split(arguments.test_views, ',');
    if (arguments.test_every) {
        options.test_every = *arguments.test_every;
        options.listed_split = ListedSplit::ignored;
    }
    options.model = arguments.model;
    options.threads = common.threads;
    options.seed = common.seed.value_or(0);
    return options;
}

Result<CaptureOptions> over_known(CaptureOptions known, const CaptureArguments& arguments,
                                  const CommonArguments& common) {
    GS_TRY(const CaptureOptions asked, capture_options(arguments, common));
    const CaptureArguments usual;
    if (arguments.downscale != usual.downscale) known.downscale = asked.downscale;
    if (arguments.max_side != usual.max_side) known.max_side = asked.max_side;
    if (arguments.masks != usual.masks) known.masks = asked.masks;
    if (arguments.init != usual.init) known.random_points = asked.random_points;
    if (arguments.undistort) known.undistort = *arguments.undistort;
    if (arguments.background != usual.background) known.background = asked.background;
    // Another split is another split as a whole.
    if (arguments.test_every || !arguments.test_views.empty()) {
        known.test_every = asked.test_every;
        known.test_views = asked.test_views;
        known.test_views_of_run = false;
        known.left_out.clear();
        known.listed_split = asked.listed_split;
    }
    if (arguments.model != usual.model) known.model = asked.model;
    return known;
}

Result<std::shared_ptr<Capture>> load_with_progress(
    const CaptureFiles& files, CaptureOptions options,
    const std::function<Result<void>(const CaptureForecast&)>& look) {
    // Where there is none, loading will say why, with the same words.
    if (const auto forecast = forecast_capture(files, options)) {
        say_forecast(*forecast);
        if (look) GS_TRY_VOID(look(*forecast));
    }
    ProgressLine progress("load");
    options.progress = told_by(progress);
    auto capture = load_capture(files, options);
    progress.finish();
    if (!capture) return tl::unexpected(capture.error());
    for (const CaptureNote& note : capture->notes) {
        if (note.kind == CaptureNote::Kind::mask || note.kind == CaptureNote::Kind::split)
            log_warning("{}", note.text);
        else
            log_info("{}", note.text);
    }
    for (const std::string& skipped : capture->skipped) log_warning("skipped {}", skipped);
    const std::size_t tests = capture->view_indices(true).size();
    log_info("{}: {}, {} training and {} test views ({}), {} points{}", capture->name,
             capture->format, capture->views.size() - tests, tests, capture->split,
             capture->points.size(),
             capture->skipped.empty() ? "" : fmt::format(", {} skipped", capture->skipped.size()));
    return std::make_shared<Capture>(std::move(*capture));
}

Result<Vec3f> parse_color(const std::string& text) {
    if (text.empty()) return Vec3f{0, 0, 0};
    if (text == "black") return Vec3f{0, 0, 0};
    if (text == "white") return Vec3f{1, 1, 1};
    const auto parts = split(text, ',');
    if (parts.size() != 3)
        return fail(ErrorKind::usage, "", fmt::format("background \"{}\" is not r,g,b", text),
                    "three numbers from 0 to 1, for example 1,1,1");
    float rgb[3];
    for (std::size_t i = 0; i < 3; ++i) {
        GS_TRY(const double value, parse_number(parts[i], "--background"));
        if (!(value >= 0 && value <= 1))
            return fail(ErrorKind::usage, "",
                        fmt::format("background component {} is outside 0 .. 1", parts[i]));
        rgb[i] = static_cast<float>(value);
    }
    return Vec3f{rgb[0], rgb[1], rgb[2]};
}

Result<RenderOptions> picture_options(const PictureArguments& arguments) {
    RenderOptions options;
    GS_TRY(options.background, parse_color(arguments.background));
    GS_TRY(options.compatibility, compatibility_from_name(arguments.profile));
    if (arguments.projection != "auto") {
        GS_TRY(options.projection, projection_from_name(arguments.projection));
    }
    options.sh_degree = arguments.sh_degree;
    options.scale_modifier = static_cast<float>(arguments.scale);
    options.antialiased = arguments.antialiased;
    options.most_pairs = arguments.most_pairs;
    return options;
}

void draw_as_trained(const SplatFile& scene, const PictureArguments& arguments,
                     RenderOptions& options) {
    options.antialiased = arguments.antialiased || scene.model.antialiased;
    if (arguments.projection == "auto" && scene.trained.unscented)
        options.projection = ProjectionMethod::ut;
}

}  // namespace gs::cli
