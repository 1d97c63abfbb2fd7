#include "app/window/input_queue.h"

#include <algorithm>
#include <utility>

namespace gs {
namespace {

// Frames until what a command opens has the keyboard, and until what was clicked has it.
constexpr int kAfterCommand = 3, kAfterClick = 2;
constexpr double kDoubleClick = 0.35;  // seconds

#if IMGUI_VERSION_NUM < 18700
constexpr ImGuiKey kKeypadEnter = ImGuiKey_KeyPadEnter;
#else
constexpr ImGuiKey kKeypadEnter = ImGuiKey_KeypadEnter;
#endif

struct Named {
    std::string_view name;
    ImGuiKey key;
    bool moves_focus;
};
constexpr std::array<Named, 15> kNamed{{{"Tab", ImGuiKey_Tab, true},
                                        {"Left", ImGuiKey_LeftArrow, false},
                                        {"Right", ImGuiKey_RightArrow, false},
                                        {"Up", ImGuiKey_UpArrow, false},
                                        {"Down", ImGuiKey_DownArrow, false},
                                        {"PageUp", ImGuiKey_PageUp, false},
                                        {"PageDown", ImGuiKey_PageDown, false},
                                        {"Home", ImGuiKey_Home, false},
                                        {"End", ImGuiKey_End, false},
                                        {"Insert", ImGuiKey_Insert, false},
                                        {"Delete", ImGuiKey_Delete, false},
                                        {"Backspace", ImGuiKey_Backspace, false},
                                        {"Space", ImGuiKey_Space, true},
                                        {"Enter", ImGuiKey_Enter, true},
                                        {"Escape", ImGuiKey_Escape, true}}};

bool is_letter(std::string_view name) {
    return name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z';
}
bool is_modifier(std::string_view name) {
    return name == "Ctrl" || name == "Shift" || name == "Alt" || name == "Super";
}
const Named* named(std::string_view name) {
    const auto found = std::ranges::find(kNamed, name, &Named::name);
    return found == kNamed.end() ? nullptr : &*found;
}

/// ImGui does something at the key itself; a blank is text where text is typed.
bool acts(std::string_view name, const ImGuiIO& io) {
    return named(name) != nullptr && !(name == "Space" && io.WantTextInput);
}

#if IMGUI_VERSION_NUM < 18700
/// A window without a keyboard has no numbers for its keys: any will do.
void number_keys(ImGuiIO& io) {
    if (io.KeyMap[ImGuiKey_Space] >= 0) return;
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = 256 + key;
}
void set_key(ImGuiIO& io, ImGuiKey key, bool down) {
    if (io.KeyMap[key] >= 0) io.KeysDown[io.KeyMap[key]] = down;
}
void set_letter(ImGuiIO& io, char letter, bool down) {
    io.KeysDown[static_cast<int>(letter)] = down;
    constexpr std::pair<char, ImGuiKey> kEditing[] = {{'A', ImGuiKey_A}, {'C', ImGuiKey_C},
                                                      {'V', ImGuiKey_V}, {'X', ImGuiKey_X},
                                                      {'Y', ImGuiKey_Y}, {'Z', ImGuiKey_Z}};
    for (const auto& [name, key] : kEditing)
        if (name == letter) set_key(io, key, down);
}
void set_mods(ImGuiIO& io, const KeyMods& mods) {
    io.KeyCtrl = mods.ctrl;
    io.KeyShift = mods.shift;
    io.KeyAlt = mods.alt;
    io.KeySuper = mods.super;
}
#else
void number_keys(ImGuiIO& io) { io.ConfigInputTrickleEventQueue = false; }  // this one does it
void set_key(ImGuiIO& io, ImGuiKey key, bool down) { io.AddKeyEvent(key, down); }
void set_letter(ImGuiIO& io, char letter, bool down) { set_key(io, letter_key(letter), down); }
void set_mods(ImGuiIO& io, const KeyMods& mods) {
    io.AddKeyEvent(ImGuiMod_Ctrl, mods.ctrl);
    io.AddKeyEvent(ImGuiMod_Shift, mods.shift);
    io.AddKeyEvent(ImGuiMod_Alt, mods.alt);
    io.AddKeyEvent(ImGuiMod_Super, mods.super);
}
#endif

}  // namespace

std::string chord_of(std::string_view name, const KeyMods& mods) {
    if (name.empty()) return {};
    std::string out;
    if (mods.ctrl) out += "Ctrl+";
    if (mods.shift) out += "Shift+";
    if (mods.alt) out += "Alt+";
    return out.append(name);
}

namespace {

/// The first character of a UTF-8 text, which is not checked.
unsigned take_character(std::string_view& text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned out = bytes == 1 ? first : first & (0x7FU >> bytes);
    text.remove_prefix(1);
    for (std::size_t i = 1; i < bytes && !text.empty(); ++i) {
        out = out << 6 | (static_cast<unsigned char>(text[0]) & 0x3FU);
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace

KeyMods take_mods(std::string_view& chord) {
    KeyMods mods;
    const std::pair<std::string_view, bool*> kNames[] = {
        {"Ctrl+", &mods.ctrl}, {"Shift+", &mods.shift}, {"Alt+", &mods.alt}};
    for (bool more = true; more;) {
        more = false;
        for (const auto& [name, held] : kNames)
            if (chord.starts_with(name)) chord.remove_prefix(name.size()), *held = more = true;
    }
    return mods;
}

void InputQueue::press(std::string_view chord, std::string_view place) {
    const KeyMods mods = take_mods(chord);
    const std::string key(chord), at(place.empty() ? chord : place);
    add({.kind = InputEvent::Kind::key, .key = key, .place = at, .mods = mods});
    if (!mods.ctrl && !mods.alt && (key.size() == 1 || key == "Space")) {
        const char mark = key == "Space" ? ' ' : key[0];
        const char low = is_letter(key) && !mods.shift ? static_cast<char>(mark - 'A' + 'a') : mark;
        add({.kind = InputEvent::Kind::text, .character = static_cast<unsigned>(low)});
    }
    add({.kind = InputEvent::Kind::key, .down = false, .key = key, .place = at});
}

void InputQueue::type(std::string_view text) {
    while (!text.empty()) {
        const char first = text[0];
        const unsigned character = take_character(text);
        const bool letter = first >= 'a' && first <= 'z';
        const std::string key =
            first == ' ' ? "Space"
                         : std::string(1, letter ? static_cast<char>(first - 'a' + 'A') : first);
        add({.kind = InputEvent::Kind::key, .key = key, .place = key});
        add({.kind = InputEvent::Kind::text, .character = character});
        add({.kind = InputEvent::Kind::key, .down = false, .key = key, .place = key});
    }
}

void InputQueue::add(InputEvent event) {
    // A held key repeats as often as there are frames.
    const auto waits = [&](const InputEvent& e) { return e.repeat && e.key == event.key; };
    if (event.kind == InputEvent::Kind::text && std::exchange(repeat_dropped_, false)) return;
    repeat_dropped_ = event.repeat && std::ranges::any_of(events_, waits);
    if (repeat_dropped_) return;
    events_.push_back(std::move(event));
}
void InputQueue::move(double x, double y) {
    add({.at = {static_cast<float>(x), static_cast<float>(y)}});
}
void InputQueue::leave() { add({.at = {-FLT_MAX, -FLT_MAX}}); }
void InputQueue::button(int button, bool down, double time) {
    if (button >= 0 && button < static_cast<int>(down_.size()))
        add({.kind = InputEvent::Kind::button, .time = time, .button = button, .down = down});
}

/// What comes after a command or a click belongs to what it opened.
bool InputQueue::waits(const InputEvent& event) const {
    if (since_command_ < kAfterCommand) return true;
    const bool typed =
        event.kind == InputEvent::Kind::text || (event.kind == InputEvent::Kind::key && event.down);
    return typed && since_focus_ < kAfterClick;
}

InputQueue::Step InputQueue::pass_button(const InputEvent& event, ImGuiIO& io) {
    const auto i = static_cast<std::size_t>(event.button);
    down_[i] = event.down;
    since_focus_ = 0;
    if (!event.down) return Step::over;
    // ImGui counts its own clock, which stands still in a slow frame.
    const bool again = pressed_[i] >= 0 && event.time - pressed_[i] < kDoubleClick;
    io.MouseDoubleClickTime = again ? FLT_MAX : -1.0F;
    pressed_[i] = event.time;
    return Step::over;
}

InputQueue::Step InputQueue::pass_key(const InputEvent& event, Step before, ImGuiIO& io,
                                      const TakeKey& take) {
    set_mods(io, event.mods);
    if (is_modifier(event.key)) return before;
    const KeyMods& m = event.mods;
    if (is_letter(event.place) && !event.repeat)  // a shortcut's letter does not fly, however held
        places_.down[static_cast<std::size_t>(event.place[0] - 'A')] =
            event.down && !m.ctrl && !m.alt && !m.super;
    const Named* special = named(event.key);
    if (is_letter(event.key)) set_letter(io, event.key[0], event.down);
    if (event.key == "KeypadEnter") set_key(io, kKeypadEnter, event.down);
    if (special) set_key(io, special->key, event.down);
    const InputEvent* next = events_.empty() ? nullptr : &events_.front();
    if (!event.down) {  // ImGui would not notice one that is down again in the same frame
        const bool again = next && next->kind == InputEvent::Kind::key && next->key == event.key;
        const bool noticed =
            special || event.mods.ctrl || (is_letter(event.key) && !io.WantTextInput);
        return again && noticed ? Step::over : before;
    }
    const bool types = next && next->kind == InputEvent::Kind::text && !acts(event.key, io);
    if (special && special->moves_focus && !types) since_focus_ = 0;
    const bool letters = is_letter(event.key) || is_letter(event.place);
    if (take({chord_of(event.key, event.mods), letters ? "" : chord_of(event.place, event.mods),
              event.repeat, event.place})) {
        since_command_ = 0;
        if (next && next->kind == InputEvent::Kind::text) events_.pop_front();
        return Step::over;
    }
    if (types) return Step::typed;
    return event.repeat ? before : Step::over;  // ImGui repeats held keys itself
}

/// Passes the event on. Step::none: not in this frame.
InputQueue::Step InputQueue::pass(const InputEvent& event, Step before, ImGuiIO& io,
                                  const TakeKey& take) {
    switch (event.kind) {
        case InputEvent::Kind::move:
            position_ = event.at;
            return Step::moved;
        case InputEvent::Kind::button:
            return pass_button(event, io);
        case InputEvent::Kind::wheel:
            if (event.mods.ctrl && event.at.y != 0) {  // touchpads turn by fractions
                turned_ += event.at.y;
                if (std::abs(turned_) < 1) return Step::over;
                const char* way = std::exchange(turned_, 0.0F) > 0 ? "WheelUp" : "WheelDown";
                if (take({chord_of(way, event.mods), {}, false})) return Step::over;
            }
#if IMGUI_VERSION_NUM < 18700
            io.MouseWheelH += event.at.x, io.MouseWheel += event.at.y;
#else
            io.AddMouseWheelEvent(event.at.x, event.at.y);
#endif
            return Step::wheeled;
        case InputEvent::Kind::text:
            io.AddInputCharacter(event.character);
            return Step::typed;
        case InputEvent::Kind::key:
            return pass_key(event, before, io, take);
    }
    return Step::over;
}

void InputQueue::feed(ImGuiIO& io, const TakeKey& take) {
    number_keys(io);
    io.UserData = &places_;
    ++since_command_, ++since_focus_;
    Step step = Step::none;
    // A frame sees motion, or turns of the wheel, or text, or one change of a button or a key.
    const auto fits = [&](const InputEvent& event) {
        if (step == Step::over || waits(event)) return false;
        if (step == Step::none) return true;
        switch (event.kind) {
            case InputEvent::Kind::move:
                return step == Step::moved;
            case InputEvent::Kind::wheel:
                return step == Step::wheeled;
            case InputEvent::Kind::text:
                return step == Step::typed;
            case InputEvent::Kind::key:
                // Ctrl going down with a text would make another thing of it.
                return step == Step::typed && !event.mods.ctrl && !event.mods.alt &&
                       !(event.down && acts(event.key, io));
            case InputEvent::Kind::button:
                break;
        }
        return false;
    };
    while (!events_.empty() && fits(events_.front())) {
        const InputEvent event = std::move(events_.front());
        events_.pop_front();
        step = pass(event, step, io, take);
    }
#if IMGUI_VERSION_NUM < 18700
    io.MousePos = position_;
    for (std::size_t i = 0; i < down_.size(); ++i) io.MouseDown[i] = down_[i];
#else
    io.AddMousePosEvent(position_.x, position_.y);
    for (std::size_t i = 0; i < down_.size(); ++i)
        io.AddMouseButtonEvent(static_cast<int>(i), down_[i]);
#endif
}

}  // namespace gs
