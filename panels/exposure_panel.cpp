#include "panels/exposure_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr ImU32 kLight = color_rgb(0xe6d84f);
constexpr std::array<ImU32, 3> kChannels{color_rgb(0xd55e00), color_rgb(0x2fb58c),
                                         color_rgb(0x56b4e9)};
constexpr std::array<const char*, 3> kChannelNames{"red", "green", "blue"};

enum LookColumn { kLookName, kLookExposure, kLookRed, kLookBlue, kLookCamera, kLookColumns };

double value_in(const PhotoLook& look, int column) {
    switch (column) {
        case kLookExposure:
            return look.exposure();
        case kLookRed:
            return look.stops[0] - look.stops[1];
        case kLookBlue:
            return look.stops[2] - look.stops[1];
        default:
            return look.camera;
    }
}

std::vector<const PhotoLook*> sorted_looks(const PhotoLooks& looks) {
    std::vector<const PhotoLook*> out;
    for (const PhotoLook& look : looks.photos) out.push_back(&look);
    const ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    if (specs == nullptr || specs->SpecsCount == 0) return out;
    const int column = specs->Specs->ColumnIndex;
    const bool down = specs->Specs->SortDirection == ImGuiSortDirection_Descending;
    std::stable_sort(out.begin(), out.end(), [&](const PhotoLook* a, const PhotoLook* b) {
        if (down) std::swap(a, b);
        return column == kLookName ? a->name < b->name
                                   : value_in(*a, column) < value_in(*b, column);
    });
    return out;
}

/// Three channels side by side.
void channel_plot(const char* id, const char* title, const char* x_name,
                  const std::array<std::vector<CurvePoint>, 3>& channels, ImVec2 size,
                  PlotRange& range) {
    std::vector<PlotLine> lines;
    for (std::size_t c = 0; c < 3; ++c)
        lines.push_back({kChannelNames[c], kChannels[c], channels[c]});
    range.begin(0, static_cast<double>(channels[0].back().step));
    PlotLook look;
    look.title = title;
    look.x_name = x_name;
    look.width = size.x;
    look.height = size.y;
    plot(id, lines, look, range);
}

}  // namespace

std::string looks_csv(const PhotoLooks& looks) {
    std::string out = "name,camera,exposure_stops,red_stops,green_stops,blue_stops\n";
    for (const PhotoLook& look : looks.photos)
        out += fmt::format("{},{},{:.5f},{:.5f},{:.5f},{:.5f}\n", csv_cell(look.name), look.camera,
                           look.exposure(), look.stops[0], look.stops[1], look.stops[2]);
    return out;
}

/// Prepares the drawn curves, once for each publication.
void ExposurePanel::shape(const Snapshot& snapshot) {
    if (looks_ == snapshot.looks) return;
    looks_ = snapshot.looks;
    exposure_.clear();
    red_.clear();
    blue_.clear();
    for (const PhotoLook& look : looks_->photos) {
        const auto x = static_cast<float>(exposure_.size());
        exposure_.push_back({x, static_cast<float>(look.exposure())});
        red_.push_back({x, static_cast<float>(value_in(look, kLookRed))});
        blue_.push_back({x, static_cast<float>(value_in(look, kLookBlue))});
    }
}

void ExposurePanel::draw_curves(float height) {
    const float width = ImGui::GetContentRegionAvail().x - em();
    const float each = 0.25F * width;  // of a camera's two; the photos have the rest
    const PlotLine lines[] = {{"exposure", kLight, exposure_},
                              {"red - green", kChannels[0], red_},
                              {"blue - green", kChannels[2], blue_}};
    photos.begin(0, static_cast<double>(exposure_.back().step));
    PlotLook look;
    look.title = "photos";
    look.unit = "stops";
    look.x_name = "photo";
    look.width = looks_->cameras.empty() ? 0 : 0.5F * width;
    look.height = height;
    plot("##photos", lines, look, photos);
    if (looks_->cameras.empty()) return;
    const auto last = static_cast<int>(looks_->cameras.size()) - 1;
    camera = std::clamp(camera, 0, last);
    const CameraLook& of = looks_->cameras[static_cast<std::size_t>(camera)];
    ImGui::SameLine(0, 0.5F * em());
    channel_plot("##vignette", "light left by the lens", "distance from the centre", of.vignette,
                 {each, height}, across);
    ImGui::SameLine(0, 0.5F * em());
    channel_plot("##curve", "tone curve", "light", of.curve, {each, height}, tone);
}

void ExposurePanel::draw_table(const Snapshot& snapshot, Commands& commands) {
    const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                  ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate |
                                  ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    if (!ImGui::BeginTable("##looks", kLookColumns, flags)) return;
    constexpr ImGuiTableColumnFlags fixed = ImGuiTableColumnFlags_WidthFixed;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("photo", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("exposure", fixed, 5.5F * em());
    ImGui::TableSetupColumn("red", fixed, 4.5F * em());
    ImGui::TableSetupColumn("blue", fixed, 4.5F * em());
    ImGui::TableSetupColumn("camera", fixed, 4.5F * em());
    ImGui::TableHeadersRow();
    const auto rows = sorted_looks(*looks_);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step())
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const PhotoLook& look = *rows[static_cast<std::size_t>(i)];
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            ImGui::PushID(static_cast<int>(look.view));
            if (ImGui::Selectable(
                    "##row", static_cast<int>(look.view) == snapshot.view.capture_view,
                    ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap))
                commands.push("view.capture", {std::to_string(look.view)});
            ImGui::SameLine(0.3F * em());
            text(fitted_path(look.name, ImGui::GetContentRegionAvail().x));
            for (const int column : {kLookExposure, kLookRed, kLookBlue}) {
                ImGui::TableNextColumn();
                cell_right(fmt::format("{:+.3f}", value_in(look, column)));
            }
            ImGui::TableNextColumn();
            cell_right(std::to_string(look.camera), theme().dim);
            ImGui::PopID();
        }
    ImGui::EndTable();
}

void ExposurePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.looks || snapshot.looks->photos.empty()) {
        empty_note("Train with appearance to see the photos' exposure and white balance here");
        return;
    }
    shape(snapshot);
    toggle_command(commands, "as the photo shows it", "view.appearance", snapshot.view.photo_look,
                   "At a photo's camera, draw the scene with that photo's exposure and colour");
    ImGui::SameLine();
    if (ImGui::Button("Copy CSV")) commands.push("appearance.copy", {});
    if (snapshot.looks->cameras.size() > 1) {
        ImGui::SameLine();
        ImGui::SetNextItemWidth(7 * em());
        ImGui::SliderInt("camera", &camera, 0,
                         static_cast<int>(snapshot.looks->cameras.size()) - 1);
    }
    ImGui::SameLine();
    dim_text(
        fmt::format("stops, at step {}", format_count(static_cast<double>(snapshot.looks->step))));
    const float room = ImGui::GetContentRegionAvail().y;
    draw_curves(std::max(5 * em(), 0.5F * room));
    draw_table(snapshot, commands);
}

}  // namespace gs
