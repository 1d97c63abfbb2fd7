#include "profiler/collect/device_sampler.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gs::service {
namespace {

/// What a GPU refused, or a driver that was not there, is asked for again: GPUs are reset and cut
/// into slices, and drivers come, while a daemon runs for months.
constexpr auto kRenewAfter = std::chrono::minutes(10);
constexpr auto kTryAgainAfter = std::chrono::minutes(1);

}  // namespace

std::unique_ptr<DeviceSampler> DeviceSampler::start(DeviceSamplerOptions options) {
    const char* const wish = std::getenv("GAUSSCOPE_NVML");
    if (wish != nullptr && std::string(wish) == "0") return nullptr;
    std::unique_ptr<DeviceSampler> out(new DeviceSampler(options));
    out->thread_ = std::thread([sampler = out.get()] { sampler->run(); });
    return out;
}

void DeviceSampler::watch(const std::string& uuid) {
    {
        const std::lock_guard lock(mutex_);
        if (uuid.empty() || !wanted_.insert(uuid).second) return;
    }
    changed_.notify_one();
}

void DeviceSampler::set_unused(bool unused) {
    const std::lock_guard lock(mutex_);
    unused_ = unused;
}

void DeviceSampler::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void DeviceSampler::finish(TraceStore& store) {
    stop();
    batches_.take_into(store);
    store.ingest(*batch_.pending());
}

void DeviceSampler::run() {
    ::pthread_setname_np(::pthread_self(), "gs-devices");
    Clock::time_point next = Clock::now();
    std::unique_lock lock(mutex_);
    while (!stop_) {
        const std::size_t known = wanted_.size();
        const std::set<std::string> wanted = unused_ ? std::set<std::string>() : wanted_;
        lock.unlock();
        const bool time_for_all = Clock::now() >= next;
        if (time_for_all) next = Clock::now() + options_.interval;
        sample(wanted, time_for_all);
        lock.lock();
        changed_.wait_until(lock, next, [&] { return stop_ || wanted_.size() != known; });
    }
    lock.unlock();
    close();
}

void DeviceSampler::sample(const std::set<std::string>& wanted, bool time_for_all) {
    if (wanted.empty() && !options_.all) return;
    if (Clock::now() >= renew_) close();
    const bool is_open = library_ != nullptr || open();
    if (!is_open && !wanted.empty() && !std::exchange(problem_told_, true)) batch_.say(problem_);
    if (is_open) tell_missing(wanted);
    for (const auto& gpu : gpus_) {
        const bool is_wanted = options_.all || wanted.count(gpu->device().uuid) != 0;
        if (is_wanted && (time_for_all || gpu->is_new())) gpu->sample(batch_);
    }
    batch_.seal();
    batches_.hand_over(batch_.pending());
}

bool DeviceSampler::open() {
    if (Clock::now() < renew_) return false;
    auto library = nvml::Library::open();
    renew_ = Clock::now() + (library ? Clock::duration(kRenewAfter) : kTryAgainAfter);
    if (!library) {
        problem_told_ = problem_told_ && problem_ == library.error();
        problem_ = std::move(library.error());
        return false;
    }
    library_ = std::move(*library);
    for (nvml::Device& device : library_->devices())
        gpus_.push_back(std::make_unique<nvml::Gpu>(*library_, std::move(device)));
    return true;
}

void DeviceSampler::close() {
    gpus_.clear();
    library_.reset();
    missing_.clear();
}

void DeviceSampler::tell_missing(const std::set<std::string>& wanted) {
    for (const std::string& uuid : wanted) {
        const bool known = std::any_of(gpus_.begin(), gpus_.end(),
                                       [&](const auto& gpu) { return gpu->device().uuid == uuid; });
        if (known || !missing_.insert(uuid).second) continue;
        batch_.say(fmt::format(
            "{} is not among the GPUs that NVML tells of here: a slice (MIG) has no counters of "
            "its own",
            uuid));
    }
}

}  // namespace gs::service
