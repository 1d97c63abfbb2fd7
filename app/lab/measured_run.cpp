#include "app/lab/measured_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/lab/benchmark_log.h"
#include "base/json_text.h"
#include "base/try.h"
#include "trainer/run/run_files.h"

namespace gs::lab {
namespace {

using MeasuredJson = nlohmann::json;
constexpr std::uint64_t kLargestMetrics = 256 << 20;  // bytes

double told(const MeasuredJson& from, const char* key) {
    const MeasuredJson& value = member(from, key);
    return value.is_number() ? value.get<double>() : kUnknown;
}
std::string words(const MeasuredJson& from, const char* key) {
    const MeasuredJson& value = member(from, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

void take_photos(const MeasuredJson& test, LabRun& into) {
    into.photos.clear();
    for (const MeasuredJson& image : member(test, "images"))
        into.photos.push_back(
            {words(image, "name"), told(image, "psnr"), told(image, "ssim"), told(image, "l1")});
}

/// Pairs of Gaussian and tile over all steps: work, counted and not timed. Nothing where a step's
/// are not known.
void take_counts(const fs::path& csv, std::vector<LabValue>& values) {
    StepLog log;
    log.take_earlier(csv, std::numeric_limits<std::uint64_t>::max());
    double isects = 0, visible = 0;
    for (const StepReport& row : log.rows()) {
        if (row.measured_step == 0) return;
        isects += static_cast<double>(row.counters.isects);
        visible += static_cast<double>(row.counters.visible);
    }
    if (log.rows().empty()) return;
    values.push_back({"isects", "", isects});
    values.push_back({"visible", "", visible});
}

void take_values(const MeasuredJson& metrics, LabRun& into) {
    const auto add = [&](std::string metric, const char* unit, double value) {
        if (std::isfinite(value)) into.values.push_back({std::move(metric), unit, value});
    };
    add("steps", "", told(metrics, "steps"));
    add("Gaussians", "", told(metrics, "gaussians"));
    add("training", "s", told(metrics, "seconds"));
    add("loading", "s", told(metrics, "load_seconds"));
    add("total", "s", told(metrics, "total_seconds"));
    const MeasuredJson& lidar = member(metrics, "lidar");
    add("range", "m", told(lidar, "median_m"));
    add("ranges in 10 cm", "share", told(lidar, "within_10cm"));
    add("Chamfer", "m", told(lidar, "chamfer_m"));
    const MeasuredJson& machine = member(metrics, "machine");
    const double waited = told(machine, "waited_of_all_time");
    add("threads waited", "share",
        std::isnan(waited) ? told(machine, "threads_waited") : waited);  // of older runs
    if (std::isnan(into.value_of("peak memory")))
        add("peak memory", "bytes", told(machine, "peak_bytes"));
    for (const MeasuredJson& stage : member(metrics, "stages")) {
        const std::string name = words(stage, "name");
        if (!name.empty())
            add(name == "iteration" ? "step" : "stage " + name, "ms", told(stage, "ms_p50"));
    }
    for (const MeasuredJson& memory : member(metrics, "memory"))
        add("memory " + words(memory, "category"), "bytes", told(memory, "bytes"));
}

/// When the target was reached, s; unknown: it was not, or there is none.
double seconds_to_target(const fs::path& log) {
    const std::string text = read_text_file(log, kLargestMetrics).value_or("");
    double last = kUnknown;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto event =
            json_or_discarded<MeasuredJson>(std::string_view(text).substr(begin, end - begin));
        if (words(event, "event") == "eval") last = told(event, "time_ms") / 1000;
        if (words(event, "event") == "end" && words(event, "status") == "reached") return last;
        begin = end + 1;
    }
    return kUnknown;
}

}  // namespace

Result<void> take_measured(const fs::path& folder, bool whole, LabRun& into) {
    const fs::path file = folder / "metrics.json";
    GS_TRY(const auto bytes, read_file(file, kLargestMetrics));
    GS_TRY(const MeasuredJson metrics, parse_json_object(bytes, file.string()));
    const MeasuredJson& interrupted = member(metrics, "interrupted");
    const double target_s = seconds_to_target(folder / kBenchmarkLog);
    if (whole && std::isnan(target_s) && (!interrupted.is_boolean() || interrupted.get<bool>()))
        return fail(ErrorKind::unsupported, file.string(), "belongs to a run that did not end");
    if (whole && metrics.contains("resumed_from"))
        return fail(ErrorKind::unsupported, file.string(), "belongs to a run in two parts");
    take_values(metrics, into);
    if (std::isfinite(target_s)) into.values.push_back({"to target", "s", target_s});
    take_counts(folder / "metrics.csv", into.values);
    take_photos(member(metrics, "test"), into);
    return {};
}

Result<void> take_eval(const std::string& json, LabRun& into) {
    const auto parsed = json_or_discarded<MeasuredJson>(json);
    if (parsed.is_discarded() || !member(parsed, "test").is_object())
        return fail(ErrorKind::malformed, "", "the scores of the photos could not be read");
    take_photos(member(parsed, "test"), into);
    return {};
}

}  // namespace gs::lab
