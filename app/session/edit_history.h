// EditHistory: the editor's undoable changes, stored as differences of at most kMostBytes. Owned by
// the editor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "renderer/edit/row_change.h"
#include "trainer/run_edit.h"

namespace gs {

/// A replacement of the whole model: the other model and its flags.
struct WholeChange {
    std::shared_ptr<const GaussianModel> model;  ///< null: nothing changes
    Flags flags{};
    bool is_fix = false;                 ///< the doctor's
    std::string fix{};                   ///< name of the fix; empty: all
    std::vector<std::string> changes{};  ///< one line each
};

struct EditStep {
    std::string name;         ///< "deleted 120 Gaussians"
    std::uint64_t stamp = 0;  ///< serial of the command that made it: which of all edits is newest
    RowChange rows{};
    FlagChange flags{};  ///< after the rows have changed
    WholeChange whole{};
    TakenRows taken{};    ///< of a run: removed rows, and
    Flags taken_flags{};  ///< their flags

    bool changes_model() const { return rows.any() || whole.model; }
    std::uint64_t bytes() const {
        return rows.bytes() + flags.bytes() + name.capacity() +
               (whole.model ? whole.model->bytes() : 0) + whole.flags.capacity() + taken.bytes() +
               taken_flags.capacity();
    }
};

class EditHistory {
  public:
    static constexpr std::uint64_t kMostBytes = 512ull << 20;
    static constexpr std::size_t kMostSteps = 500;

    /// Adds a new step, discards the redo steps, and discards the oldest steps over kMostBytes.
    void add(EditStep step);
    void clear() { *this = {}; }
    /// The next step to undo or redo; null: there is none.
    EditStep* to_undo() { return done_ > 0 ? &steps_[done_ - 1] : nullptr; }
    EditStep* to_redo() { return done_ < steps_.size() ? &steps_[done_] : nullptr; }
    void undone() { --done_; }
    void redone() { ++done_; }
    std::size_t done() const { return done_; }
    std::uint64_t dropped() const { return dropped_; }
    std::vector<std::string> names() const;
    /// Applied fixes, oldest first.
    std::vector<const WholeChange*> fixes() const;
    bool newest_is_fix() const { return done_ > 0 && steps_[done_ - 1].whole.is_fix; }
    std::uint64_t bytes() const;
    /// Stamp of the newest applied change of rows, which identifies the model. 0: as opened.
    std::uint64_t model_stamp() const;

  private:
    std::deque<EditStep> steps_;  // oldest first
    std::size_t done_ = 0;        // of them in force
    std::uint64_t dropped_ = 0, dropped_stamp_ = 0;
};

}  // namespace gs
