#include "panels/scene/scene_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <span>

#include "base/format.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

void facts(const Snapshot& snapshot) {
    const SceneInfo& scene = *snapshot.scene;
    const LevelsState* levels = snapshot.levels.get();
    if (!ImGui::BeginTable("##facts", 2, ImGuiTableFlags_SizingStretchProp)) return;
    ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthFixed, 5.2F * em());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    const auto count = [](std::uint64_t n) { return format_count(static_cast<double>(n)); };
    const auto number = [](float v) { return format_number(static_cast<double>(v), 3); };
    fact("name", scene.name);
    tooltip(scene.path);
    if (!scene.format.empty()) fact("format", scene.format);
    if (levels) {
        fact("Gaussians", count(levels->stored()));
        fact("drawn", count(levels->drawn));
    } else {
        fact("Gaussians", count(snapshot.gaussians()));
    }
    fact("SH degree", fmt::format("{}", scene.sh_degree));
    if (scene.train_views + scene.test_views > 0)
        fact("photos",
             fmt::format("{} train, {} test", count(scene.train_views), count(scene.test_views)));
    if (!scene.skipped.empty()) fact("skipped", counted(scene.skipped.size(), "photo"));
    if (scene.points > 0) fact("points", count(scene.points) + " sparse");
    fact("size", fmt::format("{} x {} x {}", number(scene.hi.x - scene.lo.x),
                             number(scene.hi.y - scene.lo.y), number(scene.hi.z - scene.lo.z)));
    tooltip(fmt::format("Bounds of the means in world units:\nx {} to {}\ny {} to {}\nz {} to {}",
                        number(scene.lo.x), number(scene.hi.x), number(scene.lo.y),
                        number(scene.hi.y), number(scene.lo.z), number(scene.hi.z)));
    fact("extent", format_number(scene.extent, 4) + " world units");
    std::uint64_t bytes = 0;
    for (const MemoryUse& row : scene.memory) bytes += row.bytes;
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

void levels_table(const LevelsState& levels, bool colors) {
    using Level = LevelsState::Level;
    const auto column = [](const char* title, float width, auto value) {
        const auto cell = [=](const Level& level) {
            const auto n = static_cast<double>(level.*value);
            return TableCell(n, n > 0 ? Tone::normal : Tone::faint, format_count(n));
        };
        return ColumnOf<Level>{"", title, format_short, cell, width};
    };
    const auto draw_level = [&](std::size_t i) {
        const Rgb8 c = color_of_level(i);
        colored_text(colors ? IM_COL32(c.r, c.g, c.b, 255) : theme().text, std::to_string(i));
        if (i == 0) tooltip("the finest");
    };
    draw_table(table_of<Level>(std::span(levels.levels),
                               {{"", "level", nullptr, [](const Level&) { return ""; }, 2.2F},
                                column("regions", 3.4F, &Level::regions),
                                column("drawn", 0, &Level::drawn),
                                column("of", 0, &Level::stored)}),
               {.id = "##levels",
                .flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp,
                .tight = true,
                .draw = {{"level", draw_level}}});
}

/// The budget changes when the slider is released, not while it moves: each change reads files.
void levels_wishes(const ViewSettings& view, std::size_t count, Commands& commands) {
    constexpr double kLeast = 1e3, kMost = 1e8;
    double budget = view.lod_budget, pixels = view.lod_pixels, memory = view.lod_memory;
    const auto slider = [&](const char* label, const char* command, double& value, double least,
                            double most, const char* format, const char* hint) {
        ImGui::SetNextItemWidth(-6 * em());
        drag_bar(label, value, least, most, format, ImGuiSliderFlags_Logarithmic);
        if (ImGui::IsItemDeactivatedAfterEdit()) commands.push(command, {argument(value)});
        tooltip(hint);
    };
    slider("Budget", "lod.budget", budget, kLeast, kMost, "%.0f",
           "Gaussians drawn at most: regions get finer where that gains most for each");
    slider("Memory", "lod.memory", memory, 16, 65536, "%.0f MiB",
           "Gaussians kept in memory at most, those that are not drawn included");
    slider("Pixels", "lod.pixels", pixels, 0.25, 32, "%.2f",
           "Draw a region at the coarsest level whose Gaussians are at most this far apart on "
           "the screen");
    const int level = std::clamp(view.lod_level, -1, static_cast<int>(count) - 1);
    ImGui::SetNextItemWidth(-6 * em());
    const auto name = [](int i) {
        return i < 0 ? std::string("Auto, by gain") : std::to_string(i) + " everywhere";
    };
    if (ImGui::BeginCombo("Level", name(level).c_str())) {
        for (int i = -1; i < static_cast<int>(count); ++i)
            if (ImGui::Selectable(name(i).c_str(), i == level))
                commands.push("lod.level", {i < 0 ? "auto" : std::to_string(i)});
        ImGui::EndCombo();
    }
    tooltip(
        "Auto: each region's level follows what it gains, within the budget; otherwise one level "
        "everywhere that fits the memory, 0 is the finest");
}

void levels_of(const Snapshot& snapshot, Commands& commands) {
    const LevelsState& levels = *snapshot.levels;
    if (!section("Levels of detail")) return;
    levels_table(levels, snapshot.view.level_colors);
    const std::string drawn =
        fmt::format("{} drawn of {} allowed", format_count(static_cast<double>(levels.drawn)),
                    format_short(snapshot.view.lod_budget));
    if (levels.over_budget)
        colored_text(theme().warning, drawn + ", more than the budget");
    else
        dim_text(drawn);
    if (levels.environment > 0)
        tooltip(format_count(static_cast<double>(levels.environment)) +
                " of them are the environment of every level");
    if (levels.pixels > snapshot.view.lod_pixels * 1.001)
        dim_text(fmt::format("the budget ends at {} pixels, not {}",
                             format_number(levels.pixels, 3),
                             format_number(snapshot.view.lod_pixels, 3)));
    dim_text(fmt::format("{} of {} in memory", format_bytes(static_cast<double>(levels.bytes)),
                         format_bytes(snapshot.view.lod_memory * (1 << 20))));
    levels_wishes(snapshot.view, levels.levels.size(), commands);
    toggle_command(commands, "Colours", "view.level-colors", snapshot.view.level_colors,
                   "Draw each Gaussian in the colour of its level, to show which "
                   "regions are coarse (Shift+L)");
}

}  // namespace

void ScenePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.scene) {
        empty_note("Open a scene to see its facts here");
        return;
    }
    const SceneInfo& scene = *snapshot.scene;
    facts(snapshot);
    if (snapshot.other) beside(*snapshot.other);
    if (snapshot.levels) levels_of(snapshot, commands);
    notes("Notes", scene.notes, theme().dim);
    notes("Skipped photos", scene.skipped, theme().warning);
    if (scene.histograms.empty()) return;
    ImGui::Separator();
    dim_text("Distributions of the Gaussians");
    tooltip("Bar heights are the square root of the count, so that rare values stay visible.");
    int index = 0;
    for (const Histogram& data : scene.histograms) {
        ImGui::PushID(index++);
        histogram("##histogram", data, color_rgb(0x3f7fc0), 5.2F * em());
        ImGui::PopID();
    }
}

}  // namespace gs
