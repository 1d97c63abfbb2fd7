// Edits of a run that goes back, branches, restarts or trains meanwhile: flags and history belong
// to the current Gaussians or are discarded, and no edit is applied twice.
#include <algorithm>
#include <functional>
#include <set>

#include "app/session/parts/run_settings.h"
#include "studio_harness.h"

namespace gs {
namespace {

SessionOptions editing_options() {
    SessionOptions options;
    options.run.evaluate_every = 0;
    options.run.save_every = 0;
    options.run.snapshot_budget = [] { return std::uint64_t{64} << 20; };
    options.settings.densify_from = 3;
    options.settings.densify_every = 4;
    options.settings.densify_gradient = 1e-9;
    return options;
}

struct RunEditing : ::testing::Test {
    void SetUp() override {
        ASSERT_TRUE(h.open(tiny_capture()));
        ASSERT_TRUE(settled());
    }
    bool settled() {
        return h.until([&] { return h.state.selection && h.state.activities.empty(); });
    }
    /// Carries out a command as scripts give it, and waits for the engine.
    bool give(const std::string& name, const Arguments& arguments = {}) {
        return table.run(h.state, name, arguments) && h.until_done(h.state.last_sent) && settled();
    }
    bool train_to(std::uint64_t step) {
        h.session.send(jobs::run_to(step));
        return h.until(
            [&] { return h.state.training.step == step && h.run_state() == RunState::paused; });
    }
    const SelectionState& now() const { return *h.state.selection; }
    const HistoryState& past() const { return *h.state.history; }
    /// What only the engine knows: asked on its thread.
    template <class T>
    T ask(const std::function<T(Trainer&)>& question) {
        T out{};
        EXPECT_TRUE(h.until_done(
            h.session.send([&](Engine& e) { out = question(*e.open_scene()->scene.trainer); })));
        return out;
    }
    std::uint64_t locked() {
        return ask<std::uint64_t>([](Trainer& t) {
            return static_cast<std::uint64_t>(std::ranges::count(t.identity().locked(), 1));
        });
    }
    bool ids_are_unique() {
        return ask<bool>([](Trainer& t) {
            const auto ids = t.identity().ids();
            return std::set<std::uint32_t>(ids.begin(), ids.end()).size() == ids.size();
        });
    }

    SessionHarness h{editing_options()};
    CommandTable table = all_commands();
};

TEST_F(RunEditing, a_setting_that_begins_the_run_anew_takes_edits_along) {
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.scale", {"2"}));
    ASSERT_TRUE(give("edit.lock"));
    EXPECT_GT(locked(), 0u);
    ASSERT_TRUE(give("train.set", {"sh_degree", "1"}));
    ASSERT_EQ(past().rows.size(), 1u) << "only the setting can be undone";
    EXPECT_EQ(past().rows[0].label, "sh_degree 3 -> 1");
    EXPECT_EQ(now().locked, 0u);
    EXPECT_EQ(locked(), 0u);
    ASSERT_TRUE(h.errors.empty()) << h.errors[0].text;
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(past().done, 0u);
    ASSERT_TRUE(give("edit.go-to", {"0"})) << "there is nothing to undo";
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.scale", {"2"}));
    ASSERT_TRUE(give("undo"));
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    ASSERT_TRUE(train_to(1));
}

TEST_F(RunEditing, a_crop_that_leaves_nothing_is_refused_and_the_run_goes_on) {
    ASSERT_TRUE(give("train.set", {"crop", "1"}));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("this box contains no Gaussian"), std::string::npos);
    ASSERT_TRUE(give("train.crop", {"-100", "-100", "-100", "100", "100", "100"}));
    ASSERT_TRUE(give("train.set", {"crop_x1", "-200"}));
    ASSERT_EQ(h.errors.size(), 2u);
    EXPECT_NE(h.errors[1].text.find("lower corner"), std::string::npos);
    ASSERT_TRUE(give("train.set", {"sh_degree", "2"}));
    EXPECT_EQ(h.errors.size(), 2u);
    ASSERT_TRUE(train_to(1));
}

TEST_F(RunEditing, going_back_or_on_forgets_what_was_edited_since) {
    ASSERT_TRUE(train_to(2));
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    ASSERT_TRUE(give("edit.recolor", {"set", "1", "0", "0"}));  // a snapshot of step 2
    ASSERT_TRUE(train_to(5));
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));  // a round came: all were split
    ASSERT_TRUE(give("edit.lock"));                        // and of step 5
    EXPECT_GT(locked(), 0u);
    ASSERT_TRUE(give("train.revert", {"2"}));
    EXPECT_EQ(locked(), 0u);
    EXPECT_EQ(now().locked, 0u);
    EXPECT_EQ(now().selected, 0u);
    EXPECT_TRUE(past().rows.empty());
    // Gone here, there on the way that was left.
    const std::uint64_t all = h.state.scene->gaussians;
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    ASSERT_TRUE(give("edit.delete"));
    EXPECT_LT(h.state.scene->gaussians, all);
    ASSERT_TRUE(give("train.revert", {"5"}));
    EXPECT_TRUE(past().rows.empty());
    const std::uint64_t there = h.state.scene->gaussians;
    EXPECT_GE(there, all);
    ASSERT_TRUE(give("edit.go-to", {"0"}));
    EXPECT_EQ(h.state.scene->gaussians, there) << "nothing came a second time";
    EXPECT_TRUE(ids_are_unique());
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.lock"));
    ASSERT_TRUE(give("train.branch", {"5"}));
    EXPECT_EQ(now().locked, locked()) << "what was locked when step 5 was left";
    EXPECT_LT(locked(), there);
    EXPECT_TRUE(past().rows.empty());
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    ASSERT_TRUE(train_to(6));
}

TEST_F(RunEditing, a_command_right_behind_going_back_is_of_what_is_there_then) {
    ASSERT_TRUE(train_to(2));
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    ASSERT_TRUE(give("edit.delete"));
    ASSERT_TRUE(train_to(4));
    // Without waiting in between.
    ASSERT_TRUE(table.run(h.state, "train.revert", {"2"}));
    ASSERT_TRUE(table.run(h.state, "undo", {}));
    ASSERT_TRUE(table.run(h.state, "select.all", {}));
    ASSERT_TRUE(give("edit.duplicate"));
    EXPECT_EQ(now().selected * 2, h.state.scene->gaussians);
    EXPECT_TRUE(ids_are_unique());
    ASSERT_TRUE(train_to(4));
}

TEST_F(RunEditing, what_was_pruned_since_is_neither_made_nor_taken_back_again) {
    ASSERT_TRUE(give("select.all"));
    Vec3f lo = now().lo, hi = now().hi;
    hi.x = 0.5f * lo.x;  // none of the Gaussians that are deleted is near
    lo = {-100, -100, -100};
    h.session.send([=](Engine& e) { EXPECT_TRUE(e.part<RunSettings>().crop(ClipBox{lo, hi})); });
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    const std::size_t before = past().done;
    ASSERT_TRUE(give("edit.delete"));
    ASSERT_TRUE(give("edit.go-to", {std::to_string(before)}));
    ASSERT_TRUE(train_to(9));
    const std::uint64_t left = ask<std::uint64_t>([](Trainer& t) { return t.gaussian_count(); });
    ASSERT_TRUE(give("edit.go-to", {std::to_string(before + 1)}));
    EXPECT_EQ(past().done, before + 1);
    ASSERT_TRUE(give("edit.go-to", {std::to_string(before)}));
    EXPECT_EQ(past().done, before);
    EXPECT_EQ(ask<std::uint64_t>([](Trainer& t) { return t.gaussian_count(); }), left);
    EXPECT_TRUE(ids_are_unique());
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    ASSERT_TRUE(train_to(10));
}

TEST_F(RunEditing, neighbours_are_found_while_rounds_move_the_rows) {
    // All are cloned and none is split: what the search finds outlives the rounds before its end.
    ASSERT_TRUE(give("train.set", {"densify_extent", "10"}));
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    ASSERT_TRUE(give("edit.lock"));  // these stay through every round
    const std::uint64_t right = now().selected;
    ASSERT_GT(right, 0u);
    ASSERT_TRUE(table.run(h.state, "select.connected", {"50"}));
    const std::uint64_t search = h.state.last_sent;
    ASSERT_TRUE(train_to(9));
    ASSERT_TRUE(h.until_done(search));
    ASSERT_TRUE(settled());
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    EXPECT_GT(now().selected, right);
    EXPECT_TRUE(past().rows.back().label.ends_with("(connected)"));
}

}  // namespace
}  // namespace gs
