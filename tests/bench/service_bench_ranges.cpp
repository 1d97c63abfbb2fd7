// What a range costs in a process that loads the injection library.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "base/record/clock.h"
#include "base/record/protocol.h"
#include "base/try.h"
#include "profiler/collect/multi_collector.h"
#include "tests/bench/service_bench.h"
#include "tests/support/nvtx_client.h"

namespace gs::bench {
namespace {

using service::MultiCollector;

// ---- a worker: a forked process that uses NVTX and sends numbers back ----

class Pipe {
  public:
    Pipe(int in, int out) : in_(in), out_(out) {}
    template <class T>
    void send(const T& value) const {
        if (::write(out_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) ::_exit(1);
    }
    template <class T>
    bool receive(T& value) const {
        return ::read(in_, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
    }
    bool has_data(int patience_ms) const {
        pollfd p{in_, POLLIN, 0};
        return ::poll(&p, 1, patience_ms) > 0;
    }

  private:
    int in_, out_;
};

class Worker {
  public:
    /// `armed`: it records from its first range on.
    Worker(bool armed, const std::function<void(const Pipe&)>& body) {
        int down[2], up[2];
        if (::pipe(down) != 0 || ::pipe(up) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(down[1]);
            ::close(up[0]);
            ::setenv("NVTX_INJECTION64_PATH", GAUSSCOPE_INJECT, 1);
            ::setenv(service::kArmVariable, armed ? "1" : "0", 1);
            ::unsetenv(service::kCollectorVariable);
            body(Pipe(down[0], up[1]));
            ::_exit(0);
        }
        ::close(down[0]);
        ::close(up[1]);
        in_ = up[0], out_ = down[1];
    }
    ~Worker() {
        if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
        if (in_ >= 0) ::close(in_), ::close(out_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    Pipe pipe() const { return {in_, out_}; }
    std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  private:
    pid_t pid_ = -1;
    int in_ = -1, out_ = -1;
};

tl::unexpected<Error> no_answer() {
    return fail(ErrorKind::unreadable, "", "the measured process ended before it was done");
}

// ---- ranges ----

constexpr long kRounds =
    20'000;  // short against a turn of the scheduler: on a busy machine some rounds run undisturbed

template <class F>
double ns_per(F body, int repeats = 45) {
    double best = 1e30;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const std::uint64_t begin = monotonic_ns();
        for (long i = 0; i < kRounds; ++i) body();
        best = std::min(best, static_cast<double>(monotonic_ns() - begin) / kRounds);
    }
    return best;
}

nvtxEventAttributes_t attributes() {
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return e;
}

struct Ranges {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
    nvtxEventAttributes_t by_handle = attributes(), by_text = attributes();
    Ranges() {
        by_handle.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        by_handle.message.registered = nvtxDomainRegisterStringA(domain, "a range by handle");
        by_text.messageType = NVTX_MESSAGE_TYPE_ASCII;
        by_text.message.ascii = "a name of thirty-two characters.";
    }
    void handle() const {
        nvtxDomainRangePushEx(domain, &by_handle);
        nvtxDomainRangePop(domain);
    }
    /// As torch.cuda.nvtx does.
    static void plain() {
        nvtxRangePushA("a 13-char nam");
        nvtxRangePop();
    }
    void text() const {
        nvtxDomainRangePushEx(domain, &by_text);
        nvtxDomainRangePop(domain);
    }
};

struct RangeTimes {
    double timer_pair = 0, handle = 0, text = 0, plain = 0, tail = 0;
    double alone = 0, together = 0;  // pairs a nanosecond
};

/// The time below which 999 of 1000 pairs stay, two clock reads included.
double tail_ns(const Ranges& ranges) {
    std::vector<std::uint64_t> times(200'000);
    for (auto& time : times) {
        const std::uint64_t begin = monotonic_ns();
        ranges.handle();
        time = monotonic_ns() - begin;
    }
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 999 / 1000);
    std::nth_element(times.begin(), at, times.end());
    return static_cast<double>(*at);
}

/// Pairs a nanosecond of `count` threads at once.
double throughput(const Ranges& ranges, unsigned count) {
    constexpr long kPairs = 2'000'000;
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> spent{0};
    for (unsigned t = 0; t < count; ++t)
        threads.emplace_back([&] {
            ranges.handle();
            for (++ready; ready < count;) std::this_thread::yield();
            const std::uint64_t begin = monotonic_ns();
            for (long i = 0; i < kPairs; ++i) ranges.handle();
            spent += monotonic_ns() - begin;
        });
    for (auto& thread : threads) thread.join();
    return static_cast<double>(count) * static_cast<double>(count) * kPairs /
           static_cast<double>(spent.load());
}

RangeTimes measure_pairs() {
    const Ranges ranges;
    RangeTimes out;
    std::uint64_t sum = 0;
    out.timer_pair = ns_per([&] { sum += read_counter(), sum ^= read_counter(); });
    volatile std::uint64_t keep = sum;
    static_cast<void>(keep);
    out.handle = ns_per([&] { ranges.handle(); });
    out.text = ns_per([&] { ranges.text(); });
    out.plain = ns_per(Ranges::plain);
    out.tail = tail_ns(ranges);
    out.alone = throughput(ranges, 1);
    out.together = throughput(ranges, std::max(1u, std::thread::hardware_concurrency()));
    return out;
}

Result<RangeTimes> recorded_pairs() {
    Worker worker(true, [](const Pipe& pipe) { pipe.send(measure_pairs()); });
    service::MultiCollectorOptions options;
    options.pids = {worker.pid()};
    GS_TRY(auto collector, MultiCollector::start(std::move(options)));
    TraceStore store({.max_spans = 100'000});
    while (!worker.pipe().has_data(5)) collector->drain_into(store);
    RangeTimes out;
    if (!worker.pipe().receive(out)) return no_answer();
    return out;
}

Result<double> idle_pair() {
    Worker worker(false, [](const Pipe& pipe) {
        const Ranges ranges;
        pipe.send(ns_per([&] { ranges.handle(); }));
    });
    double out = 0;
    if (!worker.pipe().receive(out)) return no_answer();
    return out;
}

// ---- steady rates ----

struct RateResult {
    double lost = 0, cpu = 0, rate = 0;
};

Result<RateResult> at_rate(double rate, std::chrono::milliseconds interval) {
    constexpr double kSeconds = 4;
    Worker worker(true, [rate](const Pipe& pipe) {
        const Ranges ranges;
        char go = 0;
        ranges.handle();
        pipe.send('r');
        if (!pipe.receive(go)) return;
        // Bursts of a tenth of a millisecond: sleeping is not more exact than that.
        const std::uint64_t begin = monotonic_ns();
        double done = 0;
        while (static_cast<double>(monotonic_ns() - begin) < kSeconds * 1e9) {
            const double due = rate * static_cast<double>(monotonic_ns() - begin) * 1e-9;
            for (; done < due; ++done) ranges.handle();
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        pipe.send(done / kSeconds);
        pipe.receive(go);
    });
    char ready = 0;
    if (!worker.pipe().receive(ready)) return no_answer();
    service::MultiCollectorOptions options;
    options.pids = {worker.pid()};
    options.interval = options.idle_interval = interval;
    GS_TRY(auto collector, MultiCollector::start(std::move(options)));
    TraceStore store({.max_spans = 100'000});
    while (!worker.pipe().has_data(0) && collector->drain_into(store) == 0)
        std::this_thread::yield();
    const auto cpu_before = store.sources().collector_cpu_ns();
    const std::uint64_t begin = monotonic_ns();
    worker.pipe().send('g');
    while (!worker.pipe().has_data(5)) collector->drain_into(store);
    RateResult out;
    if (!worker.pipe().receive(out.rate)) return no_answer();
    const double wall = static_cast<double>(monotonic_ns() - begin);
    collector->finish(store);
    out.cpu = static_cast<double>(store.sources().collector_cpu_ns() - cpu_before) / wall;
    out.lost = static_cast<double>(store.sources().loss().lapped);
    return out;
}

}  // namespace

Result<ServiceFigures> measure_ranges() {
    GS_TRY(const auto idle, idle_pair());
    GS_TRY(const auto times, recorded_pairs());
    const double cores = std::max(1u, std::thread::hardware_concurrency());
    return ServiceFigures{
        {"two clock reads", "ns", times.timer_pair, {}, false, "what no recorder can be without"},
        {"range, idle", "ns", idle, 1.0, false, "library loaded, nobody watches"},
        {"range, registered string", "ns", times.handle, 30.0, false,
         "push and pop, recorded and read"},
        {"  over two clock reads", "x", times.handle / times.timer_pair, 2.0, false, ""},
        {"range, text of 32 characters", "ns", times.text, 50.0, false, ""},
        {"range, nvtxRangePushA", "ns", times.plain, 50.0, false, "13 characters"},
        {"range, 99.9 % stay below", "ns", times.tail, 1000.0, false,
         "two reads of CLOCK_MONOTONIC included"},
        {"threads beside each other", "x", times.together / (cores * times.alone), 0.95, true,
         fmt::format("{:.0f} threads, each as fast as one alone: 1", cores)},
    };
}

Result<ServiceFigures> measure_rates() {
    GS_TRY(const auto fast, at_rate(1e6, std::chrono::milliseconds(10)));
    GS_TRY(const auto usual, at_rate(1e5, service::MultiCollectorOptions{}.interval));
    return ServiceFigures{
        {"lost at 1,000,000 ranges a second", "records", fast.lost, 0.0, false,
         fmt::format("looked at every 10 ms, {:.0f} a second came", fast.rate)},
        {"reading 1,000,000 ranges a second",
         "% of a core",
         100 * fast.cpu,
         {},
         false,
         "the collector's thread"},
        {"reading 100,000 ranges a second", "% of a core", 100 * usual.cpu, 1.0, false,
         fmt::format("the collector's thread; {:.0f} a second came, {:.0f} lost", usual.rate,
                     usual.lost)},
    };
}

Result<ServiceFigures> measure_residue() {
    constexpr int kPairs = 12;
    Worker worker(false, [](const Pipe& pipe) {
        const Ranges ranges;
        char go = 0;
        do {
            pipe.send(ns_per([&] { ranges.handle(); }, 25));
        } while (pipe.receive(go));
    });
    double before = 0, after = 0;
    if (!worker.pipe().receive(before)) return no_answer();
    std::vector<double> residue;
    for (int pair = 0; pair < kPairs; ++pair) {
        for (double* into : {&before, &after}) {
            if (into == &after) {
                // Armed for a while, with something recorded, then let go.
                service::MultiCollectorOptions options;
                options.pids = {worker.pid()};
                GS_TRY(auto collector, MultiCollector::start(std::move(options)));
                double recorded = 0;
                worker.pipe().send('g');
                if (!worker.pipe().receive(recorded)) return no_answer();
                TraceStore store({.max_spans = 100'000});
                collector->finish(store);
                std::this_thread::sleep_for(
                    std::chrono::milliseconds(150));  // disarmed with the next tick
            }
            worker.pipe().send('g');
            if (!worker.pipe().receive(*into)) return no_answer();
        }
        residue.push_back(after - before);
    }
    const Bootstrap b = bootstrap_median(residue);
    return ServiceFigures{
        {"range, idle, after it was watched", "ns", after, 1.0, false,
         "library loaded, nobody watches any more"},
        {"  more than before", "ns", b.median, 1.0, false,
         fmt::format("median of {} pairs, 95 % between {:.3f} and {:.3f}", kPairs, b.lo, b.hi)}};
}

}  // namespace gs::bench
