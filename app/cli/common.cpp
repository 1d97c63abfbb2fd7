#include "app/cli/common.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/progress.h"
#include "base/log.h"
#include "base/parallel.h"

namespace gs::cli {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void on_interrupt(int signal) {
    interrupt_count = interrupt_count + 1;
    std::signal(signal, SIG_DFL);
}

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

void say_forecast(const std::string& path, const CaptureOptions& options) {
    const auto forecast = forecast_capture(path, options);
    if (!forecast) return;  // loading will say why, with the same words
    log_info("{} photos of up to {} x {}, {} points; needs {}, {} more while decoding",
             forecast->photos, forecast->width, forecast->height, forecast->points,
             human_bytes(forecast->photo_bytes), human_bytes(forecast->decode_bytes));
    const auto pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 &&
        forecast->photo_bytes + forecast->decode_bytes >
            static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page))
        log_warning(
            "that is more than the {} of memory that are free; --downscale 2 needs a quarter",
            human_bytes(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)));
}

}  // namespace

int report(const Error& error) {
    fmt::print(stderr, "error: {}\n", error.text());
    switch (error.kind) {
        case ErrorKind::cancelled:
            return kFailed;
        default:
            return kUsage;
    }
}

void print_json(const nlohmann::ordered_json& object) {
    // Names of files may hold any bytes; JSON may not.
    fmt::print("{}\n",
               object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    std::fflush(stdout);
}

nlohmann::ordered_json number(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

void apply(const CommonArguments& common) {
    set_thread_count(common.threads);
    set_log_level(common.verbose > 0 ? LogLevel::debug : LogLevel::info);
}

Result<Backend> backend_of(const CommonArguments& common) { return choose_backend(common.backend); }

Result<std::unique_ptr<Rasterizer>> make_rasterizer(const CommonArguments& common) {
    const auto backend = backend_of(common);
    if (!backend) return tl::unexpected(backend.error());
    return backend->make_rasterizer();
}

Result<CaptureOptions> capture_options(const CaptureArguments& arguments,
                                       const CommonArguments& common) {
    CaptureOptions options;
    const auto downscale = parse_downscale(arguments.downscale);
    if (!downscale) return tl::unexpected(downscale.error());
    const auto background = parse_color(arguments.background);
    if (!background) return tl::unexpected(background.error());
    options.downscale = *downscale;
    options.max_side = arguments.max_side;
    options.masks = arguments.masks;
    options.background = *background;
    options.test_views = split(arguments.test_views, ',');
    if (arguments.test_every) options.test_every = *arguments.test_every;
    options.threads = common.threads;
    options.seed = common.seed.value_or(0);
    return options;
}

Result<std::shared_ptr<const Capture>> load_with_progress(const std::string& path,
                                                          CaptureOptions options) {
    say_forecast(path, options);
    ProgressLine progress("load");
    options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
        progress.update(done, total, std::string(what));
        return !interrupted();
    };
    auto capture = load_capture(path, options);
    progress.finish();
    if (!capture) return tl::unexpected(capture.error());
    for (const CaptureNote& note : capture->notes) {
        if (note.kind == CaptureNote::Kind::mask)
            log_warning("{}", note.text);
        else
            log_info("{}", note.text);
    }
    for (const std::string& skipped : capture->skipped) log_warning("skipped {}", skipped);
    const std::size_t tests = capture->view_indices(true).size();
    log_info("{}: {}, {} training and {} test views, {} points{}", capture->name, capture->format,
             capture->views.size() - tests, tests, capture->points.size(),
             capture->skipped.empty() ? "" : fmt::format(", {} skipped", capture->skipped.size()));
    return std::make_shared<const Capture>(std::move(*capture));
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
        const auto value = parse_number(parts[i], "--background");
        if (!value) return tl::unexpected(value.error());
        if (*value < 0 || *value > 1)
            return fail(ErrorKind::usage, "",
                        fmt::format("background component {} is outside 0 .. 1", parts[i]));
        rgb[i] = static_cast<float>(*value);
    }
    return Vec3f{rgb[0], rgb[1], rgb[2]};
}

Result<RenderOptions> picture_options(const PictureArguments& arguments) {
    RenderOptions options;
    const auto background = parse_color(arguments.background);
    if (!background) return tl::unexpected(background.error());
    const auto profile = compatibility_from_name(arguments.profile);
    if (!profile) return tl::unexpected(profile.error());
    options.background = *background;
    options.compatibility = *profile;
    options.sh_degree = arguments.sh_degree;
    options.scale_modifier = static_cast<float>(arguments.scale);
    options.antialiased = arguments.antialiased;
    return options;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        std::string_view part = text.substr(0, end);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        if (!part.empty()) out.emplace_back(part);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Result<void> prepare_output_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        return fail(ErrorKind::unwritable, folder.string(),
                    "the folder could not be made: " + error.message(),
                    "choose another place with -o");
    return prepare_output_file(folder / ".gausscope-write-test");
}

Result<void> prepare_output_file(const fs::path& file) {
    if (fs::is_directory(file))
        return fail(ErrorKind::unwritable, file.string(),
                    "this is a folder, a file is to be written", "add a file name");
    // A few kilobytes, so that a full disk shows too; without commit() nothing stays.
    auto probe = AtomicFile::create(file);
    if (!probe) return tl::unexpected(probe.error());
    return probe->append(std::string(8192, ' '));
}

void catch_interrupts() {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
}

bool interrupted() { return interrupt_count > 0; }

}  // namespace gs::cli
