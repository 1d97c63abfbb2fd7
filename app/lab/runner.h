// Runs a suite: one training after another, each a process of its own, and records the results.
// Recorded runs are skipped, so the same command resumes after any stop. Called by `gausscope lab
// run`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/lab/lab_file.h"
#include "app/lab/suite.h"

namespace gs::lab {

/// A gausscope that trains: this one, or another build of it.
struct LabProgram {
    std::string label;  ///< empty: its commit
    fs::path path;
    std::string commit = {}, processor = {}, gpu = {};  ///< asked of it
    double threads = kUnknown;
};
/// /proc/self/exe.
fs::path own_program();

struct LabOptions {
    fs::path database;
    fs::path captures;  ///< where captures with a relative path are looked for, besides beside the
                        ///< suite; empty: nowhere else
    std::vector<LabProgram> programs;             ///< one after another on every scene and seed
    bool retry = false;                           ///< repeat failed runs
    std::function<bool()> stopped;                ///< the user cancelled
    std::function<void(const std::string&)> say;  ///< prints a line
    /// Run `number` (from 1) of the `planned` ones is about to be trained.
    std::function<void(const std::string& run, std::size_t number, std::size_t planned)> begins;
};
struct LabTally {
    std::size_t planned = 0, ran = 0, known = 0, failed = 0;
    std::string last_failure;           ///< of a run that failed now: which, and why
    std::vector<std::string> left_out;  ///< optional scenes that were not found
    bool stopped = false;
};
/// Files of runs go into DATABASE.runs, next to it. Errors: captures that are missing (all of them
/// named); another lab running on the same file; the database cannot be written, for example for
/// lack of space: recorded runs stay, and a run that was trained is recorded by the next call.
Result<LabTally> run_suite(const Suite& suite, LabOptions options);

/// DATABASE.runs.
fs::path folder_of_runs(const fs::path& database);

}  // namespace gs::lab
