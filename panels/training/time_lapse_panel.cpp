#include "panels/training/time_lapse_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr double kPerSecond = 12;  // pictures, while it plays
constexpr int kMostSide = 640;     // pixels, as they are made
constexpr std::size_t kAhead = 3;  // pictures read before they are due
constexpr double kPatience = 1;    // seconds to wait for a picture before showing it as missing
constexpr std::array<const char*, 6> kPaces{"off", "auto", "10", "100", "500", "1000"};

const TimeLapseState::View* find(const TimeLapseState& lapse, const std::string& name) {
    for (const TimeLapseState::View& view : lapse.views)
        if (view.name == name) return &view;
    return lapse.views.empty() ? nullptr : &lapse.views.front();
}

std::string why_empty(const Snapshot& snapshot) {
    const auto& lapse = snapshot.time_lapse;
    if (!lapse)
        return snapshot.scene ? "Splats have no time lapse. Open a capture and train to record one."
                              : "Open a capture or a run to see a time lapse of its training.";
    if (lapse->goes && lapse->pace != "off")
        return "The first picture follows with the next steps.";
    return lapse->goes ? "This run records no pictures. Choose how often above."
                       : "This run recorded no pictures.";
}

std::string words_of(const std::string& pace) {
    return pace == "off" || pace == "auto" ? pace : "every " + pace + " steps";
}

}  // namespace

/// The view, how often, and what that costs.
void TimeLapsePanel::draw_head(const TimeLapseState& lapse, Commands& commands) {
    const TimeLapseState::View* shown = find(lapse, view);
    if (shown) {
        ImGui::SetNextItemWidth(9 * em());
        if (ImGui::BeginCombo("##view", shown->name.c_str())) {
            for (const TimeLapseState::View& one : lapse.views)
                if (ImGui::Selectable(one.name.c_str(), &one == shown)) view = one.name;
            ImGui::EndCombo();
        }
        tooltip("Camera of the time lapse (choose others with timelapse.views NAME,...)");
        ImGui::SameLine();
    }
    const bool any = std::any_of(lapse.views.begin(), lapse.views.end(),
                                 [](const auto& one) { return !one.pictures.empty(); });
    if (any) {
        if (ImGui::Button("Film…")) commands.push("browse", {"timelapse.export"});
        tooltip("Save as a video (choose the camera with timelapse.export PATH VIEW FPS)");
        ImGui::SameLine();
    }
    if (!lapse.goes) return ImGui::NewLine();
    ImGui::SetNextItemWidth(9 * em());
    if (ImGui::BeginCombo("##pace", words_of(lapse.pace).c_str())) {
        for (const char* pace : kPaces)
            if (ImGui::Selectable(words_of(pace).c_str(), pace == lapse.pace))
                commands.push("timelapse.every", {pace});
        ImGui::EndCombo();
    }
    tooltip("How often to record a picture; auto: as often as costs 1 % of the time");
    if (lapse.taken == 0) return;
    ImGui::SameLine();
    dim_text(fmt::format("{:.1f} % of the time", 100 * lapse.share));
}

/// Arrow keys, where this panel has the keyboard.
void TimeLapsePanel::walk(std::size_t last, std::size_t& index) {
    if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) || popup_above()) return;
    keep_arrows();
    const std::size_t before = index;
    if (key_pressed(ImGuiKey_RightArrow)) index = std::min(last, index + 1);
    if (key_pressed(ImGuiKey_LeftArrow)) index -= std::min<std::size_t>(1, index);
    if (key_pressed(ImGuiKey_Home)) index = 0;
    if (key_pressed(ImGuiKey_End)) index = last;
    if (index != before) playing = false;
}

void TimeLapsePanel::set_playing(bool on) {
    playing = from_first_ = on;
    since_ = 0;
}

void TimeLapsePanel::play(std::size_t last, std::size_t& index) {
    if (!playing) return;
    if (std::exchange(from_first_, false) && index == last) index = 0;
    since_ += static_cast<double>(ImGui::GetIO().DeltaTime);
    if (since_ < 1 / kPerSecond) return;
    since_ = 0;
    if (index < last) ++index;
    playing = index < last;
}

void TimeLapsePanel::draw_strip(const TimeLapseState::View& shown, std::size_t& index) {
    const std::size_t last = shown.pictures.size() - 1;
    if (icon_button("##play", playing ? Icon::pause : Icon::play,
                    playing ? "Stop" : "Play from here, or from the first picture", last > 0))
        set_playing(!playing);
    ImGui::SameLine();
    int at = static_cast<int>(index);
    const std::string words =
        "step " + format_count(static_cast<double>(shown.pictures[index].step));
    ImGui::SetNextItemWidth(-1);
    if (ImGui::SliderInt("##strip", &at, 0, static_cast<int>(last), words.c_str(),
                         ImGuiSliderFlags_NoInput | ImGuiSliderFlags_AlwaysClamp)) {
        index = static_cast<std::size_t>(std::max(0, at));
        playing = false;
    }
    tooltip(fmt::format("Picture {} of {}; use the arrow keys, Home and End to move", index + 1,
                        last + 1));
}

/// The one before it stays while it is read, and no longer: it belongs to another step.
PanelPicture TimeLapsePanel::picture_or_last(PanelPictures& pictures, const std::string& file) {
    const PanelPicture picture = pictures.of_file(file, kMostSide);
    const std::string folder = file.substr(0, file.find_last_of('/') + 1);
    if (std::exchange(last_folder_, folder) != folder) last_file_.clear();
    waited_ = std::exchange(wanted_, file) == file
                  ? waited_ + static_cast<double>(ImGui::GetIO().DeltaTime)
                  : 0;
    if (picture.id != 0) {
        last_file_ = file;
        waited_ = 0;
    }
    waits_ = picture.id == 0 && waited_ <= kPatience;
    if (!waits_ || last_file_.empty()) return picture;
    return pictures.of_file(last_file_, kMostSide);
}

void TimeLapsePanel::draw_picture(const Snapshot& snapshot, const TimeLapseState::View& shown,
                                  std::size_t index, float height) {
    const std::string& file = shown.pictures[index].file;
    const PanelPicture picture = picture_or_last(*snapshot.pictures, file);
    for (std::size_t i = 1; playing && i <= kAhead && index + i < shown.pictures.size(); ++i)
        (void)snapshot.pictures->of_file(shown.pictures[index + i].file, kMostSide);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::Dummy({width, std::max(1.0F, height)});
    if (picture.id == 0 && waited_ > kPatience) {
        ImGui::SetCursorScreenPos(corner);
        dim_text("cannot read this picture: " + file);
        ImGui::SetCursorScreenPos({corner.x, corner.y + height + ImGui::GetStyle().ItemSpacing.y});
    }
    if (picture.id == 0 || height < 1) return;
    const float share = std::min(width / static_cast<float>(picture.width),
                                 height / static_cast<float>(picture.height));
    const ImVec2 size{share * static_cast<float>(picture.width),
                      share * static_cast<float>(picture.height)};
    const ImVec2 at{corner.x + (width - size.x) / 2, corner.y + (height - size.y) / 2};
    ImGui::GetWindowDrawList()->AddImage((ImTextureID)(std::uintptr_t)picture.id, at,
                                         {at.x + size.x, at.y + size.y});
}

void TimeLapsePanel::draw(const Snapshot& snapshot, Commands& commands) {
    const TimeLapseState* lapse = snapshot.time_lapse.get();
    if (lapse) draw_head(*lapse, commands);
    const TimeLapseState::View* shown = lapse ? find(*lapse, view) : nullptr;
    if (!shown || shown->pictures.empty() || !snapshot.pictures) {
        playing = waits_ = false;
        return empty_note(why_empty(snapshot));
    }
    const std::size_t last = shown->pictures.size() - 1;
    std::size_t index = last;
    // The picture of the step, or the one before it: another camera may have other steps.
    while (!newest && index > 0 && shown->pictures[index].step > step) --index;
    walk(last, index);
    play(last, index);
    draw_picture(snapshot, *shown, index,
                 ImGui::GetContentRegionAvail().y - ImGui::GetFrameHeightWithSpacing());
    draw_strip(*shown, index);
    newest = index == last && !playing;
    step = shown->pictures[index].step;
}

}  // namespace gs
