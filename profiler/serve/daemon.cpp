#include "profiler/serve/daemon.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/record/clock.h"
#include "profiler/files/export_stacks.h"
#include "profiler/serve/otlp_profiles.h"
#include "profiler/store/node_gpus.h"

namespace gs::serve {
namespace {

using Json = nlohmann::ordered_json;

HttpAnswer json_answer(int status, const Json& object) {
    return {status, "application/json", json_text(object) + "\n", {}};
}
HttpAnswer error_answer(int status, const std::string& text) {
    return json_answer(status, {{"error", text}});
}

/// How long a stretch was asked for, and how much of it was still there to be written.
void add_lengths(Json& entry, const fs::path& report_file) {
    const auto text = read_text_file(report_file);
    const Json report = text ? json_or_discarded<Json>(*text) : Json();
    for (const char* key : {"asked_s", "written_s"})
        if (report.is_object() && report.contains(key)) entry[key] = report[key];
}

/// Takes the same time whichever byte differs.
bool same_secret(const std::string& a, const std::string& b) {
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^
                      static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
    return difference == 0;
}

constexpr const char* kHelp =
    "gausscope serve\nGET  /metrics              OpenMetrics, for Prometheus\nGET  /healthz        "
    "      200 while the daemon works\nPOST /trace?ms=5000        record from now on   "
    "(Authorization: Bearer TOKEN)\nPOST /trace?ms=5000&at=/10s   beginning at the next multiple "
    "of 10 s, on every node at once\nPOST /trace?last=20000     save the past 20 s\nGET  /traces   "
    "            the recordings       (Authorization: Bearer TOKEN)\nGET  /traces/NAME          "
    "one of them, for ui.perfetto.dev or gausscope view\nGET  /debug/pprof/profile?seconds=10   "
    "call stacks of the past, with --stacks (Authorization: Bearer TOKEN)\n";

}  // namespace

Daemon::Daemon(DaemonOptions options, FlightRecorder recorder, HistoryWriter* history,
               OtlpPusher* otlp)
    : options_(std::move(options)),
      recorder_(std::move(recorder)),
      folder_(recorder_.options().folder),
      triggers_(options_.triggers),
      stalls_(options_.stalls),
      history_(history),
      otlp_(otlp) {
    ticked_ns_ = now_ns();
}

void Daemon::tick(const TraceStore& store, std::int64_t now_ns, const DaemonFigures& figures) {
    ticked_ns_ = now_ns;
    serve_requests(store, now_ns);
    if (!is_due(now_ns)) return;
    next_ns_ = now_ns + kIntervalNs;
    const std::vector<News> news = watch_.look(store, now_ns);
    act_on(store, triggers_.look(store, news, now_ns));
    act_on(store, stalls_.look(store, news, now_ns));
    if (history_ != nullptr)
        history_->take(store, news,
                       static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME) / 1'000'000'000));
    if (const auto written = recorder_.write_due(store, now_ns)) note_written({*written});
    constexpr std::int64_t kLateNs = 1'000'000'000;  // samples wait to be unwound
    const bool pushes = otlp_ != nullptr && otlp_->wants();
    std::string profiles = pushes ? profiles_until(store, now_ns - kLateNs) : std::string();
    const std::lock_guard lock(mutex_);
    metrics_.update(store, news, now_ns);
    metrics_.set_stalled(stalls_.stalled());
    figures_ = figures;
    text_.clear();
    if (pushes) otlp_->offer(metrics_.tell(figures_), std::move(profiles));
}

std::string Daemon::profiles_until(const TraceStore& store, std::int64_t until_ns) {
    const std::int64_t since_ns = std::exchange(profiled_ns_, until_ns);
    return since_ns == 0 ? std::string()
                         : otlp_profiles(store, {since_ns + 1, until_ns}, otlp_->resource());
}

void Daemon::act_on(const TraceStore& store, const std::vector<Trigger>& triggers) {
    for (const Trigger& trigger : triggers) {
        log(trigger);
        const TraceProcess& process = store.processes()[trigger.process];
        const ProcessLabels& labels = process.labels;
        recorder_.ask(trigger.kind,
                      labels.job.empty() ? process.name : labels.name_space + "/" + labels.job,
                      trigger.reason, trigger.time_ns, trigger.since_ns);
    }
}

void Daemon::log(const Trigger& trigger) {
    constexpr std::int64_t kMinuteNs = 60'000'000'000;
    constexpr std::uint64_t kLines = 10;
    if (trigger.kind != "slow-step") return log_info("{}: {}", trigger.kind, trigger.reason);
    if (next_ns_ > slow_steps_.until_ns) {
        if (slow_steps_.count > kLines)
            log_info("slow-step: {} more in a minute", slow_steps_.count - kLines);
        slow_steps_ = {next_ns_ + kMinuteNs, 0};
    }
    if (slow_steps_.count++ < kLines) log_info("{}: {}", trigger.kind, trigger.reason);
}

void Daemon::finish(const TraceStore& store) {
    note_written(recorder_.write_all(store));
    if (history_ != nullptr) history_->finish();
    if (otlp_ == nullptr) return;
    std::string profiles = profiles_until(store, now_ns());
    const std::lock_guard lock(mutex_);
    otlp_->offer(metrics_.tell(figures_), std::move(profiles));
}

void Daemon::note_written(const std::vector<Recording>& written) {
    const std::lock_guard lock(mutex_);
    for (const Recording& recording : written) metrics_.count_recording(recording.kind);
    recordings_ += written.size();
}

void Daemon::serve_requests(const TraceStore& store, std::int64_t now_ns) {
    while (const auto asked = asked_.try_take()) (**asked)(store, now_ns);
}

HttpAnswer Daemon::in_tick(Work work) {
    auto asked = std::make_shared<Work>(std::move(work));
    auto reply = asked->get_future();
    if (!asked_.try_put(asked)) return error_answer(429, "too many requests are waiting");
    // Every other request waits with this one: a tick takes tenths of a second, else it is stuck.
    constexpr std::chrono::seconds kPatience{2};
    if (reply.wait_for(kPatience) != std::future_status::ready)
        return error_answer(503, "the daemon is busy; a recording may still be made");
    return reply.get();
}

bool Daemon::allowed(const HttpRequest& request) const {
    return !options_.token.empty() && same_secret(options_.token, request.bearer_token);
}

std::string Daemon::metrics_text() {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = metrics_.tell(figures_).open_metrics();
    return text_;
}

HttpAnswer Daemon::answer(const HttpRequest& request) {
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (request.path == "/metrics" && reads) return {200, kOpenMetricsType, metrics_text(), {}};
    if (request.path == "/" && reads) return {200, "text/plain; charset=utf-8", kHelp, {}};
    if (request.path == "/healthz" && reads) {
        const bool works = now_ns() - ticked_ns_ < kSilenceNs;
        return {works ? 200 : 503,
                "text/plain; charset=utf-8",
                works ? "ok\n" : "the collector is stuck\n",
                {}};
    }
    const bool capture_asked = request.path == "/trace",
               profile_asked = request.path == "/debug/pprof/profile",
               recordings_asked = request.path.starts_with("/traces");
    if (!capture_asked && !profile_asked && !recordings_asked)
        return error_answer(404, "no such page; / lists them");
    if (capture_asked ? request.method != "POST" : !reads)
        return error_answer(405, capture_asked ? "use POST" : "use GET");
    if (!allowed(request)) return error_answer(401, "this needs Authorization: Bearer TOKEN");
    if (capture_asked) return capture(request);
    if (profile_asked) return profile(request);
    constexpr std::string_view kFolder = "/traces/";
    return request.path.starts_with(kFolder) ? recording(request.path.substr(kFolder.size()))
                                             : recordings_list();
}

HttpAnswer Daemon::capture(const HttpRequest& request) {
    const auto stretch =
        parse_capture(request, static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)));
    if (!stretch) return error_answer(400, stretch.error().text());
    return in_tick(Work([this, stretch = *stretch, path = "asked for by " + request.target](
                            const TraceStore& store, std::int64_t now_ns) {
        return record(store, now_ns, stretch, path);
    }));
}

HttpAnswer Daemon::record(const TraceStore& store, std::int64_t now_ns,
                          const CaptureRequest& stretch, const std::string& path) {
    const auto to_monotonic = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)) - now_ns;
    const auto recording =
        recorder_.ask_stretch(path, stretch.begin_ns - to_monotonic, stretch.end_ns - to_monotonic);
    if (!recording) return error_answer(429, recording.error().text());
    if (std::ranges::all_of(store.processes(), is_node_gpus))
        log_info("recording, although no process is attached yet");
    const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
    Json answer{{"trace", recording->path.filename().string()},
                {"begin_unix_s", seconds(stretch.begin_ns)},
                {"end_unix_s", seconds(stretch.end_ns)}};
    // Older records are dropped for newer ones; what a stretch that is still to come will find
    // depends on how much is recorded in it.
    if (const std::int64_t kept_from = store.timeline().kept_from_ns(); kept_from != 0)
        answer["memory_s"] = seconds(now_ns - kept_from);
    return json_answer(202, answer);
}

/// As Go's net/http/pprof has it, but at once and of the past.
HttpAnswer Daemon::profile(const HttpRequest& request) {
    HttpRequest past = request;
    const std::string seconds = request.parameter("seconds");
    past.parameters = {{"last", (seconds.empty() ? "10" : seconds) + "e3"}};  // milliseconds
    const auto stretch = parse_capture(past, static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)));
    if (!stretch) return error_answer(400, "give seconds=N, 600 at most");
    const std::int64_t length_ns = stretch->end_ns - stretch->begin_ns;
    return in_tick(Work([length_ns](const TraceStore& store, std::int64_t now_ns) {
        std::string bytes = pprof(store, {now_ns - length_ns, now_ns});
        if (bytes.empty())
            return error_answer(404, "no call stacks of that time: start the daemon with --stacks");
        return HttpAnswer{200, "application/octet-stream", std::move(bytes), {}};
    }));
}

HttpAnswer Daemon::recordings_list() const {
    Json list = Json::array();
    for (const fs::path& file : FlightRecorder::finished_in(folder_)) {
        std::error_code error;
        Json entry{{"trace", file.filename().string()}, {"bytes", fs::file_size(file, error)}};
        add_lengths(entry, FlightRecorder::report_of(file));
        list.push_back(std::move(entry));
    }
    return json_answer(200, {{"traces", list}});
}

// Only names that the folder lists: nothing a request says is ever used as a path.
HttpAnswer Daemon::recording(const std::string& name) const {
    for (const fs::path& file : FlightRecorder::finished_in(folder_))
        if (file.filename() == name) return {200, "application/octet-stream", {}, file.string()};
    return error_answer(404, "no recording of this name");
}

}  // namespace gs::serve
