#include "app/studio/import.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "app/backend/training_plan.h"
#include "app/studio/arguments.h"
#include "base/file.h"
#include "base/format.h"
#include "base/try.h"
#include "renderer/doctor/doctor.h"
#include "trainer/run/run_folder.h"

namespace gs {
namespace {

constexpr std::size_t kMostSkipped = 50;
const RunOptions kUsualRun;

/// Choices that are settings of the training, in the order of a command line.
struct SettingChoice {
    const char *choice, *setting;
};
constexpr SettingChoice kSettingChoices[] = {{"strategy", "strategy"},
                                             {"steps", "steps"},
                                             {"gaussians", "max_gaussians"},
                                             {"batch", "batch"},
                                             {"sh-degree", "sh_degree"}};

using Offers = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> names_in(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::string_view name = text.substr(0, text.find(','));
        if (!name.empty()) out.emplace_back(name);
        text.remove_prefix(std::min(text.size(), name.size() + 1));
    }
    return out;
}

/// "black", "white" or "r,g,b".
Result<Vec3f> color_of(const std::string& text) {
    if (text.empty() || text == "black") return Vec3f{0, 0, 0};
    if (text == "white") return Vec3f{1, 1, 1};
    const auto parts = names_in(text);
    if (parts.size() != 3)
        return fail(ErrorKind::usage, "", fmt::format("background \"{}\" is not r,g,b", text),
                    "three numbers from 0 to 1, black or white");
    std::array<float, 3> rgb{};
    for (std::size_t i = 0; i < 3; ++i) {
        GS_TRY(const double value, number_argument(parts[i], 0, 1, "a background value"));
        rgb[i] = static_cast<float>(value);
    }
    return Vec3f{rgb[0], rgb[1], rgb[2]};
}

/// A setting as a flag: "--lr-means 0.0002", "--no-antialiased".
std::string flag_of(const std::string& name, double value) {
    const SettingField* field = find_setting(name);
    std::string flag = name;
    std::ranges::replace(flag, '_', '-');
    if (field && field->kind == SettingKind::toggle) return (value > 0.5 ? " --" : " --no-") + flag;
    if (field && field->kind == SettingKind::choice)
        return fmt::format(" --{} {}", flag, field->text(value));
    return fmt::format(" --{} {}", flag, value);
}

/// Sizes and lenses, as many as differ.
std::string lenses_of(const Capture& capture) {
    std::set<std::tuple<int, int, double, double, CameraModel, std::array<double, 12>>> lenses;
    for (const View& v : capture.views)
        lenses.insert({v.camera.width, v.camera.height, v.camera.fx, v.camera.fy, v.camera.model,
                       v.camera.distortion});
    std::string out = fmt::format("{} {}", lenses.size(), lenses.size() == 1 ? "lens" : "lenses");
    for (const CaptureNote& note : capture.notes)
        if (note.kind == CaptureNote::Kind::lens || note.kind == CaptureNote::Kind::own_lens ||
            note.kind == CaptureNote::Kind::shutter)
            out += "; " + note.text;
    return out;
}

std::string masks_of(const fs::path& path, const CaptureOptions& options) {
    if (options.masks == kNoMasks) return "not used";
    const fs::path folder = options.masks.empty() ? path / "masks" : fs::path(options.masks);
    std::error_code error;
    std::uint64_t files = 0;
    for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
         it.increment(error))
        files += it->is_regular_file() ? 1 : 0;
    return files > 0 ? counted(files, "file", "in " + folder.string()) : "none";
}

}  // namespace

Import::Import(PathContents contents, ImportBase base, std::function<void()> wake)
    : contents_(std::move(contents)), base_(std::move(base)), wake_(std::move(wake)) {
    for (const char* name : kNames) values_[name] = "";
    const CaptureOptions& l = base_.loading;
    if (l.downscale != 0) values_["downscale"] = std::to_string(l.downscale);
    if (l.test_every != CaptureOptions().test_every || l.listed_split == ListedSplit::ignored)
        values_["test-every"] = std::to_string(l.test_every);
    for (const std::string& name : l.test_views)
        values_["test-views"] += (values_["test-views"].empty() ? "" : ",") + name;
    values_["masks"] = l.masks;
    if (l.undistort != CaptureOptions().undistort)
        values_["undistort"] = l.undistort ? "yes" : "no";
    if (l.photo_memory > 0) values_["photo-memory"] = std::to_string(l.photo_memory >> 20);
    if (!base_.output.empty() && !run_in(base_.output)) values_["output"] = base_.output;
    for (const auto& [name, number] : base_.settings)
        for (const auto& [choice, setting] : kSettingChoices)
            if (name == setting) values_[choice] = find_setting(name)->text(number);
    if (l.background.x != 0 || l.background.y != 0 || l.background.z != 0)
        values_["background"] =
            fmt::format("{},{},{}", l.background.x, l.background.y, l.background.z);
    std::erase_if(base_.settings, [](const auto& given) {
        return given.first.starts_with("background_") ||
               std::ranges::any_of(kSettingChoices,
                                   [&](const auto& c) { return given.first == c.setting; });
    });
    start();
}

void Import::leave_task() {
    if (!task_) return;
    task_->cancel();
    left_.push_back(std::move(task_));
}

bool Import::over() {
    leave_task();
    std::erase_if(left_, [](auto& task) { return task->take().has_value(); });
    return left_.empty();
}

void Import::start() {
    auto options = loading();
    if (!options) return;
    leave_task();
    task_ = std::make_unique<Task<Examined>>(
        "import", "examining",
        [files = contents_.capture, options = *options,
         runs = base_.run.runs](const Progress& progress) -> Result<Examined> {
            GS_TRY(Examined out, examine(files, options, progress));
            out.new_folder = RunFolder::next_new(runs, out.name).string() + " (new)";
            return out;
        },
        wake_);
}

Result<Import::Examined> Import::examine(const CaptureFiles& files, CaptureOptions options,
                                         const Progress& progress) {
    Examined out;
    options.progress = progress;
    GS_TRY(out.forecast, forecast_capture(files, options));
    options.photos = false;
    GS_TRY(const Capture capture, load_capture(files, options));
    out.name = capture.name;
    const std::size_t tests = capture.view_indices(true).size();
    const auto number = [](std::size_t n) { return format_count(static_cast<double>(n)); };
    out.points = capture.points.size();
    out.found = {
        {"Kind", capture.format},
        {"Photos", fmt::format("{} ({} to train on, {} to test)", number(capture.views.size()),
                               number(capture.views.size() - tests), number(tests))},
        {"Size",
         fmt::format("up to {} x {} pixels as loaded", out.forecast.width, out.forecast.height)},
        {"Cameras", lenses_of(capture)},
        {"Sparse points", capture.points_are_random ? number(capture.points.size()) + ", random"
                                                    : number(capture.points.size())},
        {"Masks", masks_of(files.path, options)}};
    if (tests > 0) out.found.emplace_back("Test photos", capture.split);
    if (!capture.models.empty())
        out.found.emplace_back(
            "Model", fmt::format("{} of {}", capture.model, fmt::join(capture.models, ", ")));
    if (!capture.unposed.empty())
        out.found.emplace_back("Without a pose", counted(capture.unposed.size(), "photo"));
    out.skipped = capture.skipped;
    out.skipped.insert(out.skipped.end(), capture.missing.begin(), capture.missing.end());
    if (out.skipped.size() > kMostSkipped) out.skipped.resize(kMostSkipped);
    out.findings = gs::examine(capture);
    std::ranges::stable_sort(out.findings, std::greater{}, &Finding::severity);
    return out;
}

bool Import::update() {
    if (!task_) return false;
    auto result = task_->take();
    if (!result) return task_->update();
    task_.reset();
    problem_.clear();
    if (*result)
        examined_ = std::move(**result);
    else
        problem_ = result->error().text();
    return true;
}

Result<void> Import::set(const std::string& name, const std::string& value) {
    const auto it = values_.find(name);
    if (it == values_.end())
        return fail(ErrorKind::usage, "", fmt::format("there is no choice \"{}\"", name),
                    fmt::format("choices: {}", fmt::join(kNames, ", ")));
    if (it->second == value) return {};
    const std::string before = std::exchange(it->second, value);
    auto options = loading();
    auto made = make_settings(settings());
    if (options && made) {
        const bool setting =
            std::ranges::any_of(kSettingChoices, [&](const auto& c) { return name == c.choice; });
        if (!setting && name != "output") start();
        return {};
    }
    it->second = before;
    return tl::unexpected<Error>(!options ? options.error() : made.error());
}

Result<CaptureOptions> Import::loading() const {
    CaptureOptions out = base_.loading;
    out.downscale = 0;
    if (const std::string& text = value("downscale"); !text.empty() && text != "auto") {
        GS_TRY(const auto factor, integer_argument(text, 1, 64, "downscale"));
        out.downscale = static_cast<int>(factor);
    }
    out.photo_memory = 0;
    if (const std::string& text = value("photo-memory"); !text.empty()) {
        GS_TRY(const auto mib, integer_argument(text, 1, 1 << 24, "photo-memory"));
        out.photo_memory = static_cast<std::uint64_t>(mib) << 20;
    }
    out.test_every = CaptureOptions().test_every;
    out.listed_split = ListedSplit::used;
    if (const std::string& text = value("test-every"); !text.empty()) {
        out.listed_split = ListedSplit::ignored;
        GS_TRY(const auto every, integer_argument(text, 0, 1'000'000, "test-every"));
        out.test_every = static_cast<int>(every);
    }
    out.test_views = names_in(value("test-views"));
    out.masks = value("masks") == "auto" ? "" : value("masks");
    const std::string& undistort = value("undistort");
    if (!undistort.empty() && undistort != "yes" && undistort != "no")
        return fail(ErrorKind::usage, "",
                    fmt::format("undistort must be yes or no, not \"{}\"", undistort),
                    "yes: resample photos to pinholes; no: each keeps its lens");
    out.undistort = undistort.empty() ? CaptureOptions().undistort : undistort == "yes";
    GS_TRY(out.background, color_of(value("background")));
    return out;
}

/// Everything given, in the order of a command line.
NamedValues Import::settings() const {
    NamedValues out = base_.settings;
    for (const auto& [choice, setting] : kSettingChoices) {
        const std::string& text = value(choice);
        if (text.empty()) continue;
        auto number = find_setting(setting)->value_of(text);
        if (const auto whole = integer_argument(text, 0, std::int64_t{1} << 52, choice); whole)
            number = static_cast<double>(*whole);
        // What is neither becomes -1, which is refused; set() reports the range.
        out.emplace_back(setting, number.value_or(-1));
    }
    if (const auto color = color_of(value("background")); color && !value("background").empty())
        for (const auto& [name, part] : {std::pair{"background_r", color->x},
                                         {"background_g", color->y},
                                         {"background_b", color->z}})
            out.emplace_back(name, static_cast<double>(part));
    return out;
}

std::string Import::what_is_wrong() const {
    const std::string& output = value("output");
    if (output.empty()) return {};
    if (run_in(output)) return "there is a run in " + output + ": choose another folder";
    if (path_exists(output) && !folder_exists(output))
        return output + " is a file: choose a folder";
    return {};
}

Result<OpenRequest> Import::request(bool train) const {
    if (!problem_.empty()) return fail(ErrorKind::unsupported, "", problem_);
    if (const std::string wrong = what_is_wrong(); !wrong.empty())
        return fail(ErrorKind::usage, "", wrong);
    OpenRequest out{.contents = contents_, .train = train};
    GS_TRY(const CaptureOptions options, loading());
    GS_TRY(const TrainingSettings made, make_settings(settings()));
    out.as = OpenedAs{options, made, value("output")};
    return out;
}

std::string Import::command_line() const {
    std::string out = "gausscope train " + shell_word(contents_.path);
    const auto option = [&](const char* flag, const std::string& text) {
        if (!text.empty()) out += std::string(" ") + flag + " " + shell_word(text);
    };
    for (const char* name :
         {"downscale", "test-every", "test-views", "masks", "photo-memory", "background"})
        if (value(name) != "auto") option((std::string("--") + name).c_str(), value(name));
    if (!value("undistort").empty())
        out += value("undistort") == "yes" ? " --undistort" : " --no-undistort";
    option("--model", base_.loading.model);
    if (base_.loading.max_side > 0) option("--max-side", std::to_string(base_.loading.max_side));
    for (const auto& [name, number] : settings())
        if (!name.starts_with("background_")) out += flag_of(name, number);
    const RunOptions& run = base_.run;
    if (run.save_every != kUsualRun.save_every)
        option("--save-every", std::to_string(run.save_every));
    if (run.evaluate_every != kStudioEvaluateEvery)
        option("--eval-every", std::to_string(run.evaluate_every));
    if (run.lapse_pace) option("--timelapse", text_of(*run.lapse_pace));
    if (run.keep.last != 1) option("--keep-last", std::to_string(run.keep.last));
    if (run.keep.every != 0) option("--keep-every", std::to_string(run.keep.every));
    if (run.keep.best) out += " --keep-best";
    if (base_.backend != "auto") option("--backend", base_.backend);
    option("-o", value("output"));
    return out + " --view";
}

std::vector<ImportState::Choice> Import::choices() const {
    using Kind = ImportState::Choice::Kind;
    const auto made = make_settings(settings());
    const TrainingSettings usual = defaults_of((made ? *made : TrainingSettings()).strategy);
    const auto choice = [&](const char* name, const char* label, const char* help,
                            const std::string& usually, Offers offers, Kind kind = Kind::text) {
        return ImportState::Choice{name, label, help, value(name), usually, std::move(offers),
                                   kind};
    };
    return {
        choice("downscale", "Downscale", "Shrink photos by this whole factor",
               "auto: at most 1600 pixels",
               {{"", "auto"}, {"1", "full size"}, {"2", "half"}, {"4", "quarter"}}, Kind::number),
        choice("test-every", "Test photos", "Hold out every Nth photo for testing (0 = none)",
               "every 8th, or as the capture says",
               {{"", "every 8th"}, {"4", "every 4th"}, {"0", "none"}}, Kind::number),
        choice("test-views", "Test photos by name",
               "Names of the photos to hold out instead, comma separated", "none", {}),
        choice("masks", "Masks", "Folder of masks for ignored pixels, or none",
               "from the capture, if any", {{"", "from the capture"}, {kNoMasks, "off"}}),
        choice(
            "undistort", "Lens",
            "Train distorted photos through their own lens, or resample them to a pinhole",
            CaptureOptions().undistort ? "pinhole" : "as in the capture",
            {{"", CaptureOptions().undistort ? "default: pinhole" : "default: as in the capture"},
             {"no", "as in the capture"},
             {"yes", "pinhole"}},
            Kind::one_of),
        choice("photo-memory", "Photo memory",
               "MiB of photos that stay in memory; others are reread when needed", "all photos",
               {{"", "all photos"}, {"1024", "1 GiB"}, {"4096", "4 GiB"}}, Kind::number),
        choice("background", "Background",
               "Colour behind the scene: r,g,b from 0 to 1, black or white", "black",
               {{"", "black"}, {"white", "white"}}),
        choice("strategy", "Strategy", "How the number of Gaussians grows; changes other defaults",
               "adaptive (3DGS)",
               {{"", "adaptive (3DGS)"}, {"mcmc", "MCMC"}, {"budget", "growth curve"}},
               Kind::one_of),
        choice("steps", "Steps", "Length of the training; the schedule scales with it",
               format_count(usual.steps),
               {{"2000", "2,000: quick look"}, {"7000", "7,000"}, {"", "30,000: best"}},
               Kind::number),
        choice("gaussians", "Gaussians",
               "Most Gaussians that density control (3DGS: clone, split, prune) grows to",
               format_count(usual.max_gaussians),
               {{"500000", "500,000"}, {"1000000", "1,000,000"}, {"5000000", "5,000,000"}},
               Kind::number),
        choice("batch", "Batch", "Photos per step", format_count(usual.batch),
               {{"", "1"}, {"2", "2"}, {"4", "4"}}, Kind::number),
        choice("sh-degree", "SH degree", "Highest degree of the colours' spherical harmonics",
               format_count(usual.sh_degree),
               {{"", "3: best"}, {"2", "2"}, {"1", "1"}, {"0", "0: one colour each"}},
               Kind::one_of),
        choice("output", "Folder", "Output folder of the run", examined_.new_folder, {}),
    };
}

ImportState::Facts Import::forecast(const StepSpeed& speed) const {
    const CaptureForecast& f = examined_.forecast;
    const auto made = make_settings(settings());
    if (f.photos == 0 || !made) return {};
    const auto bytes = [](std::uint64_t n) { return format_bytes(static_cast<double>(n)); };
    const bool device = static_cast<bool>(base_.free_device_bytes);
    const TrainingPlan plan = plan_training(f, *made, device);
    const std::uint64_t free = available_host_bytes(),
                        free_there = device ? base_.free_device_bytes() : free;
    const auto words_of_free = [&](std::uint64_t has, std::uint64_t needed) {
        return bytes(has) + (needed > has ? ": may not be enough" : "");
    };
    ImportState::Facts out{
        {"Photos",
         fmt::format("{}, plus {} while reading", bytes(f.photo_bytes), bytes(f.decode_bytes))},
        {"Training",
         fmt::format("{} at first, {} with {} Gaussians", bytes(plan.at_first(device)),
                     bytes(plan.at_most(device)), format_count(static_cast<double>(plan.most)))}};
    if (free > 0)
        out.emplace_back(device ? "Free here" : "Free now",
                         words_of_free(free, plan.at_most(false)));
    if (device && free_there > 0)
        out.emplace_back("Free on the GPU", words_of_free(free_there, plan.at_most(true)));
    out.emplace_back("Disk", bytes(plan.disk));
    const double megapixels = 1e-6 * static_cast<double>(f.width) * f.height;
    out.emplace_back("Time", speed.ms_per_megapixel > 0
                                 ? fmt::format("about {}: a guess by pixels alone, from {}",
                                               format_duration(1e-3 * speed.ms_per_megapixel *
                                                               megapixels * made->steps),
                                               speed.based_on)
                                 : "unknown: nothing trained in this session yet");
    return out;
}

std::shared_ptr<const ImportState> Import::state(const StepSpeed& speed) const {
    ImportState out{.path = contents_.path,
                    .examining = task_ != nullptr,
                    .problem = problem_,
                    .wrong = what_is_wrong(),
                    .found = examined_.found,
                    .findings = examined_.findings,
                    .skipped = examined_.skipped,
                    .choices = choices(),
                    .forecast = forecast(speed),
                    .command_line = command_line()};
    return std::make_shared<const ImportState>(std::move(out));
}

}  // namespace gs
