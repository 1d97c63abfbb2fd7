#include "panels/plots_panel.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::array<const char*, PlotsPanel::kinds> kTitles{
    "loss", "PSNR", "SSIM", "Gaussians", "time per iteration", "learning rate of means"};
constexpr std::array<const char*, PlotsPanel::kinds> kButtons{"loss", "PSNR",  "SSIM",
                                                              "N",    "ms/it", "lr"};
constexpr std::array<const char*, PlotsPanel::kinds> kUnits{"", "dB", "", "", "ms", ""};
constexpr ImU32 kBlue = color_rgb(0x56b4e9), kOrange = color_rgb(0xe69f00),
                kGreen = color_rgb(0x2fb58c), kPink = color_rgb(0xcc79a7),
                kYellow = color_rgb(0xe6d84f);

std::vector<PlotLine> lines_of(const Curves& curves, std::size_t kind) {
    switch (kind) {
        case PlotsPanel::loss:
            return {{"loss", kBlue, curves.loss}};
        case PlotsPanel::psnr:
            return {{"train", kBlue, curves.train_psnr}, {"test", kOrange, curves.test_psnr, true}};
        case PlotsPanel::ssim:
            return {{"test", kOrange, curves.test_ssim, true}};
        case PlotsPanel::count:
            return {{"Gaussians", kGreen, curves.gaussians}};
        case PlotsPanel::speed:
            return {{"iteration", kPink, curves.step_ms}};
        default:
            return {{"lr_means", kYellow, curves.lr_means}};
    }
}

std::vector<PlotLine> all_lines(const Curves& c) {
    return {{"loss", 0, c.loss},
            {"train_psnr_db", 0, c.train_psnr},
            {"test_psnr_db", 0, c.test_psnr},
            {"test_ssim", 0, c.test_ssim},
            {"gaussians", 0, c.gaussians},
            {"step_ms", 0, c.step_ms},
            {"lr_means", 0, c.lr_means}};
}

/// The first and last step of any curve.
std::pair<double, double> steps_of(const Curves& curves) {
    double first = 1e300, last = -1e300;
    for (const PlotLine& line : all_lines(curves)) {
        if (line.points.empty()) continue;
        first = std::min(first, static_cast<double>(line.points.front().step));
        last = std::max(last, static_cast<double>(line.points.back().step));
    }
    return first <= last ? std::pair{first, last} : std::pair{0.0, 1.0};
}

}  // namespace

void PlotsPanel::draw(const Snapshot& snapshot, Commands&) {
    if (!snapshot.curves || (snapshot.curves->loss.empty() && snapshot.curves->test_psnr.empty())) {
        empty_note("Curves appear here while training");
        return;
    }
    const Curves& curves = *snapshot.curves;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        if (kind > 0) ImGui::SameLine(0, 3);
        const bool on = shown[kind];
        if (on) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_Header));
        if (ImGui::SmallButton(kButtons[kind])) shown[kind] = !shown[kind];
        if (on) ImGui::PopStyleColor();
        tooltip(std::string("Shows or hides: ") + kTitles[kind]);
    }
    ImGui::SameLine();
    if (ImGui::SmallButton("fit")) range.fit = true;
    tooltip("Shows all steps; so does a double click on a plot");
    ImGui::SameLine(0, 3);
    if (ImGui::SmallButton("CSV")) ImGui::SetClipboardText(curves_csv(all_lines(curves)).c_str());
    tooltip("Copies all curves as CSV");
    const auto [first, last] = steps_of(curves);
    range.begin(first, last);
    draw_grid(curves);
}

void PlotsPanel::draw_grid(const Curves& curves) {
    const auto visible =
        static_cast<int>(std::max<std::ptrdiff_t>(std::count(shown.begin(), shown.end(), true), 1));
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
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        if (!shown[kind]) continue;
        PlotLook look;
        look.title = kTitles[kind];
        look.unit = kUnits[kind];
        look.logarithmic = logarithmic[kind];
        look.marks = curves.marks;
        look.height = height;
        look.width = width;
        look.from_zero = kind == count || kind == speed;
        const auto lines = lines_of(curves, kind);
        look.legend = lines.size() > 1;
        if (index++ % columns != 0) ImGui::SameLine();
        plot(kButtons[kind], lines, look, range);
        if (ImGui::BeginPopupContextItem(kTitles[kind])) {
            ImGui::MenuItem("Logarithmic scale", nullptr, &logarithmic[kind]);
            if (ImGui::MenuItem("Show all steps")) range.fit = true;
            if (ImGui::MenuItem("Copy as CSV")) ImGui::SetClipboardText(curves_csv(lines).c_str());
            ImGui::EndPopup();
        }
    }
}

}  // namespace gs
