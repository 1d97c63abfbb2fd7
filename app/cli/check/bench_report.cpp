#include "app/cli/check/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/file.h"
#include "base/json_text.h"
#include "base/try.h"

namespace gs::cli {
namespace {

/// FNV-1a over 32-bit words.
class Identity {
  public:
    void add(std::uint32_t word) { hash_ = (hash_ ^ word) * 0x100000001b3ull; }
    void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
    void add(double value) { add(static_cast<float>(value)); }
    void add(const Vec3d& v) { add(v.x), add(v.y), add(v.z); }
    std::string text() const { return fmt::format("{:016x}", hash_); }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325ull;
};
void add_camera(Identity& id, const Camera& c) {
    for (const int side : {c.width, c.height}) id.add(static_cast<std::uint32_t>(side));
    for (const double value : {c.fx, c.fy, c.cx, c.cy}) id.add(value);
    for (const auto& row : c.rotation.m)
        for (const double value : row) id.add(value);
    id.add(c.translation);
    if (c.model == CameraModel::pinhole) return;
    id.add(static_cast<std::uint32_t>(c.model));
    for (const double k : c.distortion) id.add(k);
}

constexpr double kTooShortMs = 0.02;  // below this the timer and the scheduler are what is measured

// The last line that is a JSON object, or the whole text: output of --json, or a file of -o.
Json object_in(const std::string& text) {
    Json whole = json_or_discarded<Json>(text);
    if (whole.is_object()) return whole;
    const std::size_t end = text.find_last_not_of(" \r\n");
    if (end == std::string::npos) return nullptr;
    const std::size_t begin = text.rfind('\n', end);
    return json_or_discarded<Json>(
        std::string_view(text).substr(begin == std::string::npos ? 0 : begin + 1, end + 1));
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

std::string identity_of(const GaussianModel& model) {
    Identity id;
    id.add(static_cast<std::uint32_t>(model.count));
    for (int plane = 0; plane < model.planes(); ++plane)
        for (std::size_t i = 0; i < model.count; ++i) id.add(model.at(plane, i));
    return id.text();
}

std::string identity_of(std::span<const NamedCamera> cameras) {
    Identity id;
    for (const NamedCamera& named : cameras) add_camera(id, named.camera);
    return id.text();
}

std::string identity_of(const Capture& capture) {
    Identity id;
    for (const SparsePoint& point : capture.points) {
        id.add(point.position.x), id.add(point.position.y), id.add(point.position.z);
    }
    for (const View& view : capture.views) add_camera(id, view.camera);
    return id.text();
}

Table stages_table(std::span<const StageTime> stages) {
    return table_of<StageTime>(
        stages, {{"name", "stage", nullptr, &StageTime::name},
                 {"device", "", nullptr, [](auto& s) { return s.gpu ? "gpu" : "cpu"; }},
                 {"ms_p50", "p50 ms", fixed<3>, &StageTime::ms_p50},
                 {"ms_p50_lo", "", nullptr, &StageTime::ms_lo},
                 {"ms_p50_hi", "", nullptr, &StageTime::ms_hi},
                 {"", "95 % interval", fixed<3>,
                  [](auto& s) { return fmt::format("{:.3f} .. {:.3f}", s.ms_lo, s.ms_hi); }},
                 {"ms_mean", "", nullptr, &StageTime::ms_mean},
                 {"ms_p95", "p95 ms", fixed<3>, &StageTime::ms_p95},
                 {"ms_p99", "", nullptr, &StageTime::ms_p99},
                 {"share", "share", format_share, &StageTime::share},
                 {"samples", "", nullptr, &StageTime::samples}});
}

Result<Json> read_base(const std::string& path) {
    GS_TRY(const std::string text, read_text_file(path, 64u << 20));
    Json object = object_in(text);
    if (!object.is_object() || !object.contains("stages") || !object["stages"].is_array() ||
        object["stages"].empty() || object.value("command", Json()) != "bench")
        return fail(ErrorKind::malformed, path, "not the JSON of an earlier bench",
                    "make one with: gausscope bench ... --json > base.json");
    return object;
}

Result<void> check_same_subject(const std::string& path, const Json& base, const Json& now) {
    struct Sign {
        const char *key, *what;
    };
    constexpr Sign kSigns[] = {{"training", "another kind of work"}, {"width", "another size"},
                               {"height", "another size"},           {"scene_id", "another scene"},
                               {"views_id", "other cameras"},        {"cuda", "another backend"}};
    for (const auto& [key, what] : kSigns)
        if (!base.contains(key) || base[key] != now[key] ||
            base.value("display", false) != now.value("display", false))
            return fail(ErrorKind::usage, path, fmt::format("this base timed {}", what),
                        "compare with a bench of the same scene, cameras, size and backend");
    return {};
}

BaseComparison compare_with_base(const Json& base, const std::vector<StageTime>& now,
                                 double tolerance, double waited) {
    const Json& stages = base["stages"];
    BaseComparison out;
    for (const StageTime& s : now) {
        const auto same = [&](const Json& b) {
            return b.is_object() && b.value("name", "") == s.name;
        };
        const auto it = std::find_if(stages.begin(), stages.end(), same);
        if (it == stages.end() || !it->contains("ms_p50") || !(*it)["ms_p50"].is_number()) {
            out.lines.push_back(fmt::format("{:<22} not in the base", s.name));
            continue;
        }
        const double was = (*it)["ms_p50"].get<double>(), was_hi = it->value("ms_p50_hi", was);
        const auto slower_by = [&](double share) {
            return share * s.ms_lo > was_hi && share * s.ms_p50 > was * (1 + tolerance) &&
                   s.ms_p50 > kTooShortMs;
        };
        const bool slower = slower_by(s.gpu ? 1 : 1 - waited), undecided = !slower && slower_by(1);
        out.lines.push_back(fmt::format("{:<22} {:9.3f} -> {:9.3f} ms  {:+6.1f} %{}", s.name, was,
                                        s.ms_p50, was > 0 ? 100 * (s.ms_p50 / was - 1) : 0.0,
                                        slower      ? "  SLOWER"
                                        : undecided ? "  inconclusive"
                                                    : ""));
        if (slower) out.slower.push_back(s.name);
        if (undecided) out.undecided.push_back(s.name);
    }
    return out;
}

}  // namespace gs::cli
