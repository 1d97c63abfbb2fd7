#include "app/studio/key_map.h"

#include <algorithm>
#include <array>

#include "base/assets.h"
#include "base/format.h"

namespace gs {
namespace {

constexpr std::array<std::string_view, 22> kNamedKeys{
    "Space",       "Enter",      "Escape",      "Tab",         "Left",      "Right",
    "Up",          "Down",       "Home",        "End",         "PageUp",    "PageDown",
    "Insert",      "Delete",     "Plus",        "WheelUp",     "WheelDown", "Backspace",
    "KeypadEnter", "KeypadPlus", "KeypadMinus", "KeypadPeriod"};

bool names_key(std::string_view name) {
    if (name.size() == 1)
        return name[0] > ' ' && name[0] <= '`' &&
               std::string_view("+#\"$%&()*:<>?@^_!").find(name[0]) == std::string_view::npos;
    if (std::ranges::find(kNamedKeys, name) != kNamedKeys.end()) return true;
    int last = 0;  // F1 to F12, Keypad0 to Keypad9
    std::string_view digits = name;
    if (name.starts_with("Keypad"))
        digits.remove_prefix(6), last = 9;
    else if (name[0] == 'F')
        digits.remove_prefix(1), last = 12;
    for (int i = 0; i <= last && last > 0; ++i)
        if (digits == std::to_string(i)) return i > 0 || last == 9;
    return false;
}

/// On this keyboard: "Ctrl+Ü" for "Ctrl+[".
std::string marked(const std::string& chord, const KeyLayout& layout) {
    const std::size_t at = chord.rfind('+') == std::string::npos ? 0 : chord.rfind('+') + 1;
    const std::string key = chord.substr(at);
    const auto other = layout.stands_for.find(key);
    const std::string mark = other != layout.stands_for.end() ? other->second
                             : key == "Plus"                  ? "+"
                                                              : key;
    return chord.substr(0, at) + mark;
}

bool is_there(const std::string& chord, const KeyLayout& layout) {
    return !layout.stands_for.contains(chord.substr(chord.rfind('+') + 1));
}

}  // namespace

std::string plain_chord(std::string_view chord) {
    const KeyMods mods = take_mods(chord);
    std::string key(chord);
    if (key.size() == 1 && key[0] >= 'a' && key[0] <= 'z')
        key[0] = static_cast<char>(key[0] - 'a' + 'A');
    return key.empty() || !names_key(key) ? std::string() : chord_of(key, mods);
}

void KeyMap::read(std::string_view text, const std::string& origin, const IsCommand& is_command) {
    std::vector<std::string> given;  // in this text
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
        line.remove_prefix(begin);
        if (line.empty() || line[0] == '#') continue;
        const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
        std::vector<std::string> words = split_words(line.substr(blank));
        words.insert(words.begin(), std::string(line.substr(0, blank)));
        const auto wrong = [&](const std::string& what) {
            problems_.push_back(fmt::format("{}:{}: {}", origin, number, what));
        };
        if (words.size() < 2) {
            wrong("a line is a key and its command");
            continue;
        }
        if (words[0] == "base") {
            const std::string path = "keys/" + words[1] + ".keys";
            const auto there = assets_in("keys");
            if (in_base_ || std::ranges::find(there, path) == there.end()) {
                wrong("there is no base " + words[1]);
                continue;
            }
            in_base_ = true;  // it has none itself
            bindings_.clear();
            read(asset(path).text, path, is_command);
            in_base_ = false;
            continue;
        }
        const std::string chord = plain_chord(words[0]);
        if (chord.empty()) {
            wrong(words[0] + " is no key");
            continue;
        }
        if (words[1] != "none" && !is_command(words[1])) {
            wrong("there is no command " + words[1]);
            continue;
        }
        const bool twice = std::ranges::find(given, chord) != given.end();
        if (const KeyBinding* before = find(chord); before && twice)
            wrong(fmt::format("{} is given to {} and {}; the last one has it", chord,
                              before->command, words[1]));
        given.push_back(chord);
        std::erase_if(bindings_, [&](const KeyBinding& b) { return b.chord == chord; });
        if (words[1] != "none")
            bindings_.push_back({chord, words[1], {words.begin() + 2, words.end()}});
    }
}

const KeyBinding* KeyMap::find(std::string_view chord) const {
    const auto found = std::ranges::find(bindings_, chord, &KeyBinding::chord);
    return found == bindings_.end() || chord.empty() ? nullptr : &*found;
}

std::vector<std::string> KeyMap::marks_of(std::string_view command, const KeyLayout& layout) const {
    std::vector<std::string> there, others;
    for (const KeyBinding& b : bindings_)
        if (b.command == command && b.arguments.empty())
            (is_there(b.chord, layout) ? there : others).push_back(marked(b.chord, layout));
    there.insert(there.end(), others.begin(), others.end());
    return there;
}

Result<KeyMap> load_key_map(const std::string& preset, const fs::path& folder,
                            const KeyMap::IsCommand& is_command) {
    const std::string path = "keys/" + preset + ".keys";
    const auto there = assets_in("keys");
    if (std::ranges::find(there, path) == there.end()) {
        std::string names;
        for (const std::string& other : there)
            names += (names.empty() ? "" : ", ") + fs::path(other).stem().string();
        return fail(ErrorKind::usage, "", fmt::format("there is no key map \"{}\"", preset),
                    "key maps: " + names);
    }
    KeyMap map;
    const Asset read = asset(path);
    map.read(read.text, read.origin, is_command);
    if (folder.empty()) return map;
    const fs::path own = folder / "keys.txt";
    if (const auto text = read_text_file(own, 1 << 20)) map.read(*text, own.string(), is_command);
    return map;
}

}  // namespace gs
