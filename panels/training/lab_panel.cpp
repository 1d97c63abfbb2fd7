#include "panels/training/lab_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array<ImU32, 6> kKindColors{color_rgb(0x56b4e9), color_rgb(0xe69f00),
                                           color_rgb(0x2fb58c), color_rgb(0xcc79a7),
                                           color_rgb(0xe6d84f), color_rgb(0xd55e00)};
const Activity* running_suite(const Snapshot& snapshot) {
    for (const Activity& activity : snapshot.activities)
        if (activity.name == "lab") return &activity;
    return nullptr;
}

bool mode_button(const char* label, bool on, const char* hint) {
    return lit_button(label, on, hint, /*small=*/true);
}

/// A number of a run; a failed one says so at the first of them.
template <class Member>
ColumnOf<LabRunRow> run_number(const char* title, CellFormat format, Member of, float width) {
    return {"", title, format,
            [of, first = std::string_view(title) == "dB"](const LabRunRow& row) {
                if (!row.failed) return TableCell(row.*of);
                return first ? TableCell("failed", Tone::error, row.error) : TableCell();
            },
            width};
}

}  // namespace

void LabPanel::draw_suite(const LabState& lab) {
    ImGui::SetNextItemWidth(10 * em());
    if (ImGui::BeginCombo("##suite", fitted_path(suite, 8 * em()).c_str())) {
        for (const std::string& name : lab.suites)
            if (ImGui::Selectable(name.c_str(), name == suite)) suite = name;
        ImGui::Separator();
        ImGui::SetNextItemWidth(16 * em());
        ImGui::InputTextWithHint("##file", "Or a suite file", &suite);
        ImGui::SetNextItemWidth(16 * em());
        ImGui::InputTextWithHint("##captures", "Folder of its captures", &captures);
        ImGui::EndCombo();
    }
    tooltip("The suite to train: a built-in one or a file of your own");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(8 * em());
    ImGui::InputTextWithHint("##label", "Label [the commit]", &label);
    tooltip("Label of these runs in comparisons");
    ImGui::SameLine();
}

void LabPanel::draw_head(const LabState& lab, const Snapshot& snapshot, Commands& commands) {
    if (const Activity* running = running_suite(snapshot)) {
        if (icon_text_button(Icon::stop, "Stop", "Stop the suite; Run resumes it later"))
            commands.push("lab.stop");
        ImGui::SameLine();
        const std::string what = fmt::format("{:.0f} %: {}, {}", 100 * running->share,
                                             running->what, format_duration(running->seconds));
        ImGui::ProgressBar(static_cast<float>(running->share), {20 * em(), 0}, "");
        tooltip(what);
        ImGui::SameLine();
        dim_text(fitted(what, std::max(10 * em(), ImGui::GetContentRegionAvail().x - 30 * em())));
    } else {
        draw_suite(lab);
        if (icon_text_button(Icon::play, "Run",
                             "Train the suite's missing runs, one process per run",
                             !suite.empty())) {
            std::vector<std::string> arguments{suite};
            if (!label.empty() || !captures.empty()) arguments.push_back(label);
            if (!captures.empty()) arguments.push_back(captures);
            commands.push("lab.run", std::move(arguments));
        }
    }
    beside_if_fits("the database of runs, then Enter  read  report  runs  comparison  ");
    draw_database(lab, commands);
}

void LabPanel::draw_database(const LabState& lab, Commands& commands) {
    ImGui::SetNextItemWidth(9 * em());
    const bool entered = ImGui::InputTextWithHint("##database", lab.database.c_str(), &database,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    tooltip("Database file of the runs; press Enter to read another");
    ImGui::SameLine();
    if (ImGui::SmallButton("Read") || entered)
        commands.push("lab.open", {database.empty() ? lab.database : database});
    tooltip("Read the runs in " + lab.database);
    ImGui::SameLine(0, 3);
    const std::string page = std::filesystem::path(lab.database).replace_extension("html").string();
    ImGui::BeginDisabled(lab.runs.empty());
    if (ImGui::SmallButton("Report")) commands.push("lab.report", {page});
    ImGui::EndDisabled();
    tooltip("Write " + page + ": all runs, the comparison and the worst photos as one page");
    ImGui::SameLine();
    if (mode_button("Runs", !comparison, "Recorded runs, and quality against size or time"))
        comparison = false;
    ImGui::SameLine(0, 3);
    if (mode_button("Comparison", comparison, "B compared with A, with intervals and verdicts"))
        comparison = true;
}

void LabPanel::draw_runs(const LabState& lab, const Snapshot& snapshot, Commands& commands) const {
    constexpr ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                      ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    const Table table = table_of<LabRunRow>(
        std::span(lab.runs),
        {{"", "run", nullptr, &LabRunRow::id, 1.9F},
         {"", "label", nullptr, &LabRunRow::label, -1},
         {"", "scene", nullptr, &LabRunRow::scene, -1},
         {"", "settings", nullptr,
          [](const LabRunRow& row) {
              return row.settings + (row.backend == "cpu" ? "" : ", " + row.backend);
          },
          -1},
         {"", "seed", fixed<0>, &LabRunRow::seed, 2.3F},
         run_number("dB", fixed<2>, &LabRunRow::psnr, 2.8F),
         run_number("Gaussians", format_short, &LabRunRow::gaussians, 4.8F),
         run_number("s", significant<3>, &LabRunRow::training_s, 2.6F),
         {"", "worst", nullptr, [](const LabRunRow& row) { return row.worst_psnr; }, 2.9F}});
    const auto open = [&](std::size_t i) {
        if (!lab.runs[i].folder.empty())
            commands.push("lab.show", {std::to_string(lab.runs[i].id)});
    };
    const auto menu = [&](std::size_t i) {
        const LabRunRow& row = lab.runs[i];
        if (!ImGui::BeginPopupContextItem("##run")) return;
        const bool there = !row.folder.empty();
        if (ImGui::MenuItem("Open", nullptr, false, there)) open(i);
        if (ImGui::MenuItem("Open next to the scene", nullptr, false, there))
            commands.push("lab.beside", {std::to_string(row.id)});
        if (ImGui::MenuItem("Show its curves behind these", nullptr, false, there))
            commands.push("curves.show", {row.folder});
        ImGui::EndPopup();
    };
    const auto worst = [&](std::size_t i) {
        const LabRunRow& row = lab.runs[i];
        if (row.failed || row.worst_photo.empty()) return;
        if (ImGui::SmallButton(fmt::format("{:.1f}", row.worst_psnr).c_str()))
            commands.push("lab.photo", {std::to_string(row.id)});
        tooltip("View from " + row.worst_photo + ", its worst photo (open the run first)");
    };
    const auto is_open = [&](std::size_t i) {
        const std::string& folder = lab.runs[i].folder;
        return snapshot.scene && !folder.empty() && snapshot.scene->path.starts_with(folder);
    };
    draw_table(table, {.id = "##runs",
                       .flags = flags,
                       .size = {0.64F * ImGui::GetContentRegionAvail().x, 0},
                       .click = open,
                       .item = menu,
                       .chosen = is_open,
                       .draw = {{"worst", worst}}});
}

/// Makes the dots, once for each publication.
void LabPanel::shape(const std::shared_ptr<const LabState>& lab) {
    if (scene.empty() && !lab->runs.empty()) scene = lab->runs.front().scene;
    if (shaped_ == lab && shaped_scene_ == scene && shaped_over_time_ == over_time) return;
    shaped_ = lab, shaped_scene_ = scene, shaped_over_time_ = over_time;
    range.fit = true;
    std::map<std::string, std::vector<CurvePoint>> dots;
    first_ = 1e300, last_ = -1e300;
    for (const LabRunRow& row : lab->runs) {
        const double x = over_time ? row.training_s : row.gaussians;
        if (row.failed || row.scene != scene || !std::isfinite(x) || !std::isfinite(row.psnr))
            continue;
        dots[row.label + ", " + row.settings + ", " + row.backend].push_back(
            {static_cast<float>(x), static_cast<float>(row.psnr)});
        first_ = std::min(first_, x), last_ = std::max(last_, x);
    }
    const double air = std::max(0.05 * (last_ - first_), 0.02 * std::abs(last_));
    first_ -= air, last_ += air;
    kinds_.clear();
    for (auto& [name, points] : dots) {
        std::ranges::sort(points, {}, &CurvePoint::step);
        Kind& kind = kinds_.emplace_back(Kind{name, {}});
        for (const CurvePoint& point : points) {
            kind.points.push_back(point);
            kind.points.push_back({point.step, std::numeric_limits<float>::quiet_NaN()});
        }
    }
}

void LabPanel::draw_plot(const LabState& lab) {
    std::vector<std::string> scenes;
    for (const LabRunRow& row : lab.runs)
        if (std::ranges::find(scenes, row.scene) == scenes.end()) scenes.push_back(row.scene);
    ImGui::BeginGroup();
    ImGui::SetNextItemWidth(6 * em());
    if (ImGui::BeginCombo("##scene", scene.c_str())) {
        for (const std::string& name : scenes)
            if (ImGui::Selectable(name.c_str(), name == scene)) scene = name;
        ImGui::EndCombo();
    }
    tooltip("The scene whose runs are drawn: PSNR values of different scenes are not comparable");
    ImGui::SameLine();
    if (mode_button("Gaussians", !over_time, "Quality against the number of Gaussians"))
        over_time = false;
    ImGui::SameLine(0, 3);
    if (mode_button("Seconds", over_time, "Quality against training time")) over_time = true;
    range.begin(first_, last_);
    std::vector<PlotLine> lines;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
        lines.push_back(
            {kinds_[i].name, kKindColors[i % kKindColors.size()], kinds_[i].points, true});
    const PlotLook look{.title = "PSNR", .unit = "dB", .x_name = over_time ? "s" : "Gaussians"};
    if (!lines.empty()) plot("##pareto", lines, look, range);
    ImGui::EndGroup();
}

void LabPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.lab) return empty_note("Open a lab database to run and compare suites here");
    const LabState& lab = *snapshot.lab;
    draw_head(lab, snapshot, commands);
    if (comparison) return draw_comparison(lab, commands);
    if (lab.runs.empty()) {
        empty_note(lab.read ? "No runs in " + lab.database
                            : "Run a suite, or read a database of gausscope lab");
        return;
    }
    shape(snapshot.lab);
    draw_runs(lab, snapshot, commands);
    ImGui::SameLine();
    draw_plot(lab);
}

}  // namespace gs
