#include "profiler/serve/metrics.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "profiler/store/node_gpus.h"

namespace gs::serve {
namespace {

using Type = Exposition::Type;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Its heart beats every second; of one without a heartbeat nothing is known but that it was read.
std::int64_t last_life_ns(const TraceProcess& process) {
    return process.service ? process.service->heartbeat_ns : process.read_ns;
}

Labels with(Labels labels, const char* key, std::string text) {
    labels.emplace_back(key, std::move(text));
    return labels;
}

/// GPU work may run, and nothing reports it.
bool has_lost_cupti(const ServiceStatus& service) {
    return service.cupti == abi::CuptiState::released || service.cupti == abi::CuptiState::held ||
           service.cupti == abi::CuptiState::unavailable;
}

}  // namespace

Labels labels_of(const TraceProcess& process) {
    Labels out{{"process", process.name}};
    const ProcessLabels& l = process.labels;
    const auto add_text = [&](const char* key, const std::string& text) {
        if (!text.empty()) out.emplace_back(key, text);
    };
    const auto add_number = [&](const char* key, int number) {
        if (number >= 0) out.emplace_back(key, std::to_string(number));
    };
    add_number("rank", l.rank);
    add_number("local_rank", l.local_rank);
    add_text("job", l.job);
    add_text("namespace", l.name_space);
    add_text("pod", l.pod);
    add_text("node", l.node.empty() ? l.host : l.node);
    return out;
}

void Metrics::update(const TraceStore& store, std::span<const News> news, std::int64_t now_ns) {
    std::set<std::uint64_t> refused;
    for (const News& n : news) {
        auto place = processes_.find(n.source);
        if (place == processes_.end()) {
            // A store remembers processes that are gone.
            const TraceProcess& process = store.processes()[n.process];
            if (now_ns - last_life_ns(process) > kRetireNs || is_replaced(process, now_ns))
                continue;
            if (!has_room(now_ns)) {
                refused_processes_ += refused_.count(n.source) == 0 ? 1 : 0;
                refused.insert(n.source);
                continue;
            }
            place = processes_.emplace(n.source, Process{}).first;
        }
        update_process(place->second, store, n, now_ns);
    }
    refused_ = std::move(refused);
    take_counters(store, news, now_ns);
    gpus_.forget_before(now_ns - kRetireNs);
    std::erase_if(processes_,
                  [&](const auto& entry) { return now_ns - entry.second.seen_ns > kRetireNs; });
}

/// It is dead, and another one has its labels now.
bool Metrics::is_replaced(const TraceProcess& process, std::int64_t now_ns) const {
    if (!process.ended && now_ns - last_life_ns(process) <= kHeartbeatNs) return false;
    const Labels base = labels_of(process);
    return std::any_of(processes_.begin(), processes_.end(),
                       [&](const auto& entry) { return entry.second.base == base; });
}

/// Two of the same labels that live at once are distinguished by `copy`, the first has none.
void Metrics::give_labels(Process& p, Labels base, std::int64_t now_ns) {
    if (p.base == base) return;
    std::set<int> taken;
    for (const auto& [source, other] : processes_)
        if (&other != &p && other.base == base && !is_dead(other, now_ns)) taken.insert(other.copy);
    p.copy = 1;
    while (taken.count(p.copy) != 0) ++p.copy;
    std::erase_if(processes_, [&](const auto& entry) {
        const Process& other = entry.second;
        return &other != &p && other.copy == p.copy && other.base == base;
    });
    p.base = std::move(base);
    p.labels = p.copy == 1 ? p.base : with(p.base, "copy", std::to_string(p.copy));
}

/// For one more; when there is none, the one that has been dead for longest leaves.
bool Metrics::has_room(std::int64_t now_ns) {
    if (processes_.size() < kMaxProcesses) return true;
    const auto oldest = std::min_element(
        processes_.begin(), processes_.end(),
        [](const auto& a, const auto& b) { return a.second.seen_ns < b.second.seen_ns; });
    if (now_ns - oldest->second.seen_ns < kHeartbeatNs) return false;
    processes_.erase(oldest);
    return true;
}

void Metrics::take_counters(const TraceStore& store, std::span<const News> news,
                            std::int64_t now_ns) {
    std::vector<Process*> by_index(store.processes().size());
    for (const News& n : news)
        if (const auto place = processes_.find(n.source); place != processes_.end())
            by_index[n.process] = &place->second;
    for (const CounterSeries& series : store.counters()) {
        Process* const of = by_index[series.process];
        const TraceProcess& teller = store.processes()[series.process];
        if ((of == nullptr && !is_node_gpus(teller)) || series.points.empty()) continue;
        const std::string_view name = store.name(series.name);
        const CounterPoint newest = series.points.back();
        // A clock that is ahead would hold what all others say of a GPU off until then.
        if (newest.time_ns > now_ns) continue;
        if (!gpus_.take(teller, name, newest) && of != nullptr)
            of->gauges[std::string(name)] = newest.value;
    }
}

/// What is counted never falls: where another loop turns out to be the process's, it gets a series
/// of its own; null: of too many.
TimeHistogram* Metrics::Process::loop(const std::string& name) {
    for (auto& [known, times] : loops)
        if (known == name) return &times;
    return loops.size() < kMostLoops ? &loops.emplace_back(name, TimeHistogram()).second : nullptr;
}

/// An iteration's stages. `told`: all of its GPU work is known.
void Metrics::take_part(Process& p, const Breakdown& part, bool told) {
    p.splats |= part.splats;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        if (told && part.gpu_calls[s] > 0) p.gpu[s].add(part.gpu_ms[s] * 1e-3);
        if (part.cpu_self_ms[s] > 0) p.cpu[s].add(part.cpu_self_ms[s] * 1e-3);
    }
    for (const KindTime& kind : part.kinds)
        if (told && !p.splats) p.kinds[kind.kind].add(kind.ms * 1e-3);
    for (const auto& [kind, ms] : p.ranges.of(part)) p.range_kinds[kind].add(ms * 1e-3);
}

void Metrics::take_iteration(Process& p, const TraceProcess& from, const News& news,
                             std::size_t i) {
    const Iteration& item = news.iterations.items[i];
    if (TimeHistogram* const times = p.loop(news.iterations.name))
        times->add(item.milliseconds() * 1e-3);
    // Time that another loop covers has no stages of its own here.
    if (item.begin_ns < p.counted_ns) return;
    p.counted_ns = item.end_ns;
    if (p.communicates && i < news.own.items.size()) {
        p.own.add(news.own.items[i].own_ms() * 1e-3);
        p.collective_s += news.own.items[i].exposed_ms * 1e-3;
    }
    const Breakdown& part = news.parts[i];
    if (part.watched_ms < part.wall_ms) return;  // of its stages a part is not known
    take_part(p, part, !misses_gpu_work(from, item.end_ns));
}

void Metrics::update_process(Process& p, const TraceStore& store, const News& news,
                             std::int64_t now_ns) {
    const TraceProcess& from = store.processes()[news.process];
    p.seen_ns = std::max(p.seen_ns, last_life_ns(from));
    if (p.written != 0 && from.written != p.written) p.seen_ns = now_ns;
    p.ended = from.ended;
    p.pid = from.visible_pid != 0 ? from.visible_pid : from.pid;
    give_labels(p, labels_of(from), now_ns);
    p.communicates |= news.own.communicates;
    for (std::size_t i = 0; i < news.parts.size(); ++i) take_iteration(p, from, news, i);
    const Breakdown& stretch = news.stretch;
    p.has_gpu |= stretch.has_gpu;
    const bool blind =
        news.gpu_incomplete || (p.has_gpu && from.service && has_lost_cupti(*from.service));
    if (news.gpu_incomplete) p.incomplete_s += stretch.wall_ms * 1e-3;
    if (!blind) {
        p.busy_s += stretch.busy_ms * 1e-3;
        p.copy_s += stretch.copy_ms * 1e-3;
        p.sync_s += stretch.sync_ms * 1e-3;
        p.watched_s += stretch.watched_ms * 1e-3;
        p.kernels += stretch.kernels;
        p.launches += stretch.launches;
    }
    if (stretch.wall_ms > 0)
        p.idle_ratio = p.has_gpu && !blind && stretch.watched_ms > 0
                           ? 1 - stretch.busy_ms / stretch.watched_ms
                           : kMissing;
    p.written = from.written;
    p.loss = from.loss;
    p.service = from.service;
}

/// `value` gives a process's number, NaN when there is none.
template <class Value>
void Metrics::family(Exposition& out, const char* name, Type type, const char* help,
                     const char* unit, Value value) const {
    out.family(name, type, help, unit);
    for (const auto& [source, p] : processes_) out.value(p.labels, static_cast<double>(value(p)));
}

void Metrics::write_times(Exposition& out) const {
    out.family("gausscope_iteration_seconds", Type::histogram, "Time of one training iteration.",
               "seconds");
    for (const auto& [source, p] : processes_)
        for (const auto& [name, times] : p.loops)
            out.value(name == p.loops.front().first ? p.labels : with(p.labels, "loop", name),
                      times);
    out.family(
        "gausscope_own_seconds", Type::histogram,
        "Time of one training iteration without its collectives and waiting for other ranks; "
        "absent where no communication is seen.",
        "seconds");
    for (const auto& [source, p] : processes_)
        if (p.communicates) out.value(p.labels, p.own);
    family(out, "gausscope_collective_seconds", Type::counter,
           "Time of iterations in collectives, or waiting for other ranks, that nothing hides.",
           "seconds", [](const Process& p) { return p.communicates ? p.collective_s : kMissing; });
    out.family("gausscope_stage_seconds", Type::histogram,
               "Time of a stage in one iteration: of its kernels on the GPU, or of its ranges on "
               "the host.",
               "seconds");
    for (const auto& [source, p] : processes_) write_stages(out, p);
}

/// By kind where the stages of 3D Gaussian Splatting say nothing.
void Metrics::write_stages(Exposition& out, const Process& p) {
    const auto labels = [&](const std::string& stage, const char* side) {
        return with(with(p.labels, "stage", stage), "side", side);
    };
    const auto write = [&](const auto& stages, const auto& kinds, bool splats, const char* side) {
        const bool by_kind = !splats && !kinds.empty();
        for (std::size_t s = 0; s < kStageCount && !by_kind; ++s)
            if (stages[s].count() > 0)
                out.value(labels(name_of(static_cast<Stage>(s)), side), stages[s]);
        for (const auto& [kind, times] : kinds)
            if (by_kind && times.count() > 0) out.value(labels(kind, side), times);
    };
    write(p.gpu, p.kinds, p.splats, "gpu");
    write(p.cpu, p.range_kinds, p.ranges.splats(), "cpu");
}

void Metrics::write_gpu(Exposition& out) const {
    const auto of_gpu = [](double Process::*field) {
        return [field](const Process& p) { return p.has_gpu ? p.*field : kMissing; };
    };
    family(out, "gausscope_gpu_idle_ratio", Type::gauge,
           "Share of the last second in which no GPU work ran, of the part that was recorded.",
           "ratio", of_gpu(&Process::idle_ratio));
    family(out, "gausscope_gpu_busy_seconds", Type::counter, "Time in which GPU work ran.",
           "seconds", of_gpu(&Process::busy_s));
    family(out, "gausscope_gpu_copy_seconds", Type::counter, "Time in which copies or fills ran.",
           "seconds", of_gpu(&Process::copy_s));
    family(out, "gausscope_host_sync_seconds", Type::counter,
           "Time host threads spent in synchronising CUDA calls.", "seconds",
           of_gpu(&Process::sync_s));
    family(out, "gausscope_watched_seconds", Type::counter,
           "Time that the other counters cover, without the budget's pauses.", "seconds",
           [](const Process& p) { return p.watched_s; });
    family(out, "gausscope_gpu_incomplete_seconds", Type::counter,
           "Time missing from the counters: CUPTI had not reported all of it a minute later.",
           "seconds", of_gpu(&Process::incomplete_s));
    family(out, "gausscope_kernels", Type::counter, "Kernels that ran.", "",
           [](const Process& p) { return p.has_gpu ? static_cast<double>(p.kernels) : kMissing; });
    family(out, "gausscope_kernel_launches", Type::counter,
           "Calls that launched kernels or graphs.", "",
           [](const Process& p) { return p.has_gpu ? static_cast<double>(p.launches) : kMissing; });
    out.family("gausscope_counter", Type::gauge,
               "Newest value of each counter a process records, under its own name.");
    for (const auto& [source, p] : processes_)
        for (const auto& [name, value] : p.gauges) out.value(with(p.labels, "name", name), value);
    gpus_.write(out);
}

void Metrics::write_stalls(Exposition& out) const {
    out.family("gausscope_stalled_seconds", Type::gauge,
               "Time without progress of a process that iterates, and its innermost range; absent "
               "while it makes progress.",
               "seconds");
    for (const auto& [source, stalled] : stalled_)
        if (const auto p = processes_.find(source); p != processes_.end())
            out.value(with(p->second.labels, "range", stalled.range), stalled.seconds);
}

void Metrics::write_service(Exposition& out) const {
    out.family("gausscope_process", Type::info, "Process id as the daemon sees it.");
    for (const auto& [source, p] : processes_)
        out.value(with(p.labels, "pid", std::to_string(p.pid)), 1);
    family(out, "gausscope_records", Type::counter, "Records written by the process.", "",
           [](const Process& p) { return p.written; });
    out.family("gausscope_lost_records", Type::counter, "Records lost, by reason.");
    for (const auto& [source, p] : processes_) {
        const auto lost = [&](const char* reason, std::uint64_t count) {
            out.value(with(p.labels, "reason", reason), static_cast<double>(count));
        };
        lost("lapped", p.loss.lapped);
        lost("no_lane", p.loss.dropped);
        lost("malformed", p.loss.malformed);
        lost("untimed", p.loss.untimed);
        lost("too_deep", p.loss.too_deep);
        if (p.service) lost("cupti", p.service->cupti_dropped);
        if (p.service) lost("budget", p.service->budget_skipped);
    }
    family(out, "gausscope_lost_descriptors", Type::counter,
           "Descriptors of the recorder that the program has closed or replaced.", "",
           [](const Process& p) {
               return p.service ? static_cast<double>(p.service->lost_descriptors) : kMissing;
           });
    const auto of_service = [](auto value) {
        return [value](const Process& p) {
            return p.service ? static_cast<double>(value(*p.service)) : kMissing;
        };
    };
    family(out, "gausscope_service_cpu_seconds", Type::counter,
           "Processor time of the profiling service's own threads in the process.", "seconds",
           of_service([](const ServiceStatus& s) {
               return static_cast<double>(s.service_cpu_ns) * 1e-9;
           }));
    family(out, "gausscope_service_slow_path_seconds", Type::counter,
           "Time the process's threads spent in the recorder's slow paths.", "seconds",
           of_service(
               [](const ServiceStatus& s) { return static_cast<double>(s.slow_path_ns) * 1e-9; }));
    family(out, "gausscope_service_duty_ratio", Type::gauge,
           "Share of the time that recording is on.", "ratio",
           of_service([](const ServiceStatus& s) { return s.duty; }));
    family(out, "gausscope_service_armed", Type::gauge, "1 while the process records.", "",
           of_service([](const ServiceStatus& s) { return s.armed ? 1 : 0; }));
    family(out, "gausscope_cupti_recording", Type::gauge,
           "1 while CUPTI records kernels in the process.", "",
           of_service([](const ServiceStatus& s) {
               return s.cupti == abi::CuptiState::recording ? 1 : 0;
           }));
}

void Metrics::write_daemon(Exposition& out, const DaemonFigures& daemon) const {
    const auto single = [&](const char* name, Type type, const char* help, const char* unit,
                            double value) {
        out.family(name, type, help, unit);
        out.value({}, value);
    };
    single("gausscope_producers", Type::gauge, "Processes that the service is attached to.", "",
           static_cast<double>(daemon.producers));
    single("gausscope_refused_processes", Type::counter,
           "Processes without series: too many at once.", "",
           static_cast<double>(refused_processes_));
    single("gausscope_store_bytes", Type::gauge, "Memory of the recent past that the daemon keeps.",
           "bytes", static_cast<double>(daemon.store_bytes));
    single("gausscope_collector_cpu_seconds", Type::counter,
           "Processor time of the thread that reads the rings.", "seconds", daemon.collector_cpu_s);
    single("process_cpu_seconds", Type::counter, "Processor time of the daemon.", "seconds",
           daemon.cpu_s);
    single("process_resident_memory_bytes", Type::gauge, "Resident memory of the daemon.", "bytes",
           daemon.resident_bytes);
    single("process_start_time_seconds", Type::gauge, "When the daemon started, since 1970.",
           "seconds", daemon.start_time_s);
    if (daemon.otlp) {
        out.family("gausscope_otlp_requests", Type::counter,
                   "Requests to an OpenTelemetry collector.");
        for (const auto& [signal, accepted, failed] : daemon.otlp->of)
            for (const auto& [result, count] :
                 {std::pair{"accepted", accepted}, {"failed", failed}})
                out.value({{"signal", signal}, {"result", result}}, static_cast<double>(count));
    }
    out.family("gausscope_flight_recordings", Type::counter, "Traces written, by trigger.");
    for (const auto& [trigger, count] : recordings_)
        out.value({{"trigger", trigger}}, static_cast<double>(count));
}

Exposition Metrics::tell(const DaemonFigures& daemon) const {
    Exposition out;
    write_times(out);
    write_gpu(out);
    write_stalls(out);
    write_service(out);
    write_daemon(out, daemon);
    return out;
}

}  // namespace gs::serve
