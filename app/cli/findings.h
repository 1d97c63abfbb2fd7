// The doctor's findings on the command line: as text, as JSON, and as lines of the log. Used by
// info and train.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "renderer/doctor/doctor.h"

namespace gs::cli {

void print_findings(std::span<const Finding> findings);
nlohmann::ordered_json findings_json(std::span<const Finding> findings);
/// One line on stderr for each warning and error.
void warn_of_findings(std::span<const Finding> findings);
/// What `info` compares the model with: this machine's free memory, a device's where one can be
/// used, and the default cap of training.
SplatQuestions questions_here(std::vector<std::string> reader_notes);
void print_memory(const SplatReport& report);
nlohmann::ordered_json memory_json(const MemoryPlan& plan);

}  // namespace gs::cli
