#include "app/cli/files/findings.h"

#include <fmt/core.h>

#include "base/log.h"
#include "renderer/device/cuda/device.h"
#include "trainer/settings/settings.h"

namespace gs::cli {

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

void say_findings(const Json& findings) {
    for (const Json& f : findings) {
        say("  {severity}: {what}", f);
        if (f["id"] == "reader" || f["id"] == "loading") continue;
        if (!f["examples"].empty())
            say(f["count"] > f["examples"].size() ? "    such as     {examples:list}, ..."
                                                  : "    such as     {examples:list}",
                f);
        say("    means       {consequence}", f);
        say(f["fixable"] ? "    advice      {advice} (--fix OUT)" : "    advice      {advice}", f);
    }
    if (findings.empty()) fmt::print("  no problems found\n");
}

void warn_of_findings(std::span<const Finding> findings) {
    for (const Finding& f : findings)
        if (f.severity != Severity::note)
            log_warning("{}: {} ({})", f.what, f.consequence, f.advice);
        else if (f.id == "lens-folds")  // what scores leave out is said in any case
            log_info("{}: {}", f.what, f.consequence);
}

SplatQuestions questions_here(std::vector<std::string> reader_notes, int cuda_device) {
    SplatQuestions out{.notes = std::move(reader_notes),
                       .cap = static_cast<std::uint64_t>(TrainingSettings().max_gaussians),
                       .host_bytes = available_host_bytes()};
    if (cuda_device >= 0)
        if (const auto memory = cuda_memory(cuda_device)) out.device_bytes = memory->free_bytes;
    return out;
}

namespace {

Json plan_json(const MemoryPlan& plan) {
    return {{"gaussians", plan.gaussians},   {"isects", plan.isects},
            {"parameters", plan.parameters}, {"optimizer", plan.optimizer},
            {"frame_view", plan.frame_view}, {"frame_train", plan.frame_train},
            {"to_view", plan.to_view()},     {"to_train", plan.to_train()}};
}

}  // namespace

Json memory_json(const SplatReport& report) {
    return {{"now", plan_json(report.now)}, {"at_cap", plan_json(report.at_cap)}};
}

void say_memory(const Json& memory) {
    constexpr const char* kLine =
        "{to_view:bytes} to view, {to_train:bytes} to train with {gaussians} Gaussians (estimated)";
    const auto line = [](const char* name, const Json& plan) {
        fmt::print("  {:<12} {}\n", name, filled(kLine, plan));
    };
    line("memory", memory["now"]);
    if (memory["at_cap"]["gaussians"] != memory["now"]["gaussians"])
        line("  at the cap", memory["at_cap"]);
}

}  // namespace gs::cli
