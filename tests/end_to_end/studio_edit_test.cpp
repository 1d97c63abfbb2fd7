// Selecting and editing in the studio, without a window: commands select, edits change the model,
// undo restores it to the bit, edits of every kind share one history, and the studio asks before
// it loses unsaved changes.
#include <cmath>

#include "app/bundle/bundle_file.h"
#include "app/session/parts/bundle_saver.h"
#include "app/session/parts/frame_verifier.h"
#include "app/session/parts/scene_doctor.h"
#include "app/session/parts/selector.h"
#include "app/session/parts/simplifier.h"
#include "renderer/io/splats/splat_io.h"
#include "studio_harness.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

using test::random_in;

/// 400 Gaussians in a cube of 2, the first 100 of them red.
GaussianModel cube() {
    GaussianModel m(400, 1);
    for (std::size_t i = 0; i < m.count; ++i) {
        for (int c = 0; c < 3; ++c) {
            m.at(kMeans + c, i) =
                static_cast<float>(random_in(1, static_cast<std::uint64_t>(c), i, -1, 1));
            m.at(kLogScales + c, i) = -3.0f - 0.5f * static_cast<float>(c);
            m.at(kSh0 + c, i) = i < 100 && c == 0 ? 1.5f : -0.5f;
            m.at(kShRest + c, i) =
                static_cast<float>(random_in(2, static_cast<std::uint64_t>(c), i, -0.3, 0.3));
        }
        m.at(kOpacityLogits, i) = 2;
    }
    return m;
}

struct Editing : ::testing::Test {
    /// Carries out a command as panels and scripts give it, and waits for the engine.
    bool give(const std::string& name, const Arguments& arguments = {}) {
        const auto done = table.run(h.state, name, arguments);
        if (!done) refused = done.error().text();
        return done && h.until_done(h.state.last_sent) && h.until([&] { return !working(); });
    }
    bool working() const { return !h.state.activities.empty(); }
    bool open_cube(const Sky& sky = {}) {
        path = (h.folder.path() / "cube.ply").string();
        GaussianModel model = cube();
        model.sky = sky;
        if (!write_splats(path, model) || !h.open(path)) return false;
        ViewRequest request = view_request_of(h.state, 160, 120);
        h.state.width = 160;
        h.state.height = 120;
        request.serial = 1;
        h.session.request_view(request);
        return h.until([&] { return h.state.frame && h.state.selection && !working(); });
    }
    const SelectionState& now() const { return *h.state.selection; }
    const HistoryState& past() const { return *h.state.history; }
    GaussianModel exported(const std::string& name = "export") {
        const std::string to = (h.folder.path() / "now.ply").string();
        EXPECT_TRUE(give(name, {to}));
        auto file = read_splats(to);
        return file ? std::move(file->model) : GaussianModel();
    }

    SessionHarness h;
    CommandTable table = all_commands();
    std::string path, refused;
};

TEST_F(Editing, shapes_values_and_colours_select) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.all"));
    EXPECT_EQ(now().selected, 400u);
    ASSERT_TRUE(give("select.rectangle", {"0", "0", "80", "120"}));
    const std::uint64_t left = now().selected;
    EXPECT_GT(left, 50u);
    EXPECT_LT(left, 350u);
    ASSERT_TRUE(give("select.lasso", {"80,0 160,0 160,120 80,120", "add"}));
    EXPECT_EQ(now().selected, 400u) << "both halves are everything";
    ASSERT_TRUE(give("select.brush", {"30", "80,60 90,60", "remove"}));
    EXPECT_LT(now().selected, 400u);
    ASSERT_TRUE(give("select.color", {"0.92", "0.36", "0.36", "0.1"}));
    EXPECT_EQ(now().selected, 100u);
    ASSERT_TRUE(give("select.invert"));
    EXPECT_EQ(now().selected, 300u);
    ASSERT_TRUE(give("select.range", {"x", "0", "1"}));
    ASSERT_TRUE(now().bounded);
    EXPECT_GE(now().lo.x, 0);
    ASSERT_TRUE(give("select.sphere", {"0", "0", "0", "0.5"}));
    EXPECT_LE(now().hi.x, 0.5f);
    ASSERT_TRUE(give("select.box", {"-1", "-1", "-1", "0", "1", "1", "new", "live"}));
    const std::uint64_t live = now().selected;
    EXPECT_GT(live, 100u);
    const std::size_t steps = past().rows.size();
    ASSERT_TRUE(give("select.box", {"-1", "-1", "-1", "0", "1", "1"}));
    EXPECT_EQ(now().selected, live);
    EXPECT_EQ(past().rows.size(), steps + 1) << "what was shown live is in no history";
    ASSERT_TRUE(give("select.row", {"3,#7,9"}));
    EXPECT_EQ(now().selected, 3u);
    ASSERT_TRUE(give("select.grow", {"5"}));
    EXPECT_GT(now().selected, 3u);
    ASSERT_TRUE(give("select.connected", {"50"}));
    EXPECT_EQ(now().selected, 400u);
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    EXPECT_FALSE(h.state.would_lose()) << "a selection is nothing to lose";
    // One after the other until nothing was selected.
    for (std::size_t steps_left = past().done; steps_left > 0; --steps_left)
        ASSERT_TRUE(give("undo"));
    EXPECT_EQ(now().selected, 0u);
    ASSERT_TRUE(give("redo"));
    EXPECT_EQ(now().selected, 400u);
}

TEST_F(Editing, values_that_are_shown_select) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.values"));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("choose a value with color.by"), std::string::npos);
    ASSERT_TRUE(give("color.by", {"opacity"}));
    ASSERT_TRUE(give("color.range", {"0.5", "1"}));
    ASSERT_TRUE(give("select.values")) << refused;
    EXPECT_EQ(now().selected, 400u);
    ASSERT_TRUE(give("color.range", {"0", "0.5"}));
    ASSERT_TRUE(give("select.values"));
    EXPECT_EQ(now().selected, 0u);
    // What no command of its own asks for: the pairs that each makes this picture evaluate.
    ASSERT_TRUE(give("color.by", {"cost"}));
    ASSERT_TRUE(give("color.range", {"1", "1e9"}));
    ASSERT_TRUE(give("select.values", {"add"}));
    EXPECT_GT(now().selected, 0u);
    ASSERT_TRUE(give("color.by", {"density"}));
    ASSERT_TRUE(give("select.values"));
    ASSERT_EQ(h.errors.size(), 2u);
    EXPECT_NE(h.errors[1].text.find("only in a training run"), std::string::npos);
}

TEST_F(Editing, a_bundle_saves_what_was_edited) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.row", {"7"}));
    ASSERT_TRUE(give("edit.delete"));
    ASSERT_TRUE(h.state.would_lose());
    auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    BundleRequest request{.path = (h.folder.path() / "edited.gsb").string(),
                          .view = view_request_of(h.state, 80, 60),
                          .folder = std::make_shared<PrivateFolder>(std::move(*folder))};
    ASSERT_TRUE(h.until_done(
        h.session.send([&](Engine& e) { e.part<BundleSaver>().save(request, *e.open_scene()); })));
    ASSERT_TRUE(h.until([&] { return !h.state.would_lose(); })) << "it is in the bundle";
    const auto opened = unpack_bundle(request.path, {});
    ASSERT_TRUE(opened);
    EXPECT_EQ(read_splats((*opened)->member("scene.ply"))->model.count, 399u);
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
}

TEST_F(Editing, edits_are_made_told_and_taken_back_to_the_bit) {
    ASSERT_TRUE(open_cube());
    const GaussianModel before = cube();
    ASSERT_TRUE(give("select.color", {"0.92", "0.36", "0.36", "0.1"}));
    ASSERT_TRUE(give("edit.lock"));
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.delete"));
    EXPECT_EQ(h.state.scene->gaussians, 100u) << "locked ones stay";
    EXPECT_TRUE(h.state.would_lose());
    ASSERT_TRUE(give("edit.unlock-all"));
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.duplicate"));
    EXPECT_EQ(h.state.gaussians(), 200u);
    EXPECT_EQ(now().selected, 100u);
    ASSERT_TRUE(give("edit.move", {"10", "0", "0"}));
    EXPECT_GT(now().lo.x, 8.9f);
    ASSERT_TRUE(give("edit.rotate", {"z", "90"}));
    ASSERT_TRUE(give("edit.scale", {"2"}));
    ASSERT_TRUE(give("edit.recolor", {"set", "0", "1", "0"}));
    const GaussianModel changed = exported();
    ASSERT_EQ(changed.count, 200u);
    EXPECT_FALSE(h.state.would_lose()) << "it is in a file";
    EXPECT_NEAR(changed.at(kSh0 + 1, 150), 0.5f / 0.2820948f, 1e-4f);
    EXPECT_NEAR(changed.at(kLogScales, 150), before.at(kLogScales, 50) + std::log(2.0f), 1e-5f);
    EXPECT_EQ(exported("export.selection").count, 100u);
    EXPECT_FALSE(h.state.would_lose());

    ASSERT_TRUE(give("edit.go-to", {"0"}));
    EXPECT_EQ(past().done, 0u);
    EXPECT_TRUE(h.until([&] { return h.state.scene->gaussians == 400; }));
    const GaussianModel back = exported();
    ASSERT_EQ(back.count, before.count);
    for (int p = 0; p < before.planes(); ++p)
        for (std::size_t i = 0; i < before.count; ++i)
            ASSERT_EQ(back.at(p, i), before.at(p, i)) << p << ' ' << i;
    ASSERT_TRUE(give("edit.go-to", {std::to_string(past().rows.size())}));
    const GaussianModel again = exported();
    ASSERT_EQ(again.count, changed.count);
    for (int p = 0; p < again.planes(); ++p)
        for (std::size_t i = 0; i < again.count; ++i)
            ASSERT_EQ(again.at(p, i), changed.at(p, i)) << p << ' ' << i;
}

TEST_F(Editing, a_turned_selection_looks_the_same_from_a_turned_camera) {
    Sky sky{.degree = 3};
    for (std::size_t n = 0; n < sky.sh.size(); ++n)
        sky.sh[n] = static_cast<float>(random_in(3, 0, n, -0.4, 0.4));
    ASSERT_TRUE(open_cube(sky));
    const auto picture = [&](Vec3d eye, Vec3d up) {
        ViewRequest request{.camera = look_at(eye, {0, 0, 0}, up, 80, 60, 0.9)};
        const std::size_t before = h.pictures.size();
        h.session.send(jobs::picture({request, "", false}));
        EXPECT_TRUE(h.until([&] { return h.pictures.size() > before; }));
        return h.pictures.back()->frame->rgba;
    };
    // The middle of the bounds is what it turns about: make that the origin.
    ASSERT_TRUE(give("select.all"));
    const Vec3f middle = now().centre();
    ASSERT_TRUE(give("edit.move", {fmt::format("{}", -middle.x), fmt::format("{}", -middle.y),
                                   fmt::format("{}", -middle.z)}));
    ASSERT_TRUE(give("select.none"));
    const Image8 first = picture({0, 0, -4}, {0, -1, 0});
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.rotate", {"y", "90"}));
    ASSERT_TRUE(give("select.none"));
    const Image8 other = picture({0, 0, -4}, {0, -1, 0}), same = picture({-4, 0, 0}, {0, -1, 0});
    std::size_t differ = 0, far = 0;
    ASSERT_EQ(first.bytes.size(), same.bytes.size());
    for (std::size_t i = 0; i < first.bytes.size(); ++i) {
        far = std::max(far, static_cast<std::size_t>(std::abs(first.bytes[i] - same.bytes[i])));
        differ += first.bytes[i] != other.bytes[i];
    }
    EXPECT_LE(far, 2u) << "harmonics, shapes and the sky turn along";
    EXPECT_GT(differ, 1000u);
    EXPECT_NE(exported().sky, sky);
    ASSERT_TRUE(give("undo") && give("undo"));  // what was selected, and the turn
    EXPECT_EQ(exported().sky, sky) << "to the bit";
    ASSERT_TRUE(give("select.range", {"x", "0", "1"}));
    ASSERT_TRUE(give("edit.rotate", {"y", "90"}));
    EXPECT_EQ(exported().sky, sky) << "a part turns alone";
}

TEST_F(Editing, hiding_is_a_matter_of_pictures) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.range", {"x", "0", "1"}));
    const std::uint64_t right = now().selected;
    ASSERT_TRUE(give("edit.hide"));
    EXPECT_EQ(now().hidden, right);
    EXPECT_EQ(now().selected, 0u);
    EXPECT_TRUE(h.until([&] { return h.state.frame->visible <= 400 - right; }));
    ASSERT_TRUE(give("select.all"));
    EXPECT_EQ(now().selected, 400 - right) << "hidden ones are not selected";
    EXPECT_EQ(exported().count, 400u) << "and are in the file";
    ASSERT_TRUE(give("edit.show-all"));
    EXPECT_EQ(now().hidden, 0u);
    ASSERT_TRUE(give("select.solo"));
    EXPECT_EQ(now().hidden, right);
    // A clip box crops.
    ASSERT_TRUE(give("edit.show-all"));
    ASSERT_TRUE(give("view.clip", {"-1", "-1", "-1", "0", "1", "1"}));
    ASSERT_TRUE(give("edit.crop"));
    EXPECT_EQ(h.state.scene->gaussians, 400 - right);
}

TEST_F(Editing, simplifying_is_a_step_of_the_history) {
    ASSERT_TRUE(open_cube());
    const GaussianModel before = exported();
    ASSERT_TRUE(give("edit.simplify", {"some"}));
    EXPECT_EQ(h.state.scene->gaussians, 400u) << "an error, and no change";
    ASSERT_TRUE(give("edit.simplify", {"25%"}));
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == 100 && !working(); }));
    EXPECT_TRUE(h.state.doctor == nullptr || h.state.doctor->fixes.empty())
        << "nothing was repaired";
    EXPECT_EQ(exported().count, 100u);
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(exported().values.size(), before.values.size());
    ASSERT_TRUE(give("redo"));
    EXPECT_EQ(h.state.scene->gaussians, 100u);
    ASSERT_TRUE(give("edit.go-to", {"0"}));
    EXPECT_EQ(h.state.scene->gaussians, 400u);
    ASSERT_TRUE(give("select.row", {"1"}));
    ASSERT_TRUE(give("edit.lock"));
    ASSERT_TRUE(give("edit.simplify", {"10"}));
    EXPECT_EQ(h.state.scene->gaussians, 400u) << "locked rows stay as they are";
}

TEST_F(Editing, a_closed_scene_does_not_come_back) {
    for (const bool another : {false, true}) {
        for (const char* job : {"simplify", "mend", "select", "verify", "doctor"}) {
            SCOPED_TRACE(job);
            ASSERT_TRUE(open_cube());
            const std::string name = job;
            // Its work is not done when the scene goes.
            h.session.send([name, another, cube = path](Engine& e) {
                if (name == "simplify") e.part<Simplifier>().start("25%");
                if (name == "mend") e.part<SceneDoctor>().fix("");
                if (name == "doctor") e.part<SceneDoctor>().examine();
                if (name == "verify") e.part<FrameVerifier>().verify(std::nullopt);
                if (name == "select") e.part<Selector>().select_neighbours(NeighbourStep::grow, 1);
                another ? e.open({.contents = find_contents(cube)}) : e.close();
            });
            ASSERT_TRUE(h.until([&] { return !working(); }));
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            h.gather();
            EXPECT_EQ(h.state.scene != nullptr, another);
            EXPECT_EQ(h.state.scene ? h.state.scene->gaussians : 400u, 400u);
        }
    }
}

TEST_F(Editing, undo_takes_the_newest_of_every_kind) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.row", {"1,2,3"}));
    ASSERT_TRUE(give("edit.delete"));
    // A copy, which the doctor removes.
    ASSERT_TRUE(give("select.row", {"9"}));
    ASSERT_TRUE(give("edit.duplicate"));
    ASSERT_TRUE(give("doctor.examine"));
    ASSERT_TRUE(give("doctor.fix", {"duplicates"}));
    ASSERT_TRUE(h.until([&] { return !h.state.doctor->fixes.empty() && !working(); }));
    EXPECT_EQ(h.state.scene->gaussians, 397u);
    EXPECT_TRUE(h.state.would_lose());
    ASSERT_TRUE(give("select.row", {"0"}));
    ASSERT_TRUE(give("doctor.undo"));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("undo the newer edits"), std::string::npos);
    ASSERT_TRUE(give("undo"));
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(h.state.scene->gaussians, 398u) << "the repair is undone";
    EXPECT_TRUE(h.until([&] { return h.state.doctor->fixes.empty(); }));
    ASSERT_TRUE(give("undo"));
    ASSERT_TRUE(give("undo"));
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(h.state.scene->gaussians, 400u);
    EXPECT_EQ(now().selected, 3u);
    EXPECT_FALSE(h.state.would_lose());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(give("redo"));
    EXPECT_EQ(h.state.scene->gaussians, 397u) << "the repair is redone";
}

TEST_F(Editing, what_cannot_be_is_said) {
    EXPECT_TRUE(give("select.all"));
    ASSERT_TRUE(open_cube());
    EXPECT_TRUE(give("edit.delete"));
    EXPECT_TRUE(give("export.selection", {(h.folder.path() / "none.ply").string()}));
    EXPECT_TRUE(give("select.row", {"400"}));
    EXPECT_TRUE(give("edit.go-to", {"7"}));
    ASSERT_TRUE(give("select.row", {"1"}));
    ASSERT_TRUE(give("edit.lock"));
    EXPECT_TRUE(give("edit.move", {"1", "0", "0"}));
    ASSERT_EQ(h.errors.size(), 6u);
    for (const auto& [at, words] : {std::pair{0, "nothing to edit"},
                                    {1, "no Gaussians selected"},
                                    {2, "no Gaussians selected"},
                                    {3, "no Gaussian #400"},
                                    {4, "no step 7"},
                                    {5, "edit.unlock"}})
        EXPECT_NE(h.errors[static_cast<std::size_t>(at)].text.find(words), std::string::npos)
            << h.errors[static_cast<std::size_t>(at)].text;
    EXPECT_FALSE(give("edit.crop"));
    EXPECT_NE(refused.find("clip box"), std::string::npos);
    EXPECT_FALSE(give("select.lasso", {"1,2,3"}));
    EXPECT_NE(refused.find("pairs"), std::string::npos);
    EXPECT_FALSE(give("select.range", {"weight", "0", "1"}));
    EXPECT_FALSE(give("select.sphere", {"0", "0", "0", "1", "new", "dead"}));
}

TEST_F(Editing, an_edit_of_rows_is_of_all_of_them_or_of_none) {
    ASSERT_TRUE(open_cube());
    ASSERT_TRUE(give("select.row", {"1,2,3"}));
    ASSERT_TRUE(give("edit.delete", {"7,400"}));
    ASSERT_TRUE(give("edit.hide", {"400"}));
    ASSERT_TRUE(give("edit.delete", {"7", "12"}));
    ASSERT_EQ(h.errors.size(), 3u);
    EXPECT_NE(h.errors[0].text.find("no Gaussian #400"), std::string::npos) << h.errors[0].text;
    EXPECT_NE(h.errors[2].text.find("from step 12"), std::string::npos) << h.errors[2].text;
    EXPECT_EQ(h.state.scene->gaussians, 400u) << "what was selected before is not deleted instead";
    EXPECT_EQ(now().selected, 3u);
    EXPECT_FALSE(give("edit.delete", {"seven"}));
    EXPECT_FALSE(give("edit.delete", {","}));
    ASSERT_TRUE(give("edit.hide", {"7,8", "0"}));
    EXPECT_EQ(now().hidden, 2u);
    ASSERT_TRUE(give("select.solo", {"5"}));
    EXPECT_EQ(now().hidden, 399u);
    ASSERT_TRUE(give("edit.delete", {"5", "0"}));
    EXPECT_EQ(h.state.scene->gaussians, 399u);
}

TEST_F(Editing, a_run_is_edited_between_its_steps_and_goes_on) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(h.until([&] { return h.state.selection && !working(); }));
    const auto train_to = [&](std::uint64_t step) {
        h.session.send(jobs::run_to(step));
        return h.until(
            [&] { return h.state.training.step >= step && h.run_state() == RunState::paused; });
    };
    ASSERT_TRUE(train_to(3));
    const GaussianModel before = exported();
    const std::uint64_t all = before.count;
    ASSERT_TRUE(give("select.range", {"x", "0", "1e9"}));
    const std::uint64_t right = now().selected;
    ASSERT_GT(right, 20u);
    ASSERT_TRUE(give("edit.delete"));
    EXPECT_EQ(exported().count, all - right);
    EXPECT_EQ(h.state.scene->gaussians, all - right);
    EXPECT_FALSE(h.state.would_lose()) << "a run keeps itself";
    ASSERT_TRUE(give("undo"));
    const GaussianModel back = exported();
    ASSERT_EQ(back.count, all);
    for (int p = 0; p < before.planes(); ++p)
        for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(back.at(p, i), before.at(p, i)) << p;
    EXPECT_EQ(now().selected, right) << "what came back is selected as it was";

    // Locked Gaussians stay while the others train. Undo also works after training steps.
    ASSERT_TRUE(give("edit.lock"));
    ASSERT_TRUE(give("select.invert"));
    ASSERT_TRUE(give("edit.duplicate"));
    EXPECT_EQ(h.state.gaussians(), 2 * all - right);
    ASSERT_TRUE(give("edit.move", {"0", "0", "0.5"}));
    ASSERT_TRUE(train_to(6));
    const GaussianModel later = exported();
    std::size_t same = 0, others = 0;
    for (std::size_t i = 0; i < all; ++i)
        (later.at(kMeans, i) == before.at(kMeans, i) ? same : others) += 1;
    EXPECT_EQ(same, right) << "locked ones are as they were, all others moved";
    ASSERT_TRUE(give("undo"));
    ASSERT_TRUE(give("undo"));
    EXPECT_EQ(h.state.scene->gaussians, all);
    ASSERT_TRUE(give("redo"));
    EXPECT_EQ(h.state.scene->gaussians, 2 * all - right);
    ASSERT_TRUE(train_to(8)) << "and training continues";
    ASSERT_TRUE(give("select.all"));
    ASSERT_TRUE(give("edit.unlock-all"));
    ASSERT_TRUE(give("edit.delete"));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("keep at least one"), std::string::npos);
}

TEST_F(Editing, flags_follow_their_gaussians_through_density_control) {
    SessionOptions options;
    options.settings.densify_from = 2;
    options.settings.densify_every = 3;
    options.settings.densify_gradient = 1e-9;
    SessionHarness run(options);
    ASSERT_TRUE(run.open(tiny_capture()));
    ASSERT_TRUE(run.until([&] { return run.state.selection && run.state.activities.empty(); }));
    const auto give_run = [&](const std::string& name, const Arguments& arguments = {}) {
        return table.run(run.state, name, arguments) && run.until_done(run.state.last_sent);
    };
    ASSERT_TRUE(give_run("select.range", {"x", "0", "1e9"}));
    ASSERT_TRUE(give_run("edit.lock"));
    const std::uint64_t locked = run.state.selection->locked;
    const Vec3f lo = run.state.selection->lo, hi = run.state.selection->hi;
    ASSERT_GT(locked, 0u);
    const std::uint64_t first = run.state.scene->gaussians;
    run.session.send(jobs::run_to(10));
    ASSERT_TRUE(run.until([&] {
        return run.state.training.step >= 10 && run.run_state() == RunState::paused &&
               run.state.training.gaussians != first;
    }));
    ASSERT_TRUE(give_run("select.range", {"opacity", "2", "3"}));
    EXPECT_EQ(run.state.selection->locked, locked) << "none was split, cloned away or pruned";
    ASSERT_TRUE(give_run("undo"));
    EXPECT_EQ(run.state.selection->selected, locked);
    EXPECT_EQ(run.state.selection->lo.x, lo.x);
    EXPECT_EQ(run.state.selection->hi.y, hi.y);
    EXPECT_TRUE(run.errors.empty()) << run.errors[0].text;
}

}  // namespace
}  // namespace gs
