// The Problems panel's tables: the Gaussians that contribute to errors, and floaters.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "panels/scene/problems_panel.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

// Findings of the doctor that concern single Gaussians one can see.
constexpr std::array<std::string_view, 3> kDoctorsFloaters{"outliers", "blobs", "needles"};

/// Its last column of photos has the remaining width, if any.
void draw_problems(Table table, TableView view) {
    const ImGuiStyle& style = ImGui::GetStyle();
    float rest = ImGui::GetContentRegionAvail().x - style.ScrollbarSize;
    for (const auto& c : table.columns)
        rest -= std::max(c.width, 0.0F) * em() + 2 * style.CellPadding.x + 1;
    for (auto& c : table.columns)
        if (c.width < 0) c.width = std::max(rest / em(), 5.0F);
    view.flags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                 ImGuiTableFlags_BordersInnerV;
    view.frozen = 1;
    view.tight = true;
    view.indent = 0.2F;
    view.item = [](std::size_t) { tooltip("click to turn to it"); };
    view.draw.emplace_back(
        "#", [](std::size_t i) { colored_text(theme().accent, std::to_string(i + 1)); });
    draw_table(table, view);
}

/// What `command` wants of row `i`.
TableView::OfRow numbered(Commands& commands, const char* command, const char* kind) {
    return [&commands, command, kind](std::size_t i) {
        commands.push(command, {std::to_string(i + 1), kind});
    };
}
TableView::OfRow select_button(Commands& commands, const char* kind) {
    return [of = numbered(commands, "problems.select", kind)](std::size_t i) {
        if (ImGui::SmallButton("Select")) of(i);
    };
}

void photo_cell(const Snapshot& snapshot, std::size_t view, Commands& commands) {
    const std::string name = name_of_photo(snapshot, view);
    if (ImGui::SmallButton(fitted_path(name, ImGui::GetContentRegionAvail().x - em()).c_str()))
        commands.push("view.capture", {std::to_string(view)});
    tooltip(name + "\nclick to go there");
}

/// Whether its picture is off to one side wherever it is seen.
const char* words_of_excess(const BlamedGaussian& g) {
    constexpr double kOneSided = 0.6;
    if (!(g.error > 0) || std::abs(g.excess) < kOneSided * g.error) return "both ways";
    return g.excess > 0 ? "too bright" : "too dark";
}

/// The doctor's findings about single Gaussians, in its own words.
void draw_doctors_words(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.doctor) return;
    bool any = false;
    for (const Finding& f : snapshot.doctor->findings) {
        if (std::ranges::find(kDoctorsFloaters, f.id) == kDoctorsFloaters.end()) continue;
        any = true;
        dim_text("The doctor:");
        ImGui::SameLine();
        text(fitted(f.what, ImGui::GetContentRegionAvail().x - 8 * em()));
        tooltip(f.what + ": " + f.consequence + ". " + f.advice);
        for (std::size_t i = 0; i < std::min<std::size_t>(1, f.examples.size()); ++i) {
            if (!f.examples[i].starts_with('#')) continue;
            ImGui::SameLine();
            ImGui::PushID(f.id.c_str());
            if (ImGui::SmallButton(f.examples[i].c_str()))
                commands.push("view.gaussian", {f.examples[i].substr(1)});
            ImGui::PopID();
        }
    }
    if (!any) dim_text("The doctor finds no outliers, blobs or needles.");
}

}  // namespace

void draw_blamed_table(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands) {
    const FoundProblems& found = *of.found;
    if (found.gaussians.empty()) return empty_note("No Gaussian contributes to an error");
    using Row = BlamedGaussian;
    const auto drawn = [](const Row&) { return TableCell(); };
    draw_problems(
        table_of<Row>(
            std::span(found.gaussians),
            {{"", "#", nullptr, drawn, 2, "click a row to turn to its Gaussian"},
             {"", "row", fixed<0>,
              [](const Row& g) { return TableCell(fmt::format("#{}", g.row), Tone::dim); }, 4.6F,
              "id of the Gaussian, at the examined step"},
             {"", "error px", fixed<1>, &Row::error, 4.6F,
              "sum over all photos' pixels of its weight times the error"},
             {"", "weight px", fixed<1>, &Row::weight, 4.8F,
              "its weight summed over all photos' pixels"},
             {"", "mean", significant<3>,
              [](const Row& g) { return g.weight > 0 ? g.error / g.weight : NAN; }, 3.6F,
              "mean error where it is"},
             {"", "picture is", nullptr,
              [](const Row& g) { return TableCell(words_of_excess(g), Tone::dim); }, 5.4F,
              "too bright, too dark, or both: then its shape is at fault, not its colour"},
             {"", "photos", fixed<0>, &Row::photos, 3.6F,
              "photos where its weight is half a pixel or more"},
             {"", "opacity", significant<3>, &Row::opacity, 3.8F},
             {"", "size", significant<3>, &Row::size, 4, "largest standard deviation, world units"},
             {"", "worst in", nullptr, drawn, -1, "photo with the largest part of the sum"},
             {"", " ", nullptr, drawn, 3.6F}}),
        {.id = "##gaussians",
         .click = numbered(commands, "problems.go", "gaussian"),
         .draw = {{"worst in",
                   [&](std::size_t i) { photo_cell(snapshot, found.gaussians[i].view, commands); }},
                  {" ", select_button(commands, "gaussian")}}});
}

void draw_floater_table(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands) {
    const FoundProblems& found = *of.found;
    draw_doctors_words(snapshot, commands);
    if (found.floaters.empty())
        return empty_note(
            "No floaters: no Gaussians that few photos see are near a camera or isolated");
    const auto drawn = [](const Floater&) { return TableCell(); };
    draw_problems(
        table_of<Floater>(
            std::span(found.floaters),
            {{"", "#", nullptr, drawn, 2, "click a row to turn to its largest Gaussian"},
             {"", "Gaussians", format_count, [](const Floater& f) { return f.rows.size(); }, 4.8F,
              "number of touching Gaussians"},
             {"", "weight px", fixed<1>, &Floater::weight, 4.8F,
              "their weight summed over all photos' pixels"},
             {"", "error px", fixed<1>, &Floater::error, 4.6F,
              "sum over all photos' pixels of their weight times the error"},
             {"", "photos", fixed<0>, &Floater::photos, 3.4F, "most photos that see one of them"},
             {"", "nearness", significant<2>,
              [](const Floater& f) { return f.nearness > 0 ? f.nearness : NAN; }, 4.4F,
              "its depth over the typical depth of a photo that sees it"},
             {"", "why", nullptr,
              [](const Floater& f) {
                  return TableCell(f.near ? (f.apart ? "near, apart" : "near a camera") : "apart",
                                   Tone::dim);
              },
              6.4F, "near a camera (nearness below 0.3), or isolated"},
             {"", "seen by", nullptr, drawn, -1, "photo with the largest error it contributes to"},
             {"", " ", nullptr, drawn, 3.6F}}),
        {.id = "##floaters",
         .click = numbered(commands, "problems.go", "floater"),
         .draw = {{"seen by",
                   [&](std::size_t i) { photo_cell(snapshot, found.floaters[i].view, commands); }},
                  {" ", select_button(commands, "floater")}}});
}

}  // namespace gs
