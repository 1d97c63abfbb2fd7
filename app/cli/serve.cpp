// `gausscope serve`: the per-node daemon. Attaches to every process under the profiling service,
// feeds one store, and lets serve::Daemon answer for it over HTTP.
#include <fmt/core.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "app/cli/commands.h"
#include "app/cli/common.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/record/clock.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/serve/daemon.h"

namespace gs::cli {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

serve::DaemonFigures figures_of(const TraceStore& store, service::MultiCollector& collector,
                                double start_time_s) {
    serve::DaemonFigures figures;
    figures.collector_cpu_s = static_cast<double>(store.collector_cpu_ns()) * 1e-9;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    figures.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    figures.resident_bytes = static_cast<double>(resident_bytes());
    figures.start_time_s = start_time_s;
    figures.store_bytes = store.bytes();
    for (const service::SourceState& source : collector.sources())
        figures.producers += source.alive ? 1 : 0;
    return figures;
}

std::string new_token() {
    std::random_device random;
    std::string token;
    for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
    return token;
}

/// The token of the user's file; without one a new token, written where only the user can read it.
Result<std::string> token_of(const std::string& file) {
    if (!file.empty()) {
        auto text = read_text_file(file, 4096);
        if (!text) return tl::unexpected(text.error());
        while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0)
            text->pop_back();
        if (text->empty())
            return fail(ErrorKind::usage, file, "the token file is empty",
                        "put any secret text into it");
        return *text;
    }
    const auto folder = service::runtime_directory();
    if (!folder) return tl::unexpected(folder.error());
    const fs::path path = *folder / "serve.token";
    std::string token = new_token();
    if (const auto written = write_text_file(path, token + "\n"); !written)
        return tl::unexpected(written.error());
    std::error_code error;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
    log_info("requests for recordings need the token in {}", path.string());
    return token;
}

serve::RecorderOptions recorder_options(const ServeArguments& a) {
    serve::RecorderOptions options;
    options.folder = a.folder;
    options.max_bytes = static_cast<std::uint64_t>(a.max_disk_mib) << 20;
    options.before_s = a.before_s;
    options.after_s = a.after_s;
    options.cooldown_s = a.cooldown_s;
    return options;
}

service::MultiCollectorOptions collector_options(const ServeArguments& a) {
    service::MultiCollectorOptions options;
    options.budget_ppm = static_cast<std::uint64_t>(a.budget_percent * 1e4);
    // Metrics look once a second: there is no hurry, and every look costs.
    options.interval = std::chrono::milliseconds(10);
    options.idle_interval = std::chrono::milliseconds(50);
    return options;
}

void run_until_stopped(const ServeArguments& a, serve::Daemon& daemon,
                       service::MultiCollector& collector, TraceStore& store) {
    const auto begin = static_cast<std::int64_t>(monotonic_ns());
    const double start_time_s = static_cast<double>(clock_ns(CLOCK_REALTIME)) * 1e-9;
    while (!interrupted()) {
        collector.drain_into(store);
        const auto now = static_cast<std::int64_t>(monotonic_ns());
        daemon.tick(store, now, figures_of(store, collector, start_time_s));
        if (a.seconds > 0 && static_cast<double>(now - begin) * 1e-9 >= a.seconds) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

}  // namespace

int run_serve(const Arguments& arguments) {
    const ServeArguments& a = arguments.serve;
    catch_interrupts();
    auto token = token_of(a.token_file);
    if (!token) return report(token.error());
    auto recorder = serve::FlightRecorder::open(recorder_options(a));
    if (!recorder) return report(recorder.error());
    auto collector = service::MultiCollector::start(collector_options(a));
    if (!collector) return report(collector.error());
    serve::Daemon daemon(
        {.triggers = {.step_factor = a.step_factor, .rules = !a.no_rules}, .token = *token},
        std::move(*recorder));
    auto server = serve::HttpServer::listen(
        a.listen, [&](const serve::HttpRequest& request) { return daemon.answer(request); });
    if (!server) return report(server.error());
    fmt::print("metrics at http://{}/metrics (port {}), recordings in {}\n", a.listen,
               server->port(), a.folder);
    std::fflush(stdout);

    TraceStoreOptions options;
    options.max_spans = (static_cast<std::size_t>(a.memory_mib) << 20) / kBytesPerSpan;
    TraceStore store(options);
    run_until_stopped(a, daemon, **collector, store);
    (*collector)->finish(store);
    daemon.finish(store);
    fmt::print("{} recordings written to {}\n", daemon.recordings(), a.folder);
    if (arguments.common.json)
        print_json({{"command", "serve"},
                    {"port", server->port()},
                    {"folder", a.folder},
                    {"recordings", daemon.recordings()},
                    {"processes", store.processes().size()}});
    return kDone;
}

}  // namespace gs::cli
