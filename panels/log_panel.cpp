#include "panels/log_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <ctime>

#include "panels/widgets/fuzzy.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::size_t kMostKept = 5000;
constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

ImU32 level_color(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return theme().faint;
        case LogLevel::info:
            return theme().text;
        case LogLevel::warning:
            return theme().warning;
        case LogLevel::error:
            return theme().error;
    }
    return theme().text;
}

std::string clock_of(std::int64_t time_ms) {
    const std::time_t seconds = static_cast<std::time_t>(time_ms / 1000);
    std::tm local{};
    localtime_r(&seconds, &local);
    return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec,
                       time_ms % 1000);
}

}  // namespace

bool LogPanel::refresh() {
    const auto fresh = log_lines_after(taken_);
    if (fresh.empty()) return false;
    taken_ = fresh.back().serial;
    lines.insert(lines.end(), fresh.begin(), fresh.end());
    while (lines.size() > kMostKept) lines.pop_front();
    return true;
}

std::vector<const LogLine*> LogPanel::matching() const {
    std::vector<const LogLine*> out;
    for (const LogLine& line : lines)
        if (static_cast<int>(line.level) >= least_level &&
            (filter.empty() || contains_text(line.text, filter)))
            out.push_back(&line);
    return out;
}

void LogPanel::draw(const Snapshot&, Commands&) {
    const bool grown = refresh();
    ImGui::SetNextItemWidth(6 * em());
    ImGui::Combo("##level", &least_level, kLevels, 4);
    tooltip("Lowest level to show");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(
        std::max(6 * em(), std::min(18 * em(), ImGui::GetContentRegionAvail().x - 12 * em())));
    ImGui::InputTextWithHint("##filter", "Filter by text", &filter);
    ImGui::SameLine();
    const auto shown = matching();
    if (ImGui::Button("Copy")) {
        std::string all;
        for (const LogLine* line : shown)
            all += clock_of(line->time_ms) + " " + kLevels[static_cast<int>(line->level)] + " " +
                   line->text + "\n";
        ImGui::SetClipboardText(all.c_str());
    }
    tooltip("Copy the shown lines");
    ImGui::SameLine();
    ImGui::Checkbox("Follow", &follow);
    ImGui::BeginChild("##lines", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
    ImGui::PushFont(mono_font());
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(shown.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const LogLine& line = *shown[static_cast<std::size_t>(i)];
            dim_text(clock_of(line.time_ms));
            ImGui::SameLine();
            colored_text(level_color(line.level),
                         std::string_view(line.text).substr(0, line.text.find('\n')));
        }
    ImGui::PopFont();
    if (follow && (grown || ImGui::IsWindowAppearing())) ImGui::SetScrollHereY(1);
    ImGui::EndChild();
}

}  // namespace gs
