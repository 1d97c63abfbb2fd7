#include "app/backend/stage_times.h"

#include "base/json_write.h"
#include "profiler/collect/multi_collector.h"

namespace gs {
namespace {

constexpr std::size_t kMostSteps = 1024;

}  // namespace

nlohmann::ordered_json newest_stage_times() {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    TraceStore store;
    service::MultiCollector::of_own_ring()->finish(store);
    for (const StageStats& s : store.frames().statistics(StatScope::iteration, kMostSteps))
        out.push_back({{"name", name_of(s.stage)},
                       {"ms_mean", json_number(s.mean_ms)},
                       {"ms_p50", json_number(s.p50_ms)},
                       {"ms_p95", json_number(s.p95_ms)},
                       {"ms_p99", json_number(s.p99_ms)},
                       {"share", json_number(s.share)},
                       {"samples", s.samples},
                       {"calls", s.calls}});
    return out;
}

}  // namespace gs
