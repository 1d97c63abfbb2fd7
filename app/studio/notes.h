// Notes: texts pinned to places, Gaussians and spans. Owned by StudioState, changed by the note.*
// commands, recorded for the undo history, kept as JSON beside the saved views: in a run's folder
// or the user's, and in bundles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/bundle/notes_file.h"
#include "app/session/session_types.h"
#include "base/file.h"
#include "panels/state/notes_state.h"

namespace gs {

/// notes.json beside a run's views.txt; NAME.notes.json beside others.
fs::path notes_file(const fs::path& views_file);

class Notes {
  public:
    using Version = std::vector<Note>;
    /// Called after each change with its label: "delete note 2".
    std::function<void(std::string label, const Version& before, const Version& after)> on_change;

    /// Loads the notes of a newly opened scene. An unreadable file is never overwritten.
    Result<void> open(const fs::path& file);
    /// Moves the notes to the scene's new folder.
    Result<void> move_to(const fs::path& file);

    /// Errors: usage (no text, too many), unwritable: then it stays in memory.
    Result<void> add(Note note);
    /// `number`: from 1. Errors (usage): there is no such note.
    Result<void> edit(std::size_t number, std::string text);
    Result<void> remove(std::size_t number);
    Result<const Note*> find(std::size_t number) const;
    /// Undoes or redoes a change: puts `to` in place of `from`, unless a newer change came first.
    Result<void> put(const Version& from, const Version& to);

    /// Added once the engine has found its point.
    void await(std::uint64_t command, Note note);
    Result<void> take(const FoundPoint& found);

    /// Null before a scene was opened.
    const std::shared_ptr<const NotesState>& state() const { return state_; }

  private:
    Result<void> change(std::vector<Note> notes, std::string label);
    Result<void> keep(std::vector<Note> notes);

    std::shared_ptr<const NotesState> state_;
    bool unreadable_ = false;
    struct Awaited {
        std::uint64_t command;
        Note note;
    };
    std::vector<Awaited> awaited_;
};

}  // namespace gs
