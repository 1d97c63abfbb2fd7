#include "panels/scene_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include "panels/format.h"
#include "panels/plot.h"
#include "panels/widgets.h"

namespace gs {
namespace {

void facts(const SceneInfo& scene, const TrainingStatus& training) {
    if (!ImGui::BeginTable("##facts", 2, ImGuiTableFlags_SizingStretchProp)) return;
    ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthFixed, 5.2F * em());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    const auto count = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    const auto number = [](float v) { return format_number(static_cast<double>(v), 3); };
    fact("name", scene.name);
    tooltip(scene.path);
    if (!scene.format.empty()) fact("format", scene.format);
    fact("Gaussians", count(training.gaussians > 0 ? training.gaussians : scene.gaussians));
    fact("SH degree", fmt::format("{}", scene.sh_degree));
    if (scene.train_views + scene.test_views > 0)
        fact("photos", fmt::format("{} train, {} test", count(scene.train_views), count(scene.test_views)));
    if (!scene.skipped.empty()) fact("skipped", count(scene.skipped.size()) + " photos");
    if (scene.points > 0) fact("points", count(scene.points) + " sparse");
    fact("size", fmt::format("{} x {} x {}", number(scene.hi.x - scene.lo.x), number(scene.hi.y - scene.lo.y),
                             number(scene.hi.z - scene.lo.z)));
    tooltip(fmt::format("Bounds of the means in world units:\nx {} to {}\ny {} to {}\nz {} to {}", number(scene.lo.x),
                        number(scene.hi.x), number(scene.lo.y), number(scene.hi.y), number(scene.lo.z),
                        number(scene.hi.z)));
    fact("extent", format_number(scene.extent, 4) + " world units");
    std::uint64_t bytes = 0;
    for (const MemoryRow& row : scene.memory) bytes += row.bytes;
    if (bytes > 0) fact("memory", format_bytes(static_cast<double>(bytes)));
    ImGui::EndTable();
}

void notes(const char* title, const std::vector<std::string>& lines, ImU32 color) {
    if (lines.empty()) return;
    if (!ImGui::TreeNode(title, "%s (%zu)", title, lines.size())) return;
    ImGui::PushTextWrapPos(0);
    for (const std::string& line : lines) colored_text(color, line);
    ImGui::PopTextWrapPos();
    ImGui::TreePop();
}

/// The second scene, in a few words.
void beside(const SceneInfo& other) {
    ImGui::Separator();
    dim_text("Compared with");
    if (!ImGui::BeginTable("##other", 2, ImGuiTableFlags_SizingStretchProp)) return;
    ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthFixed, 5.2F * em());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    fact("name", other.name);
    tooltip(other.path);
    fact("format", other.format);
    fact("Gaussians", format_count(static_cast<double>(other.gaussians)));
    fact("SH degree", fmt::format("{}", other.sh_degree));
    ImGui::EndTable();
}

}  // namespace

void ScenePanel::draw(const Snapshot& snapshot, Commands&) {
    if (!snapshot.scene) {
        empty_note("Nothing is open");
        return;
    }
    const SceneInfo& scene = *snapshot.scene;
    facts(scene, snapshot.training);
    if (snapshot.other) beside(*snapshot.other);
    notes("Notes", scene.notes, kDimColor);
    notes("Skipped photos", scene.skipped, kWarningColor);
    if (scene.histograms.empty()) return;
    ImGui::Separator();
    dim_text("Distributions of the Gaussians");
    tooltip("Bar heights follow the square root of the count, so that rare values stay visible.");
    int index = 0;
    for (const Histogram& data : scene.histograms) {
        ImGui::PushID(index++);
        histogram("##histogram", data, color_rgb(0x3f7fc0), 5.2F * em());
        ImGui::PopID();
    }
}

}  // namespace gs
