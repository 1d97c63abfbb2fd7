// A suite of the lab: scenes, settings, seeds, backends and lengths of its trainings, and the gates
// between two results. One text file of `name = value` lines, sections for scenes and settings,
// `gate` lines; docs/lab.md lists all keys. Read by `gausscope lab`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "trainer/settings/settings.h"

namespace gs::lab {

/// A capture that `gausscope sample` makes.
struct SampleScene {
    std::string scenery = "diorama";
    int views = 48, width = 640, height = 480, points = 20000;
};
struct SuiteScene {
    std::string name;
    fs::path capture;                   ///< as it was written; empty: a sample
    std::optional<SampleScene> sample;  ///< with known truth
    std::vector<std::string> loading;   ///< options of loading, as `train` takes them
    bool optional = false;              ///< skipped if not found
    std::optional<std::uint64_t> steps;
    std::optional<double> target_db;  ///< PSNR over held-out photos that ends a run: time to
                                      ///< quality
    /// "photos_hash", "points_hash", "cameras_hash" (capture_hashes.h) that a log of time to
    /// quality must have.
    std::map<std::string, std::string, std::less<>> hashes;
    std::uint64_t line = 0;
};
struct SuiteSettings {
    std::string name;
    NamedValues values;
};
/// "psnr_drop <= 0.05": of B against A, what its 95 % interval must not exclude.
struct Gate {
    std::string metric;
    double most = 0;
    std::string text;
};
struct Suite {
    std::string name, origin, text;
    std::vector<SuiteScene> scenes;
    std::vector<SuiteSettings> settings;
    std::vector<std::uint64_t> seeds{1, 2, 3};
    std::vector<std::string> backends{"cpu"};
    std::uint64_t steps = 7000;
    double seconds = 0;                ///< time limit of a run; 0: by its steps only
    std::uint64_t eval_every = 0;      ///< 0: at the end only
    bool keep_checkpoints = false;     ///< of runs that are recorded
    std::vector<std::string> exports;  ///< formats to measure every scene in: kExportFormats
    std::vector<Gate> gates;

    std::size_t runs() const {
        return scenes.size() * settings.size() * seeds.size() * backends.size();
    }
};

/// "psnr_drop <= 0.05". Errors (usage): no such metric, no such form.
Result<Gate> parse_gate(std::string_view text);
/// Errors (malformed): the line, with the valid forms.
Result<Suite> parse_suite(std::string origin, std::string text);
/// Reads a file or a built-in suite (assets/suites/NAME.suite). Captures are searched next to the
/// file, else below `captures` if not empty. Errors: as parse_suite(), not_found.
Result<Suite> read_suite(const std::string& file_or_name);
std::vector<std::string> built_in_suites();

/// Of a line of JSON or text: the same for the same, 16 hex digits.
std::string fingerprint_of(std::string_view text);

}  // namespace gs::lab
