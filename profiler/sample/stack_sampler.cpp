#include "profiler/sample/stack_sampler.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/mailbox.h"
#include "base/record/clock.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "profiler/sample/sampled_process.h"

namespace gs {

using sample::PerfEvents;
using sample::PerfRecord;
using sample::SampledProcess;

/// What runs on the sampler's thread; only batches_ is shared with the owner while it does.
class StackSampler::Worker {
  public:
    Worker(PerfEvents events, const StackSamplerOptions& options)
        : events_(std::move(events)), options_(options) {
        if (options_.files == nullptr) options_.files = sample::make_symbol_files();
    }

    void adopt(std::uint32_t pid) { process(pid).adopt(); }

    void run(const std::stop_token& stop) {
        name_this_thread("call stacks");
        while (!stop.stop_requested()) {
            events_.wait(kPatienceMs);
            step();
        }
        step();
    }
    bool take_into(TraceStore& store) {
        const auto batch = batches_.try_take();
        if (batch) store.ingest(**batch);
        return batch.has_value();
    }
    std::vector<std::string> remarks() const;

  private:
    using Batch = std::shared_ptr<const TraceBatch>;
    static constexpr int kPatienceMs = 20;
    static constexpr std::int64_t kSecond = 1'000'000'000, kHandOverNs = kSecond / 10;
    static constexpr std::size_t kMostProcesses = 4096;

    void step();
    void take(const PerfRecord& record);
    void look_at_blocked(std::int64_t now);
    void hand_over(std::int64_t now);
    SampledProcess& process(std::uint32_t pid);
    void end(std::uint32_t pid);
    void queue(SampledProcess& of, bool ended);

    PerfEvents events_;
    StackSamplerOptions options_;
    std::map<std::uint32_t, SampledProcess> processes_;
    static inline std::atomic<std::uint64_t> last_source_{1ull << 31};  // rings begin with 1
    std::vector<PerfRecord> records_;
    std::int64_t looked_ns_ = 0, handed_over_ns_ = 0;
    std::uint64_t samples_ = 0, not_taken_ = 0, lost_ = 0;
    std::vector<std::string> python_remarks_;
    Queue<Batch> batches_{1024};
};

SampledProcess& StackSampler::Worker::process(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found != processes_.end()) return found->second;
    return processes_.try_emplace(pid, pid, ++last_source_, options_.files).first->second;
}

void StackSampler::Worker::step() {
    records_.clear();
    events_.take(records_);
    for (const PerfRecord& record : records_) take(record);
    const std::int64_t now = now_ns();
    const std::int64_t since = looked_ns_ == 0 ? kSecond : now - looked_ns_;
    if (options_.blocked_hz > 0 && since >= kSecond / options_.blocked_hz) look_at_blocked(now);
    if (now - handed_over_ns_ >= kHandOverNs) hand_over(now);
}

void StackSampler::Worker::take(const PerfRecord& record) {
    using Kind = PerfRecord::Kind;
    const bool known = processes_.contains(record.pid);
    if (processes_.size() >= kMostProcesses && !known) return;
    const bool runs = record.kind == Kind::sample || record.kind == Kind::mapping ||
                      (record.kind == Kind::start && !processes_.contains(record.parent));
    if (!known && runs) adopt(record.pid);  // how it began was lost
    switch (record.kind) {
        case Kind::sample:
            ++samples_;
            process(record.pid).take(record, kSecond / options_.hz);
            break;
        case Kind::mapping:
            process(record.pid).map(record);
            break;
        case Kind::program:
            process(record.pid).begin_program(record.path, record.time_ns);
            break;
        case Kind::start:
            if (record.pid != record.parent && processes_.contains(record.parent))
                process(record.pid).inherit(process(record.parent), record.time_ns);
            process(record.pid).begin_thread(record.tid);
            break;
        case Kind::end:
            if (processes_.contains(record.pid) && !process(record.pid).end_thread(record.tid))
                end(record.pid);
            break;
    }
}

void StackSampler::Worker::end(std::uint32_t pid) {
    SampledProcess& ending = process(pid);
    queue(ending, true);
    constexpr std::size_t kMostRemarks = 8;
    if (!ending.python_remark().empty() && python_remarks_.size() < kMostRemarks)
        python_remarks_.push_back(
            fmt::format("{} ({}): {}", ending.name(), pid, ending.python_remark()));
    processes_.erase(pid);
}

/// A look stands for the time since the one before, unless that was long ago.
void StackSampler::Worker::look_at_blocked(std::int64_t now) {
    const std::int64_t nominal = kSecond / options_.blocked_hz;
    const std::int64_t weight = looked_ns_ == 0 ? nominal : std::min(now - looked_ns_, 4 * nominal);
    looked_ns_ = now;
    for (auto& [pid, of] : processes_) of.look_at_blocked(now, weight);
}

void StackSampler::Worker::queue(SampledProcess& of, bool ended) {
    TraceBatch batch = of.hand_over(now_ns(), ended);
    if (batch.read_ns == 0) return;
    const std::size_t samples = batch.samples.size();
    if (!batches_.try_put(std::make_shared<const TraceBatch>(std::move(batch))))
        not_taken_ += samples;
}

void StackSampler::Worker::hand_over(std::int64_t now) {
    handed_over_ns_ = now;
    // Not only samples may be lost: also which programs began and ended, and what they mapped.
    const bool doubtful = std::exchange(lost_, events_.lost()) != events_.lost();
    for (auto next = processes_.begin(); next != processes_.end();) {
        auto& [pid, of] = *next++;  // end() removes it
        if (doubtful) of.doubt();
        if (of.renew(now))
            queue(of, false);
        else
            end(pid);
    }
}

std::vector<std::string> StackSampler::Worker::remarks() const {
    std::vector<std::string> out;
    if (const std::uint64_t lost = events_.lost() + not_taken_; lost > 0)
        out.push_back(counted(lost, "sample") +
                      " of call stacks lost: the machine was too busy, or the rate too high");
    if (const std::size_t threads = events_.threads_left_out(); threads > 0)
        out.push_back("call stacks missing of " + counted(threads, "thread") +
                      ": the limit of open files is too low (ulimit -n)");
    if (events_.without_kernel())
        out.push_back(
            "call stacks show no time inside the kernel: only root may see it, or anyone with "
            "kernel.perf_event_paranoid=1");
    if (!sample::has_unwinder())
        out.push_back(
            "this gausscope was built without libdw: call stacks follow frame pointers, "
            "and functions have no names");
    for (const std::string& remark : python_remarks_) out.push_back(remark);
    for (const auto& [pid, of] : processes_)
        if (!of.python_remark().empty())
            out.push_back(fmt::format("{} ({}): {}", of.name(), pid, of.python_remark()));
    return out;
}

StackSampler::StackSampler(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {
    thread_ = std::jthread([w = worker_.get()](const std::stop_token& stop) { w->run(stop); });
}
StackSampler::~StackSampler() = default;

Result<std::unique_ptr<StackSampler>> StackSampler::of_next_program(
    const StackSamplerOptions& options) {
    GS_TRY(PerfEvents events, PerfEvents::of_next_program({options.hz, sample::has_unwinder()}));
    return std::unique_ptr<StackSampler>(
        new StackSampler(std::make_unique<Worker>(std::move(events), options)));
}

Result<std::unique_ptr<StackSampler>> StackSampler::of_process(std::uint32_t pid,
                                                               const StackSamplerOptions& options) {
    GS_TRY(PerfEvents events, PerfEvents::of_process(pid, {options.hz, sample::has_unwinder()}));
    auto worker = std::make_unique<Worker>(std::move(events), options);
    worker->adopt(pid);
    return std::unique_ptr<StackSampler>(new StackSampler(std::move(worker)));
}

void StackSampler::take_into(TraceStore& store) {
    while (worker_->take_into(store)) continue;
}

void StackSampler::finish(TraceStore& store) {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    take_into(store);
}

std::vector<std::string> StackSampler::remarks() const { return worker_->remarks(); }

}  // namespace gs
