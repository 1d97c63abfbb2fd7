#include "panels/palette.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/keys.h"
#include "panels/widgets/widgets.h"

namespace gs {
void Palette::show(std::string command) {
    visible_ = opening_ = focus_ = true;
    command_ = std::move(command);
    query_.clear();
    arguments_.clear();
    selected_ = 0;
    ranked_ = false;
    suggested_at_ = -1;
}

void Palette::close() {
    dismiss();
    ImGui::CloseCurrentPopup();
}

namespace {

/// Every word that was typed is in the command's title, name or help, in any order.
bool has_words(std::string_view query, const CommandInfo& info) {
    for (std::size_t end; !query.empty(); query.remove_prefix(std::min(end + 1, query.size()))) {
        end = std::min(query.find(' '), query.size());
        const std::string_view word = query.substr(0, end);
        if (!contains_text(info.title, word) && !contains_text(info.name, word) &&
            !contains_text(info.help, word))
            return false;
    }
    return true;
}

/// How well a command is what was typed: its name, a name or title that begins so, or one with
/// these letters or, unless it is a `line` with arguments, words; below 0: none of them.
int rank_of(const std::string& query, bool line, const CommandInfo& info) {
    constexpr int kTier = 1 << 20;
    const int title = fuzzy_score(query, info.title), name = fuzzy_score(query, info.name);
    if (title < 0 && name < 0) return !line && has_words(query, info) ? 0 : -1;
    const auto begins = [&](const std::string& text) {
        return text.size() >= query.size() && !query.empty() &&
               contains_text(text.substr(0, query.size()), query);
    };
    const int tier = info.name == query ? 3 : begins(info.name) ? 2 : begins(info.title) ? 1 : 0;
    return tier * kTier + std::max(title + 1, name);
}

}  // namespace

void Palette::rank(const Commands& commands) {
    if (ranked_ && ranked_query_ == query_) return;
    const bool line = named_in_query(commands) != nullptr;
    std::vector<std::pair<int, std::size_t>> scored;
    for (std::size_t i = 0; i < commands.table().size(); ++i) {
        const int score = rank_of(query_, line, commands.table()[i]);
        if (score >= 0) scored.emplace_back(score, i);
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    found_.clear();
    for (const auto& [score, index] : scored) found_.push_back(index);
    if (ranked_) selected_ = 0;
    ranked_ = true;
    ranked_query_ = query_;
}

void Palette::choose(const CommandInfo& info, Commands& commands) {
    if (!info.needs_arguments()) {
        commands.push(info.name);
        close();
        return;
    }
    command_ = info.name;
    arguments_.clear();
    focus_ = true;
    suggested_at_ = -1;
}

void Palette::draw_row(const CommandInfo& info, bool selected, bool& clicked) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    clicked = ImGui::Selectable(("##" + info.name).c_str(), selected, 0, {0, 1.25F * em()});
    tooltip(info.help);
    if (selected && ImGui::IsWindowAppearing()) ImGui::SetScrollHereY();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float y = corner.y + 0.1F * em(), name_at = corner.x + 0.5F * width;
    const float key_width =
        info.key.empty() ? 0 : ImGui::CalcTextSize(info.key.c_str()).x + 0.8F * em();
    const std::string title = fitted(info.title, 0.48F * width);
    const std::string name =
        fitted(info.name + (info.arguments.empty() ? "" : " " + info.arguments),
               0.5F * width - key_width - 0.5F * em());
    list.AddText({corner.x + 0.3F * em(), y}, theme().text, title.c_str());
    list.AddText({name_at, y}, theme().dim, name.c_str());
    if (info.key.empty()) return;
    const ImVec2 chip{corner.x + width - key_width, y - 0.02F * em()};
    list.AddRectFilled(chip, {chip.x + key_width - 0.2F * em(), chip.y + 1.1F * em()},
                       theme().field, 3);
    list.AddText({chip.x + 0.3F * em(), y}, theme().dim, info.key.c_str());
}

void Palette::draw_search(Commands& commands) {
    ImGui::SetNextItemWidth(-1);
    if (focus_) ImGui::SetKeyboardFocusHere();
    focus_ = false;
    const bool entered = ImGui::InputTextWithHint("##query", "Type the name of a command", &query_,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    rank(commands);
    // "open sample" is rather the command of that name.
    const CommandInfo* named = named_in_query(commands);
    if (named && (found_.empty() || named->name.find('.') != std::string::npos)) {
        draw_line(*named, entered, commands);
        return;
    }
    suggested_at_ = -1;
    suggestions_.clear();
    const int last = static_cast<int>(found_.size()) - 1;
    bool moved = false;
    if (named_key_pressed(ImGuiKey_DownArrow)) ++selected_, moved = true;
    if (named_key_pressed(ImGuiKey_UpArrow)) --selected_, moved = true;
    selected_ = std::clamp(selected_, 0, std::max(last, 0));
    ImGui::BeginChild("##list", {0, 0});
    const CommandInfo* chosen = nullptr;
    for (int i = 0; i <= last; ++i) {
        const CommandInfo& info = commands.table()[found_[static_cast<std::size_t>(i)]];
        bool clicked = false;
        ImGui::PushID(i);
        draw_row(info, i == selected_, clicked);
        ImGui::PopID();
        if (moved && i == selected_) ImGui::SetScrollHereY();
        if (clicked || (entered && i == selected_)) chosen = &info;
    }
    if (found_.empty()) empty_note("No command with that name");
    ImGui::EndChild();
    if (chosen) choose(*chosen, commands);
}

/// The command of "view.save door": its whole name, a blank, then its arguments.
const CommandInfo* Palette::named_in_query(const Commands& commands) const {
    const std::size_t blank = query_.find(' ');
    if (blank == std::string::npos) return nullptr;
    const CommandInfo* info = commands.find(std::string_view(query_).substr(0, blank));
    return info && !info->arguments.empty() ? info : nullptr;
}

void Palette::draw_line(const CommandInfo& info, bool entered, Commands& commands) {
    arguments_ = query_.substr(info.name.size() + 1);
    dim_text(info.name + " " + info.arguments);
    draw_details(info, commands);
    if (entered) run(info, commands);
}

void Palette::run(const CommandInfo& info, Commands& commands) {
    auto words = split_words(arguments_);
    if (words.empty() && info.needs_arguments()) {
        focus_ = true;
        return;
    }
    commands.push(info.name, std::move(words));
    close();
}

/// What the command does, and what its arguments may be.
void Palette::draw_details(const CommandInfo& info, Commands& commands) {
    wrapped_text(theme().dim, info.help);
    for (const ArgumentInfo& argument : info.takes)
        if (!argument.range.empty()) dim_text(argument.usage + ": " + argument.range);
    draw_suggestions(info, commands);
}

void Palette::draw_arguments(Commands& commands) {
    const CommandInfo* info = commands.find(command_);
    if (!info) {
        command_.clear();
        return;
    }
    text(info->title);
    ImGui::SetNextItemWidth(-1);
    if (focus_) ImGui::SetKeyboardFocusHere();
    focus_ = false;
    const bool entered = ImGui::InputTextWithHint(
        "##arguments", info->arguments.c_str(), &arguments_, ImGuiInputTextFlags_EnterReturnsTrue);
    dim_text("Separate arguments with blanks; \"quotes\" keep blanks. Enter runs, Escape closes.");
    draw_details(*info, commands);
    if (entered) run(*info, commands);
}

/// The words that the argument being typed may be, after those typed before it.
std::vector<Suggestion> Palette::choices(const CommandInfo& info) const {
    std::vector<std::string> before = split_words(arguments_);
    if (!before.empty() && arguments_.back() != ' ') before.pop_back();
    std::size_t end = 0;
    for (const ArgumentInfo& argument : info.takes) {
        end += argument.most;
        if (before.size() >= end) continue;
        std::vector<Suggestion> out;
        for (const std::string& choice : argument.choices) {
            std::string line;
            for (const std::string& word : before) line += shell_word(word) + " ";
            out.push_back({line + choice, ""});
        }
        return out;
    }
    return {};
}

void Palette::draw_suggestions(const CommandInfo& info, Commands& commands) {
    constexpr double kInterval = 1;  // seconds: processes come and go
    if (suggest && (suggested_at_ < 0 || ImGui::GetTime() - suggested_at_ > kInterval)) {
        suggestions_ = suggest(info.name);
        suggested_at_ = ImGui::GetTime();
    }
    const std::vector<Suggestion> offered = suggestions_.empty() ? choices(info) : suggestions_;
    if (offered.empty()) return;
    ImGui::Separator();
    std::string chosen;
    for (const Suggestion& one : offered) {
        if (!contains_text(one.argument + " " + one.words, arguments_)) continue;
        if (ImGui::Selectable((one.argument + "##suggestion").c_str())) chosen = one.argument;
        ImGui::SameLine(8 * em());
        dim_text(fitted(one.words, ImGui::GetContentRegionAvail().x));
    }
    if (chosen.empty()) return;
    if (!suggestions_.empty()) {
        commands.push(info.name, {chosen});
        close();
        return;
    }
    arguments_ = chosen;
    std::size_t least = 0;
    for (const ArgumentInfo& argument : info.takes) least += argument.least;
    if (split_words(chosen).size() >= least) {
        run(info, commands);
        return;
    }
    arguments_ += ' ';
    if (command_.empty()) query_ = info.name + " " + arguments_;
    focus_ = true;
}

void Palette::draw(Commands& commands) {
    if (opening_) ImGui::OpenPopup("##palette");
    opening_ = false;
    if (!visible_) return;
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    const float width = std::min(46 * em(), screen.x - 2 * em());
    const float height = command_.empty() ? std::min(27 * em(), screen.y - 5 * em()) : 0;
    ImGui::SetNextWindowPos({screen.x / 2, std::min(4 * em(), screen.y / 8)}, ImGuiCond_Always,
                            {0.5F, 0});
    ImGui::SetNextWindowSize({width, height});
    if (!ImGui::BeginPopup("##palette", ImGuiWindowFlags_NoMove)) {
        dismiss();
        return;
    }
    if (command_.empty())
        draw_search(commands);
    else
        draw_arguments(commands);
    keep_arrows();
    if (escape_leaves()) close();
    ImGui::EndPopup();
}

}  // namespace gs
