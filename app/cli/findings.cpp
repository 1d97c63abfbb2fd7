#include "app/cli/findings.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "base/log.h"
#include "renderer/device/cuda/device.h"
#include "trainer/settings.h"

namespace gs::cli {

using Json = nlohmann::ordered_json;

void print_findings(std::span<const Finding> findings) {
    for (const Finding& f : findings) {
        fmt::print("  {}: {}\n", name_of(f.severity), f.what);
        if (f.id == "reader" || f.id == "loading") continue;
        if (!f.examples.empty())
            fmt::print("    such as     {}{}\n", fmt::join(f.examples, ", "),
                       f.count > f.examples.size() ? ", ..." : "");
        fmt::print("    means       {}\n    advice      {}{}\n", f.consequence, f.advice,
                   f.fixable ? " (--fix OUT)" : "");
    }
    if (findings.empty()) fmt::print("  nothing wrong was found\n");
}

Json findings_json(std::span<const Finding> findings) {
    Json out = Json::array();
    for (const Finding& f : findings)
        out.push_back({{"id", f.id},
                       {"severity", name_of(f.severity)},
                       {"what", f.what},
                       {"count", f.count},
                       {"examples", f.examples},
                       {"consequence", f.consequence},
                       {"advice", f.advice},
                       {"fixable", f.fixable}});
    return out;
}

void warn_of_findings(std::span<const Finding> findings) {
    for (const Finding& f : findings)
        if (f.severity != Severity::note)
            log_warning("{}: {} ({})", f.what, f.consequence, f.advice);
}

SplatQuestions questions_here(std::vector<std::string> reader_notes) {
    SplatQuestions out;
    out.notes = std::move(reader_notes);
    out.cap = static_cast<std::uint64_t>(TrainingSettings().max_gaussians);
    out.host_bytes = available_host_bytes();
    if (const auto memory = cuda_memory()) out.device_bytes = memory->free_bytes;
    return out;
}

void print_memory(const SplatReport& report) {
    const auto line = [](const char* name, const MemoryPlan& plan) {
        fmt::print("  {:<12} {} to view, {} to train with {} Gaussians (estimated)\n", name,
                   human_bytes(plan.to_view()), human_bytes(plan.to_train()), plan.gaussians);
    };
    line("memory", report.now);
    if (report.at_cap.gaussians != report.now.gaussians) line("  at the cap", report.at_cap);
}

Json memory_json(const MemoryPlan& plan) {
    return {{"gaussians", plan.gaussians},   {"isects", plan.isects},
            {"parameters", plan.parameters}, {"optimizer", plan.optimizer},
            {"frame_view", plan.frame_view}, {"frame_train", plan.frame_train},
            {"to_view", plan.to_view()},     {"to_train", plan.to_train()}};
}

}  // namespace gs::cli
