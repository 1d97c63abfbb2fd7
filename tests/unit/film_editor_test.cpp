// The camera path as it is edited: keys in the order of their times, every change saved to its file
// and undone, and the viewport that looks from it.
#include "app/studio/film.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/history.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

PathPose at_x(double x) { return pose_of(look_at({x, 0, -4}, {x, 0, 0}, {0, -1, 0}, 64, 48, 1)); }

struct FilmEditing : ::testing::Test {
    test::TemporaryFolder folder;
    fs::path file = folder.path() / "deeper/film.json";
    FilmEditor editor;
    SessionOutbox box;
    Events events{box, {}};
    History history{events};
    std::string label;  // of the newest change
    FilmEditor::Version was, is;

    void SetUp() override {
        editor.on_change = [this](std::string text, const auto& before, const auto& after) {
            label = text;
            was = before, is = after;
            history.add(
                {EditOf::camera_path, std::move(text),
                 [=, this](bool back) {
                     return editor.put(back ? after : before, back ? before : after).has_value();
                 },
                 [] { return 0; }});
        };
        ASSERT_TRUE(editor.open(file));
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(editor.add_key(at_x(i), 2.0 * i));
    }
    double x_of(std::size_t key) const { return editor.film().path.keys[key].pose.position.x; }
};

TEST_F(FilmEditing, KeysLieInTheOrderOfTheirTimes) {
    ASSERT_TRUE(editor.add_key(at_x(10), 3));
    EXPECT_EQ(x_of(2), 10);
    EXPECT_EQ(label, "add key 3");
    EXPECT_EQ(editor.selected(), 2u);
    ASSERT_TRUE(editor.move_key(2, 9));
    EXPECT_EQ(label, "move key 3");
    EXPECT_EQ(x_of(3), 10);
    EXPECT_EQ(editor.selected(), 3u);
    ASSERT_TRUE(editor.add_key(at_x(20), 2));  // where one is already
    EXPECT_EQ(editor.film().path.keys.size(), 4u);
    EXPECT_EQ(x_of(1), 20);
    ASSERT_TRUE(editor.replace_pose(1, at_x(30)));
    EXPECT_EQ(x_of(1), 30);
    ASSERT_TRUE(editor.remove_key(0));
    EXPECT_EQ(x_of(0), 30);
    const auto refused = editor.move_key(0, 7 - editor.film().path.keys[0].time + 0);
    EXPECT_TRUE(refused);
    const auto clash =
        editor.move_key(0, editor.film().path.keys[2].time - editor.film().path.keys[0].time);
    ASSERT_FALSE(clash);
    EXPECT_THAT(clash.error().text(), HasSubstr("times must ascend"));
    EXPECT_FALSE(editor.remove_key(7));
}

TEST_F(FilmEditing, EveryChangeIsKeptAndTakenBack) {
    ASSERT_TRUE(editor.set_seconds(8));
    FilmEditor again;
    ASSERT_TRUE(again.open(file));
    ASSERT_EQ(again.film().path.keys.size(), 3u);
    EXPECT_DOUBLE_EQ(again.film().path.seconds(), 8);
    ASSERT_TRUE(history.undo());
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 4);
    ASSERT_TRUE(again.open(file));
    EXPECT_DOUBLE_EQ(again.film().path.seconds(), 4);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(history.undo());
    EXPECT_TRUE(editor.film().path.keys.empty());
    EXPECT_FALSE(fs::exists(file));
    EXPECT_FALSE(history.undo());
}

TEST_F(FilmEditing, WhatWasTakenBackIsMadeAgainUntilSomethingElseIsChanged) {
    ASSERT_TRUE(editor.set_seconds(8));
    ASSERT_TRUE(history.undo());
    ASSERT_TRUE(history.undo());
    EXPECT_EQ(editor.film().path.keys.size(), 2u);
    ASSERT_TRUE(history.redo());
    ASSERT_TRUE(history.redo());
    EXPECT_EQ(editor.film().path.keys.size(), 3u);
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 8);
    EXPECT_FALSE(history.redo());
    FilmEditor again;
    ASSERT_TRUE(again.open(file));
    EXPECT_DOUBLE_EQ(again.film().path.seconds(), 8);
    ASSERT_TRUE(history.undo());
    ASSERT_TRUE(editor.remove_key(0));
    EXPECT_FALSE(history.redo());
}

TEST_F(FilmEditing, AnUndoThatComesAfterANewerChangeIsRefused) {
    ASSERT_TRUE(editor.set_seconds(8));
    const FilmEditor::Version before = was, after = is;
    ASSERT_TRUE(editor.set_seconds(6));
    EXPECT_THAT(editor.put(after, before).error().text(), HasSubstr("in the meantime"));
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 6);
    ASSERT_TRUE(editor.put(is, before));
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 4);
}

TEST_F(FilmEditing, ABrokenFileIsToldAndStaysForEver) {
    ASSERT_TRUE(write_text_file(file, "{"));
    const auto opened = editor.open(file);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().text(), HasSubstr("film.2.json"));
    EXPECT_TRUE(editor.film().path.keys.empty());
    Film film = editor.film();
    film.fps = 12;
    ASSERT_TRUE(editor.set(film, "change"));  // no key: there is nothing to be kept
    EXPECT_EQ(*read_text_file(file), "{");
    ASSERT_TRUE(editor.add_key(at_x(1), 0));
    EXPECT_EQ(*read_text_file(file), "{");
    FilmEditor again;
    EXPECT_FALSE(again.open(file));  // the same error, and the path saved beside it
    EXPECT_EQ(again.film().path.keys.size(), 1u);
    EXPECT_EQ(again.film().fps, 12);
}

TEST_F(FilmEditing, GoesWithTheSceneIntoANewPlace) {
    const fs::path run = folder.path() / "run/film.json";
    ASSERT_TRUE(editor.keep_in(run));
    FilmEditor there;
    ASSERT_TRUE(there.open(run));
    EXPECT_EQ(there.film().path.keys.size(), 3u);
    ASSERT_TRUE(editor.remove_key(0));
    ASSERT_TRUE(there.open(run));
    EXPECT_EQ(there.film().path.keys.size(), 2u);
    FilmEditor empty;
    ASSERT_TRUE(empty.keep_in(folder.path() / "other/film.json"));
    EXPECT_FALSE(fs::exists(folder.path() / "other/film.json"));
}

TEST_F(FilmEditing, AKeyOnTheWayBackTakesNoLonger) {
    Film film = editor.film();
    film.path.closed = true;
    film.path.closing = 3;
    ASSERT_TRUE(editor.set(film, "change"));
    ASSERT_TRUE(editor.add_key(at_x(5), 5));
    EXPECT_DOUBLE_EQ(editor.film().path.closing, 2);
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 7);
    (void)editor.look_at(7);  // its end is its beginning
    EXPECT_EQ(editor.key_time_here(), 0);
    ASSERT_TRUE(editor.add_key(at_x(6), 9));  // after its end
    EXPECT_DOUBLE_EQ(editor.film().path.seconds(), 11);
}

TEST_F(FilmEditing, PlaysToItsEndOrAroundAndAround) {
    editor.play(true);
    EXPECT_NEAR(editor.advance(1)->position.x, 0.5, 1e-6);
    EXPECT_NEAR(editor.advance(9)->position.x, 2, 1e-6);
    EXPECT_FALSE(editor.playing());
    EXPECT_FALSE(editor.advance(1));
    editor.play(true);  // from its beginning again
    EXPECT_NEAR(editor.at(), 0, 1e-9);
    Film film = editor.film();
    film.path.closed = true;
    film.path.closing = 2;
    ASSERT_TRUE(editor.set(film, "change"));
    editor.play(true);
    (void)editor.advance(7);
    EXPECT_TRUE(editor.playing());
    EXPECT_NEAR(editor.at(), 1, 1e-9);
    EXPECT_NEAR(editor.look_at(4)->position.x,
                editor.state()->line[editor.state()->line.size() * 2 / 3].x, 0.05);
    EXPECT_FALSE(editor.playing());
}

TEST_F(FilmEditing, APlaceOnTheTimelineHasAKeysTime) {
    Film film = editor.film();
    film.path.keys[1].time = 3;  // evenly it is passed after 2 s all the same
    ASSERT_TRUE(editor.set(film, "change"));
    EXPECT_NEAR(editor.state()->passes[1], 2, 1e-6);
    (void)editor.look_at(1);
    EXPECT_NEAR(editor.key_time_here(), 1.5, 1e-6);
    (void)editor.look_at(3);
    EXPECT_NEAR(editor.key_time_here(), 3.5, 1e-6);
}

TEST(FilmFile, LiesBesideTheSavedViews) {
    EXPECT_EQ(film_file("runs/a/views.txt"), fs::path("runs/a/film.json"));
    EXPECT_EQ(film_file("/config/views/0123.txt"), fs::path("/config/views/0123.film.json"));
}

TEST(FilmLook, TheViewportStandsWhereTheKeyIs) {
    NavigationState from{.distance = 3};
    const PathPose pose = pose_of(look_at({1, 2, 3}, {0, 0.5, 0}, {0, -1, 0}, 64, 48, 0.7));
    const NavigationState there = navigation_at(from, pose);
    const PathPose back = pose_of(there);
    const Vec3d off = back.position - pose.position;
    EXPECT_LT(dot(off, off), 1e-18);
    EXPECT_EQ(back.fov_y, pose.fov_y);
    EXPECT_EQ(there.distance, 3);
}

}  // namespace
}  // namespace gs
