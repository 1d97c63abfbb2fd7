#include "profiler/collect/device_sampler.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "profiler/collect/batch_queue.h"
#include "profiler/collect/nvml_gpu.h"

namespace gs::service {
namespace {

/// A driver that was not there is looked for again.
constexpr auto kTryAgainAfter = std::chrono::minutes(1);
/// For a driver that may never answer again. Recordings are not to be lost with it.
constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

class DeviceSampler::Work {
  public:
    explicit Work(DeviceSamplerOptions options) : options_(options) {}
    void run();
    void watch(std::set<std::string> uuids);
    /// Whether run() has ended, as it does soon unless the driver holds it.
    bool stop();
    BatchQueue& batches() { return batches_; }
    /// What could not be handed over; once run() has ended.
    const TraceBatch& rest() { return *batch_.pending(); }

  private:
    using Clock = std::chrono::steady_clock;
    /// Of those that `wanted` names; only those that never were, unless it is time for all.
    void sample(const std::set<std::string>& wanted, bool time_for_all);
    bool open();
    void close();
    void tell_missing(const std::set<std::string>& wanted);

    DeviceSamplerOptions options_;
    BatchQueue batches_{64};
    // ---- shared
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::string> wanted_;  // uuids
    bool stop_ = false, ended_ = false;
    // ---- the thread's
    nvml::DeviceBatch batch_;
    std::unique_ptr<nvml::Library> library_;
    std::map<std::string, nvml::Said> said_;  // by uuid
    std::vector<std::unique_ptr<nvml::Gpu>> gpus_;
    std::set<std::string> missing_;  // of the wanted, those that NVML does not know: said
    std::string problem_;            // why the library cannot be had
    bool problem_told_ = false;
    Clock::time_point renew_{};
};

std::unique_ptr<DeviceSampler> DeviceSampler::start(DeviceSamplerOptions options) {
    const char* const wish = std::getenv("GAUSSCOPE_NVML");
    if (wish != nullptr && std::string(wish) == "0") return nullptr;
    std::unique_ptr<DeviceSampler> out(new DeviceSampler(std::make_shared<Work>(options)));
    out->thread_ = std::thread([work = out->work_] { work->run(); });
    return out;
}

void DeviceSampler::watch(std::set<std::string> uuids) { work_->watch(std::move(uuids)); }

std::size_t DeviceSampler::take_into(TraceStore& store) {
    return work_->batches().take_into(store);
}

bool DeviceSampler::stop() {
    if (!thread_.joinable()) return false;
    const bool ended = work_->stop();
    if (ended) {
        thread_.join();
    } else {
        log_warning("NVML does not answer: its GPU counters are missing");
        thread_.detach();
    }
    return ended;
}

void DeviceSampler::finish(TraceStore& store) {
    const bool ended = stop();
    take_into(store);
    if (ended) store.ingest(work_->rest());
}

void DeviceSampler::Work::watch(std::set<std::string> uuids) {
    uuids.erase("");
    while (uuids.size() > kMostWatched) uuids.erase(std::prev(uuids.end()));
    {
        const std::lock_guard lock(mutex_);
        if (uuids == wanted_) return;
        wanted_ = std::move(uuids);
    }
    changed_.notify_all();
}

bool DeviceSampler::Work::stop() {
    std::unique_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, kPatience, [&] { return ended_; });
}

void DeviceSampler::Work::run() {
    ::pthread_setname_np(::pthread_self(), "gs-devices");
    Clock::time_point next = Clock::now();
    std::unique_lock lock(mutex_);
    while (!stop_) {
        const std::set<std::string> wanted = wanted_;
        lock.unlock();
        const bool time_for_all = Clock::now() >= next;
        if (time_for_all) next = Clock::now() + options_.interval;
        sample(wanted, time_for_all);
        lock.lock();
        changed_.wait_until(lock, next, [&] { return stop_ || wanted_ != wanted; });
    }
    lock.unlock();
    close();
    lock.lock();
    ended_ = true;
    changed_.notify_all();
}

void DeviceSampler::Work::sample(const std::set<std::string>& wanted, bool time_for_all) {
    if (wanted.empty() && !options_.all) return;
    if (Clock::now() >= renew_) close();
    const bool is_open = library_ != nullptr || open();
    if (!is_open && !wanted.empty() && !std::exchange(problem_told_, true)) batch_.say(problem_);
    if (is_open && !options_.all) tell_missing(wanted);
    for (const auto& gpu : gpus_) {
        const bool is_wanted =
            options_.all || std::ranges::any_of(wanted, [&](const std::string& uuid) {
                return gpu->device().is(uuid);
            });
        if (is_wanted && (time_for_all || gpu->is_new())) gpu->sample(batch_);
    }
    batch_.seal();
    batches_.hand_over(batch_.pending());
}

bool DeviceSampler::Work::open() {
    if (Clock::now() < renew_) return false;
    auto library = nvml::Library::open();
    renew_ = Clock::now() + (library ? Clock::duration(options_.renew_after) : kTryAgainAfter);
    if (!library) {
        problem_told_ = problem_told_ && problem_ == library.error();
        problem_ = std::move(library.error());
        return false;
    }
    library_ = std::move(*library);
    for (nvml::Device& device : library_->devices()) {
        nvml::Said& said = said_[device.uuid];
        gpus_.push_back(std::make_unique<nvml::Gpu>(*library_, std::move(device), said));
    }
    return true;
}

void DeviceSampler::Work::close() {
    gpus_.clear();
    library_.reset();
}

void DeviceSampler::Work::tell_missing(const std::set<std::string>& wanted) {
    for (const std::string& uuid : wanted) {
        const bool known = std::any_of(gpus_.begin(), gpus_.end(),
                                       [&](const auto& gpu) { return gpu->device().is(uuid); });
        if (known || missing_.size() >= kMostWatched || !missing_.insert(uuid).second) continue;
        batch_.say(fmt::format(
            "{} is not among the GPUs and MIG slices that NVML lists here: it has no counters",
            uuid));
    }
}

}  // namespace gs::service
