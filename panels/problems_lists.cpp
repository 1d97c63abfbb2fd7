// The Problems panel's tables: the Gaussians that contribute to errors, and floaters.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "panels/problems_panel.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

// Findings of the doctor that concern single Gaussians one can see.
constexpr std::array<std::string_view, 3> kDoctorsFloaters{"outliers", "blobs", "needles"};

struct Heading {
    const char* name;
    float width;  // em; 0: stretches
    const char* hint;
};

/// False: no space.
bool begin_problem_table(const char* id, std::span<const Heading> headings, ImVec2 size) {
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY |
                                  ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV;
    // The remaining width, if any.
    const ImGuiStyle& style = ImGui::GetStyle();
    float rest = ImGui::GetContentRegionAvail().x - style.ScrollbarSize;
    for (const Heading& h : headings) rest -= h.width * em() + 2 * style.CellPadding.x + 1;
    if (!ImGui::BeginTable(id, static_cast<int>(headings.size()), flags, size)) return false;
    ImGui::TableSetupScrollFreeze(1, 1);
    for (const Heading& h : headings)
        ImGui::TableSetupColumn(h.name, ImGuiTableColumnFlags_WidthFixed,
                                h.width > 0 ? h.width * em() : std::max(rest, 5 * em()));
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (const Heading& h : headings) {
        table_heading(h.name, h.width > 0);
        tooltip(h.hint);
    }
    return true;
}

void number_cell(std::string_view words, ImU32 color = theme().text) {
    ImGui::TableNextColumn();
    cell_right(words, color);
}

/// A button that selects the Gaussians of number `i` (from 0) of a list.
void select_button(Commands& commands, std::size_t i, const char* kind) {
    if (ImGui::SmallButton("select"))
        commands.push("problems.select", {std::to_string(i + 1), kind});
}

/// The row's cell that answers a click anywhere on it.
bool row_clicked(std::size_t number) {
    const bool clicked = ImGui::Selectable(
        "##row", false,
        ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap);
    tooltip("click to turn to it");
    ImGui::SameLine(0.2F * em());
    colored_text(theme().accent, std::to_string(number));
    return clicked;
}

void photo_cell(const Snapshot& snapshot, std::size_t view, Commands& commands) {
    ImGui::TableNextColumn();
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

void blamed_row(const Snapshot& snapshot, const FoundProblems& found, std::size_t i,
                Commands& commands) {
    const BlamedGaussian& g = found.gaussians[i];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(i));
    if (row_clicked(i + 1)) commands.push("problems.go", {std::to_string(i + 1), "gaussian"});
    number_cell(fmt::format("#{}", g.row), theme().dim);
    number_cell(fmt::format("{:.1f}", g.error));
    number_cell(fmt::format("{:.1f}", g.weight));
    number_cell(g.weight > 0 ? format_number(g.error / g.weight, 3) : "-");
    ImGui::TableNextColumn();
    dim_text(words_of_excess(g));
    number_cell(std::to_string(g.photos));
    number_cell(format_number(static_cast<double>(g.opacity), 3));
    number_cell(format_number(static_cast<double>(g.size), 3));
    photo_cell(snapshot, g.view, commands);
    ImGui::TableNextColumn();
    select_button(commands, i, "gaussian");
    ImGui::PopID();
}

void floater_row(const Snapshot& snapshot, const Floater& f, std::size_t i, Commands& commands) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(i));
    if (row_clicked(i + 1)) commands.push("problems.go", {std::to_string(i + 1), "floater"});
    number_cell(format_count(static_cast<double>(f.rows.size())));
    number_cell(fmt::format("{:.1f}", f.weight));
    number_cell(fmt::format("{:.1f}", f.error));
    number_cell(std::to_string(f.photos));
    number_cell(f.nearness > 0 ? format_number(f.nearness, 2) : "-");
    ImGui::TableNextColumn();
    dim_text(f.near ? (f.apart ? "near, apart" : "near a camera") : "apart");
    photo_cell(snapshot, f.view, commands);
    ImGui::TableNextColumn();
    select_button(commands, i, "floater");
    ImGui::PopID();
}

/// The doctor's findings about single Gaussians, in its own words.
void draw_doctors_words(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.doctor) return;
    bool any = false;
    for (const Finding& f : snapshot.doctor->findings) {
        if (std::find(kDoctorsFloaters.begin(), kDoctorsFloaters.end(), f.id) ==
            kDoctorsFloaters.end())
            continue;
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
    static constexpr Heading kHeadings[] = {
        {"", 2, "click a row to turn to its Gaussian"},
        {"row", 4.6F, "id of the Gaussian, at the examined step"},
        {"error px", 4.6F, "sum over all photos' pixels of its weight times the error"},
        {"weight px", 4.8F, "its weight summed over all photos' pixels"},
        {"mean", 3.6F, "mean error where it is"},
        {"picture is", 5.4F,
         "too bright, too dark, or both: then its shape is at fault, not its "
         "colour"},
        {"photos", 3.6F, "photos where its weight is half a pixel or more"},
        {"opacity", 3.8F, ""},
        {"size", 4, "largest standard deviation, world units"},
        {"worst in", 0, "photo with the largest part of the sum"},
        {" ", 3.6F, ""}};
    if (!begin_problem_table("##gaussians", kHeadings, {0, 0})) return;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(found.gaussians.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
            blamed_row(snapshot, found, static_cast<std::size_t>(i), commands);
    ImGui::EndTable();
}

void draw_floater_table(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands) {
    const FoundProblems& found = *of.found;
    draw_doctors_words(snapshot, commands);
    if (found.floaters.empty())
        return empty_note(
            "No floaters: no Gaussians that few photos see are near a camera or isolated");
    static constexpr Heading kHeadings[] = {
        {"", 2, "click a row to turn to its largest Gaussian"},
        {"Gaussians", 4.8F, "number of touching Gaussians"},
        {"weight px", 4.8F, "their weight summed over all photos' pixels"},
        {"error px", 4.6F, "sum over all photos' pixels of their weight times the error"},
        {"photos", 3.4F, "most photos that see one of them"},
        {"nearness", 4.4F, "its depth over the typical depth of a photo that sees it"},
        {"why", 6.4F, "near a camera (nearness below 0.3), or isolated"},
        {"seen by", 0, "photo with the largest error it contributes to"},
        {" ", 3.6F, ""}};
    if (!begin_problem_table("##floaters", kHeadings, {0, 0})) return;
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(found.floaters.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const auto k = static_cast<std::size_t>(i);
            floater_row(snapshot, found.floaters[k], k, commands);
        }
    ImGui::EndTable();
}

}  // namespace gs
