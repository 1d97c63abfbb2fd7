#include "app/lab/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "app/lab/capture_content.h"
#include "app/lab/child.h"
#include "app/lab/exports.h"
#include "app/lab/measured_run.h"
#include "base/file.h"
#include "base/format.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/machine.h"
#include "base/try.h"

namespace gs::lab {
namespace {

constexpr std::size_t kTailLines = 6;

/// One lab at a time works with a database's folder of runs.
class RunsLock {
  public:
    static Result<RunsLock> take(const fs::path& folder) {
        GS_TRY_VOID(make_folder(folder, "name another file with --database"));
        RunsLock out;
        const fs::path file = folder / "lock";
        out.file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (out.file_ < 0)
            return fail(ErrorKind::unwritable, folder.string(), "the folder cannot be written",
                        "name another file with --database");
        // A file system without locks cannot tell; the lab is not refused for it.
        if (::flock(out.file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            return fail(ErrorKind::usage, folder.string(), "another lab is running here",
                        "wait for it, or name another file with --database");
        return out;
    }
    RunsLock(RunsLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    RunsLock& operator=(RunsLock&&) = delete;
    ~RunsLock() {
        if (file_ >= 0) ::close(file_);
    }

  private:
    RunsLock() = default;
    int file_ = -1;
};

std::string definition_of(const SampleScene& s) {
    return fmt::format("sample {} {} {}x{} {}", s.scenery, s.views, s.width, s.height, s.points);
}

/// All files of a recording are in one folder. `paths`: as of --lidar.
void add_recordings(std::string_view paths, std::vector<fs::path>& folders) {
    while (!paths.empty()) {
        const fs::path path = paths.substr(0, paths.find(','));
        folders.push_back(folder_exists(path) ? path : fs::absolute(path).parent_path());
        paths.remove_prefix(std::min(paths.size(), path.native().size() + 1));
    }
}

/// Everything that a run depends on besides program, seed and backend.
std::string how_of(const Suite& suite, const SuiteScene& scene, const SuiteSettings& settings) {
    std::string out = scene.sample ? definition_of(*scene.sample) : scene.capture.string();
    for (const std::string& word : scene.loading) out += " " + word;
    out +=
        fmt::format(" steps {} seconds {:g} eval {} target {:g}", scene.steps.value_or(suite.steps),
                    suite.seconds, suite.eval_every, scene.target_db.value_or(0));
    for (const std::string& format : suite.exports) out += " export " + format;
    for (const auto& [name, value] : settings.values)
        out += fmt::format(" {}={:.17g}", name, value);
    return out;
}

struct Planned {
    LabIdentity of;
    const SuiteScene* scene;
    const SuiteSettings* settings;
    const LabProgram* program;
};

class SuiteRunner {
  public:
    SuiteRunner(const Suite& suite, LabOptions options, LabFile file)
        : suite_(suite),
          options_(std::move(options)),
          file_(std::move(file)),
          folder_(folder_of_runs(options_.database)) {}

    Result<LabTally> run() {
        GS_TRY_VOID(file_.add_suite(suite_.name, suite_.text));
        for (LabProgram& program : options_.programs) GS_TRY_VOID(ask(program));
        GS_TRY_VOID(find_captures());
        if (auto looked = look_into_captures(); !looked) {
            if (looked.error().kind != ErrorKind::cancelled) return tl::unexpected(looked.error());
            tally_.stopped = true;
            return tally_;
        }
        const std::vector<Planned> plan = plan_runs();
        tally_.planned = plan.size();
        for (const Planned& planned : plan) {
            if (stopped()) break;
            ++number_;
            GS_TRY_VOID(take(planned));
        }
        tally_.stopped = stopped();
        return tally_;
    }

  private:
    bool stopped() const { return options_.stopped && options_.stopped(); }
    void say(const std::string& text) const {
        if (options_.say) options_.say(text);
    }

    /// Asks a program for its commit and its machine. A path that is none is found before anything
    /// runs.
    Result<void> ask(LabProgram& program) const {
        const fs::path log = folder_ / "program.log";
        GS_TRY(const ChildOutcome asked,
               run_child({{program.path.string(), "info", "--json"}, log, 60, {}}));
        const auto told = json_or_discarded(last_json_of(log));
        if (!asked.done() || !told.is_object() || !member(told, "commit").is_string())
            return fail(ErrorKind::usage, program.path.string(),
                        "does not answer like gausscope: " + asked.text(), "name its program");
        program.commit = told["commit"].get<std::string>();
        for (const char* key : {"cpu", "processor"})  // older programs say the first only
            if (member(told, key).is_string()) program.processor = told[key].get<std::string>();
        if (member(told, "threads").is_number()) program.threads = told["threads"].get<double>();
        for (const auto& device : member(member(told, "cuda"), "devices"))
            if (member(device, "used") == true && member(device, "name").is_string())
                program.gpu = device["name"].get<std::string>();
        GS_TRY_VOID(name_build(program));
        if (program.label.empty()) program.label = program.commit;
        return {};
    }

    /// Only the build of a commit is known by its commit. Another one is known by its changes or by
    /// its own bytes, so no run of another build is taken for its own.
    Result<void> name_build(LabProgram& program) const {
        if (program.commit == "unknown") {
            GS_TRY(const std::string content, content_of_file(program.path));
            program.commit = "unknown." + content;
            say(
                fmt::format("{}: the commit is unknown; its runs are recorded as {} and reused "
                            "only by this build",
                            program.path.string(), program.commit));
        } else if (program.commit.find("+changes") != std::string::npos) {
            say(
                fmt::format("{}: built with changes that are not committed; its runs are recorded "
                            "as {} and reused only by builds with these changes",
                            program.path.string(), program.commit));
        }
        return {};
    }

    Result<void> find_captures() {
        std::string missing;
        for (const SuiteScene& scene : suite_.scenes) {
            if (scene.sample) {
                places_[scene.name] =
                    folder_ / "captures" /
                    (scene.name + "-" + fingerprint_of(definition_of(*scene.sample)).substr(0, 8));
                continue;
            }
            const fs::path beside = fs::path(suite_.origin).parent_path() / scene.capture;
            const fs::path below = options_.captures / scene.capture;
            if (folder_exists(beside))
                places_[scene.name] = fs::absolute(beside);
            else if (!options_.captures.empty() && folder_exists(below))
                places_[scene.name] = fs::absolute(below);
            else if (scene.optional)
                tally_.left_out.push_back(scene.name);
            else
                missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", scene.name,
                                       scene.capture.string());
        }
        if (!missing.empty())
            return fail(ErrorKind::not_found, suite_.origin, "captures not found: " + missing,
                        "give their folder with --captures DIR, or write optional = yes");
        if (places_.empty())
            return fail(ErrorKind::not_found, suite_.origin, "none of its scenes was found",
                        "give the captures' folder with --captures DIR");
        for (const std::string& name : tally_.left_out)
            say(fmt::format("skipped: {} (not found)", name));
        return {};
    }

    /// Makes the samples that are missing and takes every capture's content.
    Result<void> look_into_captures() {
        for (const SuiteScene& scene : suite_.scenes) {
            if (!places_.contains(scene.name)) continue;
            GS_TRY_VOID(make_sample(scene));
            std::vector<fs::path> folders{places_.at(scene.name)};
            for (std::size_t i = 0; i + 1 < scene.loading.size(); i += 2)
                if (scene.loading[i] == "--masks")
                    folders.emplace_back(scene.loading[i + 1]);
                else if (scene.loading[i] == "--lidar")
                    add_recordings(scene.loading[i + 1], folders);
            GS_TRY(contents_[scene.name], content_of(folders, file_));
        }
        return {};
    }

    /// Compared programs run close in time, each round in the other order, so that slow changes of
    /// a machine affect both.
    std::vector<Planned> plan_runs() const {
        std::vector<Planned> out;
        bool turned = false;
        for (const std::uint64_t seed : suite_.seeds)
            for (const SuiteScene& scene : suite_.scenes) {
                if (!places_.contains(scene.name)) continue;
                for (const std::string& backend : suite_.backends) {
                    const std::size_t first = out.size();
                    for (const SuiteSettings& settings : suite_.settings)
                        for (const LabProgram& program : options_.programs)
                            out.push_back({{program.label, program.commit, suite_.name, scene.name,
                                            settings.name, backend, seed,
                                            fingerprint_of(how_of(suite_, scene, settings)) + "-" +
                                                contents_.at(scene.name)},
                                           &scene,
                                           &settings,
                                           &program});
                    if (turned)
                        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
                    turned = !turned;
                }
            }
        return out;
    }

    Result<void> take(const Planned& planned) {
        const std::string key = planned.of.key();
        GS_TRY(const LabFile::Known known, file_.known(key));
        if (known == LabFile::Known::done || (known == LabFile::Known::failed && !options_.retry)) {
            ++(known == LabFile::Known::done ? tally_.known : tally_.failed);
            if (known == LabFile::Known::failed)
                say(fmt::format("[{}/{}] {}: failed before, not repeated (--retry)", number_,
                                tally_.planned, name_of(planned.of)));
            return {};
        }
        LabRun run{.of = planned.of, .host = host_name(), .processor = planned.program->processor};
        if (planned.of.backend == "cuda" && !planned.program->gpu.empty())
            run.processor += ", " + planned.program->gpu;
        run.values = {{"threads", "", planned.program->threads}};
        run.capture = places_.at(planned.scene->name).string();
        run.folder =
            (folder_ / "runs" /
             fmt::format("{}-{}-{}-{}-{}", planned.of.scene, planned.of.settings,
                         planned.of.backend, planned.of.seed, fingerprint_of(key).substr(0, 8)))
                .string();
        run.options = options_of(planned);
        if (options_.begins) options_.begins(name_of(run.of), number_, tally_.planned);
        if (auto measured = measure(planned, run); !measured) {
            if (measured.error().kind == ErrorKind::cancelled) return {};
            return measured;
        }
        if (auto added = file_.add(run); !added) {
            if (tally_.failed > 0 || run.failed)
                added.error().advice += "; --retry repeats failed runs";
            return added;
        }
        ++(run.failed ? tally_.failed : tally_.ran);
        tell(run);
        if (!suite_.keep_checkpoints && !run.failed) drop_checkpoints(run.folder);
        return {};
    }

    Result<void> measure(const Planned& planned, LabRun& run) {
        if (!adopt(run)) GS_TRY_VOID(train(planned, run));
        if (run.failed) return {};
        const ExportAsk ask{planned.program->path, planned.of.backend, options_.stopped};
        auto exported = measure_exports(suite_.exports, ask, run);
        if (exported || exported.error().kind == ErrorKind::cancelled) return exported;
        run.failed = true;
        run.error = exported.error().text();
        return {};
    }

    std::string options_of(const Planned& planned) const {
        nlohmann::ordered_json out;
        for (const auto& [name, value] : values_of(planned)) out[name] = value;
        if (suite_.seconds > 0) out["seconds"] = suite_.seconds;
        if (planned.scene->target_db) out["target_db"] = *planned.scene->target_db;
        return json_text(out);
    }
    NamedValues values_of(const Planned& planned) const {
        NamedValues out{
            {"steps", static_cast<double>(planned.scene->steps.value_or(suite_.steps))}};
        out.insert(out.end(), planned.settings->values.begin(), planned.settings->values.end());
        return out;
    }

    Result<void> make_sample(const SuiteScene& scene) const {
        const fs::path place = places_.at(scene.name);
        std::error_code error;
        if (!scene.sample || fs::is_directory(place, error)) return {};
        const SampleScene& s = *scene.sample;
        // Made in a temporary folder and moved there, so that the place never has half a capture.
        const fs::path making = place.string() + ".making";
        fs::remove_all(making, error);
        GS_TRY_VOID(make_folder(place.parent_path()));
        say(fmt::format("making the scene {}: {}", scene.name, definition_of(s)));
        const fs::path log = folder_ / (scene.name + ".sample.log");
        GS_TRY(
            const ChildOutcome made,
            run_child({{own_program().string(), "sample", making.string(), "--scenery", s.scenery,
                        "--views", std::to_string(s.views), "--width", std::to_string(s.width),
                        "--height", std::to_string(s.height), "--points", std::to_string(s.points)},
                       log,
                       0,
                       options_.stopped}));
        if (stopped()) return fail(ErrorKind::cancelled, place.string(), "stopped");
        if (!made.done())
            return fail(ErrorKind::unwritable, place.string(),
                        "cannot make the sample: " + tail_of(log, 1));
        fs::rename(making, place, error);
        if (error) return fail(ErrorKind::unwritable, place.string(), error.message());
        return {};
    }

    /// Takes a run that was trained whole and not recorded: the lab was ended between the two.
    bool adopt(LabRun& run) const {
        std::error_code error;
        const fs::path metrics = fs::path(run.folder) / "metrics.json";
        if (suite_.seconds > 0 || !fs::exists(metrics, error)) return false;
        LabRun found = run;
        if (!take_measured(run.folder, true, found)) return false;
        run = std::move(found);
        const auto age = fs::file_time_type::clock::now() - fs::last_write_time(metrics, error);
        run.ended_s = static_cast<std::int64_t>(std::time(nullptr)) -
                      std::chrono::duration_cast<std::chrono::seconds>(age).count();
        const double total = run.value_of("total");
        run.began_s = run.ended_s - (std::isfinite(total) ? static_cast<std::int64_t>(total) : 0);
        return true;
    }

    Result<void> train(const Planned& planned, LabRun& run) {
        const fs::path log = run.folder + ".log", config = run.folder + ".cfg";
        GS_TRY_VOID(make_folder(log.parent_path()));
        std::string settings;
        for (const auto& [name, value] : values_of(planned))
            settings += fmt::format("{} = {}\n", name, argument(value));
        GS_TRY_VOID(write_text_file(config, settings));
        const std::vector<std::string> words = words_for(planned, run, config);
        run.began_s = static_cast<std::int64_t>(std::time(nullptr));
        GS_TRY(const ChildOutcome ended, run_child({words, log, suite_.seconds, options_.stopped}));
        run.ended_s = static_cast<std::int64_t>(std::time(nullptr));
        if (stopped()) return fail(ErrorKind::cancelled, run.folder, "stopped");
        if (ended.peak_bytes > 0)
            run.values.push_back({"peak memory", "bytes", static_cast<double>(ended.peak_bytes)});
        return judge(planned, ended, log, run);
    }

    std::vector<std::string> words_for(const Planned& planned, const LabRun& run,
                                       const fs::path& config) const {
        std::vector<std::string> out{planned.program->path.string(),
                                     "train",
                                     run.capture,
                                     "-o",
                                     run.folder,
                                     "--overwrite",
                                     "--config",
                                     config.string(),
                                     "--seed",
                                     std::to_string(planned.of.seed),
                                     "--backend",
                                     planned.of.backend,
                                     "--save-every",
                                     "0"};
        if (suite_.eval_every > 0)
            out.insert(out.end(), {"--eval-every", std::to_string(suite_.eval_every)});
        if (planned.scene->target_db)
            out.insert(out.end(), {"--until-psnr", argument(*planned.scene->target_db)});
        out.insert(out.end(), planned.scene->loading.begin(), planned.scene->loading.end());
        return out;
    }

    /// Records the outcome of the training; a failure is also a result.
    Result<void> judge(const Planned& planned, const ChildOutcome& ended, const fs::path& log,
                       LabRun& run) const {
        if (!ended.done() && !ended.timed_out) {
            run.failed = true;
            run.error = ended.text() + "\n" + tail_of(log, kTailLines);
            return {};
        }
        auto measured = take_measured(run.folder, !ended.timed_out, run);
        if (measured && ended.timed_out) measured = score(planned, run);
        if (measured) return {};
        run.failed = true;
        run.error = measured.error().text();
        return {};
    }

    /// A run that was stopped has measured no photos.
    Result<void> score(const Planned& planned, LabRun& run) const {
        const fs::path log = run.folder + ".eval.log";
        GS_TRY(const ChildOutcome scored,
               run_child({{planned.program->path.string(), "eval", run.folder, "--backend",
                           planned.of.backend, "--json"},
                          log,
                          0,
                          options_.stopped}));
        if (!scored.done())
            return fail(ErrorKind::unreadable, run.folder,
                        "cannot evaluate its photos: " + tail_of(log, 1));
        return take_eval(last_json_of(log), run);
    }

    static void drop_checkpoints(const fs::path& folder) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(folder, error))
            if (entry.path().extension() == ".gsc") fs::remove(entry.path(), error);
    }

    static std::string name_of(const LabIdentity& of) {
        return fmt::format("{} {} {} seed {}, {}", of.scene, of.settings, of.backend, of.seed,
                           of.label);
    }

    void tell(const LabRun& run) {
        const std::string name =
            fmt::format("[{}/{}] {}", number_, tally_.planned, name_of(run.of));
        if (!run.failed)
            return say(fmt::format("{}: {}, {} Gaussians, {}", name, format_db(run.psnr()),
                                   format_count(run.value_of("Gaussians")),
                                   format_duration(run.value_of("total"))));
        std::string why = run.error;
        tally_.last_failure = name_of(run.of) + ": " + why.substr(why.rfind('\n') + 1);
        for (std::size_t at = 0; (at = why.find('\n', at)) != why.npos; at += 3)
            why.replace(at, 1, "\n  ");
        say(fmt::format("{}: FAILED, {}\n  the whole log: {}.log", name, why, run.folder));
    }

    const Suite& suite_;
    LabOptions options_;
    LabFile file_;
    fs::path folder_;
    std::map<std::string, fs::path> places_;       // of the scenes that are at hand
    std::map<std::string, std::string> contents_;  // of the same: fingerprints
    std::size_t number_ = 0;
    LabTally tally_;
};

}  // namespace

fs::path own_program() {
    std::error_code error;
    const fs::path link = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path("gausscope") : link;
}

fs::path folder_of_runs(const fs::path& database) {
    return fs::absolute(database).string() + ".runs";
}

Result<LabTally> run_suite(const Suite& suite, LabOptions options) {
    GS_TRY(LabFile file, LabFile::open(options.database));
    GS_TRY(const RunsLock lock, RunsLock::take(folder_of_runs(options.database)));
    return SuiteRunner(suite, std::move(options), std::move(file)).run();
}

}  // namespace gs::lab
