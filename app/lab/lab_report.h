// Writes a lab's database as one page: tables, quality against time and size, changes over time, B
// against A. Called by `gausscope lab report`.
#pragma once

#include <optional>
#include <vector>

#include "app/bundle/report.h"
#include "app/lab/compare_runs.h"
#include "app/lab/lab_file.h"
#include "profiler/history/report.h"

namespace gs::lab {

/// Runs of the same label, scene, settings and backend, which differ by their seeds.
struct RunKind {
    std::string label, scene, settings, backend;
    std::vector<const LabRun*> runs;

    /// "main, bold, cpu" without the parts that all kinds of a page share.
    std::string name;
    double mean(double (*value)(const LabRun&)) const;
    double mean(double (LabRun::*value)() const) const;
    double mean(const char* metric) const;
    /// Between the seeds; unknown with one.
    double deviation(double (LabRun::*value)() const) const;
};
std::vector<RunKind> kinds_of(const std::vector<LabRun>& runs);
/// Those of one scene for which no other kind has a higher PSNR at the same cost or less, by their
/// means; cheapest first.
std::vector<const RunKind*> pareto_front(const std::vector<const RunKind*>& kinds,
                                         double (*cost)(const LabRun&));

/// What was measured of one kind program after program (a commit under a label is a point, its
/// seeds are its quantiles), in order of time, with its changes for good. None below three
/// programs.
std::vector<history::Judged> histories_of(const std::vector<LabRun>& runs);

/// Everything but pictures.
Report lab_report(const std::vector<LabRun>& runs, const std::optional<RunComparison>& comparison,
                  const std::string& title);

}  // namespace gs::lab
