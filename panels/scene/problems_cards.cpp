// The Problems panel's pictures: regions, holes and photos of a point as cards with render, photo
// and error side by side.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <functional>

#include "base/format.h"
#include "panels/scene/problems_panel.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

struct ProblemCard {
    std::size_t view = 0;
    const Image8* crops = nullptr;  // null: none yet
    std::string name, score, more;  // below the picture; `more` in the tooltip
};

constexpr float kCardParts = 3;  // render, photo, error

void draw_crops(const Snapshot& snapshot, const ProblemCard& card, const std::string& key,
                std::uint64_t version, ImVec2 corner, ImVec2 room) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(corner, {corner.x + room.x, corner.y + room.y}, theme().field);
    if (!card.crops || !snapshot.pictures) return;
    const PanelPicture picture = snapshot.pictures->of(key, version, *card.crops);
    if (picture.id == 0 || picture.width <= 0 || picture.height <= 0) return;
    const auto width = static_cast<float>(picture.width),
               height = static_cast<float>(picture.height);
    const float scale = std::min(room.x / width, room.y / height);
    const ImVec2 a{corner.x + (room.x - width * scale) / 2,
                   corner.y + (room.y - height * scale) / 2};
    list.AddImage((ImTextureID)(std::uintptr_t)picture.id, a,
                  {a.x + width * scale, a.y + height * scale});
}

void card_words(ImVec2 corner, float width, const ProblemCard& card, std::size_t number) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float wide = ImGui::CalcTextSize(card.score.c_str()).x;
    list.AddText({corner.x + width - wide - 0.2F * em(), corner.y}, theme().text,
                 card.score.c_str());
    const std::string before = fmt::format("{} ", number);
    const float begin = ImGui::CalcTextSize(before.c_str()).x;
    list.AddText({corner.x + 0.2F * em(), corner.y}, theme().accent, before.c_str());
    const std::string name = fitted_path(card.name, width - wide - begin - 1.2F * em());
    list.AddText({corner.x + 0.2F * em() + begin, corner.y}, theme().dim, name.c_str());
}

/// A card `picture` large with a line below, `height` high in all. True: it was clicked.
bool draw_problem_card(const Snapshot& snapshot, const ProblemCard& card, const std::string& key,
                       std::uint64_t version, std::size_t number, ImVec2 picture, float height) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::PushID(static_cast<int>(number));
    const bool clicked = ImGui::InvisibleButton("##card", {picture.x, height});
    const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    tooltip(
        fmt::format("{}\n{}\nrender, photo, error (brightest: {:.0f} % or more); click to go there",
                    card.name, card.more, 100 * kSheetErrorRange));
    draw_crops(snapshot, card, key, version, corner, picture);
    card_words({corner.x, corner.y + picture.y + 1}, picture.x, card, number);
    if (pointed)
        ImGui::GetWindowDrawList()->AddRect(corner, {corner.x + picture.x, corner.y + height},
                                            theme().accent, 0, 0, hairline());
    ImGui::PopID();
    return clicked;
}

/// `count` cards in a grid; requests pictures for visible ones. Click one for problems.go.
void draw_problem_cards(const Snapshot& snapshot, const PhotoProblems& of, ProblemKind kind,
                        std::size_t count, const std::function<ProblemCard(std::size_t)>& card_of,
                        Commands& commands) {
    const char* kind_name = kProblemKindNames[static_cast<std::size_t>(kind)];
    if (!ImGui::BeginChild("##cards", {0, 0}, false, ImGuiWindowFlags_NavFlattened))
        return ImGui::EndChild();
    const float room = std::max(ImGui::GetContentRegionAvail().x, em()), gap = 0.6F * em();
    const auto columns =
        static_cast<std::size_t>(std::max(1.0F, (room + gap) / (kCardParts * 5 * em() + gap)));
    const ImVec2 picture{
        std::min((room + gap) / static_cast<float>(columns) - gap, kCardParts * 9 * em()),
        4.6F * em()};
    const ImVec2 cell{picture.x + gap, picture.y + 1.7F * em()};
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>((count + columns - 1) / columns), cell.y);
    while (clipper.Step())
        for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line) {
            const ImVec2 begin = ImGui::GetCursorPos();
            for (std::size_t k = 0; k < columns; ++k) {
                const std::size_t i = static_cast<std::size_t>(line) * columns + k;
                if (i >= count) break;
                ImGui::SetCursorPos({begin.x + static_cast<float>(k) * cell.x, begin.y});
                if (draw_problem_card(snapshot, card_of(i),
                                      fmt::format("problem {} {}", kind_name, i), of.crops, i + 1,
                                      picture, cell.y - 0.3F * em()))
                    commands.push("problems.go", {std::to_string(i + 1), kind_name});
            }
            ImGui::SetCursorPos({begin.x, begin.y + cell.y});
        }
    ImGui::EndChild();
}

}  // namespace

void draw_region_cards(const Snapshot& snapshot, const PhotoProblems& of, ProblemKind kind,
                       Commands& commands) {
    const FoundProblems& found = *of.found;
    const bool hole = kind == ProblemKind::hole;
    const auto& regions = hole ? found.holes : found.regions;
    if (regions.empty())
        return empty_note(
            hole ? "No holes: the model draws something wherever the photos show something"
                 : "No bad regions: every block's error is below 2 %");
    draw_problem_cards(
        snapshot, of, kind, regions.size(),
        [&](std::size_t i) {
            const PhotoRegion& r = regions[i];
            ProblemCard card{r.view, r.crops.get(), name_of_photo(snapshot, r.view), {}, {}};
            card.score =
                hole ? fmt::format("{} px bare", format_count(r.bare))
                     : fmt::format(
                           "{}, {}", format_db(r.psnr),
                           format_share(found.error_sum > 0 ? r.error_sum / found.error_sum : 0));
            card.more = fmt::format(
                "pixels {}..{}, {}..{}: {}, mean error {}, alpha {}\n{} of all errors of all "
                "photos",
                r.rect.x0, r.rect.x1, r.rect.y0, r.rect.y1, format_db(r.psnr),
                format_number(r.mean_error, 3), format_number(r.mean_alpha, 3),
                format_share(found.error_sum > 0 ? r.error_sum / found.error_sum : 0));
            return card;
        },
        commands);
}

void draw_place_cards(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands) {
    const PointInPhotos& point = *of.point;
    dim_text(
        fitted(fmt::format("({}, {}, {}): {} of {} photos see it, it is hidden in {}, outside {}",
                           format_number(point.point.x, 4), format_number(point.point.y, 4),
                           format_number(point.point.z, 4), point.photos.size(), point.looked_at,
                           point.hidden, point.outside),
               ImGui::GetContentRegionAvail().x));
    if (point.unread.count > 0) wrapped_text(theme().warning, point.unread.words());
    draw_problem_cards(
        snapshot, of, ProblemKind::seen, point.photos.size(),
        [&](std::size_t i) {
            const PointInPhoto& one = point.photos[i];
            return ProblemCard{
                one.view, one.crops.get(), name_of_photo(snapshot, one.view),
                "error " + format_number(one.error, 3),
                fmt::format("pixel ({:.1f}, {:.1f}), depth {}, mean error {} over {} pixels around",
                            one.x, one.y, format_number(one.depth, 4), format_number(one.error, 3),
                            2 * kPointReach + 1)};
        },
        commands);
}

}  // namespace gs
