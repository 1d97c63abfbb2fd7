#include "panels/scene/pixel_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/format.h"
#include "panels/scene/pixel_tiles.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr float kLeastTable = 20;  // em: narrower, numbers of the list would be cut
constexpr double kNothing = 1e-5;  ///< shown as 0 in a narrow column

/// kPixelFateNames for narrow columns.
constexpr std::array<const char*, 6> kShortFates{"", "outside", "faint", "ends", "after", "hidden"};

ImU32 color_of(Vec3d c) {
    const auto byte = [](double v) {
        return static_cast<int>(
            std::lround(255 * std::clamp(std::isfinite(v) ? v : 0.0, 0.0, 1.0)));
    };
    return IM_COL32(byte(c.x), byte(c.y), byte(c.z), 255);
}

void swatch(Vec3d color, float width = 1.3F) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 end{at.x + width * em(), at.y + 0.95F * em()};
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.1F * em()}, end, color_of(color));
    ImGui::GetWindowDrawList()->AddRect({at.x, at.y + 0.1F * em()}, end, theme().grid);
    ImGui::Dummy({width * em(), em()});
}

std::string triple(Vec3d v, int digits = 3) {
    return fmt::format("{}  {}  {}", format_number(v.x, digits), format_number(v.y, digits),
                       format_number(v.z, digits));
}

constexpr float kLabel = 6.4F;  // em

void color_line(const char* name, Vec3d color, bool shown_as_color) {
    dim_text(name);
    ImGui::SameLine(kLabel * em());
    if (shown_as_color) swatch(color), ImGui::SameLine();
    const std::string words = shown_as_color
                                  ? fmt::format("{:.3f} {:.3f} {:.3f}", color.x, color.y, color.z)
                                  : triple(color, 2);
    text(fitted(words, ImGui::GetContentRegionAvail().x));
}

void draw_place(const PixelAnswer& answer, Commands& commands) {
    const PixelReport& r = answer.report;
    std::string where =
        fmt::format("({}, {}) of {} x {}", r.x, r.y, answer.camera.width, answer.camera.height);
    if (!answer.view.empty()) where += ", " + answer.view;
    text(fitted(where, ImGui::GetContentRegionAvail().x));
    tooltip(where);
    dim_text((answer.step > 0
                  ? fmt::format("step {}, ", format_count(static_cast<double>(answer.step)))
                  : std::string()) +
             format_ms(answer.milliseconds) + ", profile " + answer.profile);
    if (ImGui::SmallButton("Again")) commands.push("inspect.pixel");
    tooltip("Inspect the same pixel from the same camera in the current model");
    ImGui::SameLine();
    if (ImGui::SmallButton("Copy table")) commands.push("inspect.copy");
    tooltip("Copy all rows, tab-separated, for a spreadsheet");
    ImGui::SameLine();
    if (ImGui::SmallButton("Clear")) commands.push("inspect.clear");
}

void draw_sums(const PixelAnswer& answer) {
    const PixelReport& r = answer.report;
    color_line("colour", r.color, true);
    tooltip("Sum of the contributions below and the background, 0 to 1");
    if (answer.photo) {
        const PixelPhoto& photo = *answer.photo;
        color_line("photo", photo.color, true);
        color_line("difference", r.color - photo.color, false);
        if (photo.masked) colored_text(theme().warning, "masked: the loss ignores this pixel");
        if (photo.altered) {
            colored_text(theme().warning, "clipped or altered: not training's gradient");
            tooltip(
                "With a clip box, near plane, scale, lower SH degree or hidden Gaussians, this is "
                "not the picture that is trained");
        }
        color_line("loss gradient", photo.v_color, false);
        tooltip(
            fmt::format("d loss / d colour of this pixel, of the whole picture's loss: "
                        "{:.3g} L1 + {:.3g} (1 - SSIM)",
                        1 - photo.lambda_dssim, photo.lambda_dssim));
    }
    if (!answer.photo_problem.empty()) wrapped_text(theme().warning, answer.photo_problem);
    dim_text("blended");
    ImGui::SameLine(kLabel * em());
    text(fmt::format("{} of {} in its tile", r.contributors, r.entries.size()));
    dim_text("depth");
    ImGui::SameLine(kLabel * em());
    text(r.alpha > 0 ? fmt::format("{}  median {}", format_number(r.depth / r.alpha, 4),
                                   r.median_depth > 0 ? format_number(r.median_depth, 4) : "-")
                     : std::string("-"));
    tooltip("Expected depth (sum of weight x depth over alpha) and median depth, world units");
    dim_text("transmittance");
    ImGui::SameLine(kLabel * em());
    text(format_number(r.transmittance, 3));
    tooltip("Transmittance behind the last one: the background's share");
    if (r.fragile) colored_text(theme().dim, "rounding may change this in single precision");
}

void row_words(const PixelEntry& e) {
    if (!ImGui::IsItemHovered()) return;
    ImGui::BeginTooltip();
    text(fmt::format("#{}: {}", e.row, kPixelFateNames[static_cast<std::size_t>(e.fate)]));
    dim_text(fmt::format("opacity {}, middle at ({:.1f}, {:.1f}) px", format_number(e.opacity, 4),
                         e.mean.x, e.mean.y));
    const double middle = (e.conic.xx + e.conic.yy) / 2,
                 apart = std::hypot((e.conic.xx - e.conic.yy) / 2, e.conic.xy);
    if (middle - apart > 0)
        dim_text(fmt::format("standard deviations {} x {} px",
                             format_number(1 / std::sqrt(middle - apart), 3),
                             format_number(1 / std::sqrt(middle + apart), 3)));
    dim_text("colour " + triple(e.color));
    dim_text("adds " + triple(e.contribution()));
    dim_text("running " + triple(e.running));
    if (e.share > 0)
        dim_text(fmt::format("loss gradient of its alpha {}, {} of the pixel's gradient",
                             format_number(e.v_alpha, 3), format_share(e.share)));
    if (e.fragile) dim_text("rounding may change this in single precision");
    ImGui::EndTooltip();
}

template <int kDigits>
std::string pixel_number(double value) {
    return std::abs(value) < kNothing ? "0" : format_number(value, kDigits);
}

/// `narrow`: a digit less.
Table entries_table(const std::vector<const PixelEntry*>& rows, bool photo, bool narrow) {
    const auto column = [](const char* title, CellFormat format, float width, auto value) {
        const auto cell = [=](const PixelEntry& e) {
            const bool blended = e.fate == PixelFate::blended;
            return TableCell(std::invoke(value, e), blended ? Tone::normal : Tone::faint);
        };
        return ColumnOf<PixelEntry>{"", title, format, cell, -width};
    };
    const CellFormat number = narrow ? pixel_number<2> : pixel_number<3>;
    std::vector<ColumnOf<PixelEntry>> columns{
        column("row", nullptr, 3.3F, &PixelEntry::row),
        column("colour", nullptr, 3.4F, [](const PixelEntry&) { return ""; }),
        column("weight", number, 3.4F, &PixelEntry::weight),
        column("alpha", number, 3.2F, &PixelEntry::alpha),
        column("T", number, 3.4F, &PixelEntry::before),
        column("depth", narrow ? pixel_number<3> : pixel_number<4>, 2.8F, &PixelEntry::depth)};
    if (photo)
        columns.push_back(column("gradient", format_share, 4.6F, [](const PixelEntry& e) {
            return e.fate == PixelFate::blended ? format_share(e.share) : "";
        }));
    return table_of<PixelEntry>(std::span(rows), std::move(columns));
}

void draw_color(const PixelEntry& e) {
    if (e.fate != PixelFate::blended)
        return colored_text(theme().faint, kShortFates[static_cast<std::size_t>(e.fate)]);
    swatch(e.color, 0.9F);
    ImGui::SameLine(0, 2);
    swatch(e.running, 0.9F);
}

/// Actions on the chosen Gaussian. Its row belongs to the inspected model: in another model it may
/// be another Gaussian.
void draw_actions(std::optional<std::uint64_t> chosen, std::uint64_t step, const Snapshot& snapshot,
                  Commands& commands) {
    const std::string row = chosen ? std::to_string(*chosen) : "", of = std::to_string(step);
    const bool same = step == snapshot.training.step;
    const auto button = [&](const char* label, const char* hint, const char* name,
                            bool first = false) {
        if (!first) beside_if_fits(label);
        ImGui::BeginDisabled(!chosen || !same || !commands.find(name));
        const bool pressed = ImGui::SmallButton(label);
        ImGui::EndDisabled();
        tooltip(same ? hint : "The model has been trained further: press Again");
        return pressed;
    };
    if (button("Go to", "Turn to this Gaussian and mark it", "view.gaussian", true))
        commands.push("view.gaussian", {row});
    if (button("Select", "Select it", "select.row")) commands.push("select.row", {row});
    // Once: afterwards the row is another Gaussian's, or is not seen.
    const auto once = [&](const char* name) {
        commands.push(name, {row, of});
        commands.push("inspect.mark");
    };
    if (button("Solo", "Select it and show only it", "select.solo")) once("select.solo");
    if (button("Hide", "Select and hide it", "edit.hide")) once("edit.hide");
    if (button("Delete", "Select and delete it", "edit.delete")) once("edit.delete");
    beside_if_fits("Copy");
    ImGui::BeginDisabled(!chosen);
    if (ImGui::SmallButton("Copy")) commands.push("inspect.copy", {row});
    ImGui::EndDisabled();
    tooltip("Copy this row, tab-separated");
}

}  // namespace

void PixelPanel::draw_entries(const PixelInspection& inspection, const Snapshot& snapshot,
                              Commands& commands) {
    const PixelAnswer& answer = *inspection.pixel;
    const std::vector<PixelEntry>& entries = answer.report.entries;
    if (entries.empty()) return dim_text("No Gaussian is in this tile, only background.");
    const auto left_out = static_cast<std::size_t>(std::ranges::count_if(
        entries, [](const PixelEntry& e) { return e.fate != PixelFate::blended; }));
    ImGui::Checkbox(fmt::format("Show {} not blended", left_out).c_str(), &with_left_out);
    tooltip("Also list the tile's Gaussians that add nothing to this pixel, and why");
    draw_actions(inspection.marked, answer.step, snapshot, commands);
    std::vector<const PixelEntry*> rows;
    for (const PixelEntry& e : entries)
        if (with_left_out || e.fate == PixelFate::blended) rows.push_back(&e);
    const auto row = [&](std::size_t i) { return std::to_string(rows[i]->row); };
    const float line = ImGui::GetTextLineHeightWithSpacing();
    const float height = std::min(14.0F, static_cast<float>(rows.size()) + 1.6F) * line;
    // In a narrow window the columns extend to the right.
    const float room = ImGui::GetContentRegionAvail().x;
    TableView view{.id = "##entries", .size = {0, height}};
    view.flags |=
        ImGuiTableFlags_ScrollX | ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_BordersInnerV;
    view.inner_width = std::max(room - ImGui::GetStyle().ScrollbarSize, kLeastTable * em());
    view.frozen = 1;
    view.tight = true;
    view.chosen = [&](std::size_t i) { return inspection.marked == rows[i]->row; };
    view.click = [&](std::size_t i) {
        commands.push("inspect.mark",
                      view.chosen(i) ? std::vector<std::string>() : std::vector{row(i)});
    };
    view.twice = [&](std::size_t i) { commands.push("view.gaussian", {row(i)}); };
    view.item = [&](std::size_t i) {
        if (ImGui::IsItemHovered()) pointed = rows[i]->row;
        row_words(*rows[i]);
    };
    view.draw = {{"colour", [&](std::size_t i) { draw_color(*rows[i]); }}};
    draw_table(entries_table(rows, answer.photo.has_value(), room < 23 * em()), view);
}

void PixelPanel::draw(const Snapshot& snapshot, Commands& commands) {
    const PixelInspection* const inspection = snapshot.inspection.get();
    const PixelAnswer* const answer = inspection ? inspection->pixel.get() : nullptr;
    if (!snapshot.scene) return empty_note("Open a scene and click its picture to inspect a pixel");
    if (!answer) {
        wrapped_text(theme().dim, "Click the picture to list the Gaussians in that pixel.");
    } else {
        draw_place(*answer, commands);
        draw_sums(*answer);
        if (section("Gaussians")) draw_entries(*inspection, snapshot, commands);
        if (section("Tile")) draw_tile(*answer, snapshot, commands);
    }
    if (section("Tiles of the picture"))
        draw_tile_table(inspection ? inspection->tiles.get() : nullptr, answer, commands);
}

}  // namespace gs
