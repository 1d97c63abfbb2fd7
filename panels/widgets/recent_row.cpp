#include "panels/widgets/recent_row.h"

#include <imgui.h>

#include <algorithm>
#include <vector>

#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr int kSide = 160;       // pixels of a thumbnail, as they are written
constexpr float kHeight = 2.6F;  // em of a row with one

ImTextureID texture_of(const PanelPicture& picture) {
    return (ImTextureID)(std::uintptr_t)picture.id;
}

/// The existing ones.
std::vector<PanelPicture> thumbnails(const Snapshot& snapshot, const std::string& path) {
    std::vector<PanelPicture> out;
    if (!snapshot.pictures || !snapshot.file_types || !snapshot.file_types->thumbnails_of)
        return out;
    for (const std::string& file : snapshot.file_types->thumbnails_of(path))
        if (const PanelPicture picture = snapshot.pictures->of_file(file, kSide); picture.id != 0)
            out.push_back(picture);
    return out;
}

void all_of_them(const std::vector<PanelPicture>& pictures, const std::string& path) {
    ImGui::BeginTooltip();
    text(path);
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        if (i % 3 != 0) ImGui::SameLine();
        const auto width = static_cast<float>(pictures[i].width),
                   height = static_cast<float>(pictures[i].height);
        const float share = 9 * em() / std::max(width, 1.0F);
        ImGui::Image(texture_of(pictures[i]), {share * width, share * height});
    }
    ImGui::EndTooltip();
}

}  // namespace

bool recent_row(const Snapshot& snapshot, const std::string& path, const std::string& name,
                bool accent) {
    const std::vector<PanelPicture> pictures = thumbnails(snapshot, path);
    const float height = pictures.empty() ? 0 : kHeight * em();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const bool clicked = ImGui::Selectable("##recent", false, 0, {0, height});
    const float room = ImGui::GetItemRectMax().x - corner.x;
    if (ImGui::IsItemHovered()) {
        if (pictures.empty())
            tooltip(path);
        else
            all_of_them(pictures, path);
    }
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float begin = 0.4F * em();
    if (!pictures.empty()) {
        const PanelPicture& first = pictures.front();
        const float high = height - 0.2F * em(), column = 1.6F * high;
        const float width = std::min(
            column, high * static_cast<float>(first.width) / static_cast<float>(first.height));
        const ImVec2 at{corner.x + begin, corner.y + 0.1F * em()};
        list.AddImage(texture_of(first), at, {at.x + width, at.y + high});
        begin += column + 0.5F * em();
    }
    // The facts are below the name where there is height for them, else at the right.
    const bool below = !pictures.empty();
    const std::string facts = snapshot.file_types && snapshot.file_types->summary_of
                                  ? snapshot.file_types->summary_of(path)
                                  : std::string();
    const float wide = ImGui::CalcTextSize(facts.c_str()).x + em();
    const bool fits = below || begin + ImGui::CalcTextSize(name.c_str()).x + wide < room;
    const float for_name = room - begin - 0.4F * em() - (below || !fits ? 0 : wide);
    list.AddText({corner.x + begin, corner.y}, accent ? theme().accent : theme().text,
                 fitted_path(name, for_name).c_str());
    if (fits)
        list.AddText({below ? corner.x + begin : corner.x + room - wide + 0.6F * em(),
                      below ? corner.y + 1.2F * em() : corner.y},
                     theme().dim, fitted(facts, room - begin).c_str());
    return clicked;
}

}  // namespace gs
