#include "profiler/sample/node_sampler.h"

#include <set>

#include "base/log.h"
#include "profiler/sample/process_image.h"
#include "profiler/store/node_gpus.h"

namespace gs {
namespace {

/// Processes of which samples come: also those that a sampled one has started.
std::set<std::uint32_t> sampled_now(const TraceStore& store, std::int64_t now_ns) {
    constexpr std::int64_t kSilenceNs = 3'000'000'000;
    std::set<std::uint32_t> out;
    for (const SampledThread& thread : store.samples().threads())
        if (now_ns - thread.samples.back().time_ns < kSilenceNs) out.insert(thread.process);
    return out;
}

}  // namespace

NodeSampler::NodeSampler(int hz) : options_{.hz = hz, .files = sample::make_symbol_files()} {}

void NodeSampler::look(TraceStore& store, std::int64_t now_ns) {
    if (options_.hz == 0) return;
    const std::set<std::uint32_t> sampled = sampled_now(store, now_ns);
    std::set<std::uint32_t> live;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        const TraceProcess& process = store.processes()[p];
        if (process.ended || process.visible_pid == 0 || is_node_gpus(process)) continue;
        live.insert(process.visible_pid);
        if (sampled.contains(p) || samplers_.contains(process.visible_pid)) continue;
        auto sampler = StackSampler::of_process(process.visible_pid, options_);
        if (!sampler && !said_) log_warning("no call stacks: {}", sampler.error().text());
        said_ = said_ || !sampler;
        samplers_[process.visible_pid] = sampler ? std::move(*sampler) : nullptr;
    }
    std::erase_if(samplers_, [&](auto& entry) {
        if (live.contains(entry.first)) return false;
        if (entry.second) entry.second->finish(store);
        return true;
    });
}

void NodeSampler::take_into(TraceStore& store) {
    for (const auto& [pid, sampler] : samplers_)
        if (sampler) sampler->take_into(store);
}

void NodeSampler::finish(TraceStore& store) {
    for (const auto& [pid, sampler] : samplers_)
        if (sampler) sampler->finish(store);
    samplers_.clear();
}

}  // namespace gs
