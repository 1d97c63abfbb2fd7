#include "app/session/parts/lab_part.h"

#include <unistd.h>

#include "app/lab/child.h"
#include "app/lab/runner.h"
#include "app/session/parts/lab_reading.h"
#include "base/file.h"
#include "base/seconds.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr const char* kSuiteJob = "lab";
constexpr const char* kReadJob = "lab database";
constexpr const char* kReportJob = "lab report";

/// The state of a running suite, reported as the progress of its job. The runner asks often whether
/// to end; the job answers a few times a second.
class SuiteProgress {
  public:
    SuiteProgress(const Progress& progress, std::string suite)
        : progress_(progress), what_(std::move(suite)) {}
    void begins(const std::string& run, std::size_t number, std::size_t planned) {
        what_ = run, done_ = number - 1, planned_ = planned;
        (void)report();
    }
    bool stopped() { return seconds_since(reported_) < kInterval ? stopped_ : report(); }

  private:
    static constexpr double kInterval = 0.25;
    bool report() {
        reported_ = std::chrono::steady_clock::now();
        return stopped_ = !progress_(what_, done_, planned_);
    }

    const Progress& progress_;
    std::string what_;
    std::size_t done_ = 0, planned_ = 0;
    bool stopped_ = false;
    std::chrono::steady_clock::time_point reported_{};
};

struct RanSuite {
    std::string name;
    lab::LabTally tally;
};

Result<RanSuite> run_named(const std::string& suite_name, lab::LabOptions options,
                           const Progress& progress) {
    GS_TRY(const lab::Suite suite, lab::read_suite(suite_name));
    SuiteProgress told(progress, suite.name);
    options.stopped = [&told] { return told.stopped(); };
    options.begins = [&told](const std::string& run, std::size_t number, std::size_t planned) {
        told.begins(run, number, planned);
    };
    GS_TRY(const lab::LabTally tally, lab::run_suite(suite, std::move(options)));
    return RanSuite{suite.name, tally};
}

std::string words_of_suite(const RanSuite& ran) {
    const lab::LabTally& t = ran.tally;
    return fmt::format(
        "lab {}: {} runs, {} run now, {} recorded before, {} failed{}{}", ran.name, t.planned,
        t.ran, t.known, t.failed,
        t.last_failure.empty()
            ? ""
            : fmt::format(" ({}; `gausscope lab run {} --retry` repeats failed runs)",
                          t.last_failure, ran.name),
        t.stopped ? "; stopped, run it again to resume" : "");
}

}  // namespace

LabPart::LabPart(EngineContext ctx) : PartWith(std::move(ctx)) {
    state_.database = "lab.db";
    state_.suites = lab::built_in_suites();
    publish();
}

void LabPart::publish() { ctx_.events.changed().lab = std::make_shared<const LabState>(state_); }

void LabPart::open(const std::string& database) {
    const std::string wanted = database.empty() ? state_.database : database;
    if (ctx_.jobs.running(kSuiteJob) && wanted != state_.database)
        return ctx_.events.error("a suite is running into " + state_.database +
                                 ": run lab.stop to end it");
    state_ = {wanted, false, state_.suites, {}, {}, {}};
    compared_.reset();
    read(ctx_.events.command);
}

void LabPart::read(std::uint64_t command) {
    ctx_.jobs.start<LabReading>(
        {kReadJob, "reading " + state_.database, command},
        [database = state_.database, compared = compared_](const Progress&) {
            return read_lab(database, compared);
        },
        [this, command](LabReading reading) {
            state_.read = true;
            state_.runs = std::move(reading.runs);
            state_.names = std::move(reading.names);
            state_.compared = std::move(reading.compared);
            if (!reading.not_compared.empty()) {
                compared_.reset();
                ctx_.events.error(reading.not_compared, command);
            }
            publish();
        },
        [this, command](const Error& error) {
            publish();
            ctx_.events.failed(error, "reading the lab's database was cancelled", command);
        });
}

void LabPart::run(const std::string& suite, const std::string& label, const std::string& captures) {
    if (ctx_.jobs.running(kSuiteJob))
        return ctx_.events.error("a suite is already running: run lab.stop to end it");
    lab::LabOptions options{.database = state_.database,
                            .captures = captures,
                            .programs = {{label, lab::own_program()}}};
    ctx_.jobs.start<RanSuite>(
        {kSuiteJob, "suite " + suite},  // of no command: nobody is to wait for it to the end
        [suite, options = std::move(options)](const Progress& progress) {
            return run_named(suite, options, progress);
        },
        [this, command = ctx_.events.command](RanSuite ran) {
            if (ran.tally.failed > 0)
                ctx_.events.warning(words_of_suite(ran));
            else
                ctx_.events.done(words_of_suite(ran), true, {}, command);
            read(0);
        },
        [this, command = ctx_.events.command](const Error& error) {
            ctx_.events.error(error.text(), command);
        });
}

void LabPart::compare(const std::string& a, const std::string& b) {
    compared_ = {a, b};
    read(ctx_.events.command);
}

void LabPart::report(const std::string& html) {
    std::vector<std::string> words{lab::own_program().string(), "lab", "report"};
    if (compared_) words.insert(words.end(), {compared_->first, compared_->second});
    words.insert(words.end(), {"--database", state_.database, "--html", html});
    ctx_.jobs.start<std::string>(
        {kReportJob, "writing " + html, ctx_.events.command},
        [words](const Progress& progress) -> Result<std::string> {
            const fs::path log =
                fs::temp_directory_path() / fmt::format("gausscope-lab-report-{}.log", ::getpid());
            lab::ChildOptions child{words, log, 0, {}};
            child.stopped = [&] { return !progress(words.back(), 0, 1); };
            auto ended = lab::run_child(child);
            const std::string said = lab::tail_of(log, 1);
            std::error_code ignored;
            fs::remove(log, ignored);
            if (!ended) return tl::unexpected(ended.error());
            if (!ended->done()) return fail(ErrorKind::unwritable, words.back(), said);
            return said;
        },
        [this, command = ctx_.events.command](std::string said) {
            ctx_.events.done(said, true, {}, command);
        },
        ctx_.events.if_failed("the lab's report was cancelled"));
}

void LabPart::before_picture(const Shown*) {
    const TaskProgress* running = ctx_.jobs.progress_of(kSuiteJob);
    if (!running) return said_.clear();
    if (running->what == said_ || ctx_.jobs.running(kReadJob)) return;
    const bool first = said_.empty();
    said_ = running->what;
    if (!first && path_exists(state_.database)) read(0);
}

}  // namespace gs
