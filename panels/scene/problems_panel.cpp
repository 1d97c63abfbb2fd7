#include "panels/scene/problems_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/activity.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// Titles of the lists, in the order of ProblemsShow, and how many there are; below 0: no count.
struct ListTitle {
    const char* title;
    const char* hint;
    std::ptrdiff_t count;
};
std::array<ListTitle, 6> titles_of(const PhotoProblems* of) {
    const FoundProblems* found = of ? of->found.get() : nullptr;
    const auto count = [&](const auto FoundProblems::*list) {
        return found ? static_cast<std::ptrdiff_t>((found->*list).size()) : -1;
    };
    return {
        {{"Over time", "Each photo's error over the steps of training", -1},
         {"Regions", "Places in photos with the largest sums of errors",
          count(&FoundProblems::regions)},
         {"This place", "One point of the scene in every photo that sees it",
          of && of->point ? static_cast<std::ptrdiff_t>(of->point->photos.size()) : -1},
         {"Gaussians", "Gaussians with the largest sums of errors",
          count(&FoundProblems::gaussians)},
         {"Floaters", "Gaussians in the air that few photos see", count(&FoundProblems::floaters)},
         {"Holes", "Places where photos show something and the model nothing",
          count(&FoundProblems::holes)}}};
}

/// The next button stands beside the last one where it fits, below it otherwise.
void next_to_it_if_fits(const std::string& label) {
    const ImGuiStyle& style = ImGui::GetStyle();
    const float width = ImGui::CalcTextSize(label.c_str()).x + 2 * style.FramePadding.x;
    const float end = ImGui::GetItemRectMax().x + style.ItemSpacing.x + width;
    if (end < ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x) ImGui::SameLine();
}

void tell_unread(const UnreadPhotos& unread) {
    if (unread.count == 0) return;
    const std::string words = counted(unread.count, "photo") + " not read";
    next_to_it_if_fits(words);
    colored_text(theme().warning, fitted(words, ImGui::GetContentRegionAvail().x));
    tooltip(unread.words());
}

const char* what_to_do(ProblemsShow shows) {
    return shows == ProblemsShow::place
               ? "Point at the picture and press Shift+I to see the point in every photo"
               : "Press Find to search every photo for the worst regions, holes, floaters and "
                 "Gaussians";
}

}  // namespace

std::string name_of_photo(const Snapshot& snapshot, std::size_t view) {
    if (snapshot.cameras && view < snapshot.cameras->size()) return (*snapshot.cameras)[view].name;
    return fmt::format("photo {}", view);
}

void ProblemsPanel::draw_head(const Snapshot& snapshot, Commands& commands) const {
    const PhotoProblems* of = snapshot.problems.get();
    if (const Activity* search = find_activity(snapshot, "problems")) {
        if (ImGui::Button("Cancel")) commands.push("problems.cancel");
        ImGui::SameLine();
        ImGui::ProgressBar(static_cast<float>(std::clamp(search->share, 0.0, 1.0)),
                           {std::min(24 * em(), ImGui::GetContentRegionAvail().x), 0},
                           search->what.c_str());
        return;
    }
    if (ImGui::Button(of && of->found ? "Find again" : "Find")) commands.push("problems.find");
    tooltip("Search every photo; while training, one photo between two steps (problems.find)");
    if (!of || !of->found) return;
    const FoundProblems& found = *of->found;
    std::string words = fmt::format("{}, mean error {}", counted(found.photos, "photo"),
                                    format_number(found.mean_error, 3));
    if (of->step > 0) words += ", step " + format_count(static_cast<double>(of->step));
    ImGui::SameLine();
    dim_text(fitted(words, ImGui::GetContentRegionAvail().x));
    tooltip(
        fmt::format("{}; errors are means over the channels of |picture - photo|, 0 to 1.\n"
                    "The search took {:.1f} s.",
                    words, of->seconds));
    tell_unread(found.unread);
    if (of->step == snapshot.training.step) return;
    const std::string note = fmt::format("now step {}: rows may mean others",
                                         format_count(static_cast<double>(snapshot.training.step)));
    next_to_it_if_fits(note);
    colored_text(theme().warning, fitted(note, ImGui::GetContentRegionAvail().x));
}

void ProblemsPanel::draw_choice(const Snapshot& snapshot, Commands& commands) const {
    const auto titles = titles_of(snapshot.problems.get());
    for (std::size_t i = 0; i < titles.size(); ++i) {
        const bool now = i == static_cast<std::size_t>(snapshot.problems_settings.shows);
        const std::string label = titles[i].count < 0
                                      ? titles[i].title
                                      : fmt::format("{} {}", titles[i].title, titles[i].count);
        if (i > 0) next_to_it_if_fits(label);
        ImGui::PushID(static_cast<int>(i));
        ImGui::PushStyleColor(ImGuiCol_Button, now ? theme().accent : theme().field);
        ImGui::PushStyleColor(ImGuiCol_Text, now ? text_on(theme().accent) : theme().text);
        if (ImGui::Button((label + "###list").c_str()))
            commands.push("problems.show", {kProblemsShowNames[i]});
        ImGui::PopStyleColor(2);
        tooltip(titles[i].hint);
        ImGui::PopID();
    }
}

void ProblemsPanel::draw_list(const Snapshot& snapshot, Commands& commands) {
    const ProblemsShow shows = snapshot.problems_settings.shows;
    if (shows == ProblemsShow::time) return strip_.draw(snapshot, commands);
    const PhotoProblems* of = snapshot.problems.get();
    const bool place = shows == ProblemsShow::place;
    if (!of || (place ? !of->point : !of->found)) return empty_note(what_to_do(shows));
    switch (shows) {
        case ProblemsShow::regions:
            return draw_region_cards(snapshot, *of, ProblemKind::region, commands);
        case ProblemsShow::holes:
            return draw_region_cards(snapshot, *of, ProblemKind::hole, commands);
        case ProblemsShow::place:
            return draw_place_cards(snapshot, *of, commands);
        case ProblemsShow::gaussians:
            return draw_blamed_table(snapshot, *of, commands);
        default:
            return draw_floater_table(snapshot, *of, commands);
    }
}

void ProblemsPanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.cameras || snapshot.cameras->empty())
        return empty_note(snapshot.scene ? "This scene has no photos: open its capture as well"
                                         : "Open a scene with photos to find its errors here");
    draw_head(snapshot, commands);
    draw_choice(snapshot, commands);
    draw_list(snapshot, commands);
}

}  // namespace gs
