#include "app/backend/limits.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/device/cuda/ceilings.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/cpu/ceilings.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

struct Figure {
    const char* name;
    double Ceilings::*value;
};
constexpr std::array kFigures{
    Figure{"copy_bytes", &Ceilings::copy_bytes},
    Figure{"triad_bytes", &Ceilings::triad_bytes},
    Figure{"lane_operations", &Ceilings::lane_operations},
    Figure{"special_operations", &Ceilings::special_operations},
    Figure{"shared_bytes", &Ceilings::shared_bytes},
    Figure{"atomics_spread", &Ceilings::atomics_spread},
    Figure{"atomics_contended", &Ceilings::atomics_contended},
    Figure{"blend_pairs", &Ceilings::blend_pairs},
    Figure{"launch_seconds", &Ceilings::launch_seconds},
    Figure{"launch_interval_seconds", &Ceilings::launch_interval_seconds},
};

Json json_of(const Ceilings& c) {
    Json out{{"machine", c.machine}, {"cuda", c.cuda}};
    for (const Figure& f : kFigures)
        if (std::isfinite(c.*f.value)) out[f.name] = c.*f.value;
    return out;
}

/// Key of the ceilings, which differ by GPU, thread count and instruction set.
Result<std::string> machine_name(int cuda_device) {
    if (cuda_device < 0) return make_cpu_rasterizer()->name();
    GS_TRY(const auto device, cuda_device_info(cuda_device));
    return device.name;
}

Json read_cache(const fs::path& file) {
    if (file.empty() || !path_exists(file)) return Json::array();
    const auto text = read_text_file(file, 1u << 20);
    Json all = text ? json_or_discarded<Json>(*text) : Json();
    return all.is_array() ? all : Json::array();
}

bool is_of(const Json& entry, const std::string& machine, bool cuda) {
    return entry.is_object() && entry.value("machine", Json()) == machine &&
           entry.value("cuda", Json()) == cuda;
}

}  // namespace

std::vector<StageCost> stage_limits(std::span<const StageStats> times, const FrameWork& work,
                                    const Ceilings& ceilings) {
    std::vector<Stage> measured;
    for (const StageStats& s : times) measured.push_back(s.stage);
    std::vector<StageCost> out;
    const auto floors = stage_floors(work, ceilings, measured);
    for (std::size_t i = 0; i < floors.size(); ++i)
        if (std::isfinite(floors[i].floor_ms)) out.push_back({floors[i], times[i].p50_ms});
    return out;
}

StageCosts stage_costs(std::span<const StageStats> times, const FrameWork& work,
                       const Ceilings& ceilings) {
    return {.machine = ceilings.machine,
            .sample = work.training ? "iteration" : "view frame",
            .measured = true,
            .bytes_per_second = ceilings.copy_bytes,
            .operations_per_second = ceilings.lane_operations,
            .stages = stage_limits(times, work, ceilings)};
}

Result<Ceilings> machine_ceilings(int cuda_device, const fs::path& file, bool remeasure) {
    const bool cuda = cuda_device >= 0;
    GS_TRY(const auto machine, machine_name(cuda_device));
    Json cache = read_cache(file);
    for (const Json& entry : cache) {
        if (remeasure || !is_of(entry, machine, cuda)) continue;
        Ceilings out{.machine = machine, .cuda = cuda};
        for (const Figure& f : kFigures)
            if (const auto value = entry.find(f.name); value != entry.end() && value->is_number())
                out.*f.value = value->get<double>();
        return out;
    }
    auto measured =
        cuda ? measure_cuda_ceilings(cuda_device) : Result<Ceilings>(measure_cpu_ceilings());
    if (!measured) return measured;
    if (!file.empty()) {
        Json kept = Json::array();
        for (const Json& entry : cache)
            if (!is_of(entry, machine, cuda)) kept.push_back(entry);
        kept.push_back(json_of(*measured));
        auto written = make_folder(file.parent_path());
        if (written) written = write_text_file(file, json_text(kept, 2) + "\n");
        if (!written) log_debug("the measured limits were not saved: {}", written.error().text());
    }
    return measured;
}

}  // namespace gs
