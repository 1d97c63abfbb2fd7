#include "app/cli/trace/trace_insights.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/report.h"
#include "base/json_text.h"
#include "base/try.h"
#include "profiler/analysis/compare.h"
#include "profiler/files/import.h"
#include "profiler/history/history.h"
#include "profiler/insights/insight.h"

namespace gs::cli {
namespace {

Result<TraceStore> read(const std::string& path) {
    TraceStore store(whole_trace_options());
    if (const auto done = import_trace(path, store); !done) return tl::unexpected(done.error());
    return store;
}

/// The process that has iterations, the one with most of them.
CompareSide side_of(const TraceStore& store, const std::string& path) {
    CompareSide side;
    side.store = &store;
    side.name = path;
    std::size_t most = 0;
    for (std::uint32_t p = 0; p < store.processes().size(); ++p)
        if (const std::size_t count = find_iterations(store, p).items.size(); count > most) {
            most = count;
            side.process = p;
        }
    return side;
}

}  // namespace

Result<Json> print_insights(const TraceStore& store, const std::string& baseline,
                            const std::string& history) {
    InsightOptions options;
    std::optional<history::History> file;
    if (!history.empty()) {
        GS_TRY(file, history::History::open_to_read(history));
        const std::int64_t begin_s =
            (store.timeline().begin_ns() + store.sources().realtime_offset_ns()) / 1'000'000'000;
        options.past = [&file, begin_s](const TraceProcess& process) {
            return history::past_medians(*file, history::subject_of(process), begin_s);
        };
    }
    TraceStore base;
    if (!baseline.empty()) {
        auto read_base = read(baseline);
        if (!read_base) return tl::unexpected(read_base.error());
        base = std::move(*read_base);
        options.baseline = &base;
    }
    const Insights insights = find_insights(store, options);
    fmt::print("{}", insights_text(store, insights));
    return insights_json(store, insights);
}

int compare_traces(const std::string& a, const std::string& b, bool json) {
    const auto store_a = read(a);
    if (!store_a) return report(store_a.error());
    const auto store_b = read(b);
    if (!store_b) return report(store_b.error());
    const Comparison comparison = compare(side_of(*store_a, a), side_of(*store_b, b));
    fmt::print("{}", comparison_text(comparison));
    if (json) {
        Json out = json_or_discarded<Json>(comparison_json(comparison));
        out["command"] = "trace";
        print_json(out);
    }
    return kDone;
}

}  // namespace gs::cli
