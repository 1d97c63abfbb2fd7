// `gausscope record -- COMMAND…`: runs a program that uses NVTX or CUDA under the profiling service
// and writes one trace of it and its child processes.
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/subcommand.h"
#include "app/cli/trace/recording.h"
#include "app/cli/trace/trace_export.h"
#include "app/cli/trace/unrecorded.h"
#include "base/record/protocol.h"
#include "base/spill.h"
#include "base/try.h"

extern char** environ;

namespace gs::cli {
namespace {

struct RecordArguments {
    std::string output;         ///< empty: named after the command
    std::string chain;          ///< another NVTX tool that also receives the calls
    std::string spill;          ///< folder for trace data that does not fit in memory
    double budget_percent = 0;  ///< 0: none
    int memory_mib = 1024, graph_nodes_s = 0;
    bool insights = false, no_cupti = false, pytorch = false;
    int pytorch_levels = 4;  ///< of nested modules
    int stacks_hz = 0;       ///< 0: no call stacks
};

void add_options(CLI::App& app, RecordArguments& a) {
    add_value(app, "-o,--output FILE", a.output,
              "the trace [NAME-DATE.pftrace]; other endings as with `trace --export`");
    app.add_flag("--insights", a.insights, "also list bottlenecks and remedies");
    add_value(app, "--budget PERCENT", a.budget_percent, number_from(0, 100),
              "percent of a process's time that recording may cost, 0 = no limit [0]");
    add_value(app, "--memory MIB", a.memory_mib, whole_from(1, 1 << 20),
              "memory for trace data; when full, the oldest is dropped [1024]");
    add_spill(app, a.spill);
    add_value(app, "--chain LIBRARY", a.chain,
              "library of another NVTX tool that also receives all calls");
    add_value(app, "--graph-nodes SECONDS", a.graph_nodes_s, whole_from(0, 3600),
              "record CUDA graphs node by node for this time, at least 30; costs far more "
              "than whole graphs [0]");
    add_stacks(app, a.stacks_hz);
    app.add_flag("--pytorch", a.pytorch,
                 "add ranges for PyTorch's modules, backward pass, optimizer, data loader and "
                 "collectives; no change of the script");
    add_value(app, "--pytorch-levels N", a.pytorch_levels, whole_from(1, 32),
              "depth of nested modules that get ranges [4]");
    app.add_flag("--no-cupti", a.no_cupti,
                 "leave CUPTI to the program; record no kernels or CUDA calls");
}

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// ---- the command's environment ----

/// A copy of this process's environment with changes.
class Environment {
  public:
    Environment() {
        for (char** entry = environ; *entry != nullptr; ++entry) entries_.emplace_back(*entry);
    }
    std::string get(const std::string& name) const {
        for (const std::string& entry : entries_)
            if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
        return "";
    }
    void set(const std::string& name, const std::string& value) {
        std::erase_if(entries_,
                      [&](const std::string& entry) { return entry.starts_with(name + "="); });
        entries_.push_back(name + "=" + value);
    }
    std::vector<char*> pointers() {
        std::vector<char*> out;
        for (std::string& entry : entries_) out.push_back(entry.data());
        out.push_back(nullptr);
        return out;
    }

  private:
    std::vector<std::string> entries_;
};

/// Python imports the sitecustomize of the first folder on its path when it starts.
void put_on_path(Environment& environment, const fs::path& folder, int levels) {
    const std::string before = environment.get("PYTHONPATH");
    environment.set("PYTHONPATH", folder.string() + (before.empty() ? "" : ":" + before));
    environment.set("GAUSSCOPE_PYTORCH_LEVELS", std::to_string(levels));
}

Environment environment_for(const RecordArguments& a, const fs::path& library,
                            const fs::path& collector) {
    Environment out;
    const std::string other = out.get("NVTX_INJECTION64_PATH");
    out.set("NVTX_INJECTION64_PATH", library.string());
    out.set("CUDA_INJECTION64_PATH", library.string());
    out.set(service::kArmVariable, "1");
    out.set(service::kCollectorVariable, collector.string());
    if (const auto folder = service::runtime_directory())
        out.set(service::kDirectoryVariable, folder->string());
    if (a.graph_nodes_s > 0) out.set("GAUSSCOPE_CUPTI_GRAPHS", std::to_string(a.graph_nodes_s));
    if (a.no_cupti) out.set("GAUSSCOPE_CUPTI", "0");
    if (!a.chain.empty())
        out.set("GAUSSCOPE_CHAIN_NVTX", a.chain);
    else if (!other.empty() && other != library)
        out.set("GAUSSCOPE_CHAIN_NVTX", other);
    return out;
}

// ---- the command ----

volatile sig_atomic_t child_pid = 0;

// The terminal signals the command as well: passing the signal on would double it.
void pass_on(int signal, siginfo_t* info, void*) {
    if (child_pid > 0 && info->si_code != SI_KERNEL) ::kill(static_cast<pid_t>(child_pid), signal);
}

void forward_signals() {
    for (const int signal : kForwarded) {
        struct sigaction before {};
        ::sigaction(signal, nullptr, &before);
        if (before.sa_handler == SIG_IGN) continue;  // nohup
        struct sigaction action {};
        action.sa_sigaction = pass_on;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigaction(signal, &action, nullptr);
    }
}

Result<pid_t> start_command(const std::vector<std::string>& command, Environment environment) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = -1;
    const int error = ::posix_spawnp(&pid, words[0].c_str(), nullptr, nullptr, arguments.data(),
                                     environment.pointers().data());
    if (error != 0)
        return fail(ErrorKind::usage, words[0],
                    fmt::format("cannot run the command: {}", std::strerror(error)),
                    error == ENOENT ? "check its name or give its path" : "");
    return pid;
}

/// Returns the exit code that a shell would report.
int exit_code_of(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int wait_for(pid_t pid, ProcessRecording& recording, Unrecorded& unrecorded) {
    const auto has_ended = [&] {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
               info.si_pid != 0;
    };
    for (bool ended = false; !ended;) {
        ended = has_ended();
        recording.take();
        if (!recording.found_any()) unrecorded.look(pid);
        if (!ended) std::this_thread::sleep_for(kLook);
    }
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, 0);
    child_pid = 0;
    return ended == pid ? exit_code_of(status) : kFailed;
}

bool has_domain(const TraceStore& store, std::string_view domain) {
    for (std::uint32_t name = 0; name < store.names().size(); ++name)
        if (store.names().domain(name) == domain) return true;
    return false;
}

std::vector<std::string> notes_on(ProcessRecording& recording, int exit_code, bool pytorch,
                                  const Unrecorded& unrecorded) {
    std::vector<std::string> notes;
    if (exit_code != 0)
        notes.push_back(fmt::format("the command ended with exit code {}", exit_code));
    if (pytorch && !has_domain(recording.store(), "PyTorch"))
        notes.push_back(
            "no PyTorch ranges: no Python process imported and used torch, or it was started with "
            "-I, -E or -S, or without PYTHONPATH");
    std::vector<std::string> why = unrecorded.reasons();
    const auto& sources = recording.collector().sources();
    const bool excused = std::any_of(sources.begin(), sources.end(),
                                     [](const auto& source) { return !source.read; });
    if (!recording.found_any() && why.empty() && !excused)
        notes.push_back(
            "nothing was recorded: no process used NVTX or CUDA. A program uses NVTX when it was "
            "built with its headers (torch.cuda.nvtx, the nvtx package, gsplat) and calls it at "
            "least once; CUDA when it starts the driver. Set-uid programs, statically linked ones, "
            "and those that clear their environment, cannot be reached");
    if (!recording.found_any()) std::move(why.begin(), why.end(), std::back_inserter(notes));
    std::size_t alive = 0;
    for (const service::SourceState& source : sources) alive += source.alive ? 1 : 0;
    if (alive > 0)
        notes.push_back(fmt::format(
            "{} process{} of the command still run{}; the recording ended with the command", alive,
            alive == 1 ? "" : "es", alive == 1 ? "s" : ""));
    return notes;
}

Result<int> run(const RecordArguments& a, const CommonArguments& common) {
    if (common.command.empty())
        return fail(ErrorKind::usage, "", "no command to record",
                    "gausscope record [OPTIONS] -- COMMAND...");
    GS_TRY(const fs::path library, injection_library());
    const fs::path output =
        a.output.empty() ? default_trace_name(common.command, std::time(nullptr)) : a.output;
    GS_TRY_VOID(check_trace_format(output));
    GS_TRY_VOID(prepare_output_file(output));
    warn_of_little_space(output, a.memory_mib);
    if (!a.spill.empty()) GS_TRY_VOID(spill_to(a.spill));
    RecordingOptions options;
    options.memory_mib = a.memory_mib;
    options.insights = a.insights;
    options.collector.discover = false;
    options.collector.accept = true;
    if (a.budget_percent > 0)
        options.collector.budget_ppm = static_cast<std::uint64_t>(a.budget_percent * 10'000 + 0.5);
    GS_TRY(auto recording, ProcessRecording::start(std::move(options)));

    Environment environment = environment_for(a, library, recording->collector().collector_path());
    if (a.pytorch) {
        GS_TRY(const fs::path folder, pytorch_folder());
        put_on_path(environment, folder, a.pytorch_levels);
    }
    forward_signals();
    if (a.stacks_hz > 0) recording->sample_next_program(a.stacks_hz);
    Unrecorded unrecorded(common.command[0]);
    GS_TRY(const pid_t pid, start_command(common.command, std::move(environment)));
    service::raise_file_limit();  // ours, not the command's: every process and library takes one
    child_pid = pid;
    const int exit_code = wait_for(pid, *recording, unrecorded);
    recording->finish();
    const bool any = recording->found_any();
    const auto written = any ? recording->write(output) : Result<void>();
    recording->print(notes_on(*recording, exit_code, a.pytorch, unrecorded));
    if (common.json) {
        nlohmann::ordered_json json{
            {"command", "record"}, {"ran", common.command}, {"exit_code", exit_code}};
        json.update(recording->json());
        print_json(json);
    }
    if (!written) {
        report(written.error());
        return kFailed;  // the command has run
    }
    return exit_code;
}

}  // namespace

Subcommand record_command() {
    return subcommand<RecordArguments>(
        "record",
        "run a program that uses NVTX or CUDA and record a trace (record [OPTIONS] -- COMMAND...)",
        "  gausscope record -- python train.py --config c.yaml\n"
        "  gausscope record -o run.pftrace --insights -- torchrun --nproc-per-node 4 train.py\n"
        "  gausscope record --stacks -- python train.py     and the C++ and Python functions\n"
        "  gausscope record --pytorch -- python train.py    modules, backward pass, optimizer, "
        "...\n"
        "  gausscope record --budget 1 -- ./trainer         recording takes 1 % of its time at "
        "most\n"
        "The exit code is the command's. Its processes need no change; their child processes are "
        "recorded as well.\n",
        add_options, run);
}

}  // namespace gs::cli
