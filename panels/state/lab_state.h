// LabState: the Lab panel's data: suites that can be run, runs recorded in a database, and
// comparisons of runs. Made by the engine's part for it (app/session/parts/lab_part.h) from the
// records and results of `gausscope lab`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gs {

struct LabRunRow {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    std::int64_t id = 0;
    std::string label, suite, scene, settings, backend;
    std::uint64_t seed = 0;
    bool failed = false;
    std::string error;  ///< of a failed run: its last message
    double psnr = kUnknown, gaussians = kUnknown, training_s = kUnknown;
    std::string folder, capture;  ///< empty: its files are gone
    std::string worst_photo;      ///< of the held-out photos; empty: none measured
    double worst_psnr = kUnknown;
};
/// B against A, as `gausscope lab compare` reports it.
struct LabComparison {
    struct Metric {
        std::string name, unit;
        bool relative = false;  ///< the difference and its interval are percent of A
        double a = LabRunRow::kUnknown, b = a;
        double difference = a, low = a, high = a;  ///< 95 %; NaN: not available
        std::string verdict;  ///< better, worse, more, less, same, unclear, too few, not quiet
    };
    struct Gate {
        std::string text, state;  ///< "psnr_drop <= 0.05"; holds, undecided, fails
    };
    struct Photo {
        std::string scene, name;
        std::int64_t run_a = 0, run_b = 0;
        double psnr_a = 0, psnr_b = 0;
    };
    std::string a, b;
    std::size_t pairs = 0;
    std::vector<Metric> metrics;
    std::vector<Gate> gates;
    std::vector<Photo> worst;        ///< largest loss first
    std::vector<std::string> notes;  ///< remarks
};

struct LabState {
    std::string database;             ///< a path
    bool read = false;                ///< `runs` is its content
    std::vector<std::string> suites;  ///< built-in ones
    std::vector<LabRunRow> runs;      ///< newest first
    std::vector<std::string> names;   ///< for compare: labels, settings, backends
    std::optional<LabComparison> compared;

    const LabRunRow* run(std::int64_t id) const {
        for (const LabRunRow& row : runs)
            if (row.id == id) return &row;
        return nullptr;
    }
};

}  // namespace gs
