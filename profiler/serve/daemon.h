// Daemon: `gausscope serve` without its threads: looks at the store once a second, keeps the
// metrics, writes flight recordings, and answers HTTP requests. tick() belongs to the store's
// thread; answer() may be called from any. Made by app/cli/trace/serve.cpp, which feeds the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "profiler/serve/capture_request.h"
#include "profiler/serve/flight_recorder.h"
#include "profiler/serve/history_writer.h"
#include "profiler/serve/http.h"
#include "profiler/serve/metrics.h"
#include "profiler/serve/otlp.h"
#include "profiler/serve/stalls.h"
#include "profiler/serve/triggers.h"

namespace gs::serve {

struct DaemonOptions {
    TriggerOptions triggers;
    StallOptions stalls = {};
    std::string token;  ///< what a request that writes or reads a recording must bring; never empty
};

class Daemon {
  public:
    /// `history`: where it keeps what jobs take, none: nowhere. `otlp`: a receiver of metrics,
    /// besides those that ask.
    Daemon(DaemonOptions options, FlightRecorder recorder, HistoryWriter* history = nullptr,
           OtlpPusher* otlp = nullptr);

    /// Call it several times a second; works once a second, which then needs the present figures.
    bool is_due(std::int64_t now_ns) const { return now_ns >= next_ns_; }
    void tick(const TraceStore& store, std::int64_t now_ns, const DaemonFigures& figures);
    /// Writes what waits: the daemon is ending.
    void finish(const TraceStore& store);

    /// /metrics, /healthz, POST /trace, /traces, /traces/NAME, /debug/pprof/profile.
    HttpAnswer answer(const HttpRequest& request);

    std::uint64_t recordings() const { return recordings_; }

  private:
    static constexpr std::int64_t kIntervalNs = 1'000'000'000;
    static constexpr std::int64_t kSilenceNs = 60'000'000'000;  ///< without a tick: not healthy
    using Work = std::packaged_task<HttpAnswer(const TraceStore&, std::int64_t)>;

    void act_on(const TraceStore& store, const std::vector<Trigger>& triggers);
    void log(const Trigger& trigger);
    void serve_requests(const TraceStore& store, std::int64_t now_ns);
    void note_written(const std::vector<Recording>& written);
    std::string metrics_text();
    /// Call stacks since the last time, encoded: empty the first time.
    std::string profiles_until(const TraceStore& store, std::int64_t until_ns);
    /// What the next tick makes of the store.
    HttpAnswer in_tick(Work work);
    HttpAnswer capture(const HttpRequest& request);
    HttpAnswer record(const TraceStore& store, std::int64_t now_ns, const CaptureRequest& stretch,
                      const std::string& path);
    HttpAnswer profile(const HttpRequest& request);
    HttpAnswer recordings_list() const;
    HttpAnswer recording(const std::string& name) const;
    bool allowed(const HttpRequest& request) const;

    DaemonOptions options_;
    FlightRecorder recorder_;
    fs::path folder_;  // recorder_.options().folder, for answer()'s threads
    Watch watch_;
    Triggers triggers_;
    Stalls stalls_;
    HistoryWriter* history_;
    OtlpPusher* otlp_;
    std::mutex mutex_;  // of what /metrics has
    Metrics metrics_;
    DaemonFigures figures_;  // the newest
    std::string text_;       // of both; empty: nobody has asked since they changed
    Queue<std::shared_ptr<Work>> asked_{16};
    std::int64_t profiled_ns_ = 0;  // until when call stacks were pushed
    std::atomic<std::int64_t> ticked_ns_{0};
    std::atomic<std::uint64_t> recordings_{0};
    std::int64_t next_ns_ = 0;
    /// Lines about slow steps in the present minute: those that are common are many.
    struct {
        std::int64_t until_ns = 0;
        std::uint64_t count = 0;
    } slow_steps_;
};

}  // namespace gs::serve
