// What pictures cost, what is made of it, and Gaussians coloured by a number, through commands and
// the engine.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/session/frame_time.h"
#include "panels/state/cost_report.h"
#include "panels/state/gaussian_values.h"
#include "panels/state/prediction_state.h"
#include "tests/end_to_end/studio_costly.h"

namespace gs {
namespace {

TEST(CostsInTheStudio, are_of_what_the_viewport_shows) {
    Costly h;
    ASSERT_TRUE(h.give("cost.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report != nullptr; }));
    const CostReport report = *h.state.cost_report;
    EXPECT_EQ(report.width, 80);
    EXPECT_EQ(report.step, 2u);
    EXPECT_NE(report.from.find("photo 0"), std::string::npos);
    EXPECT_EQ(report.note, "gradient of the loss against the photo");
    EXPECT_GT(report.frame.forward_ns, 0);
    EXPECT_GT(report.frame.backward_ns, 0);
    EXPECT_GT(report.frame.evaluated, report.frame.blended);
    EXPECT_GE(report.frame.backward, report.frame.blended);
    ASSERT_EQ(report.top.size(), 20u);
    EXPECT_TRUE(std::ranges::is_sorted(
        report.top, [](const auto& a, const auto& b) { return a.evaluated > b.evaluated; }));
    EXPECT_GT(report.for_half, 0u);
    EXPECT_LE(report.for_half, report.gaussians);
    ASSERT_TRUE(h.give("cost.top 3"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report->top.size() == 3; }));
    EXPECT_EQ(h.state.cost_report->top[0].row, report.top[0].row);

    // All of the frame, and two halves that make it up.
    const auto region = [&](const std::string& box) {
        EXPECT_TRUE(h.give("cost.region " + box));
        EXPECT_TRUE(h.until([&] { return h.state.cost_report->region.has_value(); }));
        const CostReport made = *h.state.cost_report;
        EXPECT_TRUE(h.give("cost.clear"));
        EXPECT_TRUE(h.until([&] { return !h.state.cost_report; }));
        return made;
    };
    EXPECT_FALSE(h.give("cost.region 3 3 70 50")) << "there is no picture that it could be of";
    h.look();
    EXPECT_FALSE(h.give("cost.region 3 3 70 x"));
    ASSERT_TRUE(h.give("cost.region 3 3 70 50"));
    ASSERT_TRUE(h.give("cost.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.cost_report->region.has_value(); }));
    EXPECT_EQ(h.state.cost_report->region->x1, 70) << "it stays where it was";
    const CostReport whole = region("0 0 80 60");
    EXPECT_EQ(whole.region->sums.evaluated, whole.frame.evaluated);
    const auto left = region("0 0 37 60").region->sums, right = region("80 60 37 0").region->sums;
    EXPECT_NEAR(static_cast<double>(left.evaluated + right.evaluated),
                static_cast<double>(whole.frame.evaluated), 2);
    EXPECT_GT(left.evaluated, 0u);
    const CostReport cut = region("-12.5 -3 900.2 61.5");  // as a drag beyond the edges gives it
    EXPECT_EQ(cut.region->sums.evaluated, cut.frame.evaluated);
    EXPECT_EQ(cut.camera.width, 80);
    EXPECT_TRUE(h.errors.empty());
    ASSERT_TRUE(h.give("cost.region 90 10 95 20"));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_NE(h.errors[0].text.find("80 x 60"), std::string::npos) << h.errors[0].text;
}

TEST(CostsInTheStudio, without_the_most_expensive_ones_photos_are_worse) {
    Costly h;
    ASSERT_TRUE(h.give("cost.without 40"));
    ASSERT_TRUE(h.until([&] {
        return h.state.cost_report && h.state.cost_report->without &&
               h.state.cost_report->without->done == h.state.cost_report->without->photos;
    }));
    const CostWithout& w = *h.state.cost_report->without;
    EXPECT_EQ(w.count, 40u);
    EXPECT_GT(w.share, 0.1);
    EXPECT_LT(w.share, 1);
    EXPECT_GT(w.photos, 0u);
    EXPECT_GT(w.ns, 0);
    EXPECT_GT(w.ns_without, 0);
    EXPECT_TRUE(std::isfinite(w.psnr));
    EXPECT_NE(w.psnr, w.psnr_without);
    // Nothing of it stays in the picture or in the run.
    EXPECT_FALSE(h.look()->tinted);
    EXPECT_EQ(h.state.training.step, 2u);
}

TEST(CostsInTheStudio, maps_are_shown_with_what_they_are_of) {
    Costly h;
    for (const ViewMode mode :
         {ViewMode::time, ViewMode::wasted, ViewMode::backward_time, ViewMode::backward_pairs}) {
        SCOPED_TRACE(kViewModeNames[static_cast<std::size_t>(mode)]);
        h.state.view.mode = mode;
        for (const int view : {0, -1}) {
            h.state.view.capture_view = view;
            const auto frame = h.look();
            EXPECT_EQ(frame->map_cell, 16);
            EXPECT_EQ(frame->map.width, 5);
            EXPECT_FALSE(frame->map_empty);
            EXPECT_FALSE(frame->unit.empty());
            EXPECT_EQ(frame->note, !is_of_backward(mode) ? ""
                                   : view == 0           ? "gradient of the loss against the photo"
                                                         : "gradient of every pixel: 1");
        }
    }
    h.state.view.capture_view = -1;
    h.state.navigation.through.model = CameraModel::orthographic;
    const auto frame = h.look();
    EXPECT_TRUE(frame->map_empty) << "no gradients through parallel rays";
    EXPECT_FALSE(frame->note.empty());
}

TEST(PredictionsInTheStudio, are_of_what_the_viewport_shows_and_follow_the_question) {
    Costly h;
    ASSERT_TRUE(h.give("predict.gpus h100,a100-80"));
    EXPECT_TRUE(h.until([&] { return h.state.prediction && !h.state.prediction->counted; }));
    ASSERT_TRUE(h.give("predict.measure"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->counted; }));
    const PredictionState drawn = *h.state.prediction;
    EXPECT_EQ(drawn.training_step, 2u);
    EXPECT_NE(drawn.from.find("photo 0"), std::string::npos);
    EXPECT_GT(drawn.work.near, 0) << "warps are counted, not guessed";
    ASSERT_EQ(drawn.gpus.size(), 2u);
    EXPECT_EQ(drawn.gpus[0].id, "h100");
    for (const auto& gpu : drawn.gpus) {
        EXPECT_GT(gpu.frame.total.p10, 0);
        EXPECT_LT(gpu.frame.total.p10, gpu.frame.total.p50);
        EXPECT_LT(gpu.frame.total.p50, gpu.frame.total.p90);
        EXPECT_GT(gpu.step.total.p50, gpu.frame.total.p50);
        for (const PredictedStage& stage : gpu.step.stages) EXPECT_TRUE(stage.counted);
    }
    EXPECT_EQ(drawn.tile_us.size(), static_cast<std::size_t>(drawn.tiles_x) *
                                        static_cast<std::size_t>((drawn.camera.height + 15) / 16));
    EXPECT_GE(drawn.otherwise.size(), 3u);

    ASSERT_TRUE(h.give("predict.of step"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->step; }));
    EXPECT_GT(h.state.prediction->tile_us[0] + h.state.prediction->tile_us[6],
              drawn.tile_us[0] + drawn.tile_us[6]);

    // Many more Gaussians take longer; without the change, the answer is the old one to the bit.
    ASSERT_TRUE(h.give("predict.what-if gaussians 50000000"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->change.gaussians > 0; }));
    EXPECT_GT(h.state.prediction->gpus[0].frame.total.p50, 2 * drawn.gpus[0].frame.total.p50);
    ASSERT_TRUE(h.give("predict.what-if size 3840 2160"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->change.width > 0; }));
    EXPECT_TRUE(h.state.prediction->tile_us.empty()) << "there are no such tiles";
    ASSERT_TRUE(h.give("predict.as-drawn"));
    ASSERT_TRUE(h.until([&] { return h.state.prediction->change.gaussians == 0; }));
    EXPECT_EQ(h.state.prediction->gpus[0].frame.total.p50, drawn.gpus[0].frame.total.p50);

    EXPECT_FALSE(h.give("predict.what-if size 640"));
    EXPECT_FALSE(h.give("predict.what-if gaussians none"));
    EXPECT_FALSE(h.give("predict.what-if colour 3"));
    ASSERT_TRUE(h.give("predict.gpus nosuch"));
    EXPECT_EQ(h.state.prediction->gpus.size(), 2u) << "the choice stays";
    h.session.send(jobs::close());
    EXPECT_TRUE(h.until([&] { return !h.state.prediction; }));
}

TEST(ValuesInTheStudio, every_number_has_values_or_says_why_not) {
    Costly h;
    const auto plain = h.look();
    for (std::size_t i = 1; i < kGaussianValueNames.size(); ++i) {
        SCOPED_TRACE(kGaussianValueNames[i]);
        ASSERT_TRUE(h.give(std::string("color.by ") + kGaussianValueNames[i]));
        const auto frame = h.look();
        const auto value = static_cast<GaussianValue>(i);
        ASSERT_TRUE(h.until([&] { return h.state.values && h.state.values->value == value; }));
        const GaussianValues& values = *h.state.values;
        const bool none = value == GaussianValue::level || value == GaussianValue::filter;
        EXPECT_EQ(values.problem.empty(), !none) << values.problem;
        EXPECT_EQ(frame->tinted, !none);
        if (none) continue;
        EXPECT_EQ(values.rows, h.state.training.gaussians);
        EXPECT_GT(values.finite, 0u);
        EXPECT_LT(values.lo, values.hi);
        EXPECT_EQ(frame->psnr, 0) << "it would say nothing of the model";
        EXPECT_NE(frame->rgba.bytes, plain->rgba.bytes);
    }
    ASSERT_TRUE(h.give("color.by off"));
    const auto after = h.look();
    EXPECT_FALSE(after->tinted);
    EXPECT_EQ(after->rgba.bytes, plain->rgba.bytes);
    EXPECT_FALSE(h.state.values);
}

TEST(ValuesInTheStudio, the_range_filters_what_is_drawn) {
    Costly h;
    EXPECT_FALSE(h.give("color.range 0 1")) << "there is no number yet";
    EXPECT_FALSE(h.give("color.filter on"));
    ASSERT_TRUE(h.give("color.by opacity"));
    EXPECT_FALSE(h.give("color.range 1 0.5"));
    EXPECT_FALSE(h.give("color.range 1"));
    const std::uint64_t all = h.look()->visible;
    ASSERT_TRUE(h.until([&] { return h.state.values != nullptr; }));
    const double middle = 0.5 * (h.state.values->lo + h.state.values->hi);
    EXPECT_LE(h.state.values->least, h.state.values->histogram.lo);
    EXPECT_GE(h.state.values->most, h.state.values->histogram.hi);
    ASSERT_TRUE(h.give(
        fmt::format("color.range {:.9g} {:.9g}", h.state.values->least, h.state.values->most)));
    h.look();
    ASSERT_TRUE(h.until([&] { return h.state.values->within == h.state.values->rows; }))
        << "nothing lies beyond the ends";
    ASSERT_TRUE(h.give(fmt::format("color.range {} 1", middle)));
    EXPECT_EQ(h.look()->visible, all) << "colours alone";
    ASSERT_TRUE(h.give("color.filter on"));
    const std::uint64_t above = h.look()->visible;
    EXPECT_LT(above, all);
    ASSERT_TRUE(h.until([&] { return h.state.values->lo == middle; }));
    const std::uint64_t within = h.state.values->within;
    EXPECT_LT(within, h.state.values->rows);
    ASSERT_TRUE(h.give(fmt::format("color.range 0 {}", middle)));
    EXPECT_EQ(h.look()->visible + above, all);
    ASSERT_TRUE(h.give("color.range auto"));
    EXPECT_TRUE(h.state.view.color_by.automatic);
}

TEST(FrameTime, PicturesShrinkWherePixelsCostAndOnlyThere) {
    constexpr std::array kScales{1.0, 0.71, 0.5, 0.35, 0.25, 0.18};
    constexpr double kPixels = 800 * 600, kPatience = 0.03;
    const auto settled = [&](auto cost) {
        FrameTime time;
        double scale = 1;
        for (int i = 0; i < 20; ++i) {
            time.add(kPixels * scale * scale, cost(kPixels * scale * scale, i));
            scale = time.scale_for(kPixels, kPatience, kScales);
        }
        return scale;
    };
    EXPECT_EQ(settled([](double pixels, int) { return 0.1 * pixels / kPixels; }), 0.5);
    EXPECT_EQ(settled([](double, int) { return 0.01; }), 1.0) << "fast enough";
    // Half a million Gaussians: sorting costs, pixels do not, and times waver.
    EXPECT_EQ(settled([](double, int i) { return 0.22 + 0.02 * (i % 3); }), 1.0);
    EXPECT_LE(settled([](double pixels, int) { return 0.05 + 0.4 * pixels / kPixels; }), 0.25);
    EXPECT_EQ(FrameTime().scale_for(kPixels, kPatience, kScales), 1.0) << "nothing is known yet";
}

}  // namespace
}  // namespace gs
