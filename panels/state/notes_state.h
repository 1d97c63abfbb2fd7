// Notes: texts pinned to a point of the scene, a Gaussian, or a time range of a trace, for the
// Notes panel and the viewport's pins. Part of Snapshot; owned by the studio (app/studio/notes.h),
// saved beside the scene and in bundles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/vec.h"

namespace gs {

enum class NoteOn { place, gaussian, span };
inline constexpr std::array<const char*, 3> kNoteOnNames{"place", "gaussian", "span"};

struct Note {
    NoteOn on = NoteOn::place;
    std::string text;
    Vec3d point{};                          ///< world: the place, or where the Gaussian was
    std::uint64_t row = 0;                  ///< of the Gaussian, when the note was made
    std::uint64_t step = 0;                 ///< that training had done then
    std::int64_t begin_ns = 0, end_ns = 0;  ///< of the span, CLOCK_MONOTONIC
    std::string span{};                     ///< "iteration on engine"
    std::int64_t id = -1;  ///< of the Gaussian, in a run: it is found again by it; below 0: none
    bool operator==(const Note& o) const {
        const bool here = point.x == o.point.x && point.y == o.point.y && point.z == o.point.z;
        return here && on == o.on && text == o.text && row == o.row && id == o.id &&
               step == o.step && begin_ns == o.begin_ns && end_ns == o.end_ns && span == o.span;
    }
};

struct NotesState {
    std::vector<Note> notes;  ///< note 1 is the first
    std::string file;         ///< where they are kept
};

/// "#17 at step 400", "iteration on engine"; empty for a place in a scene that did not train.
inline std::string place_of(const Note& note) {
    if (note.on == NoteOn::span) return note.span.empty() ? "in a trace" : note.span;
    std::string at = note.on == NoteOn::gaussian ? "#" + std::to_string(note.row) : "";
    if (note.step > 0) at += (at.empty() ? "at step " : " at step ") + std::to_string(note.step);
    return at;
}

}  // namespace gs
