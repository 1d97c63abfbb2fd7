#include "panels/memory_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "panels/format.h"
#include "panels/widgets.h"
#include "profiler/store.h"

namespace gs {
namespace {

ImU32 category_color(std::size_t index) {
    constexpr ImU32 kColors[] = {color_rgb(0x56b4e9), color_rgb(0xe69f00), color_rgb(0x009e73), color_rgb(0xf0e442),
                                 color_rgb(0x0072b2), color_rgb(0xd55e00), color_rgb(0xcc79a7), color_rgb(0x999999)};
    return kColors[index % std::size(kColors)];
}

void share_bar(const std::vector<MemoryRow>& rows, std::uint64_t total) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = 0.9F * em();
    ImGui::Dummy({width, height});
    float x = corner.x;
    for (std::size_t i = 0; i < rows.size() && total > 0; ++i) {
        const float part = width * static_cast<float>(static_cast<double>(rows[i].bytes) / static_cast<double>(total));
        ImGui::GetWindowDrawList()->AddRectFilled({x, corner.y}, {x + std::max(part - 1, 0.0F), corner.y + height},
                                                  category_color(i));
        x += part;
    }
}

}  // namespace

void MemoryPanel::draw(const Snapshot& snapshot, Commands& commands) {
    std::vector<MemoryRow> rows;
    if (snapshot.scene) rows = snapshot.scene->memory;
    if (snapshot.trace) rows.push_back({"measurements", snapshot.trace->bytes()});
    std::uint64_t total = 0;
    for (const MemoryRow& row : rows) total += row.bytes;
    if (total == 0 && snapshot.process_bytes == 0) {
        empty_note("Nothing is in memory yet");
        return;
    }
    if (ImGui::Button("Copy CSV")) {
        std::string csv = "category,bytes\n";
        for (const MemoryRow& row : rows) csv += fmt::format("{},{}\n", csv_cell(row.category), row.bytes);
        ImGui::SetClipboardText(csv.c_str());
    }
    static_cast<void>(commands);
    share_bar(rows, total);
    if (!ImGui::BeginTable("##memory", 3, ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp)) return;
    ImGui::TableSetupColumn("category", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("size", ImGuiTableColumnFlags_WidthFixed, 5 * em());
    ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_WidthFixed, 4 * em());
    ImGui::TableHeadersRow();
    const auto line = [&](std::string_view name, std::uint64_t bytes, ImU32 color, bool with_share) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.2F * em()}, {at.x + 0.6F * em(), at.y + 0.8F * em()},
                                                  color, 2);
        ImGui::SetCursorPosX(ImGui::GetCursorPosX() + em());
        text(fitted(name, ImGui::GetContentRegionAvail().x));
        ImGui::TableNextColumn();
        cell_right(format_bytes(static_cast<double>(bytes)));
        ImGui::TableNextColumn();
        if (with_share && total > 0)
            cell_right(format_share(static_cast<double>(bytes) / static_cast<double>(total)), kDimColor);
    };
    for (std::size_t i = 0; i < rows.size(); ++i) line(rows[i].category, rows[i].bytes, category_color(i), true);
    line("sum of these", total, 0, false);
    if (snapshot.process_bytes > 0) line("whole process, resident", snapshot.process_bytes, 0, false);
    if (snapshot.machine_bytes > 0) line("machine", snapshot.machine_bytes, 0, false);
    ImGui::EndTable();
}

}  // namespace gs
