// How trace files name processes: labels as texts, "rank=3", and numbers that differ. Used by
// exports and imports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

/// Takes one label; a text that is none changes nothing.
void read_label(std::string_view text, ProcessLabels& labels);
/// All that are known but the command: ("rank", "3").
using LabelPairs = std::vector<std::pair<std::string, std::string>>;
LabelPairs label_pairs(const ProcessLabels& labels);
std::vector<std::string> label_texts(const ProcessLabels& labels);

/// Readers of trace files know a process by its number, which two machines may both have given:
/// where one is taken, another is made up.
std::vector<std::uint32_t> distinct_pids(std::span<const TraceProcess> processes);

}  // namespace gs
