#include "profiler/store/process_labels.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace gs {

namespace {

constexpr std::string_view kCommandLabel = "command";

/// In the order in which files have them. Each is a text or a number.
struct Label {
    std::string_view key;
    std::string ProcessLabels::*text;
    int ProcessLabels::*number = nullptr;
};
constexpr Label kLabels[] = {
    {"host", &ProcessLabels::host},
    {"job", &ProcessLabels::job},
    {"pod", &ProcessLabels::pod},
    {"rank", nullptr, &ProcessLabels::rank},
    {"local_rank", nullptr, &ProcessLabels::local_rank},
    {"world_size", nullptr, &ProcessLabels::world_size},
    {"job_name", &ProcessLabels::job_name},
    {"commit", &ProcessLabels::commit},
    {"clock", &ProcessLabels::clock},
    {"namespace", &ProcessLabels::name_space},
    {"node", &ProcessLabels::node},
    {kCommandLabel, &ProcessLabels::command},
};

}  // namespace

void read_label(std::string_view text, ProcessLabels& labels) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return;
    const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
    int whole = -1;
    std::from_chars(value.data(), value.data() + value.size(), whole);
    for (const Label& label : kLabels) {
        if (key != label.key) continue;
        if (label.text != nullptr)
            labels.*label.text = value;
        else
            labels.*label.number = std::max(whole, -1);
    }
}

LabelPairs label_pairs(const ProcessLabels& labels) {
    LabelPairs out;
    for (const Label& label : kLabels) {
        if (label.text == nullptr) {
            if (labels.*label.number >= 0)
                out.emplace_back(label.key, std::to_string(labels.*label.number));
        } else if (label.key != kCommandLabel && !(labels.*label.text).empty()) {
            out.emplace_back(label.key, labels.*label.text);
        }
    }
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
