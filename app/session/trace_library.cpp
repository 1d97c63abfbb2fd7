#include "app/session/trace_library.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <optional>
#include <thread>

#include "base/log.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/files/import.h"

namespace gs {
namespace {

constexpr std::uint64_t kOwn = 1;              // the id of this session
constexpr std::size_t kLiveSpans = 4'000'000;  // kept of attached processes
constexpr std::int64_t kSilentNs =
    3'000'000'000;  // a process that was never seen is missed after this

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

/// A file or a process. The reading thread has `reading`, `result` and `store` until `done`; then
/// they are the UI thread's.
struct TraceLibrary::Opened {
    TraceEntry entry;
    std::unique_ptr<TraceStore> store;
    // ---- files
    std::optional<Result<ImportSummary>> result;
    std::atomic<bool> done{false}, cancelled{false};
    std::atomic<double> share{std::numeric_limits<double>::quiet_NaN()};
    std::thread reader;
    // ---- processes
    std::unique_ptr<service::MultiCollector> collector;
    std::int64_t since_ns = 0;
    bool heard = false;

    ~Opened() {
        cancelled = true;
        if (reader.joinable()) reader.join();
    }
};

TraceLibrary::TraceLibrary(const TraceStore& own, std::function<void()> wake)
    : wake_(std::move(wake)) {
    TraceEntry entry;
    entry.id = kOwn;
    entry.name = "this session";
    entry.store = &own;
    entry.live = entry.own = true;
    entries_.push_back(std::move(entry));
}

TraceLibrary::~TraceLibrary() {
    for (const auto& opened : opened_)
        opened->cancelled = true;  // all at once, before the first is waited for
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
    opened->entry.progress = opened->share;
    Opened* mine = opened.get();
    add(std::move(opened));
    mine->reader = std::thread([this, mine, full] {
        ImportOptions import;
        import.progress = [mine](double share) { mine->share = share;
        return !mine->cancelled;
        };
        TraceStoreOptions options;
        options.max_spans = import.max_events;
        options.max_calls = options.max_points = std::size_t{1} << 20;
        auto store = std::make_unique<TraceStore>(options);
        mine->result = import_trace(full, *store, import);
        mine->store = std::move(store);
        mine->done = true;
        wake_();
});
}

Result<void> TraceLibrary::attach(std::uint32_t pid) {
    service::MultiCollectorOptions options;
    options.pids = {pid};
    auto collector = service::MultiCollector::start(std::move(options));
    if (!collector) return tl::unexpected<Error>(collector.error());
    auto opened = std::make_unique<Opened>();
    opened->collector = std::move(*collector);
    TraceStoreOptions kept;
    kept.max_spans = kLiveSpans;
    opened->store = std::make_unique<TraceStore>(kept);
    opened->since_ns = now_ns();
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

bool TraceLibrary::update() {
    bool any = false;
    for (const auto& o : opened_) {
        TraceEntry& entry = o->entry;
        if (o->collector) {
            const bool came = o->collector->drain_into(*o->store) > 0;
            any |= came;
            o->heard |= came;
            for (const service::SourceState& source : o->collector->sources()) {
                if (!source.name.empty())
                    entry.name = fmt::format("{} ({})", source.name, source.pid);
                entry.live = source.alive;
                entry.problem = source.alive ? source.note : "the process has ended";
            }
            if (!o->heard && o->collector->sources().empty() && now_ns() - o->since_ns > kSilentNs)
                entry.problem =
                    "no such process under the profiling service; start it with `gausscope record`";
        } else if (o->reader.joinable()) {
            entry.progress = o->share;
            any = true;
            if (!o->done) continue;
            o->reader.join();
            entry.progress = 1;
            if (*o->result) {
                entry.store = o->store.get();
                for (const std::string& note : (*o->result)->notes)
                    log_info("{}: {}", entry.name, note);
            } else {
                entry.problem = o->result->error().text();
                log_error("{}", entry.problem);
                failed_ = true;
            }
        }
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
    return std::any_of(opened_.begin(), opened_.end(),
                       [](const auto& o) { return o->reader.joinable(); });
}
bool TraceLibrary::take_failure() { return std::exchange(failed_, false); }

}  // namespace gs
