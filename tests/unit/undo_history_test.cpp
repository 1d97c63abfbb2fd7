// The undo history: order, labels and costs; edits of one command together, edits of one kind
// alone, what is discarded, and edits that discard others or are refused.
#include "app/session/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct HistoryTest : ::testing::Test {
    HistoryTest() { events.command = 1; }
    /// By the next command, unless `joined`.
    void add(EditOf of, const std::string& label, std::uint64_t bytes = 10, bool joined = false) {
        if (!joined) ++events.command;
        applied.push_back(label);
        history.add({of, label,
                     [this, label](bool back) {
                         if (label == refused) return false;
                         if (label == restarts) history.scene_changed(SceneChange::restarted);
                         if (back)
                             std::erase(applied, label);
                         else
                             applied.push_back(label);
                         return true;
                     },
                     [bytes] { return bytes; }});
    }
    const HistoryState& state() { return *events.changed().history; }
    std::vector<std::string> labels() {
        std::vector<std::string> out;
        for (const auto& row : state().rows) out.push_back(row.label);
        return out;
    }
    std::vector<std::string> messages() {
        std::vector<std::string> out;
        while (auto event = box.events.try_take()) out.push_back(event->text);
        return out;
    }

    SessionOutbox box;
    Events events{box, {}};
    History history{events};
    std::vector<std::string> applied;
    std::string refused, restarts;
};

TEST_F(HistoryTest, edits_of_every_kind_are_undone_in_their_order_and_redone) {
    EXPECT_FALSE(history.undo());
    EXPECT_THAT(messages(), ElementsAre("nothing to undo"));
    add(EditOf::gaussians, "delete 12 Gaussians", 100);
    add(EditOf::camera_path, "move key 3");
    add(EditOf::setting, "lr 1 -> 2");
    EXPECT_EQ(state().bytes, 120u);
    EXPECT_EQ(edit_title("Undo", state().to_undo()), "Undo lr 1 -> 2");
    EXPECT_EQ(state().to_redo(), nullptr);
    EXPECT_TRUE(history.undo());
    EXPECT_TRUE(history.undo());
    EXPECT_THAT(applied, ElementsAre("delete 12 Gaussians"));
    EXPECT_THAT(messages(), ElementsAre("undo: lr 1 -> 2", "undo: move key 3"));
    EXPECT_EQ(edit_title("Redo", state().to_redo()), "Redo move key 3");
    EXPECT_TRUE(history.redo());
    EXPECT_THAT(applied, ElementsAre("delete 12 Gaussians", "move key 3"));
    add(EditOf::notes, "add note 1");  // what was undone is discarded
    EXPECT_THAT(labels(), ElementsAre("delete 12 Gaussians", "move key 3", "add note 1"));
    EXPECT_FALSE(history.redo());
    history.go_to(0);
    EXPECT_THAT(applied, IsEmpty());
    history.go_to(2);
    EXPECT_THAT(applied, ElementsAre("delete 12 Gaussians", "move key 3"));
    (void)messages();
    history.go_to(4);
    EXPECT_THAT(messages(), ElementsAre("the history has 3 steps, no step 4"));
}

TEST_F(HistoryTest, edits_of_one_kind_are_undone_without_the_others) {
    add(EditOf::camera_path, "add key 1");
    add(EditOf::gaussians, "hide");
    add(EditOf::camera_path, "add key 2");
    add(EditOf::gaussians, "delete");
    EXPECT_EQ(state().to_undo(EditOf::camera_path)->label, "add key 2");
    EXPECT_TRUE(history.undo({EditOf::camera_path}));
    EXPECT_TRUE(history.undo({EditOf::camera_path}));
    EXPECT_FALSE(history.undo({EditOf::camera_path}));
    EXPECT_THAT(applied, ElementsAre("hide", "delete"));
    EXPECT_EQ(state().to_redo(EditOf::camera_path)->label, "add key 1");
    EXPECT_TRUE(history.undo());
    EXPECT_TRUE(history.redo({EditOf::camera_path})) << "an undone deletion is in between";
    EXPECT_THAT(applied, ElementsAre("hide", "add key 1"));
    EXPECT_TRUE(history.redo());
    EXPECT_TRUE(history.redo());
    EXPECT_THAT(applied, ElementsAre("hide", "add key 1", "delete", "add key 2"));
}

TEST_F(HistoryTest, changes_of_different_things_by_one_command_are_one_step) {
    add(EditOf::setting, "crop");
    add(EditOf::gaussians, "delete outside", 5, true);
    add(EditOf::gaussians, "select");
    add(EditOf::gaussians, "delete", 5, true);  // of the same kind: two steps
    EXPECT_THAT(labels(), ElementsAre("crop", "select", "delete"));
    EXPECT_EQ(state().rows[0].bytes, 15u);
    EXPECT_TRUE(history.undo());
    EXPECT_TRUE(history.undo());
    EXPECT_EQ(state().done, 1u);
    EXPECT_TRUE(history.undo());
    EXPECT_THAT(applied, IsEmpty());
    EXPECT_TRUE(history.redo());
    EXPECT_THAT(applied, ElementsAre("crop", "delete outside"));
    EXPECT_EQ(state().done, 1u);
}

TEST_F(HistoryTest, the_oldest_go_when_memory_is_full_and_this_is_said) {
    add(EditOf::gaussians, "first", History::kMostBytes / 2);
    add(EditOf::gaussians, "second", History::kMostBytes / 2);
    EXPECT_THAT(messages(), IsEmpty());
    add(EditOf::gaussians, "third", 1);
    EXPECT_THAT(labels(), ElementsAre("second", "third"));
    EXPECT_EQ(state().dropped, 1u);
    EXPECT_THAT(messages(), ElementsAre(::testing::HasSubstr("can no longer be undone")));
    add(EditOf::gaussians, "larger than all", 2 * History::kMostBytes);
    EXPECT_THAT(labels(), ElementsAre("larger than all"));
    EXPECT_TRUE(history.undo());
    // A step is kept or discarded whole.
    add(EditOf::setting, "crop");
    add(EditOf::gaussians, "crop Gaussians", 2 * History::kMostBytes, true);
    EXPECT_EQ(state().rows.size(), 1u);
    EXPECT_TRUE(history.undo());
    EXPECT_THAT(applied, ElementsAre("first", "second", "third"));
    for (std::size_t i = 0; i < History::kMostEntries + 3; ++i) add(EditOf::notes, "edit note 1");
    EXPECT_EQ(state().rows.size(), History::kMostEntries);
}

TEST_F(HistoryTest, edits_end_with_their_scene_and_of_gaussians_with_their_run) {
    add(EditOf::gaussians, "delete");
    add(EditOf::camera_path, "add key 1");
    add(EditOf::fix, "fix duplicates");
    EXPECT_EQ(history.newest({EditOf::gaussians, EditOf::fix})->of, EditOf::fix);
    EXPECT_TRUE(history.undo());
    history.scene_changed(SceneChange::edited);
    EXPECT_EQ(labels().size(), 3u);
    history.scene_changed(SceneChange::restarted);
    EXPECT_THAT(labels(), ElementsAre("add key 1"));
    EXPECT_EQ(state().done, 1u);
    EXPECT_EQ(history.newest({EditOf::gaussians, EditOf::fix}), nullptr);
    history.scene_changed(SceneChange::scene);
    EXPECT_THAT(labels(), IsEmpty());
    EXPECT_FALSE(history.undo());
}

TEST_F(HistoryTest, a_setting_that_cannot_change_any_more_does_not_block_others) {
    add(EditOf::camera_path, "add key 1");
    add(EditOf::setting, refused = "seed 1 -> 2");
    EXPECT_FALSE(history.undo());
    EXPECT_TRUE(history.undo());
    EXPECT_TRUE(history.redo());
    EXPECT_THAT(labels(), ElementsAre("add key 1"));
    add(EditOf::gaussians, refused = "duplicate");
    EXPECT_FALSE(history.undo());
    EXPECT_EQ(state().done, 2u) << "other refused edits stay applied";
}

TEST_F(HistoryTest, undoing_a_setting_may_discard_edits_of_gaussians) {
    add(EditOf::gaussians, "hide");
    add(EditOf::setting, restarts = "seed 1 -> 2");
    add(EditOf::gaussians, "delete");
    history.go_to(1);
    EXPECT_THAT(labels(), ElementsAre("seed 1 -> 2"));
    EXPECT_EQ(state().done, 0u);
    EXPECT_TRUE(history.redo());
    EXPECT_EQ(state().done, 1u);
}

}  // namespace
}  // namespace gs
