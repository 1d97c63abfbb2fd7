// KeyMap: which key runs which command: a preset of assets/keys, and the user's own keys.txt of the
// configuration folder over it. StudioKeys (studio_keys.h) has the one that counts; the command
// table shows its keys in menus, palette and help page.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/window/window.h"
#include "base/file.h"

namespace gs {

struct KeyBinding {
    std::string chord;  ///< "Ctrl+Shift+Z"
    std::string command;
    std::vector<std::string> arguments;
};

class KeyMap {
  public:
    /// Whether there is such a command.
    using IsCommand = std::function<bool(const std::string&)>;

    /// Lines "KEY COMMAND [ARGUMENT...]", over those read before; "KEY none" frees the key, "base
    /// NAME" begins with another preset. Bad lines are left out and reported (problems()).
    void read(std::string_view text, const std::string& origin, const IsCommand& is_command);
    const KeyBinding* find(std::string_view chord) const;
    std::span<const KeyBinding> bindings() const { return bindings_; }
    const std::vector<std::string>& problems() const { return problems_; }
    /// The keys of a command without arguments, as they are marked on this keyboard; those that it
    /// has itself come first.
    std::vector<std::string> marks_of(std::string_view command, const KeyLayout& layout) const;

  private:
    std::vector<KeyBinding> bindings_;
    std::vector<std::string> problems_;
    bool in_base_ = false;
};

/// A preset, with what is in `folder`/keys.txt over it (empty: nothing). usage: there is no such
/// preset.
Result<KeyMap> load_key_map(const std::string& preset, const fs::path& folder,
                            const KeyMap::IsCommand& is_command);
/// The chord with its modifiers in order, or empty: it names no key.
std::string plain_chord(std::string_view chord);

}  // namespace gs
