#include "panels/scene/pixel_tiles.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"
#include "renderer/maps/colormap.h"

namespace gs {
namespace {

std::string pair_share(std::uint64_t part, std::uint64_t whole) {
    return format_share(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0);
}
std::string whole(std::uint64_t count) { return format_count(static_cast<double>(count)); }

ImU32 stop_color(std::uint32_t stop, std::uint64_t listed) {
    const double share = listed > 0 ? static_cast<double>(stop) / static_cast<double>(listed) : 0;
    const Rgb8 c = colormap_color(Colormap::viridis, share);
    return IM_COL32(c.r, c.g, c.b, 255);
}

/// A square a pixel of the tile: how far into the list it goes before it ends.
void draw_stops(const PixelAnswer& answer, const Snapshot& snapshot, Commands& commands) {
    const TileReport& tile = answer.report.tile;
    const float side = std::min(0.62F * em(), ImGui::GetContentRegionAvail().x /
                                                  static_cast<float>(std::max(tile.width, 1)));
    const ImVec2 corner = ImGui::GetCursorScreenPos(), mouse = ImGui::GetMousePos();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto at = [&](int x, int y) {
        return ImVec2{corner.x + side * static_cast<float>(x),
                      corner.y + side * static_cast<float>(y)};
    };
    const bool clicked = ImGui::InvisibleButton(
        "##stops", {side * static_cast<float>(tile.width), side * static_cast<float>(tile.height)});
    const auto stop_at = [&](int x, int y) {
        return tile.stops[static_cast<std::size_t>(y) * static_cast<std::size_t>(tile.width) +
                          static_cast<std::size_t>(x)];
    };
    for (int y = 0; y < tile.height; ++y)
        for (int x = 0; x < tile.width; ++x)
            list.AddRectFilled(at(x, y), at(x + 1, y + 1), stop_color(stop_at(x, y), tile.listed));
    const int own_x = answer.report.x - tile.x0, own_y = answer.report.y - tile.y0;
    list.AddRect(at(own_x, own_y), at(own_x + 1, own_y + 1), IM_COL32_WHITE, 0, 0, hairline());
    if (!ImGui::IsItemHovered()) return;
    const int x = std::clamp(static_cast<int>((mouse.x - corner.x) / side), 0, tile.width - 1),
              y = std::clamp(static_cast<int>((mouse.y - corner.y) / side), 0, tile.height - 1);
    tooltip(fmt::format("pixel ({}, {}): ends after {} of {}", tile.x0 + x, tile.y0 + y,
                        whole(stop_at(x, y)), whole(tile.listed)));
    if (!clicked || !snapshot.frame || !same_view(answer.camera, snapshot.frame->camera)) return;
    const Vec2<double> shown =
        moved_to(snapshot.frame->camera, answer.camera, {tile.x0 + x + 0.5, tile.y0 + y + 0.5});
    commands.push("inspect.pixel", {argument(shown.x), argument(shown.y)});
}

bool is_tile_of(const TileCost& cost, const TileReport& tile) {
    return cost.column == tile.column && cost.row == tile.row;
}
/// Whether the table is of the inspected pixel's picture.
bool is_of(const TileTable& table, const PixelAnswer& answer) {
    return table.view == answer.view && table.step == answer.step &&
           table.camera.width == answer.camera.width &&
           table.camera.height == answer.camera.height && same_view(table.camera, answer.camera);
}

/// The tile's blending time, if the table has it.
void draw_time(const TileTable& table, const PixelAnswer& answer) {
    if (!table.timed || !is_of(table, answer)) return;
    for (const TileCost& cost : table.worst)
        if (is_tile_of(cost, answer.report.tile))
            dim_text(fmt::format("blended in {} us, {:.2f} % of the picture's time",
                                 format_number(cost.us, 3),
                                 table.us > 0 ? 100 * cost.us / table.us : 0.0));
}

Table tiles_table(const TileTable& table) {
    const auto name = [](const TileCost& t) { return fmt::format("({}, {})", t.column, t.row); };
    const auto wasted = [](const TileCost& t) {
        return TableCell(pair_share(t.pairs - std::min(t.pairs, t.blended), t.pairs), Tone::dim);
    };
    std::vector<ColumnOf<TileCost>> columns{{"", "tile", nullptr, name},
                                            {"", "list", format_count, &TileCost::listed},
                                            {"", "pairs", format_count, &TileCost::pairs},
                                            {"", "wasted", format_share, wasted},
                                            {"", "us", format_compact, &TileCost::us}};
    if (!table.timed) columns.resize(3);
    return table_of<TileCost>(std::span(table.worst), std::move(columns));
}

}  // namespace

void draw_tile(const PixelAnswer& answer, const Snapshot& snapshot, Commands& commands) {
    const TileReport& tile = answer.report.tile;
    text(fmt::format("({}, {}): {} in its list", tile.column, tile.row, whole(tile.listed)));
    if (tile.stops.empty()) return;
    std::vector<std::uint32_t> stops = tile.stops;
    std::sort(stops.begin(), stops.end());
    const auto ended = static_cast<std::size_t>(
        std::lower_bound(stops.begin(), stops.end(), tile.listed) - stops.begin());
    ImGui::PushTextWrapPos(0);
    dim_text(fmt::format("{} pairs evaluated, {} blended, {} wasted", whole(tile.evaluated),
                         whole(tile.blended), format_share(tile.wasted_share())));
    tooltip(
        "(Pixel, Gaussian) pairs up to where each pixel ends; wasted: pairs that changed nothing");
    dim_text(fmt::format("pixels go {} to {} deep, median {}; {} of {} end early",
                         whole(stops.front()), whole(stops.back()), whole(stops[stops.size() / 2]),
                         ended, stops.size()));
    if (tile.step > 1)
        dim_text(fmt::format("long list: sampled at one pixel in {} x {}", tile.step, tile.step));
    if (snapshot.inspection && snapshot.inspection->tiles)
        draw_time(*snapshot.inspection->tiles, answer);
    ImGui::PopTextWrapPos();
    draw_stops(answer, snapshot, commands);
}

void draw_tile_table(const TileTable* table, const PixelAnswer* answer, Commands& commands) {
    if (ImGui::SmallButton(table ? "Find again" : "Find the most expensive tiles"))
        commands.push("inspect.tiles");
    tooltip("Render this picture again and count");
    if (!table) return;
    wrapped_text(
        theme().dim,
        fmt::format("{} x {}{}{}: {} tiles, {} pairs{}", table->camera.width, table->camera.height,
                    table->view.empty() ? "" : ", " + table->view,
                    table->step > 0 ? ", step " + whole(table->step) : "", whole(table->tiles),
                    format_short(static_cast<double>(table->pairs)),
                    table->timed ? ", " + format_ms(table->us / 1000) + " of blending" : ""));
    if (table->timed)
        tooltip(
            "Sum of the tiles' times, each the least of three. Threads work on several tiles at "
            "once, and measuring slows");
    const auto& tiles = table->worst;
    TableView view{.id = "##tiles", .size = {0, 10 * ImGui::GetTextLineHeightWithSpacing()}};
    view.flags |= ImGuiTableFlags_SizingStretchProp;
    view.tight = true;
    view.click = [&](std::size_t i) {
        commands.push("inspect.tile",
                      {std::to_string(tiles[i].column), std::to_string(tiles[i].row), "listed"});
    };
    view.item = [&](std::size_t i) {
        tooltip(pair_share(tiles[i].pairs, table->pairs) + " of all pairs");
    };
    view.chosen = [&](std::size_t i) {
        return answer && is_of(*table, *answer) && is_tile_of(tiles[i], answer->report.tile);
    };
    draw_table(tiles_table(*table), view);
}

}  // namespace gs
