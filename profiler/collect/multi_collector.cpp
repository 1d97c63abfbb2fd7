#include "profiler/collect/multi_collector.h"

#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/record/clock.h"
#include "base/record/process.h"
#include "base/record/ring.h"

namespace gs::service {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kAfterlife =
    kSecond;  // a process whose endpoint has gone is read for so long, if it still lives
constexpr std::int64_t kClockInterval = kSecond / 10;
constexpr auto kFirstPatience = std::chrono::seconds(2);
constexpr std::size_t kMaxSources = 1024;

std::int64_t now_ns() { return static_cast<std::int64_t>(monotonic_ns()); }

bool descends_from(std::uint32_t pid, std::uint32_t ancestor) {
    for (int generation = 0; pid > 1 && generation < 64; ++generation) {
        if (pid == ancestor) return true;
        pid = process_stat(pid).parent;
    }
    return false;
}

bool process_exists(std::uint32_t pid) {
    return pid != 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

}  // namespace

Result<std::unique_ptr<MultiCollector>> MultiCollector::start(MultiCollectorOptions options) {
    std::unique_ptr<MultiCollector> out(new MultiCollector(std::move(options)));
    if (out->options_.accept) {
        auto socket = CollectorSocket::open();
        if (!socket) return tl::unexpected(socket.error());
        out->arrivals_ = std::move(*socket);
        out->collector_path_ = out->arrivals_->path();
    }
    if (out->options_.discover) {
        const auto folder = runtime_directory();
        if (!folder) return tl::unexpected(folder.error());
        out->watch_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (out->watch_ >= 0)
            ::inotify_add_watch(out->watch_, folder->c_str(), IN_MOVED_TO | IN_CREATE);
        out->find();
        out->greet(kFirstPatience);  // what runs now is known when this returns
    }
    if (out->options_.own) {
        auto reader = TraceReader::attach_own();
        if (!reader) return tl::unexpected(reader.error());
        if (!out->options_.past) reader->skip_past();
        out->own_ = std::make_unique<OwnRing>(OwnRing{std::move(*reader)});
    }
    out->thread_ = std::thread([collector = out.get()] { collector->run(); });
    return out;
}

std::unique_ptr<MultiCollector> MultiCollector::of_own_ring(bool past) {
    auto out = start({.own = true, .discover = false, .past = past});
    if (out) return std::move(*out);
    log_warning("nothing will be measured: {}", out.error().text());
    return std::unique_ptr<MultiCollector>(new MultiCollector({}));
}

MultiCollector::~MultiCollector() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    if (watch_ >= 0) ::close(watch_);
}

void MultiCollector::run() {
    ::pthread_setname_np(::pthread_self(), "gs-collector");
    auto interval = options_.interval;
    while (!stop_) {
        take_arrivals();
        if (options_.discover && (directory_changed() || now_ns() - last_search_ns_ > kSecond))
            find();
        greet({});
        pass_on_questions();
        interval = read_all() ? options_.interval : std::min(interval * 2, options_.idle_interval);
        publish();
        if (!stop_) std::this_thread::sleep_for(interval);
    }
    take_arrivals();
    greet({});
    if (own_) own_->clock_ns = 0;  // the last records are converted by the newest clock
    read_all();
    give_leases_back();
}

// ---- who is there ----

bool MultiCollector::directory_changed() {
    if (watch_ < 0) return false;
    char events[4096];
    bool any = false;
    while (::read(watch_, events, sizeof events) > 0) any = true;
    return any;
}

bool MultiCollector::wanted(const Producer& producer) const {
    if (producer.pid == static_cast<std::uint32_t>(::getpid())) return false;
    if (!options_.role.empty() && options_.role != producer.role) return false;
    if (!options_.pids.empty() &&
        std::find(options_.pids.begin(), options_.pids.end(), producer.pid) == options_.pids.end())
        return false;
    return options_.ancestor == 0 || descends_from(producer.pid, options_.ancestor);
}

void MultiCollector::find() {
    last_search_ns_ = now_ns();
    for (const Producer& producer : list_producers()) {
        const std::string path = producer.socket.string();
        const bool known =
            std::any_of(all_.begin(), all_.end(),
                        [&](const auto& source) {
                            return source->state.alive && source->socket == producer.socket;
                        }) ||
            std::any_of(greeting_.begin(), greeting_.end(), [&](const Connection& c) {
                return c.producer().socket == producer.socket;
            });
        if (known || !wanted(producer) ||
            std::find(refused_.begin(), refused_.end(), path) != refused_.end())
            continue;
        auto connection = Connection::begin(producer);
        if (connection) {
            greeting_.push_back(std::move(*connection));
        } else if (connection.error().kind != ErrorKind::not_found) {
            log_warning("process {} cannot be read: {}", producer.pid, connection.error().text());
            refused_.push_back(path);
        }
    }
}

// `patience` is for each.
void MultiCollector::greet(std::chrono::milliseconds patience) {
    std::vector<Connection> waiting;
    for (Connection& connection : greeting_) {
        const auto greeted = connection.greeted(patience);
        if (greeted && !*greeted) {
            waiting.push_back(std::move(connection));
        } else if (greeted) {
            add(std::move(connection));
        } else if (greeted.error().kind != ErrorKind::not_found) {
            log_warning("process {} cannot be read: {}", connection.producer().pid,
                        greeted.error().text());
            refused_.push_back(connection.producer().socket.string());
        }
    }
    greeting_ = std::move(waiting);
}

void MultiCollector::take_arrivals() {
    if (!arrivals_) return;
    for (int socket = arrivals_->accept(); socket >= 0; socket = arrivals_->accept()) {
        auto connection = Connection::adopt(socket);
        if (connection)
            add(std::move(*connection));
        else
            log_warning("a process that wanted to be read cannot be: {}",
                        connection.error().text());
    }
}

// One process may be found twice: it came by itself, and it has a socket.
bool MultiCollector::is_known(const Source& source) const {
    return std::any_of(all_.begin(), all_.end(), [&](const auto& other) {
        return other->state.alive && other->state.pid == source.state.pid &&
               other->state.role == source.state.role &&
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
    source->state = {connection.source(), producer.pid, producer.role, card.text, true, ""};
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

bool MultiCollector::read_all() {
    bool busy = own_ && read_own(*own_);
    for (const auto& source : all_) {
        if (!source->connection) continue;
        const std::uint64_t before = source->written;
        follow_life(*source);
        read(*source);
        busy |= source->written != before;
    }
    return busy;
}

// Nobody else may be there to publish this process's clocks.
bool MultiCollector::read_own(OwnRing& own) {
    if (now_ns() - own.clock_ns > kClockInterval) {
        publish_clock_snapshot();
        own.clock_ns = now_ns();
    }
    const std::uint64_t before = own.written;
    own.reader.drain(*own.pending);
    own.written = own.pending->written;
    hand_over(own.reader, own.pending);
    return own.written != before;
}

void MultiCollector::hand_over(TraceReader& reader, std::shared_ptr<TraceBatch>& pending) {
    pending->collector_cpu_ns = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    reader.count_lost(batches_.hand_over(pending));
}

void MultiCollector::read(Source& source) {
    hear(source);
    source.connection->drain(*source.pending);
    source.written = source.pending->written;
    hand_over(source.connection->reader(), source.pending);
    if (source.last_look && source.pending->read_ns == 0) source.connection.reset();
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
    for (const auto& source : all_) states.push_back(source->state);
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
}

}  // namespace gs::service
