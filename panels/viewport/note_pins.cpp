#include "panels/viewport/overlay_parts.h"

#include <algorithm>
#include <string>

#include "panels/widgets/theme.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr double kNearestPin = 1e-3;  // world units

/// The first line, as much of it as is read at a glance.
std::string pin_words(const Note& note) {
    return fitted(note.text.substr(0, note.text.find('\n')), 18 * em());
}

void draw_pin(ImDrawList& list, ImVec2 at, const std::string& number) {
    const float radius = 0.62F * em();
    const ImVec2 head{at.x, at.y - 1.5F * em()};
    const ImVec2 size = ImGui::CalcTextSize(number.c_str());
    list.AddLine(at, head, theme().window, 3 * hairline());
    list.AddLine(at, head, theme().accent, 1.5F * hairline());
    list.AddCircleFilled(at, 0.14F * em(), theme().accent);
    list.AddCircleFilled(head, std::max(radius, size.x / 2 + 0.2F * em()), theme().accent);
    list.AddText({head.x - size.x / 2, head.y - size.y / 2}, text_on(theme().accent),
                 number.c_str());
}

}  // namespace

std::vector<NotePin> note_pins(const NotesState& notes, const Camera& camera, PictureRect picture) {
    std::vector<NotePin> out;
    if (!camera.valid()) return out;
    for (std::size_t i = 0; i < notes.notes.size(); ++i) {
        const Note& note = notes.notes[i];
        if (note.on == NoteOn::span) continue;
        const auto pixel = project_point(camera, note.point, kNearestPin);
        if (!pixel || pixel->x < 0 || pixel->y < 0 || pixel->x > camera.width ||
            pixel->y > camera.height)
            continue;
        out.push_back(
            {i + 1,
             {picture.a.x + static_cast<float>(pixel->x / camera.width) * picture.width(),
              picture.a.y + static_cast<float>(pixel->y / camera.height) * picture.height()}});
    }
    return out;
}

void draw_note_pins(ImDrawList& list, const NotesState& notes, const Camera& camera,
                    PictureRect picture) {
    const std::vector<NotePin> pins = note_pins(notes, camera, picture);
    std::vector<PictureRect> taken;
    for (const NotePin& pin : pins)
        taken.push_back({{pin.at.x - 0.7F * em(), pin.at.y - 2.1F * em()}, pin.at});
    for (std::size_t i = 0; i < pins.size(); ++i) {
        const std::string words = pin_words(notes.notes[pins[i].number - 1]);
        const ImVec2 size = chip_size(words), at = pins[i].at;
        const bool fits = at.x + 0.9F * em() + size.x < picture.b.x;  // else to the left
        const ImVec2 corner{fits ? at.x + 0.9F * em() : at.x - 0.9F * em() - size.x,
                            at.y - 2.3F * em()};
        const PictureRect chip{corner, {corner.x + size.x, corner.y + size.y}};
        const bool covers = std::any_of(taken.begin(), taken.end(), [&](const PictureRect& other) {
            return &other != &taken[i] && chip.touches(other);
        });
        if (covers) continue;
        draw_chip(list, corner, words, theme().text);
        taken.push_back(chip);
    }
    for (const NotePin& pin : pins) draw_pin(list, pin.at, std::to_string(pin.number));
}

}  // namespace gs
