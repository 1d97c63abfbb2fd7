#include "app/session/trace_library.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/record/clock.h"
#include "base/record/process.h"
#include "base/task.h"
#include "base/try.h"
#include "profiler/analysis/pulse.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/files/import.h"
#include "profiler/sample/stack_sampler.h"

namespace gs {
namespace {

constexpr std::uint64_t kOwn = 1;              // the id of this session
constexpr std::size_t kLiveSpans = 4'000'000;  // kept of attached processes
constexpr std::size_t kLiveBytes = std::size_t{1} << 30;
constexpr std::int64_t kSilentNs =
    3'000'000'000;  // a process that was never seen is missed after this

struct ReadTrace {
    std::unique_ptr<TraceStore> store;
    ImportSummary summary;
};

Result<ReadTrace> read_trace(const std::string& path, const Progress& progress) {
    constexpr double kParts = 1e6;
    ImportOptions reading;
    reading.progress = [&](double share) {
        const double known = std::isnan(share) ? 0.0 : std::clamp(share, 0.0, 1.0);
        return progress("", static_cast<std::size_t>(kParts * known),
                        static_cast<std::size_t>(kParts));
    };
    ReadTrace out{std::make_unique<TraceStore>(whole_trace_options()), {}};
    GS_TRY(out.summary, import_trace(path, *out.store, reading));
    return out;
}

}  // namespace

/// A file or a process.
struct TraceLibrary::Opened {
    TraceEntry entry;
    std::unique_ptr<TraceStore> store;
    std::unique_ptr<Task<ReadTrace>> reading;  // a file that is not complete yet
    // ---- processes
    std::unique_ptr<service::MultiCollector> collector;
    std::int64_t since_ns = 0;
    bool heard = false;
    std::uint32_t pid = 0;
    std::unique_ptr<StackSampler> sampler;  // while the process lives
    bool sampled = false;                   // it has, or had, one
    std::string no_stacks;                  // why they are not to be had
    std::int64_t pulse_ns = 0;              // when it was last looked whether it gets on
    std::uint64_t records = 0;              // at that moment
    std::string stuck;                      // since when and where; empty: it gets on
};

TraceLibrary::TraceLibrary(const TraceStore& own, std::function<void()> wake)
    : wake_(std::move(wake)) {
    TraceEntry entry{.id = kOwn, .name = "this session", .store = &own, .live = true, .own = true};
    entries_.push_back(std::move(entry));
}

TraceLibrary::~TraceLibrary() {
    for (const auto& opened : opened_)  // all at once, before the first is waited for
        if (opened->reading) opened->reading->cancel();
}

void TraceLibrary::refresh() {
    entries_.resize(1);
    for (const auto& opened : opened_) entries_.push_back(opened->entry);
}

void TraceLibrary::add(std::unique_ptr<Opened> opened) {
    opened->entry.id = next_id_++;
    shown_ = opened->entry.id;
    opened_.push_back(std::move(opened));
    refresh();
}

void TraceLibrary::open(const std::string& path) {
    std::error_code error;
    const std::string full = fs::absolute(path, error).lexically_normal().string();
    for (const auto& opened : opened_)
        if (opened->entry.detail == full && opened->entry.problem.empty()) {
            shown_ = opened->entry.id;
            return;
        }
    auto opened = std::make_unique<Opened>();
    opened->entry.name = fs::path(full).filename().string();
    opened->entry.detail = full;
    opened->entry.progress = std::numeric_limits<double>::quiet_NaN();
    opened->reading = std::make_unique<Task<ReadTrace>>(
        "trace reader", "reading",
        [full](const Progress& progress) { return read_trace(full, progress); }, wake_);
    add(std::move(opened));
}

Result<void> TraceLibrary::attach(std::uint32_t pid, int stacks_hz) {
    service::MultiCollectorOptions options;
    options.pids = {pid};
    options.devices.emplace();
    GS_TRY(auto collector, service::MultiCollector::start(std::move(options)));
    auto opened = std::make_unique<Opened>();
    opened->collector = std::move(collector);
    const TraceStoreOptions kept{.max_spans = kLiveSpans, .max_bytes = kLiveBytes};
    opened->store = std::make_unique<TraceStore>(kept);
    opened->since_ns = now_ns();
    opened->pid = pid;
    if (stacks_hz > 0) {
        auto sampler = StackSampler::of_process(pid, {.hz = stacks_hz});
        if (sampler)
            opened->sampler = std::move(*sampler);
        else
            opened->no_stacks = "no call stacks: " + sampler.error().text();
        opened->sampled = opened->sampler != nullptr;
        opened->entry.problem = opened->no_stacks;
    }
    opened->entry.name = fmt::format("process {}", pid);
    opened->entry.detail = fmt::format("pid {}", pid);
    opened->entry.store = opened->store.get();
    opened->entry.live = true;
    add(std::move(opened));
    return {};
}

TraceLibrary::Opened* TraceLibrary::find(std::string_view which) {
    std::uint64_t id = 0;
    const auto number = std::from_chars(which.data(), which.data() + which.size(), id);
    const bool numeric = number.ec == std::errc() && number.ptr == which.data() + which.size();
    for (const auto& opened : opened_)
        if (numeric ? opened->entry.id == id : opened->entry.name == which) return opened.get();
    return nullptr;
}

Result<void> TraceLibrary::show(std::string_view which) {
    const TraceEntry& own = entries_.front();
    if (which == own.name || which == std::to_string(own.id)) {
        shown_ = own.id;
        return {};
    }
    Opened* opened = find(which);
    if (!opened) {
        std::string names;
        for (const TraceEntry& entry : entries_) names += (names.empty() ? "" : ", ") + entry.name;
        return fail(ErrorKind::usage, "", fmt::format("no trace \"{}\" is open", which),
                    "open: " + names);
    }
    shown_ = opened->entry.id;
    return {};
}

Result<void> TraceLibrary::close(std::string_view which) {
    Opened* opened = find(which);
    if (!opened)
        return fail(ErrorKind::usage, "", fmt::format("no opened trace is called \"{}\"", which));
    const std::uint64_t id = opened->entry.id;
    std::erase_if(opened_, [&](const auto& o) { return o->entry.id == id; });
    if (shown_ == id) shown_ = opened_.empty() ? entries_.front().id : opened_.back()->entry.id;
    refresh();
    return {};
}

/// Whether an attached process gets on. All its spans are looked at for that, so only when its last
/// iteration is some time ago, or nothing at all has come.
void TraceLibrary::follow_pulse(Opened& o) {
    constexpr std::int64_t kInterval = 5'000'000'000;
    const std::int64_t now = now_ns();
    if (now - o.pulse_ns < kInterval) return;
    o.pulse_ns = now;
    const bool was_stuck = !std::exchange(o.stuck, {}).empty();
    const std::uint64_t records = o.store->sources().records_written();
    const bool silent = records == std::exchange(o.records, records);
    const auto iterations = o.store->frames().history(StatScope::iteration);
    if (o.store->processes().empty() ||
        (iterations.empty() ? !silent : now - iterations.back().end_ns < kInterval))
        return;
    Pulse pulse;
    pulse.take(*o.store, find_iterations(*o.store, 0), 0);
    const auto stall = pulse.stall(*o.store, 0, now);
    if (!stall) return;
    o.stuck = fmt::format(
        "no iteration for {:.0f} s, {}{}", static_cast<double>(now - stall->since_ns) * 1e-9,
        stall->inside.empty() ? "outside of any range"
                              : fmt::format("inside {}", fmt::join(stall->inside, " > ")),
        stall->stopped ? "; it is stopped (state T)" : "");
    if (!was_stuck) log_warning("{}: {}", o.entry.name, o.stuck);
}

/// Call stacks of an attached process; the rest and what was missing when it has ended.
bool TraceLibrary::follow_stacks(Opened& o) {
    if (!o.sampler) return false;
    const std::size_t before = o.store->samples().count();
    o.sampler->take_into(*o.store);
    const char state = process_stat(o.pid).state;
    if (state == 0 || state == 'Z' || state == 'X') {
        o.sampler->finish(*o.store);
        for (const std::string& remark : o.sampler->remarks()) log_info("{}", remark);
        o.sampler.reset();
    }
    return o.store->samples().count() != before;
}

/// The outcome of an attached process.
bool TraceLibrary::follow(Opened& o) {
    TraceEntry& entry = o.entry;
    const bool stacks = follow_stacks(o);
    const bool came = o.collector->drain_into(*o.store) > 0 || stacks;
    const bool first = came && !o.heard;
    o.heard |= came;
    const auto& sources = o.collector->sources();
    for (const service::SourceState& source : sources) {
        if (!source.name.empty()) entry.name = fmt::format("{} ({})", source.name, source.pid);
        if (source.alive) entry.problem = source.note.empty() ? o.no_stacks : source.note;
    }
    for (const TraceProcess& process : o.store->processes())
        if (sources.empty() && process.pid == o.pid)
            entry.name = fmt::format("{} ({})", process.name, process.pid);
    follow_pulse(o);
    if (!o.stuck.empty()) entry.problem = o.stuck;
    if (first) log_info("attached to {}", entry.name);
    const bool was_live = entry.live;
    entry.live = (sources.empty() && (!o.sampled || o.sampler)) ||
                 std::ranges::any_of(sources, [](const auto& s) { return s.alive; });
    entry.ended = !entry.live;
    if (entry.ended) entry.problem = "the process has ended";
    if (was_live && entry.ended) {
        log_info("{} has ended; its trace stays open", entry.name);
        ended_.push_back(entry.name);
    }
    if (!o.heard && o.collector->sources().empty() && now_ns() - o.since_ns > kSilentNs)
        entry.problem =
            "no such process under the profiling service; start it with `gausscope record`";
    return came;
}

/// How far reading a file is; its end.
bool TraceLibrary::follow_reading(Opened& o) {
    TraceEntry& entry = o.entry;
    const bool any = o.reading->update();
    if (const double share = o.reading->newest().share; share > 0) entry.progress = share;
    auto result = o.reading->take();
    if (!result) return any;
    o.reading.reset();
    entry.progress = 1;
    if (*result) {
        o.store = std::move((*result)->store);
        entry.store = o.store.get();
        log_info("opened the trace {}", entry.detail);
        for (const std::string& note : (*result)->summary.notes)
            log_info("{}: {}", entry.name, note);
    } else {
        entry.problem = result->error().text();
        log_error("{}", entry.problem);
        failed_ = true;
    }
    return true;
}

bool TraceLibrary::update() {
    bool any = false;
    for (const auto& opened : opened_) {
        if (opened->collector) any |= follow(*opened);
        if (opened->reading) any |= follow_reading(*opened);
    }
    if (any || !opened_.empty()) refresh();
    return any;
}

const TraceStore* TraceLibrary::shown_store() const {
    for (const TraceEntry& entry : entries_)
        if (entry.id == shown_) return entry.store;
    return nullptr;
}

bool TraceLibrary::reading() const {
    return std::ranges::any_of(opened_, [](const auto& o) { return o->reading != nullptr; });
}
bool TraceLibrary::take_failure() { return std::exchange(failed_, false); }
std::vector<std::string> TraceLibrary::take_ended() { return std::exchange(ended_, {}); }

}  // namespace gs
