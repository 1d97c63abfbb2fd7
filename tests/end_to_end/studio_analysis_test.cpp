// The values shown for single Gaussians stay with these Gaussians and match the picture: during
// training, after edits, across density control, with hidden Gaussians and with masked photos.
#include <algorithm>
#include <cmath>
#include <set>

#include "panels/state/cost_report.h"
#include "panels/state/gaussian_values.h"
#include "renderer/io/images/image_io.h"
#include "tests/end_to_end/studio_costly.h"

namespace gs {
namespace {

bool measured_without(const Costly& h) {
    const auto& report = h.state.cost_report;
    return report && report->without && report->without->photos > 0 &&
           report->without->done == report->without->photos;
}

TEST(AnalysisInTheStudio, the_viewport_goes_on_while_it_trains_with_values) {
    Costly h;
    ASSERT_TRUE(h.give("color.by gradient"));
    h.state.view.viewer_budget = 0.02;  // less is saved up in a step than a picture's values cost
    h.look();
    h.session.send(jobs::start());
    std::set<std::uint64_t> steps;
    EXPECT_TRUE(h.until([&] {
        if (h.state.frame) steps.insert(h.state.frame->step);
        return steps.size() > 1;
    }));
    EXPECT_TRUE(h.until_done(h.session.send(jobs::pause())));
}

TEST(AnalysisInTheStudio, an_edited_run_has_the_values_of_its_rows) {
    Costly h;
    ASSERT_TRUE(h.give("color.by opacity"));
    h.look();
    ASSERT_TRUE(h.give("cost.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report && h.state.values; }));
    const std::uint64_t before = h.state.values->rows;
    ASSERT_TRUE(h.give("select.row 0,1,2"));
    ASSERT_TRUE(h.give("edit.delete"));
    h.look();
    ASSERT_TRUE(h.until([&] { return h.state.values != nullptr; }));
    EXPECT_EQ(h.state.values->rows, before - 3);
    EXPECT_FALSE(h.state.cost_report) << "it was of other rows";
    EXPECT_EQ(h.state.training.step, 2u);
}

TEST(AnalysisInTheStudio, what_is_hidden_costs_nothing) {
    Costly h;
    ASSERT_TRUE(h.give("cost.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report != nullptr; }));
    const CostReport all = *h.state.cost_report;
    const std::uint64_t row = all.top[0].row;
    ASSERT_TRUE(h.give("select.row " + std::to_string(row)));
    ASSERT_TRUE(h.give("edit.hide"));
    ASSERT_TRUE(h.give("cost.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report->note != all.note; }));
    const CostReport& seen = *h.state.cost_report;
    EXPECT_NE(seen.note.find("hidden"), std::string::npos) << seen.note;
    EXPECT_LT(seen.frame.isects, all.frame.isects);
    EXPECT_TRUE(std::none_of(seen.top.begin(), seen.top.end(),
                             [&](const CostlyGaussian& g) { return g.row == row; }));
    ASSERT_TRUE(h.give("cost.without 5"));
    EXPECT_TRUE(h.until([&] { return measured_without(h); }));
}

TEST(AnalysisInTheStudio, photos_are_measured_across_density_control) {
    SessionHarness run;
    const CommandTable commands = all_commands();
    ASSERT_TRUE(run.open(tiny_capture()));
    for (const auto& [name, value] : {std::pair{"densify_from", 2.0},
                                      {"densify_until", 6.0},
                                      {"densify_every", 1.0},
                                      {"densify_gradient", 0.0},
                                      {"densify_extent", 10.0}})  // clones alone: nobody goes
        run.session.send(jobs::set(name, value));
    ASSERT_TRUE(run.until_done(run.session.send(jobs::steps(2))));
    ASSERT_TRUE(run.until_state(RunState::paused));
    const std::uint64_t before = run.state.training.gaussians;
    run.state.view.capture_view = 0;
    run.state.width = 80, run.state.height = 60;
    ASSERT_TRUE(commands.run(run.state, "cost.without", {"30"}));
    ASSERT_TRUE(run.until_done(run.session.send(jobs::steps(3))));
    ASSERT_TRUE(run.until([&] {
        const auto& report = run.state.cost_report;
        return report && report->without && report->without->done == report->without->photos;
    }));
    const CostWithout& without = *run.state.cost_report->without;
    EXPECT_GT(without.photos, 0u);
    EXPECT_TRUE(std::isfinite(without.psnr));
    EXPECT_NE(without.psnr, without.psnr_without);
    ASSERT_TRUE(run.until([&] { return run.state.training.step == 5; }));
    EXPECT_GT(run.state.training.gaussians, before) << "rows have moved";
    EXPECT_TRUE(run.errors.empty());
}

/// How many Gaussians have more than none of a value at the first photo.
std::uint64_t with_some(Costly& h, const std::string& value) {
    EXPECT_TRUE(h.give("color.by " + value));
    EXPECT_TRUE(h.give("color.range 1e-30 1e30"));
    h.look();
    EXPECT_TRUE(h.until([&] { return h.state.values && h.state.values->hi == 1e30; }));
    return h.state.values->within;
}

TEST(AnalysisInTheStudio, masked_pixels_have_no_gradient) {
    test::TemporaryFolder folder;
    const fs::path capture = folder.path() / "masked";
    ASSERT_TRUE(
        write_sample_capture(capture, {.views = 9, .width = 80, .height = 60, .points = 400}));
    Image8 mask{80, 60, 1, {}};
    mask.bytes.assign(mask.pixels(), 0);
    for (int y = 20; y < 30; ++y)
        for (int x = 30; x < 40; ++x) mask.bytes[static_cast<std::size_t>(80 * y + x)] = 255;
    fs::create_directories(capture / "masks");
    ASSERT_TRUE(write_png(capture / "masks" / "mask.png", mask));
    Costly whole, masked(capture.string());
    for (const char* const value : {"error", "gradient"}) {
        SCOPED_TRACE(value);
        const std::uint64_t some = with_some(masked, value);
        EXPECT_GT(some, 0u);
        EXPECT_LT(2 * some, with_some(whole, value));
    }
}

}  // namespace
}  // namespace gs
