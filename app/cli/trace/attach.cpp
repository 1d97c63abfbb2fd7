// `gausscope attach [PID]`: lists processes under the profiling service, attaches the studio to
// one, or records a short trace without a window; and releases or acquires CUPTI.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <thread>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/options.h"
#include "app/cli/report.h"
#include "app/cli/studio.h"
#include "app/cli/subcommand.h"
#include "app/cli/trace/recording.h"
#include "app/cli/trace/trace_export.h"
#include "app/cli/trace/unrecorded.h"
#include "base/record/clock.h"
#include "base/record/process.h"
#include "base/try.h"
#include "profiler/analysis/pulse.h"
#include "profiler/collect/trainer_link.h"

namespace gs::cli {
namespace {

struct AttachArguments {
    std::uint32_t pid = 0;  ///< 0: list who there is
    std::string output;
    double seconds = 0;  ///< headless: until stopped when 0
    std::optional<double> budget_percent;
    int memory_mib = 1024, graph_nodes_s = 0;
    double stall_after_s = 0;
    int stacks_hz = 0;  ///< 0: no call stacks
    WindowArguments window;
    bool release_cupti = false, acquire_cupti = false, insights = false;
};

void add_options(CLI::App& app, AttachArguments& a) {
    app.add_option_function<std::uint32_t>(
           "PID", [&a](const std::uint32_t& pid) { a.pid = pid; }, "the process [list processes]")
        ->check(whole_from(1));
    add_value(app, "-o,--output FILE", a.output,
              "with --headless: the trace [process-PID-DATE.pftrace]");
    add_value(app, "--seconds S", a.seconds, number_from(0, 1e9),
              "with --headless: stop after S seconds, 0 = when interrupted [0]");
    add_value(app, "--budget PERCENT", a.budget_percent, number_from(0, 100),
              "percent of its time that recording may cost, 0 = no limit");
    add_value(app, "--memory MIB", a.memory_mib, whole_from(1, 1 << 20),
              "with --headless: memory for trace data [1024]");
    app.add_flag("--insights", a.insights, "with --headless: list bottlenecks and remedies");
    add_given(app, "--graph-nodes SECONDS", a.graph_nodes_s, whole_from(1, 3600),
              "record CUDA graphs node by node for this time, at least 30; without --headless, do "
              "only that");
    add_stall_after(app, a.stall_after_s);
    add_stacks(app, a.stacks_hz);
    add_window(app, a.window);
    app.add_flag("--release-cupti", a.release_cupti,
                 "make the process release CUPTI to other tools, then exit");
    app.add_flag("--acquire-cupti", a.acquire_cupti, "make the process use CUPTI again, then exit");
}

using service::Answer;
using service::Connection;
using service::Op;
using service::Producer;
using service::TrainerLink;

constexpr const char* kHow =
    "start it with `gausscope record -- COMMAND`, or with NVTX_INJECTION64_PATH and "
    "CUDA_INJECTION64_PATH set to "
    "libgausscope_inject.so (docs/profiling.md); `gausscope attach` lists the processes";

const char* state_name(std::uint32_t cupti) {
    switch (static_cast<abi::CuptiState>(cupti)) {
        case abi::CuptiState::not_asked:
            return "not requested";
        case abi::CuptiState::recording:
            return "recording";
        case abi::CuptiState::released:
            return "released";
        case abi::CuptiState::held:
            return "held by another tool";
        case abi::CuptiState::unavailable:
            return "unavailable";
        case abi::CuptiState::paused:
            return "paused by the budget";
    }
    return "?";
}

bool is_alive(std::uint32_t pid) {
    const char state = process_stat(pid).state;
    return state != 0 && state != 'Z' && state != 'X';
}

/// Reads the rings' recent past into one store, without waiting. Also each process's reason for the
/// state of CUPTI.
std::string take_past(Connection& connection, TraceStore& store) {
    constexpr int kMostRounds = 64;  // a ring holds 16 MiB at most
    std::uint64_t written = 0;
    std::string reason;
    for (int i = 0; i < kMostRounds; ++i) {
        TraceBatch batch;
        connection.drain(batch);
        store.ingest(batch);
        if (batch.service) reason = batch.service->cupti_reason;
        if (batch.spans.empty() && batch.gpu_work.empty() && batch.written == written) break;
        written = batch.written;
    }
    return reason;
}

/// Adds how long a process has made no progress, and where. Only for a process that is recorded now
/// and is inside a range: its history alone may be from before it was recorded again.
bool add_stall(Json& rows, const TraceStore& store, std::uint32_t p, const Pulse& pulse,
               double after_s) {
    const auto stall = pulse.stall(store, p, now_ns(), {.after_s = after_s});
    if (!stall || stall->inside.empty()) return false;
    for (Json& row : rows)
        if (row["pid"] == store.processes()[p].pid) {
            row["stalled_s"] =
                std::round(static_cast<double>(now_ns() - stall->since_ns) * 1e-8) / 10;
            row["inside"] = fmt::format("{}", fmt::join(stall->inside, " > "));
        }
    return true;
}

/// Adds stuck processes to `rows`; returns notes on their jobs.
std::vector<std::string> find_stalls(Json& rows, const TraceStore& store, double after_s) {
    struct Job {
        std::vector<RankPlace> ranks;
        int world_size = 0;
        bool stuck = false;
    };
    std::map<std::string, Job> jobs;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        Pulse pulse;
        pulse.take(store, find_iterations(store, p), 0);
        const bool stuck = add_stall(rows, store, p, pulse, after_s);
        const ProcessLabels& labels = store.processes()[p].labels;
        if (labels.rank < 0) continue;
        Job& job = jobs[labels.job];
        const auto inside = pulse.inside(store, p);
        job.ranks.push_back({labels.rank, inside.empty() ? "" : inside.back()});
        job.world_size = std::max(job.world_size, labels.world_size);
        job.stuck |= stuck;
    }
    std::vector<std::string> out;
    for (auto& [name, job] : jobs)
        if (job.stuck)
            out.push_back(fmt::format("{}: {}", name.empty() ? "these ranks" : "job " + name,
                                      describe_ranks(std::move(job.ranks), job.world_size)));
    return out;
}

Json producer_json(const Connection& c) {
    const ProcessLabels& l = c.labels();
    Json out{{"pid", c.producer().pid},
             {"role", c.producer().role},
             {"name", c.card().text},
             {"leases", c.card().leases},
             {"cupti", state_name(c.card().cupti_state)},
             {"budget", number(static_cast<double>(c.card().budget_ppm) * 1e-6)}};
    if (l.rank >= 0) out["rank"] = l.rank;
    if (!l.job.empty()) out["job"] = l.job;
    if (!l.command.empty()) out["command"] = l.command;
    return out;
}

Result<int> list(double stall_after_s, const CommonArguments& common) {
    constexpr Column kColumns[] = {{"pid", "{pid}"},
                                   {"role", "{role}", true},
                                   {"process", "{name}", true},
                                   {"rank", "{rank?}"},
                                   {"readers", "{leases?}"},
                                   {"CUPTI", "{cupti?}", true},
                                   {"stuck [s]", "{stalled_s?}"},
                                   {"inside", "{inside?}", true},
                                   {"command", "{command?:short}", true}};
    Json found = Json::array();
    TraceStore past;
    GS_TRY_VOID(service::runtime_directory());
    for (const Producer& producer : service::find_producers()) {
        if (auto connection = Connection::open(producer)) {
            found.push_back(producer_json(*connection));
            const std::string reason = take_past(*connection, past);
            if (!reason.empty()) found.back()["cupti_reason"] = reason;
        } else {
            fmt::print(stderr, "{:>8}  {}{}\n", producer.pid, connection.error().text(),
                       process_stat(producer.pid).state == 'T' ? " (it is stopped: state T)" : "");
        }
    }
    for (const std::uint32_t pid : TrainerLink::list())
        if (is_alive(pid)) {
            const std::string command = Connection::labels_of(pid).command;
            found.push_back(
                {{"pid", pid}, {"role", "training"}, {"name", ""}, {"command", command}});
        }
    const auto jobs = find_stalls(found, past, stall_after_s);
    say_table(found, kColumns);
    for (const Json& process : found)
        if (process.contains("cupti_reason"))
            fmt::print("{:>8}  CUPTI: {}\n", process["pid"].get<std::uint32_t>(),
                       process["cupti_reason"].get<std::string>());
    for (const std::string& line : jobs) fmt::print("{}\n", line);
    if (found.empty()) fmt::print("no process runs under the profiling service; {}\n", kHow);
    if (common.json) print_json({{"command", "attach"}, {"processes", found}, {"stalls", jobs}});
    return kDone;
}

Result<Connection> connect(std::uint32_t pid) {
    Error last{ErrorKind::usage,
               "",
               fmt::format("process {} does not run under the profiling service", pid),
               kHow,
               {},
               {}};
    // A gausscope that is recorded itself has two rings: the one with its own stages is the one to
    // look at.
    auto producers = service::list_producers();
    std::erase_if(producers, [&](const Producer& p) { return p.pid != pid; });
    std::sort(producers.begin(), producers.end(), [](const Producer& a, const Producer& b) {
        return (a.role == "own") > (b.role == "own");
    });
    for (const Producer& producer : producers) {
        auto connection = Connection::open(producer);
        if (connection) return connection;
        last = connection.error();
    }
    if (producers.empty()) {
        Unrecorded unrecorded;
        unrecorded.look(static_cast<pid_t>(pid));
        for (const std::string& reason : unrecorded.reasons()) last.message += "; " + reason;
    }
    return tl::unexpected(last);
}

/// Asks all rings of the process; done when one of them agrees.
Result<int> ask(std::uint32_t pid, Op op, const char* done, std::uint64_t value = 0) {
    std::string why;
    for (const Producer& producer : service::list_producers()) {
        if (producer.pid != pid) continue;
        auto connection = Connection::open(producer);
        if (!connection) continue;
        const auto reply = connection->ask(op, value);
        if (reply && reply->answer == static_cast<std::uint32_t>(Answer::done)) {
            fmt::print("process {}: {}\n", pid, done);
            return kDone;
        }
        why = reply ? reply->text : reply.error().text();
    }
    return fail(ErrorKind::unreadable, "", fmt::format("process {} refused: {}", pid, why));
}

Result<int> record_headless(const AttachArguments& a, const CommonArguments& common) {
    const fs::path output =
        a.output.empty()
            ? default_trace_name({fmt::format("process-{}", a.pid)}, std::time(nullptr))
            : a.output;
    GS_TRY_VOID(check_trace_format(output));
    GS_TRY_VOID(prepare_output_file(output));
    warn_of_little_space(output, a.memory_mib);
    RecordingOptions options;
    options.memory_mib = a.memory_mib;
    options.insights = a.insights;
    options.collector.pids = {a.pid};
    options.collector.past = a.seconds <= 0;  // "ten seconds" are those from now on
    if (a.budget_percent)
        options.collector.budget_ppm = static_cast<std::uint64_t>(*a.budget_percent * 10'000 + 0.5);
    GS_TRY(auto recording, ProcessRecording::start(std::move(options)));
    if (a.stacks_hz > 0) recording->sample_process(a.pid, a.stacks_hz);
    catch_interrupts();
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(a.seconds);
    bool alive = true;
    while (!interrupted() && alive &&
           (a.seconds <= 0 || std::chrono::steady_clock::now() < until)) {
        recording->take();
        const auto& sources = recording->collector().sources();
        alive = (sources.empty() && is_alive(a.pid)) ||
                std::any_of(sources.begin(), sources.end(), [](const auto& s) { return s.alive; });
        std::this_thread::sleep_for(kLook);
    }
    recording->finish();
    const auto written = recording->write(output);
    recording->print(alive ? std::vector<std::string>()
                           : std::vector<std::string>{"the process has ended"});
    if (common.json) {
        Json json{{"command", "attach"}, {"pid", a.pid}};
        json.update(recording->json());
        print_json(json);
    }
    GS_TRY_VOID(written);
    return kDone;
}

Result<int> run(const AttachArguments& a, const CommonArguments& common) {
    if (a.pid == 0 && (a.release_cupti || a.acquire_cupti || a.graph_nodes_s > 0))
        return fail(ErrorKind::usage, "", "--release-cupti and --acquire-cupti need a PID",
                    "`gausscope attach` lists the processes");
    if (a.pid == 0) return list(a.stall_after_s, common);
    auto connection = connect(a.pid);
    // Call stacks need nothing inside the process, and a training need not be recorded.
    const bool trains = TrainerLink::exists(a.pid) && is_alive(a.pid) &&
                        (!common.headless || !a.window.script.empty());
    if (!connection && a.stacks_hz == 0 && !trains) return tl::unexpected(connection.error());
    if (!connection && process_stat(a.pid).state == 0) return tl::unexpected(connection.error());
    if (a.release_cupti)
        return ask(a.pid, Op::release_cupti, "CUPTI was released; another tool can use it");
    if (a.acquire_cupti) return ask(a.pid, Op::acquire_cupti, "CUPTI is in use by gausscope again");
    if (a.graph_nodes_s > 0) {
        GS_TRY(const int asked,
               ask(a.pid, Op::graph_nodes, "CUDA graphs will be recorded node by node, within 30 s",
                   static_cast<std::uint64_t>(a.graph_nodes_s)));
        if (!common.headless) return asked;
    }
    if (common.headless && a.window.script.empty()) return record_headless(a, common);
    if (a.budget_percent && connection)
        GS_TRY_VOID(connection->ask(Op::set_budget,
                                    static_cast<std::uint64_t>(*a.budget_percent * 10'000 + 0.5)));
    ViewArguments view{.attach = {a.pid}, .stacks_hz = a.stacks_hz, .window = a.window};
    return open_studio(view, common);
}

}  // namespace

Subcommand attach_command() {
    return subcommand<AttachArguments>(
        "attach", "attach to a training, or to a process under the profiling service",
        "  gausscope attach                                       list the processes\n"
        "  gausscope attach 1234                                  attach the studio\n"
        "  gausscope attach 1234 --stacks                         with call stacks\n"
        "  gausscope attach 1234 --headless --seconds 10 -o t.pftrace\n"
        "  gausscope attach 1234 --release-cupti                  free CUPTI for other tools\n",
        add_options, run);
}

}  // namespace gs::cli
