#include "profiler/predict/validation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/assets.h"
#include "base/check.h"
#include "base/json_text.h"
#include "base/try.h"

namespace gs {
namespace {

using PublishedJson = nlohmann::json;

constexpr double kLeastBand = 0.1;  ///< log: fewer than ten rows cannot show a smaller spread
/// log: the one published row that instructions bind is no spread. Blending, its backward and the
/// loss, blind on an H100 in three scenes: 0.12 (docs/model.md, tests/unit/predict_measured_test);
/// with one GPU of ours and one of others' it is no less than this.
constexpr double kLeastInstructionBand = 0.15;
constexpr double kLatencyBand = 0.3;  ///< log; of latencies and launches no rows are published,
                                      ///< and ours are of one GPU

const GpuDevice* device_of(const std::vector<GpuDevice>& gpus, const std::string& id) {
    const auto found = std::ranges::find(gpus, id, &GpuDevice::id);
    return found == gpus.end() ? nullptr : &*found;
}

double predicted_ms(const PublishedTime& row, const std::vector<GpuDevice>& gpus,
                    const ModelFit& fit) {
    return 1e3 * seconds_of(resource_seconds(row.demand, *device_of(gpus, row.gpu), fit));
}

/// How much slower `gpu` is than `over` in memory bandwidth and in instruction rate.
std::pair<double, double> rate_ratios(const GpuDevice& gpu, const GpuDevice& over) {
    return {over.sustained_gb_s / gpu.sustained_gb_s, over.issue_rate() / gpu.issue_rate()};
}

/// The share of memory in a program's time that explains a ratio, 0..1.
double memory_share(const PublishedTime& row, const std::vector<GpuDevice>& gpus) {
    const auto [memory, issue] = rate_ratios(*device_of(gpus, row.gpu), *device_of(gpus, row.over));
    return std::clamp((row.published - issue) / (memory - issue), 0.0, 1.0);
}

/// The bandwidth share for which the rows' errors are 0 in the mean; rows that memory does not
/// bind say nothing about it.
ModelFit fitted(const std::vector<const PublishedTime*>& rows, const std::vector<GpuDevice>& gpus) {
    ModelFit fit;
    std::vector<const PublishedTime*> of_memory;
    for (const PublishedTime* row : rows)
        if (row->of_memory()) of_memory.push_back(row);
    if (of_memory.empty()) return fit;
    double lo = 0.2, hi = 1.5;
    for (int i = 0; i < 50; ++i) {
        fit.bandwidth_use = 0.5 * (lo + hi);
        double sum = 0;
        for (const PublishedTime* row : of_memory)
            sum += std::log(predicted_ms(*row, gpus, fit) / row->published);
        (sum > 0 ? lo : hi) = fit.bandwidth_use;  // more bandwidth, less time
    }
    return fit;
}

Result<PublishedTime> parse_row(const PublishedJson& json, const std::string& origin) {
    PublishedTime row;
    const auto text = [&](const char* key) {
        const PublishedJson& value = member(json, key);
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    const auto number = [&](const char* key) {
        const PublishedJson& value = member(json, key);
        return value.is_number() ? value.get<double>() : 0.0;
    };
    row.id = text("id");
    row.what = text("what");
    row.gpu = text("gpu");
    row.over = text("over");
    row.work = text("work");
    row.source = text("source");
    row.miss = text("miss");
    const std::string kind = text("kind");
    row.kind = kind == "ratio"   ? PublishedKind::ratio
               : kind == "fixed" ? PublishedKind::fixed
                                 : PublishedKind::throughput;
    row.published = number(row.kind == PublishedKind::ratio ? "ratio" : "ms");
    row.demand.executed.issue = number("issue");
    row.least_issue = number("least_issue");
    row.most_issue = number("most_issue");
    row.demand.executed.fp32 = number("fp32");
    row.demand.bytes = number("bytes");
    row.demand.working_set = number("working_set");
    row.demand.launches = number("launches");
    const bool known = kind == "ratio" || kind == "fixed" || kind == "throughput";
    if (row.id.empty() || row.gpu.empty() || row.source.empty() || !(row.published > 0) || !known)
        return fail(ErrorKind::malformed, origin,
                    fmt::format("row \"{}\" lacks its kind, GPU, time or source", row.id));
    if (row.kind == PublishedKind::ratio ? row.over.empty()
                                         : row.demand.bytes + row.demand.executed.issue <= 0)
        return fail(ErrorKind::malformed, origin,
                    fmt::format("row \"{}\" has nothing to predict", row.id));
    return row;
}

}  // namespace

double ValidatedTime::log_error() const { return std::log(predicted / row.published); }

double ValidatedTime::square_error() const {
    // Of an error that lies evenly between the two ends.
    const double a = std::log(least / row.published), b = std::log(most / row.published);
    return (a * a + a * b + b * b) / 3;
}

Result<std::vector<PublishedTime>> parse_published_times(const std::string& text,
                                                         const std::string& origin) {
    GS_TRY(const PublishedJson json, parse_json_object(std::as_bytes(std::span(text)), origin));
    const PublishedJson& rows = member(json, "rows");
    if (!rows.is_array()) return fail(ErrorKind::malformed, origin, "there is no list \"rows\"");
    std::vector<PublishedTime> out;
    for (const PublishedJson& row : rows) {
        GS_TRY(out.emplace_back(), parse_row(row, origin));
    }
    return out;
}

std::vector<PublishedTime> published_times() {
    constexpr const char* kPath = "gpu/published_times.json";
    auto rows = parse_published_times(std::string(embedded_asset(kPath)), kPath);
    CHECK(rows.has_value(), "{}", rows.error().text());
    return *std::move(rows);
}

ModelValidation validate_model(const std::vector<PublishedTime>& rows,
                               const std::vector<GpuDevice>& gpus) {
    ModelValidation out;
    const auto usable = [&](const PublishedTime& row) {
        return device_of(gpus, row.gpu) != nullptr &&
               (row.over.empty() || device_of(gpus, row.over) != nullptr);
    };
    const auto others = [&](const PublishedTime* but, PublishedKind kind) {
        std::vector<const PublishedTime*> found;
        for (const PublishedTime& row : rows)
            if (&row != but && row.kind == kind && usable(row)) found.push_back(&row);
        return found;
    };
    struct Spread {
        double squares = 0, count = 0;
        void add(double square) {
            squares += square;
            ++count;
        }
        double log_sd() const { return std::sqrt(squares / std::max(1.0, count)); }
    } memory, instructions, with_misses;
    for (const PublishedTime& row : rows) {
        if (!usable(row)) continue;
        ValidatedTime& v = out.rows.emplace_back();
        v.row = row;
        if (row.kind == PublishedKind::ratio) {
            const auto rest = others(&row, PublishedKind::ratio);
            double share = rest.empty() ? 0.6 : 0;
            for (const PublishedTime* other : rest)
                share += memory_share(*other, gpus) / static_cast<double>(rest.size());
            const auto [of_memory, issue] =
                rate_ratios(*device_of(gpus, row.gpu), *device_of(gpus, row.over));
            v.predicted = v.least = v.most = share * of_memory + (1 - share) * issue;
            continue;
        }
        const ModelFit fit = fitted(others(&row, PublishedKind::throughput), gpus);
        const auto with_issue = [&](double issue) {
            PublishedTime other = row;
            if (issue > 0) other.demand.executed.issue = issue;
            return predicted_ms(other, gpus, fit);
        };
        v.predicted = with_issue(0);
        v.least = with_issue(row.least_issue);
        v.most = with_issue(row.most_issue);
        const bool missed = row.kind != PublishedKind::throughput;
        if (missed || row.of_memory()) with_misses.add(v.square_error());
        if (!missed) (row.of_memory() ? memory : instructions).add(v.square_error());
    }
    out.fit = fitted(others(nullptr, PublishedKind::throughput), gpus);
    out.fit.memory_log_sd = std::max(kLeastBand, memory.log_sd());
    out.fit.instruction_log_sd = std::max(kLeastInstructionBand, instructions.log_sd());
    out.instruction_rows_log_sd = instructions.log_sd();
    out.log_sd_with_misses = with_misses.log_sd();
    out.fit.latency_log_sd = kLatencyBand;
    return out;
}

const ModelFit& published_fit() {
    static const ModelFit kFit = validate_model(published_times(), gpu_devices()).fit;
    return kFit;
}

}  // namespace gs
