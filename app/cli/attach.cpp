// `gausscope attach [PID]`: who is under the profiling service; the studio on one of them; without
// a window, a trace of some seconds; and giving CUPTI back or taking it.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "app/cli/recording.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;
using service::Answer;
using service::Connection;
using service::Op;
using service::Producer;

constexpr auto kLook = std::chrono::milliseconds(10);
constexpr const char* kHow =
    "start it with `gausscope record -- COMMAND`, or with NVTX_INJECTION64_PATH and "
    "CUDA_INJECTION64_PATH set to "
    "libgausscope_inject.so (docs/profiling.md); `gausscope attach` lists who can be attached to";

const char* state_name(std::uint32_t cupti) {
    switch (static_cast<abi::CuptiState>(cupti)) {
        case abi::CuptiState::not_asked:
            return "not asked";
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

void print_producer(const Connection& c) {
    const ProcessLabels& l = c.labels();
    std::string command = l.command.size() > 60 ? l.command.substr(0, 57) + "..." : l.command;
    fmt::print("{:>8}  {:<5} {:<16} {:>4}  {:>6}  {:<20} {}\n", c.producer().pid, c.producer().role,
               c.card().text, l.rank >= 0 ? std::to_string(l.rank) : "", c.card().leases,
               state_name(c.card().cupti_state), command);
}

int list(bool json) {
    Json found = Json::array();
    bool any = false;
    if (const auto folder = service::runtime_directory(); !folder) return report(folder.error());
    for (const Producer& producer : service::find_producers()) {
        const auto connection = Connection::open(producer);
        if (!connection) {
            fmt::print(stderr, "{:>8}  {}\n", producer.pid, connection.error().text());
            continue;
        }
        if (!any)
            fmt::print("{:>8}  {:<5} {:<16} {:>4}  {:>6}  {:<20} {}\n", "pid", "role", "process",
                       "rank", "readers", "CUPTI", "command");
        any = true;
        print_producer(*connection);
        found.push_back(producer_json(*connection));
    }
    if (!any) fmt::print("no process is under the profiling service; {}\n", kHow);
    if (json) print_json({{"command", "attach"}, {"processes", found}});
    return kDone;
}

Result<Connection> connect(std::uint32_t pid) {
    Error last{ErrorKind::usage,
               "",
               fmt::format("process {} is not under the profiling service", pid),
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
    return tl::unexpected(last);
}

/// Asks all rings of the process; done when one of them agrees.
int ask(std::uint32_t pid, Op op, const char* done) {
    std::string why;
    for (const Producer& producer : service::list_producers()) {
        if (producer.pid != pid) continue;
        auto connection = Connection::open(producer);
        if (!connection) continue;
        const auto reply = connection->ask(op);
        if (reply && reply->answer == static_cast<std::uint32_t>(Answer::done)) {
            fmt::print("process {}: {}\n", pid, done);
            return kDone;
        }
        why = reply ? reply->text : reply.error().text();
    }
    return report(
        {ErrorKind::unreadable, "", fmt::format("process {} says no: {}", pid, why), "", {}, {}});
}

int record_headless(const Arguments& arguments) {
    const AttachArguments& a = arguments.attach;
    const fs::path output =
        a.output.empty()
            ? default_trace_name({fmt::format("process-{}", a.pid)}, std::time(nullptr))
            : a.output;
    if (const auto ready = prepare_output_file(output); !ready) return report(ready.error());
    RecordingOptions options;
    options.memory_mib = a.memory_mib;
    options.insights = a.insights;
    options.collector.pids = {a.pid};
    options.collector.past = a.seconds <= 0;  // "ten seconds" are those from now on
    if (a.budget_percent)
        options.collector.budget_ppm = static_cast<std::uint64_t>(*a.budget_percent * 10'000 + 0.5);
    auto recording = ProcessRecording::start(std::move(options));
    if (!recording) return report(recording.error());
    catch_interrupts();
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(a.seconds);
    bool alive = true;
    while (!interrupted() && alive &&
           (a.seconds <= 0 || std::chrono::steady_clock::now() < until)) {
        (*recording)->take();
        const auto& sources = (*recording)->collector().sources();
        alive = sources.empty() ||
                std::any_of(sources.begin(), sources.end(), [](const auto& s) { return s.alive; });
        std::this_thread::sleep_for(kLook);
    }
    (*recording)->finish();
    const auto written = (*recording)->write(output);
    (*recording)
        ->print(alive ? std::vector<std::string>()
                      : std::vector<std::string>{"the process has ended"});
    if (arguments.common.json) {
        Json json{{"command", "attach"}, {"pid", a.pid}};
        json.update((*recording)->json());
        print_json(json);
    }
    return written ? kDone : report(written.error());
}

}  // namespace

int run_attach(const Arguments& arguments) {
    const AttachArguments& a = arguments.attach;
    if (a.pid == 0) return list(arguments.common.json);
    auto connection = connect(a.pid);
    if (!connection) return report(connection.error());
    if (a.release_cupti) return ask(a.pid, Op::release_cupti, "CUPTI is free for another tool");
    if (a.acquire_cupti) return ask(a.pid, Op::acquire_cupti, "CUPTI is taken again");
    if (arguments.common.headless) return record_headless(arguments);
    if (a.budget_percent)
        if (const auto set = connection->ask(
                Op::set_budget, static_cast<std::uint64_t>(*a.budget_percent * 10'000 + 0.5));
            !set)
            return report(set.error());
    Arguments view = arguments;
    view.view.attach = {a.pid};
    return run_view(view);
}

}  // namespace gs::cli
