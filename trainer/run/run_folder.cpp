#include "trainer/run/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/run/foreign_run.h"
#include "trainer/run/run_pictures.h"
#include "trainer/run/time_lapse.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kLockFile = "run.lock";
constexpr const char* kOwnFiles[] = {
    "checkpoint.gsc", "point_cloud.ply", "metrics.json", "metrics.csv", "run.json",
    "best.gsc",       "views.txt",       "layout.txt",   "notes.json",  "poses.json"};
constexpr std::uint64_t kLargestDescription = 256 << 20;
// A killed process gives its memory back before its locks, and its parent may be gone by then.
constexpr auto kDying = std::chrono::seconds(2);
constexpr auto kLook = std::chrono::milliseconds(20);

bool same_file(const fs::path& a, const fs::path& b) {
    std::error_code ignored;
    return !a.empty() && fs::equivalent(a, b, ignored);
}

/// The step of "WORD-STEP.gsc"; nullopt: it has another name.
std::optional<std::uint64_t> step_in_name(const std::string& name, std::string_view word) {
    constexpr std::string_view kEnd = ".gsc";
    std::uint64_t step = 0;
    if (!name.starts_with(word) || !name.ends_with(kEnd)) return std::nullopt;
    const char *first = name.data() + word.size(), *last = name.data() + name.size() - kEnd.size();
    const auto read = std::from_chars(first, last, step);
    return read.ec == std::errc() && read.ptr == last ? std::optional(step) : std::nullopt;
}
std::optional<std::uint64_t> step_of_kept(const std::string& name) {
    return step_in_name(name, "checkpoint-");
}

/// A file that a run leaves in its folder.
bool is_own_file(const std::string& name) {
    return std::any_of(std::begin(kOwnFiles), std::end(kOwnFiles),
                       [&](const char* own) { return name == own; }) ||
           step_of_kept(name) ||
           (name.starts_with("reverted-") && (name.ends_with(".gsc") || name.ends_with(".ply")));
}

/// The process that wrote its number there; 0: none did.
int written_process(int file) {
    char text[16] = {};
    const ssize_t size = ::pread(file, text, sizeof text - 1, 0);
    int process = 0;
    if (size > 0) std::from_chars(text, text + size, process);
    return process;
}

/// "NAME.tmpPID" of processes that are no more.
void remove_half_written(const fs::path& folder) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const std::string extension = entry.path().extension().string();
        int process = 0;
        if (!is_own_file(entry.path().stem().string()) || !extension.starts_with(".tmp")) continue;
        const char* end = extension.data() + extension.size();
        const auto read = std::from_chars(extension.data() + 4, end, process);
        if (read.ec == std::errc() && read.ptr == end && ::kill(process, 0) != 0 && errno == ESRCH)
            fs::remove(entry.path(), ignored);
    }
}

Json numbers(const std::vector<ImageScore>& images, double ImageScore::*value) {
    Json out = Json::array();
    for (const ImageScore& image : images) out.push_back(json_number(image.*value));
    return out;
}

double number_or_none(const nlohmann::json& json) {
    return json.is_number() ? json.get<double>() : kNotMeasured;
}
std::string text_of(const nlohmann::json& json) {
    return json.is_string() ? json.get<std::string>() : std::string();
}
int integer_of(const nlohmann::json& json, int otherwise) {
    return json.is_number_integer() ? json.get<int>() : otherwise;
}

Evaluation evaluation_of(const nlohmann::json& json) {
    Evaluation out;
    out.step = whole_number(member(json, "step"), ~std::uint64_t{0} >> 1).value_or(0);
    out.psnr = number_or_none(member(json, "psnr"));
    out.ssim = number_or_none(member(json, "ssim"));
    out.seconds = number_or_none(member(json, "seconds"));
    const nlohmann::json& views = member(json, "views");
    for (std::size_t i = 0; views.is_array() && i < views.size(); ++i) {
        ImageScore& image = out.images.emplace_back();
        image.view = whole_number(views[i], 1u << 30).value_or(1u << 30);
        image.name = text_of(element(member(json, "names"), i));
        image.psnr = number_or_none(element(member(json, "image_psnr"), i));
        image.ssim = number_or_none(element(member(json, "image_ssim"), i));
        image.l1 = number_or_none(element(member(json, "image_l1"), i));
    }
    return out;
}

constexpr std::pair<ListedSplit, const char*> kListedSplits[] = {
    {ListedSplit::used, "used"},
    {ListedSplit::separate_files, "separate files"},
    {ListedSplit::ignored, "ignored"}};
/// Runs before lists were read say nothing about them.
ListedSplit listed_split_of(const std::string& text) {
    for (const auto& [value, name] : kListedSplits)
        if (text == name) return value;
    return ListedSplit::separate_files;
}
const char* text_of(ListedSplit value) {
    return std::find_if(std::begin(kListedSplits), std::end(kListedSplits),
                        [&](const auto& one) { return one.first == value; })
        ->second;
}

CaptureOptions loading_of(const nlohmann::json& json) {
    CaptureOptions out{.downscale = std::clamp(integer_of(member(json, "downscale"), 1), 0, 64),
                       .max_side = std::max(0, integer_of(member(json, "max_side"), 0)),
                       .model = text_of(member(json, "model")),
                       .listed_split = listed_split_of(text_of(member(json, "listed_split")))};
    out.test_every = std::max(0, integer_of(member(json, "test_every"), out.test_every));
    out.masks = text_of(member(json, "masks"));
    out.random_points = whole_number(member(json, "random_points"), 10'000'000).value_or(0);
    out.undistort = member(json, "undistort") != false;  // older runs do not say it, and did
    out.seed = whole_number(member(json, "seed"), ~std::uint64_t{0} >> 1).value_or(0);
    for (const nlohmann::json& name : member(json, "test_views"))
        if (name.is_string()) out.test_views.push_back(name.get<std::string>());
    out.test_views_of_run = out.lidars_of_run = true;
    for (const nlohmann::json& path : member(json, "lidars"))
        if (path.is_string()) out.lidars.push_back(path.get<std::string>());
    for (const nlohmann::json& name : member(json, "left_out"))
        if (name.is_string()) out.left_out.push_back(name.get<std::string>());
    // Runs that do not say it have none, however far their capture is from zero.
    const auto origin = number_list<double>(member(json, "origin"), 3, 3);
    out.origin = origin ? Vec3d{(*origin)[0], (*origin)[1], (*origin)[2]} : Vec3d{};
    if (const auto background = number_list(member(json, "background"), 3, 3))
        out.background = {(*background)[0], (*background)[1], (*background)[2]};
    return out;
}

/// The run that would be lost: another one, or a later step of this one.
std::optional<RunContents> run_that_is_there(const fs::path& folder, const fs::path& resumed_from,
                                             std::uint64_t step) {
    auto there = run_in(folder);
    // Other checkpoints that lie there may be of any run.
    const bool its_own = same_file(resumed_from, folder / "checkpoint.gsc");
    if (there && its_own && there->steps && *there->steps <= step) there.reset();
    return there;
}

}  // namespace

Json to_json(const RunDescription& d) {
    const CaptureOptions& l = d.loading;
    Json marks = Json::array(), evaluations = Json::array();
    for (const RunMark& mark : d.marks) {
        marks.push_back({{"step", mark.step}, {"text", mark.text}});
        if (mark.alarm) marks.back()["alarm"] = true;
    }
    for (const Evaluation& e : d.evaluations) {
        Json views = Json::array(), names = Json::array();
        for (const ImageScore& image : e.images) {
            views.push_back(image.view);
            names.push_back(image.name);
        }
        evaluations.push_back({{"step", e.step},
                               {"psnr", json_number(e.psnr)},
                               {"ssim", json_number(e.ssim)},
                               {"seconds", json_number(e.seconds)},
                               {"views", std::move(views)},
                               {"names", std::move(names)},
                               {"image_psnr", numbers(e.images, &ImageScore::psnr)},
                               {"image_ssim", numbers(e.images, &ImageScore::ssim)},
                               {"image_l1", numbers(e.images, &ImageScore::l1)}});
    }
    Json origin;  // null: none
    if (l.origin && !is_zero(*l.origin)) origin = {l.origin->x, l.origin->y, l.origin->z};
    Json parent;  // null: none
    if (!d.parent.empty()) parent = {{"run", d.parent}, {"step", d.parent_step}};
    Json out{{"format", "gausscope run 1"},
             {"capture", d.capture},
             {"widest_angle", json_number(d.widest_angle)},
             {"parent", std::move(parent)},
             {"loading",
              {{"downscale", l.downscale},
               {"max_side", l.max_side},
               {"model", l.model},
               {"listed_split", text_of(l.listed_split)},
               {"test_every", l.test_every},
               {"test_views", l.test_views},
               {"left_out", l.left_out},
               {"background", {l.background.x, l.background.y, l.background.z}},
               {"masks", l.masks},
               {"lidars", l.lidars},
               {"random_points", l.random_points},
               {"undistort", l.undistort},
               {"seed", l.seed}}},
             {"splats", d.splats},
             {"block", d.block},
             {"marks", std::move(marks)},
             {"evaluations", std::move(evaluations)}};
    if (!origin.is_null()) out["loading"]["origin"] = std::move(origin);
    return out;
}

RunPhotos photos_of_run(const fs::path& folder, const fs::path& checkpoint,
                        const CaptureOptions& here) {
    RunPhotos out{{}, here};
    if (auto run = read_run_description(folder)) {
        out = {std::move(run->capture), std::move(run->loading)};
        out.loading.threads = here.threads;
        out.loading.progress = here.progress;
        out.loading.photo_memory = here.photo_memory;
    }
    if (const auto head = read_checkpoint_head(checkpoint)) out.loading.origin = head->origin;
    return out;
}

Result<RunDescription> read_run_description(const fs::path& folder, std::uint64_t last_step) {
    const fs::path path = folder / "run.json";
    if (!file_exists(path))
        if (auto foreign = foreign_description(folder)) return std::move(*foreign);
    GS_TRY(const std::string text, read_text_file(path, kLargestDescription));
    GS_TRY(const nlohmann::json json,
           parse_json_object(std::as_bytes(std::span(text)), path.string()));
    if (text_of(member(json, "format")) != "gausscope run 1")
        return fail(ErrorKind::unsupported, path.string(), "is not a run of this version");
    RunDescription out{.capture = text_of(member(json, "capture"))};
    const nlohmann::json& loading = member(json, "loading");
    out.loading = loading_of(loading);
    if (member(loading, "model").is_null()) out.loading.model = kFirstModel;
    const double widest = number_or_none(member(json, "widest_angle"));
    out.widest_angle = widest >= 0 && widest <= 180 ? widest : 0;
    const nlohmann::json& parent = member(json, "parent");
    out.parent = text_of(member(parent, "run"));
    out.splats = text_of(member(json, "splats"));
    out.block = text_of(member(json, "block"));
    out.parent_step = whole_number(member(parent, "step"), ~std::uint64_t{0} >> 1).value_or(0);
    for (const nlohmann::json& mark : member(json, "marks")) {
        const auto step = whole_number(member(mark, "step"), last_step);
        if (step)
            out.marks.push_back(
                {*step, text_of(member(mark, "text")), member(mark, "alarm") == true});
    }
    for (const nlohmann::json& json_of_one : member(json, "evaluations")) {
        Evaluation one = evaluation_of(json_of_one);
        if (one.step <= last_step) out.evaluations.push_back(std::move(one));
    }
    return out;
}

fs::path kept_checkpoint(const fs::path& folder, std::uint64_t step) {
    return folder / fmt::format("checkpoint-{}.gsc", step);
}

fs::path kept_splats(const fs::path& folder, std::uint64_t step) {
    return folder / "point_cloud" / fmt::format("iteration_{}", step) / "point_cloud.ply";
}

fs::path free_reverted(const fs::path& folder, std::uint64_t step, const char* ending) {
    fs::path out = folder / fmt::format("reverted-{}{}", step, ending);
    for (int n = 2; path_exists(out); ++n)
        out = folder / fmt::format("reverted-{}-{}{}", step, n, ending);
    return out;
}

std::vector<std::uint64_t> kept_steps(const fs::path& folder) {
    std::error_code ignored;
    std::vector<std::uint64_t> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (const auto step = step_of_kept(entry.path().filename().string())) out.push_back(*step);
    return out;
}

std::optional<RunContents> run_in(const fs::path& path) {
    RunContents out{.folder = path};
    if (file_exists(path / "checkpoint.gsc")) out.checkpoint = path / "checkpoint.gsc";
    if (file_exists(path / "point_cloud.ply")) out.splats = path / "point_cloud.ply";
    if (out.checkpoint.empty() && out.splats.empty()) {
        const std::vector<ForeignStep> steps = foreign_steps(path);
        if (steps.empty()) return std::nullopt;
        out.splats = steps.back().splats;
        out.foreign = true;
    }
    if (!out.checkpoint.empty()) out.steps = checkpoint_steps(out.checkpoint);
    return out;
}

int training_process(const fs::path& folder) {
    const int lock = ::open((folder / kLockFile).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0) return 0;
    const bool taken = ::flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const int process = taken ? written_process(lock) : 0;
    ::close(lock);
    return process;
}

std::optional<Error> still_training(const fs::path& folder) {
    const int process = training_process(folder);
    if (process == 0) return std::nullopt;
    return Error{
        ErrorKind::unsupported,
        folder.string(),
        fmt::format("process {} is training into this folder and has saved nothing yet", process),
        "wait for its first checkpoint (train --save-every N)",
        {},
        {}};
}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(resumed_from_, other.resumed_from_);
    std::swap(replaces_, other.replaces_);
    std::swap(lock_, other.lock_);
    return *this;
}

RunFolder::~RunFolder() {
    if (lock_ < 0) return;
    if (held()) ::unlink((folder_ / kLockFile).c_str());  // while it is locked: nobody else's goes
    ::close(lock_);
}

bool RunFolder::held() const {
    struct stat own = {}, there = {};
    if (lock_ < 0) return true;  // on a file system that cannot tell
    return ::fstat(lock_, &own) == 0 && ::stat((folder_ / kLockFile).c_str(), &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

bool RunFolder::moved() const {
    return !held() && (file_exists(folder_ / kLockFile) || run_in(folder_));
}

void RunFolder::clear() {
    std::error_code ignored;
    if (!std::exchange(replaces_, false)) return;
    std::vector<fs::path> own;
    if (file_exists(folder_ / "run.json"))  // else they are another trainer's
        for (const ForeignStep& step : foreign_steps(folder_)) {
            if (step.splats != kept_splats(folder_, step.step)) continue;
            for (const char* name : {"cfg_args", "cameras.json", "input.ply"})  // --layout inria
                own.push_back(folder_ / name);
            own.insert(own.end(), {step.splats, step.splats.parent_path()});
        }
    own.push_back(folder_ / "point_cloud");
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
        if (is_own_file(entry.path().filename().string()) &&
            !same_file(resumed_from_, entry.path()))
            own.push_back(entry.path());
    for (const fs::path& path : own) fs::remove(path, ignored);
    // Pictures of the resumed run stay; TimeLapse sets those of later steps aside.
    if (!resumed_from_.empty() && same_file(folder_of_checkpoint(resumed_from_), folder_)) return;
    remove_thumbnails(folder_);
    remove_time_lapse(folder_);
}

/// A lock of the system, which ends with the process; the file says whose it is.
Result<void> RunFolder::lock(const Tell& tell) {
    const fs::path path = folder_ / kLockFile;
    const auto until = std::chrono::steady_clock::now() + kDying;
    while (true) {
        lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (lock_ < 0)
            return fail(ErrorKind::unwritable, folder_.string(),
                        fmt::format("cannot be written to: {}", std::strerror(errno)),
                        "choose another place with -o");
        const int before = written_process(lock_);
        if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
            const bool taken = errno == EWOULDBLOCK;
            ::close(std::exchange(lock_, -1));
            // A file system without locks cannot tell; the run is not refused for it.
            if (!taken) return {};
            if (before != ::getpid() && std::chrono::steady_clock::now() < until) {
                std::this_thread::sleep_for(kLook);
                continue;
            }
            return fail(ErrorKind::usage, folder_.string(),
                        fmt::format("process {} is training into this folder", before),
                        "choose another folder, or stop that run");
        }
        if (held()) {
            if (before != 0)
                tell(LogLevel::warning,
                     fmt::format(
                         "{}: process {} did not end its run cleanly; its saved files are kept",
                         folder_.string(), before));
            const std::string own = fmt::format("{}\n", ::getpid());
            if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, own.data(), own.size(), 0) < 0)
                tell(LogLevel::debug, "the lock of the run's folder does not name its process");
            return {};
        }
        ::close(std::exchange(lock_, -1));  // its owner removed it in between
    }
}

Result<RunFolder> RunFolder::take(const fs::path& folder, const fs::path& resumed_from,
                                  std::uint64_t step, bool overwrite, const Tell& tell) {
    RunFolder out;
    out.folder_ = folder;
    GS_TRY_VOID(make_folder(folder, "choose another place with -o"));
    GS_TRY_VOID(out.lock(tell));
    remove_half_written(folder);
    const auto there = run_that_is_there(folder, resumed_from, step);
    if (!there) return out;
    if (!overwrite) {
        const std::string steps = there->steps ? fmt::format(" of {} steps", *there->steps) : "";
        return fail(ErrorKind::usage, folder.string(), "it contains a run" + steps,
                    std::string(there->steps ? "--resume auto continues it, " : "") +
                        "--overwrite replaces it, another -o keeps it");
    }
    out.resumed_from_ = resumed_from;
    out.replaces_ = true;
    return out;
}

/// "PARENT/NAME-DATE-" of today's runs.
static std::string new_folder_stem(const fs::path& parent, const std::string& name) {
    std::string plain;
    for (const char c : name)
        plain += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ? c : '-';
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return (parent / fmt::format("{}-{:%Y-%m-%d}-", plain.empty() ? "run" : plain, local)).string();
}

fs::path RunFolder::next_new(const fs::path& parent, const std::string& name) {
    const std::string stem = new_folder_stem(parent, name);
    int n = 1;
    while (n < 100'000 && path_exists(stem + std::to_string(n))) ++n;
    return stem + std::to_string(n);
}

Result<RunFolder> RunFolder::take_new(const fs::path& parent, const std::string& name,
                                      const Tell& tell) {
    const std::string stem = new_folder_stem(parent, name);
    GS_TRY_VOID(make_folder(parent, "choose another place with -o"));
    std::error_code error;
    for (int n = 1; n < 100'000; ++n) {
        const fs::path folder = stem + std::to_string(n);
        if (fs::create_directory(folder, error)) return take(folder, {}, 0, false, tell);
        if (error && error != std::errc::file_exists) break;
    }
    return fail(ErrorKind::unwritable, parent.string(),
                "no folder could be created for the run" + (error ? ": " + error.message() : ""),
                "choose another place with -o");
}

}  // namespace gs
