#include "panels/help_panel.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <array>
#include <utility>

#include "panels/widgets/fuzzy.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr const char* kFlying = ", with Shift faster";  // the keys come before
constexpr std::array<std::pair<const char*, const char*>, 15> kMouse{{
    {"left drag", "turn (orbit, trackball) or look around (fly)"},
    {"middle or right drag, Shift + left drag", "move sideways"},
    {"Ctrl + left drag", "roll"},
    {"wheel", "zoom in, zoom out"},
    {kFlying, "fly forward, left, back, right, down, up, while the mouse is over the viewport"},
    {"double click", "look at that point and turn around it"},
    {"click on a camera", "go to that photo's camera"},
    {"wheel over a plot or the timeline", "zoom in time"},
    {"drag over a plot or the timeline", "move in time"},
    {"double click on a plot", "fit everything again"},
    {" over the timeline", "zoom in, move left, zoom out, move right"},
    {"click, double click on a span", "select it, zoom to it"},
    {"double click on a tab", "maximise its region, or restore it"},
    {"drag a tab", "to another region"},
    {"right click on a tab", "move the panel to another region, or hide it"},
}};

void row(std::string_view left, std::string_view key, std::string_view right,
         std::string_view command) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextWrapped("%.*s", static_cast<int>(left.size()), left.data());
    ImGui::TableNextColumn();
    colored_text(theme().accent, key);
    ImGui::TableNextColumn();
    ImGui::PushTextWrapPos(0);
    dim_text(right);
    if (!command.empty()) dim_text(command);
    ImGui::PopTextWrapPos();
}

bool begin_table(const char* id) {
    if (!ImGui::BeginTable(id, 3, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp))
        return false;
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("key", ImGuiTableColumnFlags_WidthFixed, 6.5F * em());
    ImGui::TableSetupColumn("meaning", ImGuiTableColumnFlags_WidthStretch, 1.6F);
    return true;
}

}  // namespace

void HelpPanel::draw(const Snapshot& snapshot, Commands& commands) {
    ImGui::SetNextItemWidth(std::min(20 * em(), ImGui::GetContentRegionAvail().x));
    ImGui::InputTextWithHint("##filter", "Find a command", &filter);
    ImGui::BeginChild("##help");
    if (filter.empty() && section("Mouse and flying") && begin_table("##mouse")) {
        for (const auto& [input, meaning] : kMouse) {
            const std::string& keys = snapshot.flying_keys;
            const std::string hand = input == kFlying  ? keys
                                     : input[0] == ' ' ? keys.substr(0, 7)
                                                       : "";
            row(hand + input, "", meaning, "");
        }
        ImGui::EndTable();
    }
    if (section("Commands") && begin_table("##commands")) {
        for (const CommandInfo& info : commands.table()) {
            const std::string usage =
                info.name + (info.arguments.empty() ? "" : " " + info.arguments);
            if (!filter.empty() && !contains_text(info.title, filter) &&
                !contains_text(usage, filter) && !contains_text(info.help, filter))
                continue;
            row(info.title, info.keys, info.help, usage);
        }
        ImGui::EndTable();
    }
    ImGui::EndChild();
}

}  // namespace gs
