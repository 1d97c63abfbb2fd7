// Draws a Table (base/table.h) in a window: headings, widths, sorting, visible rows only, rows that
// can be clicked. Panels draw by themselves only the cells that are more than text.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/table.h"

namespace gs {

/// Rows in the order of the sorted column, kept between frames.
struct TableOrder {
    std::vector<std::size_t> rows;
    bool stale = true;  ///< the rows have changed: sort again

    /// Puts the list itself into the order just drawn.
    template <class Row>
    void apply(std::vector<Row>& list) {
        if (rows.size() != list.size() || std::is_sorted(rows.begin(), rows.end())) return;
        std::vector<Row> out;
        for (const std::size_t row : rows) out.push_back(std::move(list[row]));
        list = std::move(out);
        std::sort(rows.begin(), rows.end());
    }
};

struct TableView {
    using OfRow = std::function<void(std::size_t row)>;

    const char* id = "";
    ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg;
    ImVec2 size{0, 0};
    float inner_width = 0;
    int frozen = 0;      ///< first columns that stay visible while scrolling sideways
    bool tight = false;  ///< headings over the numbers, without space for an arrow
    float indent = 0;    ///< em, of the first cell of clickable rows
    OfRow click = {};    ///< a click anywhere on the row
    OfRow twice = {};    ///< a double click on it
    OfRow item = {};     ///< after the clickable row is drawn, before its cells: tooltip, menu
    std::function<bool(std::size_t row)> chosen = {};  ///< drawn as selected
    std::string_view sort_by = {};                     ///< title of the column sorted at first
    std::string_view path = {};                        ///< title of a column of paths
    std::vector<std::string_view> hidden = {};         ///< titles of columns hidden at first
    std::vector<std::string_view> dropped = {};  ///< those without space now, unless sorted by
    std::optional<std::size_t> follow = {};      ///< scroll to this row now
    TableOrder* order = nullptr;                 ///< nullptr: sorts in each frame
    std::vector<std::pair<std::string_view, OfRow>> draw = {};  ///< titles of columns drawn by this
};

ImU32 color_of(Tone tone);
void draw_table(const Table& table, const TableView& view);

}  // namespace gs
