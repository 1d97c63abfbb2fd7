#include "app/studio/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/history.h"
#include "base/try.h"

namespace gs {

fs::path notes_file(const fs::path& views_file) {
    return views_file.filename() == "views.txt"
               ? views_file.parent_path() / "notes.json"
               : fs::path(views_file).replace_extension(".notes.json");
}

Result<void> Notes::open(const fs::path& file) {
    awaited_.clear();
    auto notes = read_notes(file);
    unreadable_ = !notes;
    state_ = std::make_shared<const NotesState>(
        NotesState{notes ? std::move(*notes) : std::vector<Note>(), file.string()});
    if (notes) return {};
    return tl::unexpected(notes.error());
}

Result<void> Notes::move_to(const fs::path& file) {
    if (!state_ || file.empty() || state_->file == file.string()) return {};
    state_ = std::make_shared<const NotesState>(NotesState{state_->notes, file.string()});
    unreadable_ = false;
    return state_->notes.empty() ? Result<void>() : keep(state_->notes);
}

Result<void> Notes::change(std::vector<Note> notes, std::string label) {
    const auto before = state_;
    const Result<void> kept = keep(std::move(notes));
    if (state_ != before && on_change) on_change(std::move(label), before->notes, state_->notes);
    return kept;
}

Result<void> Notes::put(const Version& from, const Version& to) {
    if (!state_) return {};
    return state_->notes == from ? keep(to) : changed_meanwhile("the notes");
}

Result<void> Notes::keep(std::vector<Note> notes) {
    if (!state_) return fail(ErrorKind::usage, "", "nothing is open to attach notes to");
    if (unreadable_)
        return fail(ErrorKind::unwritable, state_->file,
                    "the existing notes are unreadable and are not overwritten",
                    "move the file away");
    const fs::path file = state_->file;
    state_ = std::make_shared<const NotesState>(NotesState{std::move(notes), file.string()});
    GS_TRY_VOID(make_folder(file.parent_path()));
    return write_text_file(file, notes_json(state_->notes));
}

Result<void> Notes::add(Note note) {
    if (const std::string problem = problem_of_note(note.text); !problem.empty())
        return fail(ErrorKind::usage, "", problem);
    std::vector<Note> notes = state_ ? state_->notes : std::vector<Note>();
    if (notes.size() >= kMostNotes)
        return fail(ErrorKind::usage, "", fmt::format("there are already {} notes", notes.size()),
                    "delete one with note.remove N");
    notes.push_back(std::move(note));
    std::string label = fmt::format("add note {}", notes.size());
    return change(std::move(notes), std::move(label));
}

Result<const Note*> Notes::find(std::size_t number) const {
    const std::size_t count = state_ ? state_->notes.size() : 0;
    if (number >= 1 && number <= count) return &state_->notes[number - 1];
    return fail(ErrorKind::usage, "",
                count == 0 ? std::string("there are no notes")
                           : fmt::format("there is no note {}: there are {}", number, count));
}

Result<void> Notes::edit(std::size_t number, std::string text) {
    GS_TRY_VOID(find(number));
    if (const std::string problem = problem_of_note(text); !problem.empty())
        return fail(ErrorKind::usage, "", problem);
    std::vector<Note> notes = state_->notes;
    notes[number - 1].text = std::move(text);
    return change(std::move(notes), fmt::format("edit note {}", number));
}

Result<void> Notes::remove(std::size_t number) {
    GS_TRY_VOID(find(number));
    std::vector<Note> notes = state_->notes;
    notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(number - 1));
    return change(std::move(notes), fmt::format("delete note {}", number));
}

void Notes::await(std::uint64_t command, Note note) {
    constexpr std::size_t kMostAwaited = 64;  // refused points are never found
    if (awaited_.size() >= kMostAwaited) awaited_.erase(awaited_.begin());
    awaited_.push_back({command, std::move(note)});
}

Result<void> Notes::take(const FoundPoint& found) {
    const auto it = std::ranges::find(awaited_, found.command, &Awaited::command);
    if (it == awaited_.end()) return {};
    Note note = std::move(it->note);
    awaited_.erase(it);
    note.point = found.point;
    note.step = found.step;
    note.id = found.id;
    return add(std::move(note));
}

}  // namespace gs
