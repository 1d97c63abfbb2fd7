#include "app/cli/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace gs::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kTooShortMs = 0.02;  // below this the timer and the scheduler are what is measured

// The last line that is a JSON object, or the whole text: output of --json, or a file of -o.
Json object_in(const std::string& text) {
    Json whole = Json::parse(text, nullptr, false);
    if (whole.is_object()) return whole;
    const std::size_t end = text.find_last_not_of(" \r\n");
    if (end == std::string::npos) return nullptr;
    const std::size_t begin = text.rfind('\n', end);
    return Json::parse(text.substr(begin == std::string::npos ? 0 : begin + 1, end + 1), nullptr,
                       false);
}

}  // namespace

void median_interval(std::vector<double>& values, double& median, double& lo, double& hi) {
    std::sort(values.begin(), values.end());
    median = percentile(values, 50);
    const double n = static_cast<double>(values.size()), reach = 0.98 * std::sqrt(n);
    const auto rank = [&](double r) {
        return values[static_cast<std::size_t>(std::clamp(r, 0.0, n - 1))];
    };
    lo = rank(std::floor(n / 2 - reach));
    hi = rank(std::ceil(n / 2 + reach));
}

namespace {

void set_figures(StageTime& stage, std::vector<double>& times) {
    median_interval(times, stage.ms_p50, stage.ms_lo, stage.ms_hi);
    for (const double ms : times) stage.ms_mean += ms / static_cast<double>(times.size());
    stage.ms_p95 = percentile(times, 95);
    stage.ms_p99 = percentile(times, 99);
    stage.samples = times.size();
}

}  // namespace

std::vector<StageTime> stage_times(std::span<const FrameSample> frames, Stage frame_stage) {
    double all_ms = 0;
    for (const FrameSample& f : frames) all_ms += f.milliseconds();
    std::vector<StageTime> out;
    const auto add = [&](std::size_t s) {
        std::vector<double> times;
        StageTime stage{name_of(static_cast<Stage>(s)), static_cast<Stage>(s)};
        double own = 0;
        for (const FrameSample& f : frames) {
            if (f.calls[s] == 0) continue;
            times.push_back(f.total_ms[s]);
            own += f.self_ms[s];
        }
        if (times.empty()) return;
        set_figures(stage, times);
        stage.share = all_ms > 0 ? own / all_ms : 0;
        out.push_back(std::move(stage));
    };
    for (std::size_t s = 0; s < kStageCount; ++s)
        if (s != static_cast<std::size_t>(frame_stage)) add(s);
    add(static_cast<std::size_t>(frame_stage));
    return out;
}

std::vector<StageTime> gpu_stage_times(std::span<const FrameSample> frames) {
    double busy_ms = 0;
    for (const FrameSample& f : frames)
        if (f.gpu_complete) busy_ms += static_cast<double>(f.gpu_busy_ms);
    std::vector<StageTime> out;
    for (std::size_t s = 0; s < kStageCount; ++s) {
        std::vector<double> times;
        double total = 0;
        for (const FrameSample& f : frames) {
            if (!f.gpu_complete || f.gpu_calls[s] == 0) continue;
            times.push_back(static_cast<double>(f.gpu_ms[s]));
            total += times.back();
        }
        if (times.empty()) continue;
        StageTime stage{std::string(name_of(static_cast<Stage>(s))) + " (GPU)",
                        static_cast<Stage>(s), true};
        set_figures(stage, times);
        stage.share = busy_ms > 0 ? total / busy_ms : 0;
        out.push_back(std::move(stage));
    }
    return out;
}

Json stage_times_json(const std::vector<StageTime>& stages) {
    Json out = Json::array();
    for (const StageTime& s : stages)
        out.push_back({{"name", s.name},
                       {"device", s.gpu ? "gpu" : "cpu"},
                       {"ms_p50", s.ms_p50},
                       {"ms_p50_lo", s.ms_lo},
                       {"ms_p50_hi", s.ms_hi},
                       {"ms_mean", s.ms_mean},
                       {"ms_p95", s.ms_p95},
                       {"ms_p99", s.ms_p99},
                       {"share", s.share},
                       {"samples", s.samples}});
    return out;
}

void print_stage_times(const std::vector<StageTime>& stages) {
    fmt::print("{:<22} {:>9} {:>21} {:>9} {:>7}\n", "stage", "p50 ms", "95 % interval", "p95 ms",
               "share");
    for (const StageTime& s : stages)
        fmt::print("{:<22} {:9.3f} {:>21} {:9.3f} {:6.1f} %\n", s.name, s.ms_p50,
                   fmt::format("{:.3f} .. {:.3f}", s.ms_lo, s.ms_hi), s.ms_p95, 100 * s.share);
}

Result<Comparison> compare_with_base(const std::string& base, const std::vector<StageTime>& now,
                                     double tolerance) {
    const auto text = read_text_file(base, 64u << 20);
    if (!text) return tl::unexpected(text.error());
    const Json object = object_in(*text);
    if (!object.is_object() || !object.contains("stages") || !object["stages"].is_array() ||
        object["stages"].empty())
        return fail(ErrorKind::malformed, base, "this is not the JSON of an earlier bench",
                    "make one with: gausscope bench ... --json > base.json");
    Comparison out;
    for (const StageTime& s : now) {
        const auto same = [&](const Json& b) {
            return b.is_object() && b.value("name", "") == s.name;
        };
        const auto it = std::find_if(object["stages"].begin(), object["stages"].end(), same);
        if (it == object["stages"].end() || !(*it)["ms_p50"].is_number()) {
            out.lines.push_back(fmt::format("{:<22} not in the base", s.name));
            continue;
        }
        const double was = (*it)["ms_p50"].get<double>(), was_hi = it->value("ms_p50_hi", was);
        const bool slower =
            s.ms_lo > was_hi && s.ms_p50 > was * (1 + tolerance) && s.ms_p50 > kTooShortMs;
        out.lines.push_back(fmt::format("{:<22} {:9.3f} -> {:9.3f} ms  {:+6.1f} %{}", s.name, was,
                                        s.ms_p50, was > 0 ? 100 * (s.ms_p50 / was - 1) : 0.0,
                                        slower ? "  SLOWER" : ""));
        if (slower) out.slower.push_back(s.name);
    }
    return out;
}

}  // namespace gs::cli
