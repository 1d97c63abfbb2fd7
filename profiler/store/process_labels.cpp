#include "profiler/store/process_labels.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace gs {

namespace {

constexpr std::string_view kCommandLabel = "command";

struct TextLabel {
    std::string_view key;
    std::string ProcessLabels::*text;
};
constexpr TextLabel kTexts[] = {
    {"host", &ProcessLabels::host},         {"job", &ProcessLabels::job},
    {"pod", &ProcessLabels::pod},           {"namespace", &ProcessLabels::name_space},
    {"node", &ProcessLabels::node},         {"container", &ProcessLabels::container},
    {"job_name", &ProcessLabels::job_name}, {"commit", &ProcessLabels::commit},
    {"clock", &ProcessLabels::clock},       {kCommandLabel, &ProcessLabels::command},
};
struct NumberLabel {
    std::string_view key;
    int ProcessLabels::*number;
};
constexpr NumberLabel kNumbers[] = {
    {"rank", &ProcessLabels::rank},
    {"local_rank", &ProcessLabels::local_rank},
    {"world_size", &ProcessLabels::world_size},
};

}  // namespace

void read_label(std::string_view text, ProcessLabels& labels) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return;
    const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
    int whole = -1;
    std::from_chars(value.data(), value.data() + value.size(), whole);
    for (const auto& [name, to] : kTexts)
        if (key == name) labels.*to = value;
    for (const auto& [name, to] : kNumbers)
        if (key == name) labels.*to = std::max(whole, -1);
}

LabelPairs label_pairs(const ProcessLabels& labels) {
    LabelPairs out;
    for (const auto& [name, of] : kTexts)
        if (name != kCommandLabel && !(labels.*of).empty()) out.emplace_back(name, labels.*of);
    for (const auto& [name, of] : kNumbers)
        if (labels.*of >= 0) out.emplace_back(name, std::to_string(labels.*of));
    return out;
}

std::vector<std::string> label_texts(const ProcessLabels& labels) {
    std::vector<std::string> out;
    for (const auto& [name, text] : label_pairs(labels)) out.push_back(name + "=" + text);
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
