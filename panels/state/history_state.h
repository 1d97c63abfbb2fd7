// HistoryState: the undo history as the Edit menu and the panels show it. Published by the engine
// (app/session/history.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gs {

/// What an edit changes. A fix changes Gaussians too, but doctor.undo asks for it by kind.
enum class EditOf { gaussians, fix, setting };

struct HistoryState {
    struct Row {
        EditOf of = EditOf::gaussians;
        std::string label;        ///< "delete 1,204 Gaussians"
        std::uint64_t bytes = 0;  ///< memory that it holds
    };
    std::vector<Row> rows;              ///< oldest first
    std::size_t done = 0;               ///< rows[0 .. done) are applied, the rest are undone
    std::uint64_t bytes = 0, most = 0;  ///< its memory, and the limit
    std::uint64_t dropped = 0;          ///< oldest edits discarded to save memory

    /// The edit that `undo` or `redo` acts on; null: none.
    const Row* to_undo() const { return done > 0 ? &rows[done - 1] : nullptr; }
    const Row* to_redo() const { return done < rows.size() ? &rows[done] : nullptr; }
};

/// "Undo delete 12 Gaussians"; without an edit: "Undo".
inline std::string edit_title(const std::string& verb, const HistoryState::Row* edit) {
    return edit ? verb + " " + edit->label : verb;
}

}  // namespace gs
