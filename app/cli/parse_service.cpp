// The grammar of the profiling service's subcommands.
#include "app/cli/parse_parts.h"

namespace gs::cli {
namespace {

void add_trace(CLI::App& root, Arguments& a) {
    CLI::App& trace = add_command(
        root, a, "trace", "what is in a trace, and the same trace in another format",
        "  gausscope trace run.pftrace\n"
        "  gausscope trace torch_trace.json.gz --export run.pftrace\n"
        "  gausscope trace run.pftrace --export run.folded      for flame graphs\n"
        "  gausscope trace run.pftrace --insights               what costs time, what would help\n"
        "  gausscope trace before.pftrace after.pftrace --compare\n"
        "  gausscope trace rank0.pftrace rank1.pftrace -o all.pftrace   several ranks on one "
        "clock\n");
    trace.add_option("FILE", a.trace.file, "Perfetto trace or Chrome JSON, gzipped or not")
        ->required();
    CLI::Option* other = trace.add_option(
        "OTHERS", a.trace.others,
        "more files of the same job, aligned by the wall clock; with --compare: the "
        "trace that FILE is compared with");
    trace
        .add_flag("--compare", a.trace.compare,
                  "stages of FILE and OTHER side by side, with what differs")
        ->needs(other);
    trace.add_flag("--insights", a.trace.insights,
                   "what costs time, and what would make it faster");
    trace
        .add_option("--baseline", a.trace.baseline,
                    "with --insights: an earlier trace, to find what got slower")
        ->option_text("FILE");
    trace
        .add_option("-o,--export", a.trace.output,
                    "write it here too; the end chooses: .pftrace, .json (Chrome), "
                    ".speedscope.json, .folded, .csv "
                    "(stage table)")
        ->option_text("OUT");
    trace
        .add_option("--stage-map", a.trace.stage_map,
                    "lines \"pattern = stage\" that name the stage of kernels, asked before the "
                    "built-in table")
        ->option_text("FILE");
    add_common(trace, a.common);
}

void add_serve(CLI::App& root, Arguments& a) {
    ServeArguments& s = a.serve;
    CLI::App& serve = add_command(root, a, "serve",
                                  "watch this machine's processes all the time: metrics, and a "
                                  "trace when something goes wrong",
                                  "  gausscope serve                                      metrics "
                                  "at http://127.0.0.1:9465/metrics\n"
                                  "  gausscope serve --listen 0.0.0.0:9465 --dir "
                                  "/var/lib/gausscope     on a cluster's node (docs/serve.md)\n"
                                  "  curl -X POST -H \"Authorization: Bearer $(cat TOKENFILE)\" "
                                  "'http://127.0.0.1:9465/trace?last=10000'\n");
    serve
        .add_option("--listen", s.listen, "address and port of the HTTP interface [127.0.0.1:9465]")
        ->option_text("HOST:PORT");
    serve.add_option("--dir", s.folder, "where recordings go [gausscope-recordings]")
        ->option_text("DIR");
    serve
        .add_option("--max-disk", s.max_disk_mib,
                    "recordings may use this much; the oldest go first [1024]")
        ->check(CLI::Range(1, 1 << 24))
        ->option_text("MIB");
    serve.add_option("--memory", s.memory_mib, "memory for the recent past of all processes [256]")
        ->check(CLI::Range(1, 1 << 20))
        ->option_text("MIB");
    serve
        .add_option("--before", s.before_s, "seconds before a trigger that a recording holds [20]")
        ->check(CLI::Range(0.1, 600.0))
        ->option_text("S");
    serve.add_option("--after", s.after_s, "seconds after it [2]")
        ->check(CLI::Range(0.0, 60.0))
        ->option_text("S");
    serve
        .add_option("--cooldown", s.cooldown_s,
                    "least seconds between two recordings of one kind [60]")
        ->check(CLI::Range(0.0, 86400.0))
        ->option_text("S");
    serve
        .add_option("--slow-step", s.step_factor,
                    "a step this many times the median triggers, 0 = never [3]")
        ->check(CLI::Range(0.0, 1000.0))
        ->option_text("X");
    serve.add_flag("--no-rules", s.no_rules,
                   "do not record when a rule of the insights fires for the first time");
    serve
        .add_option("--token-file", s.token_file,
                    "file with the token that requests for recordings need; none: one is made and "
                    "its place said")
        ->option_text("FILE");
    serve
        .add_option("--budget", s.budget_percent,
                    "share of a process's time that recording may cost [1]")
        ->check(CLI::Range(0.0, 100.0))
        ->option_text("PERCENT");
    serve.add_option("--seconds", s.seconds, "end after this time, 0 = when stopped [0]")
        ->check(CLI::Range(0.0, 1e9))
        ->option_text("S");
    add_common(serve, a.common);
}

void add_record(CLI::App& root, Arguments& a) {
    RecordArguments& r = a.record;
    CLI::App& record = add_command(
        root, a, "record",
        "run a program that uses NVTX or CUDA (record [OPTIONS] -- COMMAND...) and write what it "
        "did as a trace",
        "  gausscope record -- python train.py --config c.yaml\n"
        "  gausscope record -o run.pftrace --insights -- torchrun --nproc-per-node 4 train.py\n"
        "  gausscope record --budget 1 -- ./trainer         recording takes 1 % of its time at "
        "most\n"
        "The exit code is the command's. Its processes need no change; those they start are "
        "recorded, too.\n");
    record.add_option("-o,--output", r.output, "the trace [NAME-DATE.pftrace]")
        ->option_text("FILE");
    record.add_flag("--insights", r.insights, "and say what costs time and what would help");
    record
        .add_option("--budget", r.budget_percent,
                    "share of a process's time that recording may cost, 0 = no limit [0]")
        ->check(CLI::Range(0.0, 100.0))
        ->option_text("PERCENT");
    record
        .add_option("--memory", r.memory_mib,
                    "memory for the measurements; then the oldest go [1024]")
        ->check(CLI::Range(1, 1 << 20))
        ->option_text("MIB");
    record.add_option("--chain", r.chain, "another NVTX tool's library, which gets all calls too")
        ->option_text("LIBRARY");
    record.add_flag("--no-cupti", r.no_cupti,
                    "no kernels and CUDA calls: leave CUPTI to the program");
    add_common(record, a.common);
}

void add_attach(CLI::App& root, Arguments& a) {
    AttachArguments& t = a.attach;
    CLI::App& attach = add_command(
        root, a, "attach", "look into a process under the profiling service while it runs",
        "  gausscope attach                                       who can be attached to\n"
        "  gausscope attach 1234                                  the studio on it\n"
        "  gausscope attach 1234 --headless --seconds 10 -o t.pftrace\n"
        "  gausscope attach 1234 --release-cupti                  let torch.profiler or nsys have "
        "it\n");
    attach.add_option("PID", t.pid, "the process; none: list them")->check(CLI::PositiveNumber);
    attach
        .add_option("-o,--output", t.output,
                    "with --headless: the trace [process-PID-DATE.pftrace]")
        ->option_text("FILE");
    attach
        .add_option("--seconds", t.seconds,
                    "with --headless: end after this time, 0 = when stopped [0]")
        ->check(CLI::Range(0.0, 1e9))
        ->option_text("S");
    attach
        .add_option("--budget", t.budget_percent,
                    "share of its time that recording may cost, 0 = no limit")
        ->check(CLI::Range(0.0, 100.0))
        ->option_text("PERCENT");
    attach
        .add_option("--memory", t.memory_mib, "with --headless: memory for the measurements [1024]")
        ->check(CLI::Range(1, 1 << 20))
        ->option_text("MIB");
    attach.add_flag("--insights", t.insights,
                    "with --headless: say what costs time and what would help");
    attach.add_flag("--release-cupti", t.release_cupti, "make it give CUPTI back, and stop");
    attach.add_flag("--acquire-cupti", t.acquire_cupti, "make it take CUPTI again, and stop");
    add_common(attach, a.common);
}

}  // namespace

void add_service(CLI::App& root, Arguments& a) {
    add_trace(root, a);
    add_serve(root, a);
    add_record(root, a);
    add_attach(root, a);
}

}  // namespace gs::cli
