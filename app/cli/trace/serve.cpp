// `gausscope serve`: the per-node daemon. Attaches to every process under the profiling service,
// feeds one store, and lets serve::Daemon answer for it over HTTP.
#include <fmt/core.h>
#include <grp.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/options.h"
#include "app/cli/subcommand.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/record/clock.h"
#include "base/spill.h"
#include "base/try.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/sample/node_sampler.h"
#include "profiler/serve/daemon.h"
#include "profiler/serve/recording_hook.h"

namespace gs::cli {
namespace {

struct ServeArguments {
    std::string listen = "127.0.0.1:9465", folder = "gausscope-recordings", token_file, history,
                otlp, spill, group, on_recording;
    int max_disk_mib = 1024, memory_mib = 256;
    double before_s = 20, after_s = 2, cooldown_s = 60, step_factor = 3, budget_percent = 1;
    double otlp_interval_s = 60;
    double seconds = 0;  ///< 0: until stopped
    double stall_after_s = 0;
    int stacks_hz = 0;
    bool no_rules = false, all_users = false;
};

void add_options(CLI::App& app, ServeArguments& a) {
    add_value(app, "--listen HOST:PORT", a.listen,
              "address and port of the HTTP interface [127.0.0.1:9465]");
    add_value(app, "--dir DIR", a.folder, "folder for recordings [gausscope-recordings]");
    add_value(app, "--max-disk MIB", a.max_disk_mib, whole_from(1, 1 << 24),
              "most space for recordings; the oldest of the most frequent kind is deleted first, "
              "crashes and stalls last [1024]");
    add_value(app, "--group GROUP", a.group,
              "group that may read new recordings and the history, besides this user");
    add_value(app, "--on-recording COMMAND", a.on_recording,
              "run this shell command after each recording; the trace's path is its \"$1\"");
    add_value(app, "--memory MIB", a.memory_mib, whole_from(1, 1 << 20),
              "memory for the recent trace data of all processes [256]");
    add_spill(app, a.spill);
    add_value(app, "--before S", a.before_s, number_from(0.1, 600),
              "seconds to keep before a trigger [20]");
    add_value(app, "--after S", a.after_s, number_from(0, 60),
              "seconds to keep after a trigger [2]");
    add_value(app, "--cooldown S", a.cooldown_s, number_from(0, 86400),
              "minimum seconds between two recordings of one kind and job [60]");
    add_value(app, "--slow-step X", a.step_factor, number_from(0, 1000),
              "record a step that takes X times the median, 0 = never [3]");
    add_stall_after(app, a.stall_after_s);
    app.add_flag("--no-rules", a.no_rules,
                 "do not record when an insight rule fires for the first time");
    add_value(
        app, "--token-file FILE", a.token_file,
        "file with the token required to request recordings [generate one and print its path]");
    add_value(app, "--history FILE", a.history,
              "store each job's times per minute in this file, for `gausscope history`");
    add_stacks(app, a.stacks_hz);
    auto* const otlp =
        add_value(app, "--otlp URL", a.otlp,
                  "also push metrics to this OpenTelemetry collector over HTTP; headers and "
                  "resource attributes come from OTEL_EXPORTER_OTLP_HEADERS and "
                  "OTEL_RESOURCE_ATTRIBUTES");
    add_value(app, "--otlp-interval S", a.otlp_interval_s, number_from(0.1, 3600),
              "seconds between pushes [60]")
        ->needs(otlp);
    app.add_flag(
        "--all-users", a.all_users,
        "as root: watch all users' processes, through a shared directory in GAUSSCOPE_RUNTIME_DIR");
    add_value(app, "--budget PERCENT", a.budget_percent, number_from(0, 100),
              "percent of a process's time that recording may cost [1]");
    add_value(app, "--seconds S", a.seconds, number_from(0, 1e9),
              "stop after S seconds, 0 = when interrupted [0]");
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

serve::DaemonFigures figures_of(const TraceStore& store, service::MultiCollector& collector,
                                const serve::OtlpPusher* otlp, double start_time_s) {
    serve::DaemonFigures figures{
        .collector_cpu_s = static_cast<double>(store.sources().collector_cpu_ns()) * 1e-9};
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    figures.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    figures.resident_bytes = static_cast<double>(resident_bytes());
    figures.start_time_s = start_time_s;
    figures.store_bytes = store.bytes();
    for (const service::SourceState& source : collector.sources())
        figures.producers += source.alive ? 1 : 0;
    if (otlp != nullptr) figures.otlp = otlp->counts();
    return figures;
}

std::string new_token() {
    std::random_device random;
    std::string token;
    for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
    return token;
}

/// The number of --group; none without one.
Result<std::optional<gid_t>> group_of(const std::string& name) {
    if (name.empty()) return std::nullopt;
    const ::group* const found = ::getgrnam(name.c_str());
    if (found == nullptr) return fail(ErrorKind::usage, name, "is not a group of this machine");
    std::vector<gid_t> own(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    own.resize(static_cast<std::size_t>(
        std::max(::getgroups(static_cast<int>(own.size()), own.data()), 0)));
    own.push_back(::getegid());
    if (::geteuid() != 0 && std::ranges::find(own, found->gr_gid) == own.end())
        return fail(ErrorKind::usage, name, "this user is not a member of the group",
                    "add the user to the group, or run as root");
    return found->gr_gid;
}

Result<history::History> open_history(const std::string& path, std::optional<gid_t> group) {
    GS_TRY(auto file, history::History::open(path));
    // SQLite's files beside it are read with it, as long as the daemon writes.
    for (const char* end : {"", "-wal", "-shm"}) {
        struct stat status {};
        const std::string part = path + end;
        if (!group || ::stat(part.c_str(), &status) != 0) continue;
        if (::chown(part.c_str(), static_cast<uid_t>(-1), *group) != 0 ||
            ::chmod(part.c_str(), (status.st_mode & ALLPERMS) | S_IRGRP) != 0)
            return fail(ErrorKind::unwritable, part, "cannot be given to the group of --group");
    }
    return file;
}

/// The token of the user's file; without one a new token, written where only the user can read it.
Result<std::string> token_of(const std::string& file) {
    if (!file.empty()) {
        GS_TRY(auto text, read_text_file(file, 4096));
        while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
            text.pop_back();
        if (text.empty())
            return fail(ErrorKind::usage, file, "the token file is empty",
                        "put any secret text in it");
        return text;
    }
    GS_TRY(auto folder, service::runtime_directory());
    const fs::path path = folder / "serve.token";
    std::string token = new_token();
    GS_TRY_VOID(write_text_file(path, token + "\n"));
    std::error_code error;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
    log_info("requests for recordings need the token in {}", path.string());
    return token;
}

serve::RecorderOptions recorder_options(const ServeArguments& a) {
    return {.folder = a.folder,
            .max_bytes = static_cast<std::uint64_t>(a.max_disk_mib) << 20,
            .before_s = a.before_s,
            .after_s = a.after_s,
            .cooldown_s = a.cooldown_s};
}

serve::DaemonOptions daemon_options(const ServeArguments& a, const std::string& token) {
    serve::DaemonOptions options{.triggers = {.step_factor = a.step_factor, .rules = !a.no_rules},
                                 .token = token};
    options.stalls.after_s = a.stall_after_s;
    return options;
}

service::MultiCollectorOptions collector_options(const ServeArguments& a) {
    service::MultiCollectorOptions options;
    options.budget_ppm = static_cast<std::uint64_t>(a.budget_percent * 1e4);
    // Metrics look once a second: there is no hurry, and every look costs.
    options.interval = std::chrono::milliseconds(10);
    options.idle_interval = std::chrono::milliseconds(50);
    options.devices = {.all = true};
    options.announce = true;
    return options;
}

constexpr std::int64_t kRetireIntervalNs = 1'000'000'000;

/// Null when nothing is to be pushed.
Result<std::unique_ptr<serve::OtlpPusher>> otlp_pusher(const ServeArguments& a) {
    if (a.otlp.empty()) return nullptr;
    const auto pairs = [](const char* name) {
        const char* text = std::getenv(name);
        return serve::otlp_pairs(text ? text : "");
    };
    serve::OtlpOptions options{
        .url = a.otlp, .interval = std::chrono::milliseconds(std::lround(a.otlp_interval_s * 1e3))};
    GS_TRY(options.headers, pairs("OTEL_EXPORTER_OTLP_HEADERS"));
    GS_TRY(options.resource, pairs("OTEL_RESOURCE_ATTRIBUTES"));
    if (const char* name = std::getenv("OTEL_SERVICE_NAME"); name != nullptr && *name != '\0') {
        std::erase_if(options.resource, [](const auto& r) { return r.first == "service.name"; });
        options.resource.emplace_back("service.name", name);
    }
    return serve::OtlpPusher::start(std::move(options));
}

void run_until_stopped(const ServeArguments& a, serve::Daemon& daemon,
                       service::MultiCollector& collector, const serve::OtlpPusher* otlp,
                       NodeSampler& sampler, TraceStore& store) {
    const auto begin = now_ns();
    const double start_time_s = static_cast<double>(clock_ns(CLOCK_REALTIME)) * 1e-9;
    std::int64_t next_retire_ns = 0;
    while (!interrupted()) {
        collector.drain_into(store);
        sampler.take_into(store);
        const auto now = now_ns();
        // Between two ticks nobody holds the number of a process, a track or a name.
        if (now >= next_retire_ns) {
            // Blocks of all sizes are free now, between others, where malloc keeps them.
            if (store.retire(now)) ::malloc_trim(0);
            sampler.look(store, now);
            next_retire_ns = now + kRetireIntervalNs;
        }
        daemon.tick(store, now,
                    daemon.is_due(now) ? figures_of(store, collector, otlp, start_time_s)
                                       : serve::DaemonFigures());
        if (a.seconds > 0 && static_cast<double>(now - begin) * 1e-9 >= a.seconds) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

Result<int> run(const ServeArguments& a, const CommonArguments& common) {
    catch_interrupts();
    service::raise_file_limit();
    // Traces hold command lines and names of ranges, perhaps of all users.
    constexpr mode_t kOthers = S_IRWXO | S_IWGRP;
    ::umask(::umask(kOthers) | kOthers);
    GS_TRY(const std::optional<gid_t> group, group_of(a.group));
    if (!a.spill.empty()) GS_TRY_VOID(spill_to(a.spill));
    if (a.all_users) GS_TRY_VOID(service::share_runtime_directory());
    GS_TRY(auto token, token_of(a.token_file));
    std::optional<serve::HistoryWriter> history;
    std::optional<serve::RecordingHook> hook;
    serve::RecorderOptions recorded = recorder_options(a);
    recorded.group = group;
    if (!a.on_recording.empty()) {
        hook.emplace(a.on_recording);
        recorded.on_written = [&](const fs::path& file) { hook->run(file); };
    }
    if (!a.history.empty()) {
        GS_TRY(auto file, open_history(a.history, group));
        history.emplace(std::move(file));
        recorded.past = [&](const TraceProcess& process) { return history->past(process); };
    }
    GS_TRY(auto recorder, serve::FlightRecorder::open(std::move(recorded)));
    GS_TRY(auto collector, service::MultiCollector::start(collector_options(a)));
    GS_TRY(auto otlp, otlp_pusher(a));
    serve::Daemon daemon(daemon_options(a, token), std::move(recorder),
                         history ? &*history : nullptr, otlp.get());
    GS_TRY(auto server, serve::HttpServer::listen(a.listen, [&](const serve::HttpRequest& request) {
               return daemon.answer(request);
           }));
    fmt::print("metrics at http://{}/metrics (port {}), recordings in {}\n", a.listen,
               server.port(), a.folder);
    std::fflush(stdout);

    TraceStoreOptions options{.max_bytes = static_cast<std::size_t>(a.memory_mib) << 20};
    options.max_spans = options.max_bytes / sizeof(TraceSpan);
    TraceStore store(options);
    NodeSampler sampler(a.stacks_hz);
    run_until_stopped(a, daemon, *collector, otlp.get(), sampler, store);
    collector->finish(store);
    sampler.finish(store);
    daemon.finish(store);
    fmt::print("{} recordings written to {}\n", daemon.recordings(), a.folder);
    if (common.json)
        print_json(
            {{"command", "serve"},
             {"port", server.port()},
             {"folder", a.folder},
             {"recordings", daemon.recordings()},
             {"processes", std::ranges::count_if(store.processes(), std::not_fn(is_node_gpus))}});
    return kDone;
}

}  // namespace

Subcommand serve_command() {
    return subcommand<ServeArguments>(
        "serve",
        "monitor this machine's processes: export metrics, and record a trace when something goes "
        "wrong",
        "  gausscope serve                                      metrics "
        "at http://127.0.0.1:9465/metrics\n"
        "  gausscope serve --listen 0.0.0.0:9465 --dir "
        "/var/lib/gausscope     on a cluster's node (docs/serve.md)\n"
        "  curl -X POST -H \"Authorization: Bearer $(cat TOKENFILE)\" "
        "'http://127.0.0.1:9465/trace?last=10000'\n",
        add_options, run);
}

}  // namespace gs::cli
