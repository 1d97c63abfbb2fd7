#include "panels/scene/exposure_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/table_view.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr ImU32 kLight = color_rgb(0xe6d84f);
constexpr std::array<ImU32, 3> kChannels{color_rgb(0xd55e00), color_rgb(0x2fb58c),
                                         color_rgb(0x56b4e9)};
constexpr std::array<const char*, 3> kChannelNames{"red", "green", "blue"};

double red_of(const PhotoLook& look) { return look.stops[0] - look.stops[1]; }
double blue_of(const PhotoLook& look) { return look.stops[2] - look.stops[1]; }
template <std::size_t kChannel>
double stop_of(const PhotoLook& look) {
    return look.stops[kChannel];
}
std::string signed_stops(double stops) { return fmt::format("{:+.3f}", stops); }

Table looks_table(const PhotoLooks& looks) {
    const auto stored = [](const char* id, auto of) -> ColumnOf<PhotoLook> {
        return {id, "", nullptr, of, 0, {}, {}, fixed<5>};
    };
    return table_of<PhotoLook>(
        std::span(looks.photos),
        {{"name", "photo", nullptr, &PhotoLook::name, -1},
         {"camera", "", nullptr, &PhotoLook::camera},
         {"exposure_stops", "exposure", signed_stops, &PhotoLook::exposure, 5.5F, {}, {}, fixed<5>},
         stored("red_stops", stop_of<0>),
         stored("green_stops", stop_of<1>),
         stored("blue_stops", stop_of<2>),
         {"", "red", signed_stops, red_of, 4.5F},
         {"", "blue", signed_stops, blue_of, 4.5F},
         {"", "camera", fixed<0>,
          [](const PhotoLook& look) { return TableCell(look.camera, Tone::dim); }, 4.5F}});
}

/// Three channels side by side.
void channel_plot(const char* id, const char* title, const char* x_name,
                  const std::array<std::vector<CurvePoint>, 3>& channels, ImVec2 size,
                  PlotRange& range) {
    std::vector<PlotLine> lines;
    for (std::size_t c = 0; c < 3; ++c)
        lines.push_back({kChannelNames[c], kChannels[c], channels[c]});
    range.begin(0, static_cast<double>(channels[0].back().step));
    const PlotLook look{.title = title, .x_name = x_name, .width = size.x, .height = size.y};
    plot(id, lines, look, range);
}

}  // namespace

std::string looks_csv(const PhotoLooks& looks) { return table_csv(looks_table(looks)); }

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
        red_.push_back({x, static_cast<float>(red_of(look))});
        blue_.push_back({x, static_cast<float>(blue_of(look))});
    }
}

void ExposurePanel::draw_curves(float height) {
    const float width = ImGui::GetContentRegionAvail().x - em();
    const float each = 0.25F * width;  // of a camera's two; the photos have the rest
    const PlotLine lines[] = {{"exposure", kLight, exposure_},
                              {"red - green", kChannels[0], red_},
                              {"blue - green", kChannels[2], blue_}};
    photos.begin(0, static_cast<double>(exposure_.back().step));
    const PlotLook look{.title = "photos",
                        .unit = "stops",
                        .x_name = "photo",
                        .width = looks_->cameras.empty() ? 0 : 0.5F * width,
                        .height = height};
    plot("##photos", lines, look, photos);
    if (looks_->cameras.empty()) return;
    const auto last = static_cast<int>(looks_->cameras.size()) - 1;
    camera = std::clamp(camera, 0, last);
    const CameraLook& of = looks_->cameras[static_cast<std::size_t>(camera)];
    ImGui::SameLine(0, 0.5F * em());
    channel_plot("##vignette", "vignetting of the lens", "distance from the centre", of.vignette,
                 {each, height}, across);
    ImGui::SameLine(0, 0.5F * em());
    channel_plot("##curve", "tone curve", "light", of.curve, {each, height}, tone);
}

void ExposurePanel::draw_table(const Snapshot& snapshot, Commands& commands) {
    const auto& photos_shown = looks_->photos;
    TableView view{.id = "##looks", .indent = 0.3F, .path = "photo"};
    view.flags |= ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate |
                  ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV;
    view.click = [&](std::size_t i) {
        commands.push("view.capture", {std::to_string(photos_shown[i].view)});
    };
    view.chosen = [&](std::size_t i) {
        return static_cast<int>(photos_shown[i].view) == snapshot.view.capture_view;
    };
    gs::draw_table(looks_table(*looks_), view);
}

void ExposurePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.looks || snapshot.looks->photos.empty()) {
        empty_note("Train with appearance to see the photos' exposure and white balance here");
        return;
    }
    shape(snapshot);
    toggle_command(commands, "As the photo shows it", "view.appearance", snapshot.view.photo_look,
                   "At a photo's camera, draw the scene with that photo's exposure and colour");
    ImGui::SameLine();
    if (ImGui::Button("Copy CSV")) commands.push("appearance.copy", {});
    if (snapshot.looks->cameras.size() > 1) {
        ImGui::SameLine();
        ImGui::SetNextItemWidth(7 * em());
        drag_bar("Camera", camera, 0, static_cast<int>(snapshot.looks->cameras.size()) - 1, "%.0f");
    }
    ImGui::SameLine();
    dim_text(
        fmt::format("stops, at step {}", format_count(static_cast<double>(snapshot.looks->step))));
    const float room = ImGui::GetContentRegionAvail().y;
    draw_curves(std::max(5 * em(), 0.5F * room));
    draw_table(snapshot, commands);
}

}  // namespace gs
