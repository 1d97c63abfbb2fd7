// What watching costs our trainer: one run, watched and unwatched in turns, so that both see the
// same machine.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/record/clock.h"
#include "base/rng.h"
#include "base/try.h"
#include "profiler/collect/multi_collector.h"
#include "tests/bench/service_bench.h"

extern char** environ;

namespace gs::bench {
namespace {

using service::Connection;
constexpr double kStretchSeconds = 2;

/// `gausscope train` on a capture, without end.
class Trainer {
  public:
    explicit Trainer(const std::string& capture) {
        char folder[] = "/tmp/gausscope-bench-XXXXXX";
        if (::mkdtemp(folder) == nullptr) return;
        folder_ = folder;
        std::vector<std::string> words{
            "gausscope",    "train", capture,     "-o", folder_ + "/out", "--steps", "1000000",
            "--save-every", "0",     "--threads", "1"};
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t quiet;
        ::posix_spawn_file_actions_init(&quiet);
        ::posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addopen(&quiet, 2, (folder_ + "/log").c_str(),
                                           O_WRONLY | O_CREAT, 0600);
        if (::posix_spawn(&pid_, GAUSSCOPE_PROGRAM, &quiet, nullptr, arguments.data(), environ) !=
            0)
            pid_ = -1;
        ::posix_spawn_file_actions_destroy(&quiet);
    }
    ~Trainer() {
        if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
        std::error_code ignored;
        if (!folder_.empty()) fs::remove_all(folder_, ignored);
    }
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;
    std::uint32_t pid() const { return pid_ > 0 ? static_cast<std::uint32_t>(pid_) : 0; }
    bool ended() { return pid_ <= 0 || ::waitpid(pid_, nullptr, WNOHANG) == pid_; }
    std::string last_words() const { return read_text_file(folder_ + "/log").value_or(""); }

  private:
    std::string folder_;
    pid_t pid_ = -1;
};

/// Iterations read from the trainer's ring: begin -> milliseconds. The ring still holds those that
/// ran between two reads: a lane has space for some hundred.
using Steps = std::map<std::int64_t, double>;

void take_steps(Connection& connection, Steps& steps) {
    TraceBatch batch;
    static std::uint32_t iteration = 0;
    connection.drain(batch);
    for (const NameInfo& name : batch.names)
        if (name.text == "iteration") iteration = name.name;
    for (const SpanEvent& span : batch.spans)
        if (span.name == iteration)
            steps[span.begin_ns] = static_cast<double>(span.end_ns - span.begin_ns) * 1e-6;
}

double median_between(const Steps& steps, std::int64_t begin, std::int64_t end) {
    std::vector<double> times;
    for (auto at = steps.lower_bound(begin); at != steps.end() && at->first < end; ++at)
        times.push_back(at->second);
    if (times.size() < 3) return 0;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

struct Stretch {
    std::int64_t begin = 0, end = 0;
    bool watched = false;
    std::int64_t cpu_ns = 0;  ///< of the trainer, all its threads
    double cpu_ms_a_step(const Steps& steps) const {
        const auto count = std::distance(steps.lower_bound(begin), steps.lower_bound(end));
        return count > 0 ? static_cast<double>(cpu_ns) * 1e-6 / static_cast<double>(count) : 0;
    }
};

std::int64_t cpu_ns_of(std::uint32_t pid) {
    clockid_t clock{};
    const bool known = ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0;
    return known ? static_cast<std::int64_t>(clock_ns(clock)) : 0;
}

Result<service::Producer> wait_for(Trainer& trainer) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until && !trainer.ended()) {
        for (const service::Producer& producer : service::list_producers())
            if (producer.pid == trainer.pid()) return producer;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return fail(ErrorKind::unreadable, "",
                "the trainer cannot be watched: " + trainer.last_words());
}

/// Waits until steps come, and a little longer.
Result<void> warm_up(Trainer& trainer, const service::Producer& producer) {
    Steps steps;
    GS_TRY(auto connection, Connection::open(producer));
    while (steps.size() < 20) {
        if (trainer.ended())
            return fail(ErrorKind::unreadable, "", "the trainer ended: " + trainer.last_words());
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        take_steps(connection, steps);
    }
    return {};
}

/// One stretch; watched as `attach` does it.
Result<Stretch> let_run(const service::Producer& producer, bool watched) {
    Stretch out{now_ns(), 0, watched, -cpu_ns_of(producer.pid)};
    const auto length = std::chrono::duration<double>(kStretchSeconds);
    if (!watched) {
        std::this_thread::sleep_for(length);
    } else {
        service::MultiCollectorOptions options;
        options.pids = {producer.pid};
        GS_TRY(auto collector, service::MultiCollector::start(std::move(options)));
        TraceStore store({.max_spans = 200'000});
        const auto until = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < until) {
            collector->drain_into(store);
            std::this_thread::sleep_for(std::chrono::milliseconds(16));
        }
        collector->finish(store);
    }
    out.end = now_ns();
    out.cpu_ns += cpu_ns_of(producer.pid);
    return out;
}

}  // namespace

Bootstrap bootstrap_median(const std::vector<double>& values) {
    constexpr int kResamples = 2000;
    const auto median_of = [](std::vector<double> v) {
        const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
        std::nth_element(v.begin(), middle, v.end());
        if (v.size() % 2 == 1) return *middle;
        return (*middle + *std::max_element(v.begin(), middle)) / 2;
    };
    if (values.empty()) return {};
    std::vector<double> medians, resample(values.size());
    for (int i = 0; i < kResamples; ++i) {
        for (std::size_t k = 0; k < resample.size(); ++k)
            resample[k] = values[random_bits(1, static_cast<std::uint64_t>(i), k) % values.size()];
        medians.push_back(median_of(resample));
    }
    std::sort(medians.begin(), medians.end());
    return {median_of(values), medians[kResamples / 40], medians[kResamples - 1 - kResamples / 40]};
}

namespace {

/// What `ms_of` says of a watched stretch, against the one beside it that was not.
template <class F>
Result<ServiceFigure> compared(const char* name, const std::vector<Stretch>& stretches, F&& ms_of) {
    std::vector<double> ratios;
    double unwatched_ms = 0;
    for (std::size_t i = 0; i + 1 < stretches.size(); i += 2) {
        double ms[2];
        for (std::size_t k = 0; k < 2; ++k) ms[stretches[i + k].watched] = ms_of(stretches[i + k]);
        if (ms[0] > 0 && ms[1] > 0)
            ratios.push_back(100 * (ms[1] / ms[0] - 1)), unwatched_ms = ms[0];
    }
    if (ratios.size() < 3)
        return fail(ErrorKind::unreadable, name, "too few steps to compare",
                    "a smaller capture, or --downscale");
    const Bootstrap b = bootstrap_median(ratios);
    return ServiceFigure{
        name,
        "%",
        b.median,
        1.0,
        false,
        fmt::format("median of {} pairs, 95 % between {:+.2f} and {:+.2f}; {:.2f} ms a step",
                    ratios.size(), b.lo, b.hi, unwatched_ms)};
}

}  // namespace

Result<ServiceFigures> measure_trainer(const std::string& capture, int pairs) {
    Trainer trainer(capture);
    GS_TRY(const auto producer, wait_for(trainer));
    GS_TRY_VOID(warm_up(trainer, producer));
    Steps steps;
    std::vector<Stretch> stretches;
    for (int pair = 0; pair < pairs; ++pair)
        for (const bool second : {false, true}) {
            // Which comes first changes from pair to pair: a run gets slower as it grows.
            GS_TRY(const auto stretch, let_run(producer, second == (pair % 2 == 0)));
            stretches.push_back(stretch);
            GS_TRY(auto connection, Connection::open(producer));
            take_steps(connection, steps);
        }
    GS_TRY(const auto time,
           compared("trainer, watched against not", stretches,
                    [&](const Stretch& s) { return median_between(steps, s.begin, s.end); }));
    GS_TRY(const auto cpu, compared("trainer's processor time, watched against not", stretches,
                                    [&](const Stretch& s) { return s.cpu_ms_a_step(steps); }));
    return ServiceFigures{time, cpu};
}

}  // namespace gs::bench
