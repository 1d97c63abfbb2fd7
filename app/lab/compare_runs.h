// Compares A and B by their runs: pairs of the same scene and seed, photo by photo, with the
// interval of each difference, its verdict, and the gates. Called by `lab compare` and the report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "app/lab/interval.h"
#include "app/lab/lab_file.h"
#include "app/lab/suite.h"

namespace gs::lab {

/// The better direction.
enum class Better { more, less, neither };

struct MetricRow {
    std::string metric, unit;
    Better better = Better::neither;
    bool relative = false;              ///< differences are percent of A, of logarithms' means
    double a = kUnknown, b = kUnknown;  ///< means over the pairs
    Interval difference;                ///< B - A, or percent
    double p = kUnknown;                ///< Holm's over the metrics beside it
    std::string verdict;  ///< better, worse, more, less, same, unclear, too few, not quiet
    struct Scene {
        std::string name;
        Interval difference;
    };
    std::vector<Scene> scenes;
};
enum class GateState { holds, undecided, fails };
const char* name_of(GateState state);
struct GateRow {
    Gate gate;
    double value = kUnknown, low = kUnknown, high = kUnknown;  ///< as the gate measures it
    GateState state = GateState::undecided;
};
struct PhotoChange {
    std::string scene, photo;
    std::int64_t run_a = 0, run_b = 0;  ///< LabRun::id, of the seed where it lost most
    double psnr_a = kUnknown, psnr_b = kUnknown;
};
struct RunComparison {
    std::string a, b;
    std::size_t pairs = 0, photos = 0, same_bits = 0;  ///< of pairs: no photo's score differs
    std::vector<std::string> notes;
    std::vector<MetricRow> metrics;
    std::vector<GateRow> gates;
    std::vector<PhotoChange> worst;  ///< largest loss first
    bool fails() const;
};

/// Runs of `name`: a label, settings, a backend, or a commit's first six digits or more.
struct RunSelection {
    std::string name;
    enum class By { label, settings, backend, commit, all } by = By::all;
    std::vector<LabRun> runs;
};
/// Errors (usage): no such name, with the known ones.
Result<RunSelection> select_runs(const std::vector<LabRun>& runs, const std::string& name);

/// A verdict is given if Holm's p is at most 0.01 among the metrics, and 0.01 among the stages: of
/// comparisons of two equals at most two in a hundred have one.
inline constexpr double kVerdictChance = 0.01;
/// Errors (usage): no run of A has a counterpart in B.
Result<RunComparison> compare_runs(const RunSelection& a, const RunSelection& b,
                                   std::span<const Gate> gates);

/// Gates of these runs' suites, as stored in the file. Errors: of reading them.
Result<std::vector<Gate>> gates_of(const LabFile& file, const std::vector<LabRun>& runs);

/// The whole comparison; unavailable values are null.
nlohmann::ordered_json comparison_json(const RunComparison& comparison);
/// Describes the method of the intervals and verdicts.
std::string method_text();

}  // namespace gs::lab
