#include "panels/widgets/table_view.h"

#include <algorithm>
#include <numeric>

#include "panels/widgets/widgets.h"

namespace gs {
namespace {

using Columns = std::vector<const ColumnOf<std::size_t>*>;

void set_up(const Columns& columns, const TableView& view) {
    ImGui::TableSetupScrollFreeze(view.frozen, 1);
    const auto has = [](const auto& titles, const auto* c) {
        return std::find(titles.begin(), titles.end(), c->title) != titles.end();
    };
    for (int i = 0; const auto* c : columns) {
        const ImGuiTableColumnFlags width = c->width > 0   ? ImGuiTableColumnFlags_WidthFixed
                                            : c->width < 0 ? ImGuiTableColumnFlags_WidthStretch
                                                           : ImGuiTableColumnFlags_None;
        const ImGuiTableColumnFlags order =
            c->order == SortOrder::descending ? ImGuiTableColumnFlags_PreferSortDescending
            : c->order == SortOrder::none     ? ImGuiTableColumnFlags_NoSort
                                              : ImGuiTableColumnFlags_None;
        const bool sorted = (ImGui::TableGetColumnFlags(i++) & ImGuiTableColumnFlags_IsSorted) != 0;
        ImGui::TableSetupColumn(
            c->title.c_str(),
            width | order | (has(view.hidden, c) ? ImGuiTableColumnFlags_DefaultHide : 0) |
                (has(view.dropped, c) && !sorted ? ImGuiTableColumnFlags_Disabled : 0) |
                (c->title == view.sort_by ? ImGuiTableColumnFlags_DefaultSort : 0),
            c->width > 0 ? c->width * em() : -c->width);
    }
    if (!view.tight) return ImGui::TableHeadersRow();
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (const auto* c : columns) {
        table_heading(c->title.c_str(), c->format != nullptr);
        if ((ImGui::TableGetColumnFlags() & ImGuiTableColumnFlags_IsVisible) != 0) tooltip(c->help);
    }
}

void sort_rows(const Table& table, const Columns& columns, TableOrder& order) {
    ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
    if (!order.stale && !(specs && specs->SpecsDirty)) return;
    order.stale = false;
    order.rows.resize(table.rows);
    std::iota(order.rows.begin(), order.rows.end(), std::size_t{0});
    if (!specs || specs->SpecsCount == 0) return;
    specs->SpecsDirty = false;
    const auto* column = columns[static_cast<std::size_t>(specs->Specs->ColumnIndex)];
    const bool descending = specs->Specs->SortDirection == ImGuiSortDirection_Descending;
    std::vector<TableCell> keys;
    for (std::size_t i = 0; i < table.rows; ++i) keys.push_back(column->cell(i));
    std::stable_sort(order.rows.begin(), order.rows.end(), [&](std::size_t a, std::size_t b) {
        return sorts_before(keys[a], keys[b], descending);
    });
}

void draw_cell(const ColumnOf<std::size_t>& column, const TableView& view, std::size_t row) {
    for (const auto& [title, draw] : view.draw)
        if (title == column.title) return draw(row);
    const TableCell cell = column.cell(row);
    std::string words = cell_text(cell, column.format);
    const float space = ImGui::GetContentRegionAvail().x;
    if (column.format) {
        cell_right(words, color_of(cell.tone));
    } else {
        if (column.width != 0 && std::holds_alternative<std::string>(cell.value))
            words = column.title == view.path ? fitted_path(words, space) : fitted(words, space);
        colored_text(color_of(cell.tone), words);
    }
    tooltip(cell.hint);
}

void draw_row(const Columns& columns, const TableView& view, std::size_t row) {
    ImGui::TableNextRow();
    ImGui::PushID(static_cast<int>(row));
    for (const auto* column : columns) {
        if (!ImGui::TableNextColumn() && column != columns[0]) continue;
        if (column == columns[0] && view.click) {
            if (ImGui::Selectable("##row", view.chosen && view.chosen(row),
                                  ImGuiSelectableFlags_SpanAllColumns |
                                      ImGuiSelectableFlags_AllowItemOverlap |
                                      (view.twice ? ImGuiSelectableFlags_AllowDoubleClick : 0)))
                (view.twice && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)
                     ? view.twice
                     : view.click)(row);
            ImGui::SameLine(view.indent * em(), 0);
            if (view.item) view.item(row);
        }
        draw_cell(*column, view, row);
    }
    ImGui::PopID();
}

}  // namespace

ImU32 color_of(Tone tone) {
    const Theme& t = theme();
    const ImU32 colors[] = {t.text, t.dim, t.faint, t.good, t.warning, t.error, t.accent};
    return colors[static_cast<std::size_t>(tone)];
}

void draw_table(const Table& table, const TableView& view) {
    Columns columns;
    for (const auto& column : table.columns)
        if (!column.title.empty()) columns.push_back(&column);
    if (!ImGui::BeginTable(view.id, static_cast<int>(columns.size()), view.flags, view.size,
                           view.inner_width))
        return;
    set_up(columns, view);
    const bool sorted = (view.flags & ImGuiTableFlags_Sortable) != 0;
    TableOrder now;
    TableOrder& order = view.order ? *view.order : now;
    if (sorted) sort_rows(table, columns, order);
    if (view.follow) {
        const auto at = std::find(order.rows.begin(), order.rows.end(), *view.follow);
        const auto line = sorted ? at - order.rows.begin() : static_cast<long>(*view.follow);
        ImGui::SetScrollY(std::max(0.0F, static_cast<float>(line) - 3) *
                          ImGui::GetTextLineHeightWithSpacing());
    }
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(table.rows));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const auto line = static_cast<std::size_t>(i);
            draw_row(columns, view, sorted ? order.rows[line] : line);
        }
    ImGui::EndTable();
}

}  // namespace gs
