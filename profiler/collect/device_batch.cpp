#include "profiler/collect/device_batch.h"

#include <unistd.h>

#include "base/machine.h"
#include "base/record/clock.h"
#include "profiler/store/node_gpus.h"

namespace gs::nvml {

std::uint32_t DeviceBatch::number_of(const std::string& name) {
    const auto [place, added] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size() + 1));
    if (added) pending_->names.push_back({place->second, name});
    return place->second;
}

void DeviceBatch::counter(const std::string& name, double value) {
    pending_->counters.push_back({now_ns(), value, 0, number_of(name)});
    ++written_;
}

void DeviceBatch::say(const std::string& text) {
    pending_->instants.push_back({now_ns(), 0, 0, number_of(text)});
    ++written_;
}

void DeviceBatch::device(const Device& device, std::uint64_t memory_bytes) {
    pending_->devices.push_back({.device = device.number,
                                 .name = device.name,
                                 .uuid = device.uuid,
                                 .memory_bytes = memory_bytes});
}

void DeviceBatch::seal() {
    TraceBatch& b = *pending_;
    if (b.counters.empty() && b.instants.empty()) return;
    b.source = kNodeGpusSource;
    b.pid = b.visible_pid = static_cast<std::uint32_t>(::getpid());
    b.process_name = kNodeGpus;
    b.labels.host = host_name();
    b.tracks = {{0, b.pid, 0, "NVML"}};
    b.written = written_;
    b.read_ns = now_ns();
    b.realtime_offset_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)) - b.read_ns;
}

}  // namespace gs::nvml
