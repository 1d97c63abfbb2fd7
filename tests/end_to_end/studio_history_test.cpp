// The studio's one undo history: an edit of every kind, undone in the reverse order and redone, by
// commands as scripts give them.
#include "app/session/parts/editor.h"
#include "renderer/io/splats/splat_io.h"
#include "studio_harness.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

using test::random_in;

struct UndoHistory : ::testing::Test {
    /// Opens 400 splats, and where notes are kept.
    void SetUp() override {
        GaussianModel model(400, 0);
        for (std::size_t i = 0; i < model.count; ++i)
            for (int p = 0; p < model.planes(); ++p)
                model.at(p, i) =
                    static_cast<float>(random_in(1, static_cast<std::uint64_t>(p), i, -1, 1));
        ASSERT_TRUE(write_splats(path, model));
        ASSERT_TRUE(h.open(path));
        ASSERT_TRUE(h.until([&] { return h.state.selection && h.state.activities.empty(); }));
        ASSERT_TRUE(h.state.notes.open(h.folder.path() / "notes.json"));
    }
    /// Carries out a command and waits for the engine.
    bool give(const std::string& name, const Arguments& arguments = {}) {
        return table.run(h.state, name, arguments) && h.until_done(h.state.last_sent) &&
               h.until([&] { return h.state.activities.empty(); });
    }
    const HistoryState& past() const { return *h.state.history; }
    /// What the edits change, in a line.
    std::string now() const {
        const auto rate = std::ranges::find(*h.state.settings, "lr_sh0", &SettingRow::name);
        return fmt::format("{} Gaussians, {} fixes, lr {}, {} s, up {}, {} notes",
                           h.state.scene->gaussians, h.state.doctor->fixes.size(), rate->value,
                           h.state.film.film().path.seconds(),
                           h.state.measured && h.state.measured->up ? "set" : "auto",
                           h.state.notes.state()->notes.size());
    }
    void make_one_edit_of_each_kind() {
        ASSERT_TRUE(give("select.row", {"1,2,3"}));
        ASSERT_TRUE(give("edit.duplicate"));
        ASSERT_TRUE(give("doctor.examine"));
        ASSERT_TRUE(give("doctor.fix", {"duplicates"}));
        ASSERT_TRUE(give("train.set", {"lr_sh0", "0.02"}));
        ASSERT_TRUE(give("film.key"));
        ASSERT_TRUE(give("film.key"));
        ASSERT_TRUE(give("film.move", {"2", "5"}));
        ASSERT_TRUE(give("scene.up", {"z"}));
        ASSERT_TRUE(give("note.gaussian", {"3", "odd"}));
        const auto found = h.session.out().found.try_take();
        ASSERT_TRUE(found && h.state.notes.take(*found));
        ASSERT_TRUE(give("edit.delete", {"7"}));
    }

    SessionHarness h;
    CommandTable table = all_commands();
    const std::string path = (h.folder.path() / "cube.ply").string();
};

TEST_F(UndoHistory, edits_of_every_kind_are_undone_in_reverse_order_and_redone) {
    ASSERT_NO_FATAL_FAILURE(make_one_edit_of_each_kind());
    const std::vector<std::string> labels{"select 3 Gaussians (rows)",
                                          "duplicate 3 Gaussians",
                                          "fix duplicates",
                                          "lr_sh0 0.0025 -> 0.02",
                                          "add key 1",
                                          "add key 2",
                                          "move key 2",
                                          "set the up direction",
                                          "add note 1",
                                          "select 1 Gaussian (rows)",
                                          "delete 1 Gaussian"};
    ASSERT_EQ(past().rows.size(), labels.size());
    std::vector<std::string> states;
    for (std::size_t i = labels.size(); i-- > 0;) {
        EXPECT_EQ(past().to_undo()->label, labels[i]);
        states.push_back(now());
        ASSERT_TRUE(give("undo"));
    }
    EXPECT_EQ(now(), "400 Gaussians, 0 fixes, lr 0.0025, 0 s, up auto, 0 notes");
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    ASSERT_TRUE(give("undo"));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_EQ(h.errors[0].text, "nothing to undo");
    for (; !states.empty(); states.pop_back()) {
        ASSERT_TRUE(give("redo"));
        EXPECT_EQ(now(), states.back());
    }
    // A camera path can be undone by itself. Another scene takes all of them along.
    ASSERT_TRUE(give("film.undo"));
    EXPECT_EQ(h.state.film.film().path.seconds(), 2);
    EXPECT_EQ(past().to_undo()->label, "delete 1 Gaussian");
    EXPECT_EQ(past().to_redo()->label, "move key 2");
    ASSERT_TRUE(h.open(path));
    ASSERT_TRUE(h.until([&] { return past().rows.empty(); }));
}

TEST_F(UndoHistory, a_choice_lists_the_other_settings_that_it_changes) {
    const auto strategy = [&] {
        return *std::ranges::find(*h.state.settings, "strategy", &SettingRow::name);
    };
    EXPECT_TRUE(strategy().choices.at(0).changes.empty()) << "chosen already";
    EXPECT_EQ(std::ranges::count(strategy().choices.at(1).changes, "noise"), 1);
    ASSERT_TRUE(give("train.set", {"strategy", "mcmc"}));
    EXPECT_EQ(strategy().value, 1);
    EXPECT_EQ(strategy().usual, 0);
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(strategy().value, 0);
}

TEST_F(UndoHistory, beams_end_the_resets_of_opacities) {
    const auto resets = [&] {
        return *std::ranges::find(*h.state.settings, "opacity_reset_every", &SettingRow::name);
    };
    ASSERT_TRUE(give("train.set", {"lidar_weight", "0.02"}));
    EXPECT_EQ(resets().value, 0);
    EXPECT_EQ(resets().usual, 0);
    EXPECT_NE(past().to_undo()->label.find("opacity_reset_every 3000 -> 0"), std::string::npos);
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(resets().value, 3000);
    EXPECT_EQ(resets().usual, 3000);
    // A value of the user's own stays, and comes back with undo.
    ASSERT_TRUE(give("train.set", {"opacity_reset_every", "0"}));
    ASSERT_TRUE(give("train.set", {"lidar_weight", "0.02"}));
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(resets().value, 0);
    ASSERT_TRUE(give("redo"));
    ASSERT_TRUE(give("train.set", {"opacity_reset_every", "500"}));
    ASSERT_TRUE(give("train.set", {"lidar_weight", "0"}));
    EXPECT_EQ(resets().value, 500);
}

}  // namespace
}  // namespace gs
