#include "panels/notices.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr double kMoment = 0.4;  // seconds that something may take unseen
constexpr std::size_t kMostLinesShown = 8, kMostLinesOfText = 6;

void activity(const Activity& one, Commands& commands, float width) {
    ImGui::PushID(one.name.c_str());
    const float button = ImGui::CalcTextSize("Cancel").x + 2 * ImGui::GetStyle().FramePadding.x;
    const float bar = std::max(width - button - em(), 4 * em());
    const std::string words = fitted(one.what, bar - 4 * em());
    ImGui::ProgressBar(static_cast<float>(std::clamp(one.share, 0.0, 1.0)), {bar, 0}, "");
    const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float y = a.y + ImGui::GetStyle().FramePadding.y;
    list.AddText({a.x + 0.4F * em(), y}, theme().text, words.c_str());
    const std::string share = fmt::format("{:.0f} %", 100 * std::clamp(one.share, 0.0, 1.0));
    list.AddText({b.x - ImGui::CalcTextSize(share.c_str()).x - 0.4F * em(), y}, theme().dim,
                 share.c_str());
    tooltip(fmt::format("{}, running for {}", one.what, format_duration(one.seconds)));
    ImGui::SameLine();
    if (ImGui::Button("Cancel")) commands.push("cancel", {one.name});
    ImGui::PopID();
}

void notice(const Notice& one, Commands& commands, float width) {
    ImGui::PushID(static_cast<int>(one.serial));
    const float cross = ImGui::CalcTextSize("x").x + 2 * ImGui::GetStyle().FramePadding.x;
    const float wrap = width - cross - em();
    const auto lines = [&](const std::string& words, std::size_t most, ImU32 color) {
        const std::string shown = fitted_lines(words, wrap, most);
        colored_text(color, shown);
        if (shown != words) tooltip(words);
    };
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
    ImGui::BeginGroup();
    lines(one.text, kMostLinesOfText,
          one.error     ? theme().error
          : one.warning ? theme().warning
                        : theme().good);
    for (std::size_t i = 0; i < std::min(one.lines.size(), kMostLinesShown); ++i)
        lines(one.lines[i], 3, theme().dim);
    if (one.lines.size() > kMostLinesShown)
        dim_text(fmt::format("and {} more, see the log", one.lines.size() - kMostLinesShown));
    ImGui::EndGroup();
    ImGui::PopTextWrapPos();
    ImGui::SameLine(width - cross);
    if (ImGui::SmallButton("x")) commands.push("notice.dismiss", {std::to_string(one.serial)});
    tooltip("Dismiss this notice");
    ImGui::PopID();
}

}  // namespace

void draw_notices(const Snapshot& snapshot, Commands& commands, float left, float bottom,
                  float width) {
    const auto shown = [&](const Activity& a) {
        // Without a picture, the viewport shows the loading itself.
        return a.seconds > kMoment && (a.name != "load" || snapshot.frame);
    };
    const bool any = std::any_of(snapshot.activities.begin(), snapshot.activities.end(), shown);
    // Over a dialog show only errors: the rest would hide its fields, and is in the log.
    const auto told = [&](const Notice& n) { return n.error || !snapshot.import; };
    const bool tells = std::any_of(snapshot.notices.begin(), snapshot.notices.end(), told);
    const float wide = std::min(34 * em(), width - 2 * em());
    if ((!any && !tells) || wide < 8 * em()) return;
    ImGui::SetNextWindowPos({left + em(), bottom - em()}, ImGuiCond_Always, {0, 1});
    ImGui::SetNextWindowBgAlpha(1);
    ImGui::Begin("##notices", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
    bool first = true;
    const auto part = [&] {
        if (!first) ImGui::Separator();
        first = false;
    };
    for (const Notice& one : snapshot.notices)
        if (told(one)) part(), notice(one, commands, wide);
    for (const Activity& one : snapshot.activities)
        if (shown(one)) part(), activity(one, commands, wide);
    ImGui::End();
}

}  // namespace gs
