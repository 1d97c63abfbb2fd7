// Metrics: what `gausscope serve` reports to Prometheus. Adds up what Watch finds; counters and
// histograms never go back while a process lives, and its series end some minutes after it did, or
// when one that lives needs their space, or has their labels: a restarted job continues
// its series. Labels say what a process is, not its number, which only the info metric has.
// Labels name stages, not kernels, so that their number stays small. Used by Server; tell() may be
// called from the thread that updates only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/serve/exposition.h"
#include "profiler/serve/gpu_metrics.h"
#include "profiler/serve/otlp.h"
#include "profiler/serve/range_times.h"
#include "profiler/serve/stalls.h"
#include "profiler/serve/watch.h"

namespace gs::serve {

/// What the daemon knows of itself.
struct DaemonFigures {
    double collector_cpu_s = 0, cpu_s = 0;  ///< of the thread that reads rings, of the whole daemon
    double resident_bytes = 0;
    double start_time_s = 0;  ///< since 1970
    std::uint64_t store_bytes = 0;
    std::size_t producers = 0;
    std::optional<OtlpPusher::Counts> otlp;  ///< none: nothing is pushed
};

/// Rank, job, node and so on, as far as they are known.
Labels labels_of(const TraceProcess& process);

class Metrics {
  public:
    void update(const TraceStore& store, std::span<const News> news, std::int64_t now_ns);
    /// By source; of others nothing is stuck.
    void set_stalled(std::map<std::uint64_t, StalledProcess> stalled) {
        stalled_ = std::move(stalled);
    }
    void count_recording(const std::string& trigger) { ++recordings_[trigger]; }
    Exposition tell(const DaemonFigures& daemon) const;

  private:
    static constexpr std::int64_t kRetireNs = 300'000'000'000;
    static constexpr std::int64_t kHeartbeatNs =
        10'000'000'000;  ///< a heartbeat this old is of a process that is gone
    static constexpr std::size_t kMaxProcesses = 256;
    struct Process {
        Labels base;    ///< what is known of it without its number
        int copy = 0;   ///< from 1; among the living of the same `base`
        Labels labels;  ///< both
        std::uint32_t pid = 0;
        bool ended = false;
        std::int64_t seen_ns = 0;  ///< its last sign of life
        /// By the loop's name. The first has no label: most processes have only one.
        std::vector<std::pair<std::string, TimeHistogram>> loops;
        static constexpr std::size_t kMostLoops = 4;
        TimeHistogram* loop(const std::string& name);
        std::int64_t counted_ns = 0;  ///< end of the last iteration of any loop
        std::array<TimeHistogram, kStageCount> gpu, cpu;
        /// In place of `gpu` where nothing it does is 3D Gaussian Splatting's alone.
        std::map<std::string, TimeHistogram> kinds, range_kinds;
        RangeTimes ranges;
        bool splats = false;
        double incomplete_s = 0, busy_s = 0, copy_s = 0, sync_s = 0, watched_s = 0;
        double idle_ratio = 0;  ///< NaN: no GPU work recorded, or all paused
        std::uint64_t kernels = 0, launches = 0;
        bool has_gpu = false;
        bool communicates = false;  ///< with other ranks, as far as is seen
        TimeHistogram own;          ///< of iterations since then
        double collective_s = 0;
        std::uint64_t written = 0;
        LossCounts loss;
        std::optional<ServiceStatus> service;
        std::map<std::string, double> gauges;  ///< newest value of each counter the process records
    };
    bool has_room(std::int64_t now_ns);
    static bool is_dead(const Process& process, std::int64_t now_ns) {
        return process.ended || now_ns - process.seen_ns > kHeartbeatNs;
    }
    bool is_replaced(const TraceProcess& process, std::int64_t now_ns) const;
    void give_labels(Process& process, Labels base, std::int64_t now_ns);
    void update_process(Process& process, const TraceStore& store, const News& news,
                        std::int64_t now_ns);
    void take_counters(const TraceStore& store, std::span<const News> news, std::int64_t now_ns);
    template <class Value>
    void family(Exposition& out, const char* name, Exposition::Type type, const char* help,
                const char* unit, Value value) const;
    void write_times(Exposition& out) const;
    static void write_stages(Exposition& out, const Process& process);
    static void take_iteration(Process& process, const TraceProcess& from, const News& news,
                               std::size_t which);
    static void take_part(Process& process, const Breakdown& part, bool told);
    void write_gpu(Exposition& out) const;
    void write_stalls(Exposition& out) const;
    void write_service(Exposition& out) const;
    void write_daemon(Exposition& out, const DaemonFigures& daemon) const;

    std::map<std::uint64_t, Process> processes_;  // by source
    GpuMetrics gpus_;
    std::map<std::uint64_t, StalledProcess> stalled_;  // by source
    /// From nothing on, for what is not a rule: of a counter that begins with 1 nobody sees that it
    /// rose.
    std::map<std::string, std::uint64_t> recordings_{
        {"crash", 0}, {"request", 0}, {"slow-step", 0}, {"stall", 0}};
    std::set<std::uint64_t> refused_;  // sources that are without series now
    std::uint64_t refused_processes_ = 0;
};

}  // namespace gs::serve
