#include "profiler/collect/multi_collector.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/record/clock.h"
#include "base/record/ring.h"
#include "base/try.h"

namespace gs::service {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kAfterlife =
    kSecond;  // a process whose endpoint has gone is read for so long, if it still lives
constexpr std::int64_t kClockInterval = kSecond / 10;
constexpr auto kFirstPatience = std::chrono::seconds(2);
constexpr std::size_t kMaxSources = 1024;
constexpr std::size_t kMostGpus = 64;  // of one process, slices counted

bool process_exists(std::uint32_t pid) {
    return pid != 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

}  // namespace

Result<std::unique_ptr<MultiCollector>> MultiCollector::start(MultiCollectorOptions options) {
    own_ns_per_tick();  // asked for the first time before anything is recorded
    GS_TRY(Discovery discovery, Discovery::start(options));
    std::unique_ptr<MultiCollector> out(
        new MultiCollector(std::move(options), std::move(discovery)));
    if (out->options_.own) {
        GS_TRY(TraceReader reader, TraceReader::attach_own());
        if (!out->options_.past) reader.skip_past();
        out->own_ = std::make_unique<OwnRing>(OwnRing{std::move(reader)});
    }
    if (out->options_.devices) out->devices_ = DeviceSampler::start(*out->options_.devices);
    out->take_new(kFirstPatience);  // what runs now is known when this returns
    out->thread_ = std::thread([collector = out.get()] { collector->run(); });
    return out;
}

std::unique_ptr<MultiCollector> MultiCollector::of_own_ring(bool past) {
    MultiCollectorOptions options;
    options.discover = false;
    options.own = true;
    options.past = past;
    auto out = start(options);
    if (!out) {
        log_warning("nothing will be measured: {}", out.error().text());
        options.own = false;
        out = start(options);
    }
    return std::move(*out);
}

MultiCollector::~MultiCollector() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

namespace {

/// A program that runs out of memory continues and saves what it has: a part of the recording is
/// lost, and the next look continues after it.
void while_there_is_memory(const auto& look) {
    try {
        look();
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

void MultiCollector::run() {
    ::pthread_setname_np(::pthread_self(), "gs-collector");
    auto interval = options_.interval;
    while (!stop_) {
        while_there_is_memory([&] {
            take_new();
            pass_on_questions();
            interval = next_interval(interval, read_all());
            publish();
        });
        if (!stop_) std::this_thread::sleep_for(interval);
    }
    while_there_is_memory([&] {
        take_new();
        if (own_) own_->clock_ns = 0;  // the last records are converted by the newest clock
        read_all();
    });
    give_leases_back();
}

// ---- who is there ----

void MultiCollector::take_new(std::chrono::milliseconds patience) {
    const auto is_read = [&](const fs::path& socket) {
        return std::any_of(all_.begin(), all_.end(), [&](const auto& source) {
            return source->state.alive && source->socket == socket;
        });
    };
    for (Connection& connection : discovery_.look(is_read, patience)) add(std::move(connection));
    for (Discovery::Excuse& excuse : discovery_.take_excuses()) add(std::move(excuse));
}

void MultiCollector::add(Discovery::Excuse excuse) {
    forget_some();
    if (all_.size() >= kMaxSources) return;
    auto source = std::make_unique<Source>();
    source->state = {0,    excuse.pid, "nvtx", std::move(excuse.name), false, std::move(excuse.why),
                     false};
    all_.push_back(std::move(source));
    changed_ = true;
}

// One process may be found twice: it came by itself, and it has a socket. One that calls exec comes
// again under the same number, its former connection ended, whether that was noticed or not.
bool MultiCollector::is_known(const Source& source) const {
    return std::any_of(all_.begin(), all_.end(), [&](const auto& other) {
        return other->state.alive && other->connection->alive() &&
               other->state.pid == source.state.pid && other->state.role == source.state.role &&
               other->process_start == source.process_start &&
               other->visible_pid == source.visible_pid;
    });
}

// Of those that have ended, when there are very many: a daemon runs for months.
void MultiCollector::forget_some() {
    if (all_.size() < kMaxSources) return;
    const auto ended = std::find_if(all_.begin(), all_.end(),
                                    [](const auto& source) { return !source->connection; });
    if (ended != all_.end()) all_.erase(ended);
}

void MultiCollector::add(Connection connection) {
    const Reply& card = connection.card();
    const Producer& producer = connection.producer();
    auto source = std::make_unique<Source>();
    source->state = {connection.source(), producer.pid, producer.role, card.text, true, "", true};
    source->socket = producer.socket;
    source->process_start = card.process_start;
    source->visible_pid = connection.visible_pid();
    forget_some();
    if (is_known(*source) || all_.size() >= kMaxSources) return;
    source->connection.emplace(std::move(connection));
    if (!options_.past) source->connection->reader().skip_past();
    if (options_.arm) source->connection->tell(Op::arm);
    if (options_.budget_ppm) source->connection->tell(Op::set_budget, *options_.budget_ppm);
    if (options_.release_cupti) source->connection->tell(Op::release_cupti);
    all_.push_back(std::move(source));
    changed_ = true;
}

void MultiCollector::hear(Source& source) {
    while (const auto reply = source.connection->take_answer()) {
        const bool refused = reply->answer != static_cast<std::uint32_t>(Answer::done);
        source.state.note = refused ? reply->text : "";
        changed_ = true;
    }
}

void MultiCollector::pass_on_questions() {
    while (const auto question = questions_.try_take())
        for (const auto& source : all_)
            if (source->state.alive) source->connection->tell(question->op, question->value);
}

void MultiCollector::ask_all(Op op, std::uint64_t value) { questions_.try_put({op, value}); }

void MultiCollector::give_leases_back() {
    for (const auto& source : all_)
        if (source->state.alive && options_.arm) source->connection->tell(Op::disarm);
    publish();
}

// ---- reading ----

/// The largest share of a lane that had been written since the last look.
double MultiCollector::read_all() {
    double fullest = 0;
    if (own_) {
        read_own(*own_);
        fullest = own_->reader.fullest();
    }
    for (const auto& source : all_) {
        if (!source->connection) continue;
        follow_life(*source);
        fullest = std::max(fullest, read(*source));
    }
    return fullest;
}

/// A lane is to be an eighth full when it is looked at again.
std::chrono::milliseconds MultiCollector::next_interval(std::chrono::milliseconds last,
                                                        double fullest) {
    constexpr double kAim = 0.125;
    constexpr auto kBurstsReturn = std::chrono::seconds(3);
    const auto now = std::chrono::steady_clock::now();
    if (fullest >= 2 * kAim) burst_until_ = now + kBurstsReturn;
    if (now < burst_until_) return options_.interval;  // the next burst begins without a sign
    const double factor = fullest > 0 ? std::min(kAim / fullest, 2.0) : 2.0;
    const auto next = static_cast<std::int64_t>(static_cast<double>(last.count()) * factor);
    return std::clamp(std::chrono::milliseconds(next), options_.interval,
                      std::max(options_.interval, options_.idle_interval));
}

// Nobody else may be there to publish this process's clocks.
void MultiCollector::read_own(OwnRing& own) {
    if (now_ns() - own.clock_ns > kClockInterval) {
        publish_clock_snapshot();
        own.clock_ns = now_ns();
    }
    own.reader.drain(*own.pending);
    hand_over(own.reader, own.pending);
}

void MultiCollector::hand_over(TraceReader& reader, std::shared_ptr<TraceBatch>& pending) {
    pending->collector_cpu_ns = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    reader.count_lost(batches_.hand_over(pending));
}

void MultiCollector::note_gpus(Source& source) {
    for (const GpuDeviceEvent& device : source.pending->devices)
        if (source.gpus.size() < kMostGpus && source.gpus.insert(device.uuid).second)
            changed_ = true;
}

double MultiCollector::read(Source& source) {
    hear(source);
    source.connection->drain(*source.pending);
    source.pending->ended = source.last_look;
    note_gpus(source);
    const double fullest = source.connection->reader().fullest();
    hand_over(source.connection->reader(), source.pending);
    if (source.last_look && source.pending->read_ns == 0) source.connection.reset();
    return fullest;
}

// The connection ends before the last record is written (destructors run after the endpoint has
// stopped), or long before the process does (it called exec). What follows this call is the last
// look when that is set here.
void MultiCollector::follow_life(Source& source) {
    if (source.state.alive && !source.connection->alive()) {
        source.state.alive = false;
        source.silent_since_ns = now_ns();
        changed_ = true;
    }
    source.last_look = !source.state.alive && (!process_exists(source.visible_pid) ||
                                               now_ns() - source.silent_since_ns > kAfterlife);
}

void MultiCollector::publish() {
    if (!changed_) return;
    std::vector<SourceState> states;
    std::set<std::string> used_gpus;
    for (const auto& source : all_) {
        states.push_back(source->state);
        if (source->state.alive) used_gpus.insert(source->gpus.begin(), source->gpus.end());
    }
    if (devices_) devices_->watch(std::move(used_gpus));
    newest_.put(std::move(states));
    changed_ = false;
}

const std::vector<SourceState>& MultiCollector::sources() {
    if (auto states = newest_.take()) states_ = std::move(*states);
    return states_;
}

void MultiCollector::finish(TraceStore& store) {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    batches_.take_into(store);
    const auto empty = [&](std::shared_ptr<TraceBatch>& pending) {
        store.ingest(*pending);
        pending = std::make_shared<TraceBatch>();
    };
    if (own_) empty(own_->pending);
    for (const auto& source : all_) empty(source->pending);
    if (devices_) devices_->finish(store);
}

}  // namespace gs::service
