#include "panels/training/plots_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/curve_shape.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array<const char*, PlotsPanel::kinds> kTitles{
    "Loss", "PSNR", "SSIM", "Gaussians", "Time per iteration", "Learning rate of means"};
constexpr std::array<const char*, PlotsPanel::kinds> kButtons{"Loss",      "PSNR",  "SSIM",
                                                              "Gaussians", "ms/it", "lr"};
constexpr std::array<const char*, PlotsPanel::kinds> kUnits{"", "dB", "", "", "ms", ""};
constexpr ImU32 kBlue = color_rgb(0x56b4e9), kOrange = color_rgb(0xe69f00),
                kGreen = color_rgb(0x2fb58c), kPink = color_rgb(0xcc79a7),
                kYellow = color_rgb(0xe6d84f);

constexpr std::array<const char*, PlotsPanel::axes> kAxisNames{"steps", "log steps", "time"};
/// Other runs: apart from each other and from the own curves.
constexpr std::array<ImU32, 4> kOtherColors{color_rgb(0xd55e00), color_rgb(0x0072b2),
                                            color_rgb(0x009e73), color_rgb(0xaaaaaa)};

/// A curve of a run.
struct CurveOf {
    const char* name;
    ImU32 color;
    std::vector<CurvePoint> Curves::*points;
    bool dots = false;
};
std::vector<CurveOf> curves_of(std::size_t kind) {
    switch (kind) {
        case PlotsPanel::loss:
            return {{"loss", kBlue, &Curves::loss}};
        case PlotsPanel::psnr:
            return {{"train", kBlue, &Curves::train_psnr},
                    {"test", kOrange, &Curves::test_psnr, true}};
        case PlotsPanel::ssim:
            return {{"test", kOrange, &Curves::test_ssim, true}};
        case PlotsPanel::count:
            return {{"Gaussians", kGreen, &Curves::gaussians}};
        case PlotsPanel::speed:
            return {{"iteration", kPink, &Curves::step_ms}};
        default:
            return {{"lr_means", kYellow, &Curves::lr_means}};
    }
}

std::vector<PlotLine> all_lines(const Curves& c) {
    std::vector<PlotLine> out{{"loss", 0, c.loss},
                              {"train_psnr_db", 0, c.train_psnr},
                              {"test_psnr_db", 0, c.test_psnr},
                              {"test_ssim", 0, c.test_ssim},
                              {"gaussians", 0, c.gaussians},
                              {"step_ms", 0, c.step_ms},
                              {"lr_means", 0, c.lr_means}};
    for (const LoggedCurve& logged : c.logged) out.push_back({logged.name, 0, logged.points});
    return out;
}

}  // namespace

std::string PlotsPanel::button(std::size_t kind) const {
    return kind < kinds ? kButtons[kind] : title(kind) + "##logged";
}
std::string PlotsPanel::title(std::size_t kind) const {
    return kind < kinds ? kTitles[kind] : curves_->logged[kind - kinds].name;
}

/// Prepares the drawn curves, once for each publication.
void PlotsPanel::shape(const Snapshot& snapshot) {
    if (curves_ == snapshot.curves && others_ == snapshot.other_curves && shaped_axis_ == axis &&
        shaped_smoothing_ == smoothing)
        return;
    if (shaped_axis_ != axis) range.fit = true;
    curves_ = snapshot.curves;
    others_ = snapshot.other_curves;
    shaped_axis_ = axis;
    shaped_smoothing_ = smoothing;
    const auto weight = static_cast<double>(smoothing);
    double first = 1e300, last = -1e300;
    const auto add_points = [&](std::size_t kind, const Curves& run,
                                const std::vector<CurvePoint>& points, bool dots, bool own,
                                const std::string& name, ImU32 color) {
        const auto placed = [&](const std::vector<CurvePoint>& of) {
            return axis == time ? over_time(of, run.step_ms) : of;
        };
        const bool smooths = weight > 0 && !dots;
        Line line{name, color, dots, placed(smooths ? smoothed(points, weight) : points), {}, {}};
        if (smooths && own) {
            CurveBand band = band_of(points, weight);
            line.low = placed(band.low);
            line.high = placed(band.high);
        }
        if (line.points.empty()) return;
        first = std::min(first, static_cast<double>(line.points.front().step));
        last = std::max(last, static_cast<double>(line.points.back().step));
        lines_[kind].push_back(std::move(line));
    };
    const auto add = [&](std::size_t kind, const Curves& run, const CurveOf& curve, bool own,
                         const std::string& name, ImU32 color) {
        add_points(kind, run, run.*curve.points, curve.dots, own, name, color);
    };
    const std::vector<LoggedCurve>& logged = curves_->logged;
    lines_.assign(kinds + logged.size(), {});
    shown.resize(lines_.size(), true);
    logarithmic.resize(lines_.size(), false);
    for (std::size_t i = 0; i < logged.size(); ++i)
        add_points(kinds + i, *curves_, logged[i].points, false, true, logged[i].name, kOrange);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        for (std::size_t i = 0; others_ && i < others_->size(); ++i)
            for (const CurveOf& curve : curves_of(kind))
                add(kind, (*others_)[i].curves, curve, false,
                    (*others_)[i].name + (curves_of(kind).size() > 1 ? std::string(" ") + curve.name
                                                                     : std::string()),
                    kOtherColors[i % kOtherColors.size()]);
        for (const CurveOf& curve : curves_of(kind))
            add(kind, *curves_, curve, true, curve.name, curve.color);
    }
    first_ = first <= last ? first : 0;
    last_ = first <= last ? last : 1;
    marks_ = curves_->marks;
    if (axis == time)
        for (CurveMark& mark : marks_)
            mark.x = std::max(0.0, seconds_at(static_cast<double>(mark.step), curves_->step_ms));
}

void PlotsPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.curves || (snapshot.curves->loss.empty() && snapshot.curves->test_psnr.empty())) {
        empty_note("Start training to see curves here");
        return;
    }
    shape(snapshot);
    draw_buttons(snapshot, commands);
    range.begin(first_, last_);
    draw_grid(snapshot, commands);
}

void PlotsPanel::draw_buttons(const Snapshot& snapshot, Commands& commands) {
    if (ImGui::SmallButton("More")) ImGui::OpenPopup("##more");
    tooltip("Smoothing, the axis, all steps, and other runs behind these curves");
    draw_more(snapshot, commands);
    draw_alarms();
    for (std::size_t kind = 0; kind < lines_.size(); ++kind) {
        const std::string label = button(kind);
        beside_if_fits(label.c_str());
        if (lit_button(label.c_str(), shown[kind], "Show or hide: " + title(kind), /*small=*/true))
            shown[kind] = !shown[kind];
    }
}

void PlotsPanel::draw_more(const Snapshot& snapshot, Commands& commands) {
    if (!ImGui::BeginPopup("##more")) return;
    ImGui::SetNextItemWidth(12 * em());
    drag_bar("Smoothing", smoothing, 0.0F, 0.99F, "%.2f");
    tooltip("Moving average, drawn over the range of the values it averages");
    for (std::size_t i = 0; i < axes; ++i) {
        if (i > 0) ImGui::SameLine();
        if (ImGui::RadioButton(kAxisNames[i], axis == i)) axis = static_cast<Axis>(i);
    }
    if (ImGui::MenuItem("Show all steps", "double click")) range.fit = true;
    if (ImGui::MenuItem("Copy as CSV"))
        ImGui::SetClipboardText(curves_csv(all_lines(*snapshot.curves)).c_str());
    ImGui::Separator();
    draw_runs(snapshot, commands);
    ImGui::EndPopup();
}

void PlotsPanel::draw_runs(const Snapshot& snapshot, Commands& commands) {
    const auto shown_already = [&](const std::string& folder) {
        return others_ && std::ranges::any_of(
                              *others_, [&](const OtherCurves& o) { return o.folder == folder; });
    };
    for (std::size_t i = 0; others_ && i < others_->size(); ++i) {
        const OtherCurves& other = (*others_)[i];
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::SmallButton("Hide")) commands.push("curves.hide", {other.folder});
        ImGui::SameLine();
        colored_text(kOtherColors[i % kOtherColors.size()], other.name);
        tooltip(other.folder);
        for (const std::string& difference : other.differences) dim_text("    " + difference);
        ImGui::PopID();
    }
    ImGui::SetNextItemWidth(20 * em());
    if (ImGui::InputTextWithHint("##folder", "Folder of another run, then Enter", &wanted_run_,
                                 ImGuiInputTextFlags_EnterReturnsTrue)) {
        commands.push("curves.show", {wanted_run_});
        wanted_run_.clear();
    }
    for (const std::string& recent : snapshot.recent)
        if (recent.find("runs/") != std::string::npos && !shown_already(recent) &&
            ImGui::Selectable(recent.c_str()))
            commands.push("curves.show", {recent});
}

/// They lead to their step.
void PlotsPanel::draw_alarms() {
    const auto alarms = std::ranges::count_if(marks_, &CurveMark::alarm);
    if (alarms == 0) return;
    ImGui::SameLine(0, 3);
    ImGui::PushStyleColor(ImGuiCol_Text, theme().error);
    if (ImGui::SmallButton(
            (counted(static_cast<std::uint64_t>(alarms), "alarm") + "###alarms").c_str()))
        ImGui::OpenPopup("##alarms");
    ImGui::PopStyleColor();
    if (!ImGui::BeginPopup("##alarms")) return;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
        if (!marks_[i].alarm) continue;
        const auto step = static_cast<double>(marks_[i].step);
        const double at = marks_[i].x >= 0 ? marks_[i].x : step;
        ImGui::PushID(static_cast<int>(i));
        if (ImGui::Selectable((format_count(step) + ": " + marks_[i].text).c_str())) {
            const double half = std::max((last_ - first_) / 20, axis == time ? 0.1 : 10.0);
            range.lo = std::max(first_, at - half);
            range.hi = at + half;
            range.fit = false;
        }
        ImGui::PopID();
    }
    ImGui::EndPopup();
}

/// Right click on a plot.
void PlotsPanel::draw_menu(std::size_t kind, const Snapshot& snapshot, Commands& commands) {
    if (ImGui::MenuItem("Logarithmic scale", nullptr, logarithmic[kind]))
        logarithmic[kind] = !logarithmic[kind];
    if (ImGui::MenuItem("Show all steps")) range.fit = true;
    if (ImGui::MenuItem("Copy as CSV"))
        ImGui::SetClipboardText(curves_csv(all_lines(*snapshot.curves)).c_str());
    const auto& snapshots = snapshot.training.snapshots;
    for (const bool branches : {false, true}) {
        if (!ImGui::BeginMenu(branches ? "Branch as a separate run" : "Go back to",
                              !snapshots.empty()))
            continue;
        for (auto row = snapshots.rbegin(); row != snapshots.rend(); ++row)
            if (ImGui::MenuItem(
                    fmt::format("step {}, {}##{}", row->step, row->why, row->number).c_str()))
                commands.push(branches ? "train.branch" : "train.revert",
                              {fmt::format("#{}", row->number)});
        ImGui::EndMenu();
    }
}

void PlotsPanel::draw_grid(const Snapshot& snapshot, Commands& commands) {
    const auto visible =
        static_cast<int>(std::max<std::ptrdiff_t>(std::ranges::count(shown, true), 1));
    const ImVec2 room = ImGui::GetContentRegionAvail(), gap = ImGui::GetStyle().ItemSpacing;
    // As many columns as keep plots wider than high, once a single column would make them low.
    int columns = 1;
    while (columns < visible && room.x / static_cast<float>(columns + 1) > 17 * em() &&
           room.y / std::ceil(static_cast<float>(visible) / static_cast<float>(columns)) <
               11 * em())
        ++columns;
    const auto rows = std::ceil(static_cast<float>(visible) / static_cast<float>(columns));
    const float height = std::max((room.y - gap.y * (rows - 1)) / rows - 1, 5.3F * em());
    const float width =
        (room.x - gap.x * static_cast<float>(columns - 1)) / static_cast<float>(columns) - 1;
    int index = 0;
    for (std::size_t kind = 0; kind < lines_.size(); ++kind) {
        if (!shown[kind]) continue;
        const std::string named = title(kind);
        PlotLook look{.title = named,
                      .unit = kind < kinds ? kUnits[kind] : "",
                      .x_name = axis == time ? "s" : "step",
                      .logarithmic = logarithmic[kind],
                      .logarithmic_x = axis == log_steps,
                      .from_zero = kind == count || kind == speed,
                      .width = width,
                      .height = height,
                      .marks = marks_};
        std::vector<PlotLine> lines;
        for (const Line& line : lines_[kind])
            lines.push_back({line.name, line.color, line.points, line.dots, line.low, line.high});
        look.legend = lines.size() > 1;
        if (index++ % columns != 0) ImGui::SameLine();
        ImGui::PushID("plots");
        plot(button(kind).c_str(), lines, look, range);
        ImGui::PopID();
        if (ImGui::BeginPopupContextItem(named.c_str())) {
            draw_menu(kind, snapshot, commands);
            ImGui::EndPopup();
        }
    }
}

}  // namespace gs
