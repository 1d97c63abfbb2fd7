// Prints the doctor's findings on the command line: as text, as JSON, and as lines of the log. Used
// by info and train.
#pragma once

#include <span>

#include "app/cli/report.h"
#include "renderer/doctor/doctor.h"

namespace gs::cli {

Json findings_json(std::span<const Finding> findings);
void say_findings(const Json& findings);
/// One line on stderr for each warning and error.
void warn_of_findings(std::span<const Finding> findings);
/// Limits that `info` compares the model with: this machine's free memory, that of GPU
/// `cuda_device`
/// (-1: of none) where it can be used, and the default cap of training.
SplatQuestions questions_here(std::vector<std::string> reader_notes, int cuda_device);
Json memory_json(const SplatReport& report);
void say_memory(const Json& memory);

}  // namespace gs::cli
