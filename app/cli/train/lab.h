// `gausscope lab`, for command_line.cpp: runs, compares and reports suites of trainings.
#pragma once

#include <string>
#include <vector>

#include "app/cli/report.h"
#include "app/cli/subcommand.h"

namespace gs {
class Trainer;
}  // namespace gs

namespace gs::cli {

Subcommand lab_command();
struct LabReportArguments {
    std::string database, a, b;  ///< a and b empty: nothing is compared
    std::string html;
};
/// `lab report` (lab_report.cpp).
Result<int> report_lab(const LabReportArguments& a, const CommonArguments& common);
/// The first event of a time-to-quality log (lab_benchmark.cpp). Errors: a photo cannot be read.
Result<Json> about_benchmark(const Trainer& trainer, const std::string& capture,
                             const std::string& backend);
/// `lab check-log` (lab_benchmark.cpp). kGate: a log breaks the rules. Errors: a file that cannot
/// be read.
Result<int> check_benchmark_logs(const std::vector<std::string>& files, const std::string& suite,
                                 const CommonArguments& common);

}  // namespace gs::cli
