// History: the undo history: every change that can be undone, on one stack, in the order in which
// they were made. A part of the engine; the other parts and the studio record into it.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "app/session/engine_part.h"
#include "app/session/events.h"
#include "base/expected.h"
#include "panels/state/history_state.h"

namespace gs {

/// An applied edit, and how to undo and redo it.
struct HistoryEntry {
    EditOf of;
    std::string label;  ///< "delete 120 Gaussians"
    /// Undoes the edit (`back`) or redoes it. False, with an error reported: nothing changed.
    std::function<bool(bool back)> toggle;
    std::function<std::uint64_t()> bytes;  ///< memory that it holds now
    bool flags_only = false;               ///< selects, hides or locks Gaussians
    std::uint64_t command = 0;             ///< that made it; filled in by History
};

/// A change of the studio's own data, which lives on the UI thread.
struct StudioEdit {
    EditOf of;
    std::string label;
    std::uint64_t bytes;
    /// Puts the data before the change (`back`) or after it into place; runs on the UI thread.
    std::function<void(StudioState&, bool back)> put;
};

/// For `put`: the data is no longer what the edit left. All edits of its kind are forgotten then.
inline Result<void> changed_meanwhile(const char* what) {
    return fail(ErrorKind::cancelled, "",
                fmt::format("{} changed in the meantime: earlier edits of it cannot be undone any "
                            "more",
                            what));
}

class History final : public EnginePart {
  public:
    using Kinds = std::initializer_list<EditOf>;
    static constexpr std::uint64_t kMostBytes = 512ull << 20;
    static constexpr std::size_t kMostEntries = 500;

    explicit History(Events& events) : events_(events) { publish(); }

    /// Adds a new edit, discards undone edits, and discards the oldest ones over kMostBytes.
    void add(HistoryEntry entry);
    /// A change of the studio's data, of this scene (EngineStatus::scene_serial).
    void record(std::uint64_t scene, StudioEdit edit);
    /// Undoes the newest edit of these kinds, or of any. A step: edits of different kinds by one
    /// command are undone together. False: none, or an error was reported.
    bool undo(Kinds of = {}) { return step(true, of); }
    bool redo(Kinds of = {}) { return step(false, of); }
    /// Undoes or redoes until `done` steps are applied.
    void go_to(std::size_t done);
    /// Discards edits that no longer apply.
    void forget(Kinds of);
    /// The newest applied edit of these kinds; null: none.
    const HistoryEntry* newest(Kinds of) const;

    /// Edits end with their scene, edits of Gaussians also with a restart of the run.
    void scene_changed(SceneChange change) override;
    void describe(Published& view) const override { view.status.scene_serial = scenes_; }

  private:
    using Entry = std::shared_ptr<const HistoryEntry>;

    std::optional<std::size_t> next(bool back, Kinds of) const;
    bool step(bool back, Kinds of);
    bool toggle(std::size_t index, bool back);
    bool is_joined(std::size_t index) const;
    std::size_t steps(std::size_t entries) const;
    void erase(std::deque<Entry>::const_iterator at);
    void publish();

    Events& events_;
    std::deque<Entry> entries_;  // oldest first
    std::size_t done_ = 0;       // applied
    std::uint64_t dropped_ = 0, scenes_ = 0;
};

}  // namespace gs
