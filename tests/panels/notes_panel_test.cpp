// Notes: the panel's clicks are the right commands, and pins stand where their points are seen.
#include <gtest/gtest.h>

#include <algorithm>

#include "panels/scene/notes_panel.h"
#include "panels/viewport/overlay_parts.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs::test {
namespace {

TEST(NotesPanel, ClicksGoToNotesAndRemoveThem) {
    Headless ui;
    TraceStore store;
    const Snapshot snapshot = fake_snapshot(store, ViewMode::color);
    Commands commands;
    NotesPanel panel;
    const auto draw = [&] {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({300, 300});
        ImGui::Begin("alone", nullptr, ImGuiWindowFlags_NoDecoration);
        panel.draw(snapshot, commands);
        ImGui::End();
    };
    Given given;
    for (float y = 4; y < 250; y += 9)
        for (const float x : {82.0F, 88.0F, 94.0F, 100.0F, 106.0F, 250.0F}) {
            ui.click({x, y}, draw);
            for (auto& one : commands.take()) given.push_back(std::move(one));
        }
    using Arguments = std::vector<std::string>;
    const auto has = [&](const char* name, const Arguments& arguments) {
        return std::find(given.begin(), given.end(),
                         std::pair<std::string, Arguments>(name, arguments)) != given.end();
    };
    for (const char* number : {"1", "2", "3"}) {
        EXPECT_TRUE(has("note.go", {number})) << number;
        EXPECT_TRUE(has("note.remove", {number})) << number;
    }
    // Without a text nothing can be added.
    for (const auto& [name, arguments] : given) {
        EXPECT_NE(name, "note.add");
        EXPECT_NE(name, "note.span");
    }
}

TEST(NotePins, StandWhereTheirPointsAreSeen) {
    const Headless ui;
    const Camera camera = look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, 400, 200, 0.8);
    NotesState notes{.notes = {{NoteOn::place, "in the middle", {0, 0, 0}},
                               {NoteOn::place, "behind", {0, 0, -9}},
                               {NoteOn::span, "of the timeline"},
                               {NoteOn::place, "aside", {50, 0, 0}},
                               {NoteOn::gaussian, "to the right", {0.5, 0, 0}, 3}}};
    const auto pins = note_pins(notes, camera, {{100, 50}, {900, 450}});
    ASSERT_EQ(pins.size(), 2u);
    EXPECT_EQ(pins[0].number, 1u);
    EXPECT_NEAR(pins[0].at.x, 500, 1);
    EXPECT_NEAR(pins[0].at.y, 250, 1);
    EXPECT_EQ(pins[1].number, 5u);
    EXPECT_NEAR(pins[1].at.x, 500 + 2 * camera.fx * 0.5 / 4, 1);
    EXPECT_EQ(place_of(notes.notes[4]), "#3");
    notes.notes.clear();
    EXPECT_TRUE(note_pins(notes, camera, {{0, 0}, {1, 1}}).empty());
}

}  // namespace
}  // namespace gs::test
