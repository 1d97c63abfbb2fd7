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

constexpr double kLeastBand = 0.1;    ///< log: fewer than ten rows cannot show a smaller spread
constexpr double kLatencyBand = 0.3;  ///< log; of latencies and launches no rows are published:
                                      ///< the review of the kernels says 30 to 35 %

const GpuDevice* device_of(const std::vector<GpuDevice>& gpus, const std::string& id) {
    const auto found =
        std::find_if(gpus.begin(), gpus.end(), [&](const GpuDevice& g) { return g.id == id; });
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
        if (row->demand.bytes > 0 && row->demand.executed.issue == 0) of_memory.push_back(row);
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
                    fmt::format("row \"{}\" says nothing that could be predicted", row.id));
    return row;
}

}  // namespace

double ValidatedTime::log_error() const { return std::log(predicted / row.published); }

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
    double squares = 0, count = 0;
    for (const PublishedTime& row : rows) {
        if (!usable(row)) continue;
        ValidatedTime& v = out.rows.emplace_back();
        v.row = row;
        if (row.kind == PublishedKind::ratio) {
            const auto rest = others(&row, PublishedKind::ratio);
            double share = rest.empty() ? 0.6 : 0;
            for (const PublishedTime* other : rest)
                share += memory_share(*other, gpus) / static_cast<double>(rest.size());
            const auto [memory, issue] =
                rate_ratios(*device_of(gpus, row.gpu), *device_of(gpus, row.over));
            v.predicted = share * memory + (1 - share) * issue;
            continue;
        }
        v.predicted =
            predicted_ms(row, gpus, fitted(others(&row, PublishedKind::throughput), gpus));
        if (row.kind != PublishedKind::throughput) continue;
        squares += v.log_error() * v.log_error();
        ++count;
    }
    out.fit = fitted(others(nullptr, PublishedKind::throughput), gpus);
    out.fit.throughput_log_sd = std::max(kLeastBand, std::sqrt(squares / std::max(1.0, count)));
    out.fit.latency_log_sd = kLatencyBand;
    return out;
}

const ModelFit& published_fit() {
    static const ModelFit kFit = validate_model(published_times(), gpu_devices()).fit;
    return kFit;
}

std::string validation_table(const ModelValidation& validation) {
    std::string out =
        "| what | GPU | published | predicted | error | |\n| --- | --- | ---: | ---: | ---: | --- "
        "|\n";
    for (const ValidatedTime& v : validation.rows) {
        const bool ratio = v.row.kind == PublishedKind::ratio;
        const double error = 100 * (v.predicted / v.row.published - 1);
        out += fmt::format("| {} | {} | {:.3g}{} | {:.3g}{} | {:+.0f} % | {} |\n", v.row.what,
                           v.row.gpu, v.row.published, ratio ? "" : " ms", v.predicted,
                           ratio ? "" : " ms", error,
                           v.row.miss.empty() ? "" : "missed: " + v.row.miss);
    }
    return out;
}

}  // namespace gs
