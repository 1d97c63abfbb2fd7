// HistoryState: the undo history as the Edit menu and the panels show it. Published by the engine
// (app/session/history.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gs {

/// What an edit changes. A fix changes Gaussians too, but doctor.undo asks for it by kind.
enum class EditOf { gaussians, fix, setting, camera_path, measures, notes };

struct HistoryState {
    struct Row {
        EditOf of = EditOf::gaussians;
        std::string label;        ///< "delete 1,204 Gaussians"
        std::uint64_t bytes = 0;  ///< memory that it holds
        bool flags_only = false;  ///< selects, hides or locks Gaussians
    };
    std::vector<Row> rows;              ///< oldest first
    std::size_t done = 0;               ///< rows[0 .. done) are applied, the rest are undone
    std::uint64_t bytes = 0, most = 0;  ///< its memory, and the limit
    std::uint64_t dropped = 0;          ///< oldest edits discarded to save memory

    /// The edit that `undo` or `redo` acts on; with a kind, film.undo or film.redo. Null: none.
    const Row* to_undo(std::optional<EditOf> of = {}) const {
        for (std::size_t i = done; i-- > 0;)
            if (!of || rows[i].of == *of) return &rows[i];
        return nullptr;
    }
    const Row* to_redo(std::optional<EditOf> of = {}) const {
        for (std::size_t i = done; i < rows.size(); ++i)
            if (!of || rows[i].of == *of) return &rows[i];
        return nullptr;
    }
};

/// "Undo delete 12 Gaussians"; without an edit: "Undo".
inline std::string edit_title(const std::string& verb, const HistoryState::Row* edit) {
    return edit ? verb + " " + edit->label : verb;
}

}  // namespace gs
