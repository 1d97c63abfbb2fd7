// Places where the scene differs from its photos, in the studio without a window: the search runs
// between steps, says its step, and can be cancelled; its results can be visited and discarded.
#include <algorithm>
#include <string>
#include <vector>

#include "app/session/parts/photo_problems.h"
#include "panels/state/photo_problems.h"
#include "panels/state/selection_state.h"
#include "studio_harness.h"

namespace gs {
namespace {

SessionOptions small_run() {
    SessionOptions options;
    options.settings.steps = 100'000;
    options.run.evaluate_every = options.run.save_every = 0;
    return options;
}

struct ProblemsInStudio : ::testing::Test {
    /// As a script gives it; false: refused at once.
    bool command(const char* name, const Arguments& arguments = {}) {
        const auto done = all_commands().find(name)->run(h.state, arguments);
        if (!done) refused = done.error().text();
        return done && h.until_done(h.state.last_sent);
    }
    const FoundProblems* found() const {
        return h.state.problems ? h.state.problems->found.get() : nullptr;
    }
    bool erred(const std::string& words) {
        return h.until([&] {
            return std::any_of(h.errors.begin(), h.errors.end(), [&](const EngineEvent& e) {
                return e.text.find(words) != std::string::npos;
            });
        });
    }
    /// Waits for a picture of what is looked at now.
    bool frame() {
        ViewRequest request = view_request_of(h.state, 80, 60);
        request.serial = ++h.state.request_serial;
        h.session.request_view(request);
        return h.until([&] { return h.state.frame && h.state.frame->request == request.serial; });
    }

    SessionHarness h{small_run()};
    std::string refused;
};

TEST_F(ProblemsInStudio, are_found_gone_to_and_forgotten) {
    ASSERT_TRUE(h.open(tiny_capture()));
    h.state.problems_settings.shows = ProblemsShow::time;
    ASSERT_TRUE(command("problems.find")) << "which is done when all is found";
    ASSERT_TRUE(found());
    EXPECT_EQ(found()->photos, 9u);
    EXPECT_EQ(h.state.problems->step, 0u);
    EXPECT_TRUE(h.state.activities.empty());
    EXPECT_EQ(h.state.problems_settings.shows, ProblemsShow::regions);
    ASSERT_FALSE(found()->regions.empty()) << "it was not trained";
    ASSERT_FALSE(found()->gaussians.empty());
    for (const PhotoRegion& region : found()->regions) EXPECT_TRUE(region.crops);

    ASSERT_TRUE(command("problems.go", {"1"}));
    EXPECT_EQ(h.state.view.capture_view, static_cast<int>(found()->regions[0].view));
    ASSERT_TRUE(h.until([&] { return h.state.problems->mark.has_value(); }));
    EXPECT_EQ(h.state.problems->mark->rect.x1, found()->regions[0].rect.x1);
    EXPECT_TRUE(h.state.problems->mark->words.starts_with("region 1: "));
    ASSERT_TRUE(command("problems.go", {"2", "gaussian"}));
    ASSERT_TRUE(h.until([&] { return h.state.marked != nullptr; }));
    EXPECT_EQ(h.state.marked->row, found()->gaussians[1].row);
    ASSERT_TRUE(command("problems.go", {"9999", "region"}));
    EXPECT_TRUE(erred("no region 9999: the last one is"));
    EXPECT_FALSE(command("problems.go", {"1", "wrong"}));
    EXPECT_FALSE(command("problems.go", {"0"}));

    ASSERT_TRUE(command("problems.clear"));
    EXPECT_TRUE(h.until([&] { return !h.state.problems; }));
    ASSERT_TRUE(command("problems.go", {"1"}));
    EXPECT_TRUE(erred("none found; run problems.find to search"));
}

TEST_F(ProblemsInStudio, a_place_is_shown_in_every_photo_that_sees_it) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::steps(60))));
    ASSERT_TRUE(h.until([&] { return h.state.training.step >= 60; }));
    h.state.view.capture_view = 4;
    ASSERT_TRUE(frame());
    ASSERT_TRUE(command("problems.point", {"40", "32"}));
    ASSERT_TRUE(h.state.problems && h.state.problems->point) << "the middle of the diorama";
    const PointInPhotos& point = *h.state.problems->point;
    EXPECT_EQ(h.state.problems->point_step, 60u);
    EXPECT_EQ(point.looked_at, 9u);
    EXPECT_EQ(point.photos.size() + point.hidden + point.outside, 9u);
    ASSERT_GE(point.photos.size(), 2u);
    const bool own = std::any_of(point.photos.begin(), point.photos.end(), [](const auto& one) {
        return one.view == 4 && std::abs(one.x - 40) < 2 && std::abs(one.y - 32) < 2;
    });
    EXPECT_TRUE(own) << "the photo that was asked from sees it where it was asked";
    ASSERT_TRUE(command("problems.go", {"2", "seen"}));
    EXPECT_EQ(h.state.view.capture_view, static_cast<int>(point.photos[1].view));

    EXPECT_FALSE(command("problems.point"));
    EXPECT_NE(refused.find("no pixel is under the mouse"), std::string::npos);
    h.state.hovered_pixel = {40, 32};
    EXPECT_TRUE(command("problems.point"));
    EXPECT_FALSE(command("problems.point", {"40"}));
    EXPECT_FALSE(command("problems.point", {"40", "6000"}));
}

TEST_F(ProblemsInStudio, are_found_while_training_goes_on) {
    ASSERT_TRUE(h.open(tiny_capture(), true));
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 3; }));
    ASSERT_TRUE(command("problems.find"));
    ASSERT_TRUE(found());
    EXPECT_GT(h.state.problems->step, 0u);
    EXPECT_EQ(h.run_state(), RunState::training);
    const std::uint64_t step = h.state.problems->step;
    EXPECT_TRUE(h.until([&] { return h.state.training.step > step; }));

    h.session.send([](Engine& e) { e.part<ProblemFinder>().find(); });
    const std::uint64_t cancelled = h.session.send(jobs::cancel("problems"));
    ASSERT_TRUE(h.until_done(cancelled));
    EXPECT_TRUE(h.until([&] { return h.state.activities.empty(); }));
    EXPECT_EQ(h.state.problems->step, step) << "what was found before stays";
    EXPECT_TRUE(h.errors.empty());
}

TEST_F(ProblemsInStudio, are_found_again_when_training_has_moved_them) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::set("densify_from", 1))));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::set("densify_every", 5))));
    // Only larger ones are split, which ends them; others are cloned and stay.
    ASSERT_TRUE(h.until_done(h.session.send(jobs::set("densify_extent", 0.03))));
    ASSERT_TRUE(command("problems.find"));
    ASSERT_TRUE(found());
    const auto ids_of_run = [&] {
        std::vector<std::uint32_t> ids;
        EXPECT_TRUE(h.until_done(h.session.send(
            [&](Engine& e) { ids = e.open_scene()->scene.trainer->identity().ids(); })));
        return ids;
    };
    const auto then = ids_of_run();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::steps(12))));
    ASSERT_TRUE(h.until([&] { return h.state.training.step >= 12; }));
    const auto now = ids_of_run();
    ASSERT_NE(now, then) << "rounds of density control renumber rows";
    std::size_t turned_to = 0;
    for (std::size_t i = 0; i < found()->gaussians.size(); ++i) {
        const std::uint32_t id = then[static_cast<std::size_t>(found()->gaussians[i].row)];
        h.errors.clear();
        ASSERT_TRUE(command("problems.go", {std::to_string(i + 1), "gaussian"}));
        if (std::find(now.begin(), now.end(), id) == now.end()) {
            EXPECT_TRUE(erred("no longer exists: training removed it after step 0")) << i;
            continue;
        }
        ++turned_to;
        ASSERT_TRUE(h.until([&] { return h.state.marked && now.at(h.state.marked->row) == id; }))
            << i;
    }
    ASSERT_GT(turned_to, 0u);
    ASSERT_LT(turned_to, found()->gaussians.size()) << "some are gone";
}

TEST_F(ProblemsInStudio, their_gaussians_are_selected) {
    ASSERT_TRUE(h.open(tiny_capture()));
    EXPECT_FALSE(command("problems.select", {"1", "region"}));
    EXPECT_NE(refused.find("has no Gaussians of its own"), std::string::npos) << refused;
    ASSERT_TRUE(command("problems.select", {"1", "gaussian"}));
    EXPECT_TRUE(erred("none found"));
    ASSERT_TRUE(command("problems.find"));
    ASSERT_TRUE(found());
    ASSERT_FALSE(found()->gaussians.empty());
    ASSERT_TRUE(command("problems.select", {"1", "gaussian"}));
    ASSERT_TRUE(h.until([&] { return h.state.selection && h.state.selection->selected == 1; }));
    EXPECT_EQ(h.state.history->rows.back().label, "select 1 Gaussian (gaussian 1)");
}

TEST_F(ProblemsInStudio, need_photos) {
    ASSERT_TRUE(h.until_done(h.session.send([](Engine& e) { e.part<ProblemFinder>().find(); })));
    EXPECT_TRUE(erred("no scene is open"));
    ASSERT_TRUE(h.open(tiny_capture()));
    const std::string splats = (h.folder.path() / "alone.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    ASSERT_TRUE(h.open(splats));
    ASSERT_TRUE(h.until_done(h.session.send([](Engine& e) { e.part<ProblemFinder>().find(); })));
    EXPECT_TRUE(erred("has no photos"));
    EXPECT_FALSE(h.state.problems);
}

}  // namespace
}  // namespace gs
