#include "profiler/store/process_labels.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace gs {

void read_label(std::string_view text, ProcessLabels& labels) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return;
    const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
    int whole = -1;
    std::from_chars(value.data(), value.data() + value.size(), whole);
    if (key == "host") labels.host = value;
    if (key == "job") labels.job = value;
    if (key == "pod") labels.pod = value;
    if (key == "rank") labels.rank = std::max(whole, -1);
    if (key == "local_rank") labels.local_rank = std::max(whole, -1);
    if (key == "world_size") labels.world_size = std::max(whole, -1);
    if (key == "command") labels.command = value;
    if (key == "job_name") labels.job_name = value;
    if (key == "commit") labels.commit = value;
    if (key == "clock") labels.clock = value;
}

std::vector<std::string> label_texts(const ProcessLabels& labels) {
    std::vector<std::string> out;
    const auto add = [&](const char* name, const std::string& value) {
        out.push_back(name + ("=" + value));
    };
    if (!labels.host.empty()) add("host", labels.host);
    if (!labels.job.empty()) add("job", labels.job);
    if (!labels.pod.empty()) add("pod", labels.pod);
    if (labels.rank >= 0) add("rank", std::to_string(labels.rank));
    if (labels.local_rank >= 0) add("local_rank", std::to_string(labels.local_rank));
    if (labels.world_size >= 0) add("world_size", std::to_string(labels.world_size));
    if (!labels.job_name.empty()) add("job_name", labels.job_name);
    if (!labels.commit.empty()) add("commit", labels.commit);
    if (!labels.clock.empty()) add("clock", labels.clock);
    return out;
}

std::vector<std::uint32_t> distinct_pids(std::span<const TraceProcess> processes) {
    std::set<std::uint32_t> used;
    std::vector<std::uint32_t> out;
    std::uint32_t made_up = 1u << 24;
    for (const TraceProcess& process : processes) {
        std::uint32_t pid = process.pid;
        while (!used.insert(pid).second) pid = made_up++;
        out.push_back(pid);
    }
    return out;
}

}  // namespace gs
