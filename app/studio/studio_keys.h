// StudioKeys: turns keys into commands, by the key map that the user has chosen, unless a text
// field, a dialog or a panel has a use of its own for them. The studio owns one; the window passes
// each key to take() in its turn (app/window/input_queue.h).
#pragma once

#include <string>
#include <utility>

#include "app/studio/key_map.h"
#include "app/studio/preferences.h"
#include "app/studio/studio_ui.h"

namespace gs {

class StudioKeys {
  public:
    /// `folder`: of the user's own keys.txt; empty: there is none.
    StudioKeys(CommandTable& table, StudioState& state, StudioUi& ui, Preferences& preferences,
               fs::path folder)
        : table_(table),
          state_(state),
          ui_(ui),
          preferences_(preferences),
          folder_(std::move(folder)) {}
    /// Reads a preset (empty: the last one) and the user's own keys. Faults in them are
    /// shown. usage: there is no such preset.
    Result<void> choose(const std::string& preset);
    /// The keyboard as it is marked now.
    void follow(KeyLayout layout);
    const KeyLayout& layout() const { return layout_; }
    /// Runs the key's command. False: there is none, or something else takes the key.
    bool take(const KeyPress& key);

  private:
    bool put_tool_away();
    bool over_film() const;

    CommandTable& table_;
    StudioState& state_;
    StudioUi& ui_;
    Preferences& preferences_;
    fs::path folder_;
    KeyMap map_;
    KeyLayout layout_;
};

}  // namespace gs
