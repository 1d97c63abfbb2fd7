// Notes as a JSON file in a run's folder, in the user's folder, or in a bundle. Read and written by
// the studio (app/studio/notes.h), read for reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "panels/state/notes_state.h"

namespace gs {

inline constexpr std::size_t kMostNotes = 4096, kLongestNote = 2000;  ///< notes; bytes of a text

/// {"format": "gausscope notes", "version": 1, "notes": [{"on", "text", "point", ...}]}.
std::string notes_json(const std::vector<Note>& notes);
/// Errors: malformed (with the note that is none), unsupported: of a newer version, or too many.
/// `name` is for messages.
Result<std::vector<Note>> parse_notes(std::string_view text, const std::string& name);
/// No file is no notes. Errors: unreadable, and of parse_notes().
Result<std::vector<Note>> read_notes(const fs::path& file);
/// The problem of a note's text; empty: none.
std::string problem_of_note(const std::string& text);
/// "text (#17 at step 400)".
std::string note_line(const Note& note);

}  // namespace gs
