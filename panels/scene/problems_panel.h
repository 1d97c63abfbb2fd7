// Problems: where the scene differs from its photos: each photo's error over the steps, the worst
// regions, one point in every photo that sees it, the Gaussians that contribute to errors, floaters
// and holes. A tab of the workspace; found by app/session/parts/photo_problems.h.
#pragma once

#include "panels/scene/heat_strip.h"
#include "panels/state/command.h"
#include "panels/state/photo_problems.h"
#include "panels/state/snapshot.h"

namespace gs {

struct ProblemsPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_head(const Snapshot& snapshot, Commands& commands) const;
    void draw_choice(const Snapshot& snapshot, Commands& commands) const;
    void draw_list(const Snapshot& snapshot, Commands& commands);

    HeatStrip strip_;
};

// ---- its lists (problems_lists.cpp, problems_cards.cpp); `of` is not null

/// Regions or holes as cards: render, photo and error side by side; click one to go there.
void draw_region_cards(const Snapshot& snapshot, const PhotoProblems& of, ProblemKind kind,
                       Commands& commands);
/// The same for one point in every photo that sees it.
void draw_place_cards(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands);
void draw_blamed_table(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands);
/// Floaters, and the doctor's findings about single Gaussians.
void draw_floater_table(const Snapshot& snapshot, const PhotoProblems& of, Commands& commands);

/// Name of a photo of the capture; its number where it is not listed.
std::string name_of_photo(const Snapshot& snapshot, std::size_t view);

}  // namespace gs
