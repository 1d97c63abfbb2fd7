#include "panels/viewport/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr double kLivePatience = 0.5;  // seconds until the next live selection without an answer

bool is_path(Tool tool) { return tool == Tool::lasso || tool == Tool::brush; }
bool is_screen_tool(Tool tool) {
    return is_path(tool) || tool == Tool::rectangle || tool == Tool::distance ||
           tool == Tool::region;
}
const char* mode_of_keys() {
    const ImGuiIO& io = ImGui::GetIO();
    return io.KeyShift ? "add" : io.KeyCtrl ? "remove" : "new";
}

}  // namespace

/// The engine has answered what it was asked last.
bool ToolUse::ready(const Snapshot& snapshot) const {
    return snapshot.selection.get() != answered_ || ImGui::GetTime() - asked_at_ > kLivePatience;
}

void ToolUse::asked(const Snapshot& snapshot) {
    answered_ = snapshot.selection.get();
    asked_at_ = ImGui::GetTime();
}

void ToolUse::use(ImDrawList& list, const Snapshot& snapshot, PictureRect picture, bool over,
                  Commands& commands) {
    const Tool tool = snapshot.tools.tool;
    if (!is_screen_tool(tool) && path_.empty()) {
        if (tool == Tool::navigate) return;
        Commands own(commands.table());
        held_ = gizmo_.use(list, snapshot, picture, over, ready(snapshot), own);
        for (auto& [name, arguments] : own.take()) {
            asked(snapshot);
            commands.push(std::move(name), std::move(arguments));
        }
        return;
    }
    const ImVec2 mouse = ImGui::GetMousePos();
    if (path_.empty() && over && picture.contains(mouse) &&
        ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
        path_ = {mouse};
        tool_ = tool;
        given_ = 0;
    }
    if (path_.empty()) {
        if (over && tool == Tool::brush)
            list.AddCircle(mouse, brush_radius(snapshot), theme().accent);
        return;
    }
    const ImVec2 last = path_.back();
    if (std::hypot(mouse.x - last.x, mouse.y - last.y) >= 1) {
        if (is_path(tool_) || path_.size() == 1)
            path_.push_back(mouse);
        else
            path_.back() = mouse;
    }
    const float scale = static_cast<float>(snapshot.frame->camera.width) / picture.width();
    const bool selects = is_path(tool_) || tool_ == Tool::rectangle;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
        give(snapshot, picture, scale, false, commands);
        path_.clear();
        return;
    }
    const bool changed = given_ != path_.size() || given_at_.x != mouse.x || given_at_.y != mouse.y;
    if (selects && changed && ready(snapshot)) {
        give(snapshot, picture, scale, true, commands);
        asked(snapshot);
        given_ = path_.size();
        given_at_ = mouse;
    }
    draw_shape(list, snapshot);
}

/// Radius of the brush on the screen.
float ToolUse::brush_radius(const Snapshot& snapshot) {
    return static_cast<float>(snapshot.tools.brush * snapshot.ui_scale);
}

void ToolUse::give(const Snapshot& snapshot, PictureRect picture, float scale, bool live,
                   Commands& commands) const {
    const auto x = [&](ImVec2 p) { return fmt::format("{:.1f}", (p.x - picture.a.x) * scale); };
    const auto y = [&](ImVec2 p) { return fmt::format("{:.1f}", (p.y - picture.a.y) * scale); };
    const ImVec2 a = path_.front(), b = path_.back();
    if (tool_ == Tool::region && (a.x == b.x || a.y == b.y)) return;  // a click
    std::vector<std::string> words;
    std::string points;
    for (const ImVec2 p : path_) points += (points.empty() ? "" : " ") + x(p) + "," + y(p);
    const char* name = "select.rectangle";
    switch (tool_) {
        case Tool::lasso:
            name = "select.lasso";
            words = {points};
            break;
        case Tool::brush:
            name = "select.brush";
            words = {fmt::format("{:.1f}", brush_radius(snapshot) * scale), points};
            break;
        case Tool::region:
            name = "cost.region";
            [[fallthrough]];
        default:
            words = {x(a), y(a), x(b), y(b)};
    }
    if (tool_ == Tool::distance) name = "measure.points";
    const bool selects = is_path(tool_) || tool_ == Tool::rectangle;
    if (selects) words.emplace_back(mode_of_keys());
    if (selects && live) words.emplace_back("live");
    // A rectangle without a size is a click: it selects nothing.
    if (commands.find(name)) commands.push(name, std::move(words));
}

void ToolUse::draw_shape(ImDrawList& list, const Snapshot& snapshot) const {
    const ImU32 line = theme().accent, fill = with_alpha(theme().accent, 40);
    const ImVec2 a = path_.front(), b = path_.back();
    switch (tool_) {
        case Tool::lasso:
            list.AddPolyline(path_.data(), static_cast<int>(path_.size()), line, ImDrawFlags_Closed,
                             1.5F);
            break;
        case Tool::brush:
            list.AddCircle(b, brush_radius(snapshot), line);
            list.AddPolyline(path_.data(), static_cast<int>(path_.size()), with_alpha(line, 60),
                             ImDrawFlags_None, 2 * brush_radius(snapshot));
            break;
        case Tool::distance:
            list.AddLine(a, b, line, 2);
            break;
        default:
            list.AddRectFilled({std::min(a.x, b.x), std::min(a.y, b.y)},
                               {std::max(a.x, b.x), std::max(a.y, b.y)}, fill);
            list.AddRect({std::min(a.x, b.x), std::min(a.y, b.y)},
                         {std::max(a.x, b.x), std::max(a.y, b.y)}, line);
    }
}

}  // namespace gs
