// The command palette (Ctrl-P): every command by name, found by fuzzy typing, with its key and its
// arguments; or runs a line like "view.save door" at once. The workspace draws it; menus open it
// for commands with arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "panels/state/command.h"

namespace gs {

/// A possible value of an argument, with a description.
struct Suggestion {
    std::string argument, words;
};

class Palette {
  public:
    /// More suggestions than the choices of the command table for a command's arguments; called
    /// about once a second while they are typed. Set by the app.
    std::function<std::vector<Suggestion>(const std::string& command)> suggest;

    /// Opens it at the next draw(); `command`: already chosen, asks for its arguments.
    void show(std::string command = {});
    bool visible() const { return visible_; }
    /// The command whose arguments are typed; empty: none.
    const std::string& command() const { return command_; }
    void dismiss() {
        visible_ = opening_ = false;
        command_.clear();
    }
    void draw(Commands& commands);

  private:
    void draw_search(Commands& commands);
    const CommandInfo* named_in_query(const Commands& commands) const;
    void draw_line(const CommandInfo& info, bool entered, Commands& commands);
    void draw_details(const CommandInfo& info, Commands& commands);
    std::vector<Suggestion> choices(const CommandInfo& info) const;
    void run(const CommandInfo& info, Commands& commands);
    void draw_arguments(Commands& commands);
    void draw_suggestions(const CommandInfo& info, Commands& commands);
    void draw_row(const CommandInfo& info, bool selected, bool& clicked);
    void choose(const CommandInfo& info, Commands& commands);
    void rank(const Commands& commands);
    void close();

    bool visible_ = false, opening_ = false, focus_ = false;
    std::string query_, command_, arguments_;
    std::vector<std::size_t> found_;  // rows of the table, best first
    int selected_ = 0;
    std::string ranked_query_;
    bool ranked_ = false;
    std::vector<Suggestion> suggestions_;
    double suggested_at_ = -1;  ///< ImGui's time; below 0: not yet
};

}  // namespace gs
