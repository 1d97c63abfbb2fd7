// Two scenes with one camera: the second one's picture is what it shows when opened alone, and
// every number between the two is what an independent computation from the pictures gives. Also
// while the first one trains.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "panels/viewport/frame_words.h"
#include "studio_harness.h"
#include "tests/support/data.h"

namespace gs {
namespace {

/// The frame that answers to `settings`, waited for.
std::shared_ptr<const ViewFrame> frame_of(SessionHarness& h, const ViewSettings& settings) {
    ViewRequest request = view_request_of(h.state, 160, 120);
    request.settings = settings;
    request.settings.viewer_budget = 0.9;
    request.serial = ++h.state.request_serial;
    h.session.request_view(request);
    EXPECT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == request.serial; }));
    return h.state.frame;
}
ViewSettings side_by_side(int capture_view = -1) {
    return {.compare = Compare::beside, .with = CompareWith::scene, .capture_view = capture_view};
}

double squared_error(const Image8& a, const Image8& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.pixels(); ++i)
        for (std::size_t c = 0; c < 3; ++c) {
            const double d = (int{a.bytes[i * static_cast<std::size_t>(a.channels) + c]} -
                              int{b.bytes[i * static_cast<std::size_t>(b.channels) + c]}) /
                             255.0;
            sum += d * d;
        }
    return sum / (3.0 * static_cast<double>(a.pixels()));
}
double psnr_between(const Image8& a, const Image8& b) {
    return -10 * std::log10(squared_error(a, b));
}

/// Wang et al. 2004 as it is written: 11 x 11 Gaussian windows, nothing beyond the edges.
double slow_ssim(const Image8& a, const Image8& b) {
    const auto at = [](const Image8& image, int x, int y, std::size_t c) {
        return x < 0 || y < 0 || x >= image.width || y >= image.height ? 0.0
                                                                       : image.at(x, y)[c] / 255.0;
    };
    double window[11], whole = 0, sum = 0;
    for (int i = 0; i < 11; ++i)
        whole += window[i] = std::exp(-(i - 5) * (i - 5) / (2 * 1.5 * 1.5));
    for (double& w : window) w /= whole;
    for (std::size_t c = 0; c < 3; ++c)
        for (int y = 0; y < a.height; ++y)
            for (int x = 0; x < a.width; ++x) {
                double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
                for (int v = 0; v < 11; ++v)
                    for (int u = 0; u < 11; ++u) {
                        const double w = window[u] * window[v], p = at(a, x + u - 5, y + v - 5, c),
                                     q = at(b, x + u - 5, y + v - 5, c);
                        ma += w * p, mb += w * q, aa += w * p * p, bb += w * q * q, ab += w * p * q;
                    }
                const double c1 = 1e-4, c2 = 9e-4;
                sum += (2 * ma * mb + c1) * (2 * (ab - ma * mb) + c2) /
                       ((ma * ma + mb * mb + c1) * (aa - ma * ma + bb - mb * mb + c2));
            }
    return sum / (3.0 * static_cast<double>(a.pixels()));
}

class Comparing : public ::testing::Test {
  protected:
    /// The capture is open and at step 12; what it looked like at step 4 is saved as splats and as
    /// a checkpoint.
    void SetUp() override {
        ASSERT_TRUE(h.open(tiny_capture()));
        run_to(4);
        then = frame_of(h, ViewSettings());
        splats = (h.folder.path() / "four.ply").string();
        checkpoint = (h.folder.path() / "run" / "checkpoint.gsc").string();
        h.session.send(jobs::export_splats(splats));
        ASSERT_TRUE(h.until_done(h.session.send(jobs::save_checkpoint(checkpoint))));
        run_to(12);
        ASSERT_TRUE(h.errors.empty());
    }
    void run_to(std::uint64_t step) {
        h.session.send(jobs::run_to(step));
        ASSERT_TRUE(h.until(
            [&] { return h.run_state() == RunState::paused && h.state.training.step == step; }));
    }
    bool beside(const std::string& path) {
        const auto before = h.state.other;
        h.session.send(jobs::open_beside(path));
        return h.until([&] {
            return (h.state.other && h.state.other != before) || !h.errors.empty();
        }) && h.errors.empty();
    }
    SessionHarness h{quiet_options()};
    std::shared_ptr<const ViewFrame> then;
    std::string splats, checkpoint;
};

TEST_F(Comparing, the_other_picture_is_what_that_scene_shows) {
    const auto alone = frame_of(h, ViewSettings());
    for (const std::string& path : {splats, checkpoint, (h.folder.path() / "run").string()}) {
        SCOPED_TRACE(path);
        ASSERT_TRUE(beside(path)) << h.errors[0].text;
        EXPECT_GT(h.state.other->gaussians, 100u);
        const auto frame = frame_of(h, side_by_side());
        ASSERT_TRUE(frame->other);
        EXPECT_EQ(frame->rgba.bytes, alone->rgba.bytes) << "the first scene";
        EXPECT_EQ(frame->other->rgba.bytes, then->rgba.bytes) << "the second one";
        EXPECT_EQ(frame->name + frame->other->name, "AB");
        EXPECT_EQ(frame->step, 12u);
    }
    EXPECT_NE(h.state.other->name.find("run/checkpoint.gsc"), std::string::npos);
}

TEST(ComparingAtOnce, takes_the_coordinates_of_what_is_still_being_loaded) {
    GS_NEED_DATA("bugs/s14_utm_doubles");
    const std::string far = test::data_path("bugs/s14_utm_doubles/a.ply").string();
    SessionHarness alone{quiet_options()};
    alone.session.send(jobs::open(far));
    ASSERT_TRUE(alone.until([&] { return alone.state.scene != nullptr; }));
    EXPECT_GT(std::abs(alone.state.scene->origin.x), 1000) << "it would choose its own";
    SessionHarness h{quiet_options()};
    h.session.send(jobs::open(tiny_capture()));
    h.session.send(jobs::open_beside(far));
    ASSERT_TRUE(h.until([&] { return h.state.other != nullptr; }));
    EXPECT_EQ(h.state.other->origin.x, h.state.scene->origin.x);
    // Nor is it lost with what it was to be compared with.
    h.session.send(jobs::open((h.folder.path() / "nothing").string()));
    h.session.send(jobs::open_beside(far));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    h.session.send(jobs::open_beside(far));
    const auto before = h.state.other;
    EXPECT_TRUE(h.until([&] { return h.state.other != before; }));
}

TEST_F(Comparing, numbers_between_the_pictures_are_right) {
    ASSERT_TRUE(beside(splats));
    const auto frame = frame_of(h, side_by_side(2));
    ASSERT_TRUE(frame->other);
    const Image8 &a = frame->rgba, &b = frame->other->rgba;
    ASSERT_GT(squared_error(a, b), 1e-5) << "nothing to measure";
    EXPECT_NEAR(frame->psnr_between, psnr_between(a, b),
                0.15);  // these are rounded to bytes: noise of 56 dB
    EXPECT_NEAR(frame->ssim_between, slow_ssim(a, b), 2e-3);
    ASSERT_EQ(frame->photo.width, 80);
    EXPECT_NEAR(frame->psnr, psnr_between(a, frame->photo), 0.05);
    EXPECT_NEAR(frame->other->psnr, psnr_between(b, frame->photo), 0.05);
    EXPECT_GT(frame->psnr, frame->other->psnr) << "it was trained for longer";

    ViewSettings swapped = side_by_side(2);
    swapped.swapped = true;
    const auto turned = frame_of(h, swapped);
    EXPECT_EQ(turned->name + turned->other->name, "BA");
    EXPECT_EQ(turned->rgba.bytes, b.bytes);
    EXPECT_EQ(turned->other->rgba.bytes, a.bytes);
    EXPECT_EQ(turned->psnr, frame->other->psnr);
}

TEST_F(Comparing, the_difference_is_a_map_of_both_with_or_without_sign) {
    ASSERT_TRUE(beside(splats));
    ViewSettings settings = side_by_side();
    const auto both = frame_of(h, settings);
    settings.mode = ViewMode::error;
    const auto size = frame_of(h, settings);
    settings.signed_error = true;
    const auto with_sign = frame_of(h, settings);
    settings.swapped = true;
    const auto reverse = frame_of(h, settings);
    ASSERT_EQ(size->map.pixels(), both->rgba.pixels());
    for (std::size_t i = 0; i < both->rgba.pixels(); ++i) {
        float absolute = 0, difference = 0;
        for (std::size_t c = 0; c < 3; ++c) {
            const float d = static_cast<float>(int{both->rgba.bytes[4 * i + c]} -
                                               both->other->rgba.bytes[4 * i + c]);
            absolute += std::abs(d) / 765;
            difference += d / 765;
        }
        ASSERT_NEAR(size->map.values[i], absolute, 1.01 / 255) << i;
        ASSERT_NEAR(with_sign->map.values[i], difference, 1.01 / 255) << i;
        ASSERT_EQ(reverse->map.values[i], -with_sign->map.values[i]) << i;
    }
    EXPECT_EQ(with_sign->range_lo, -with_sign->range_hi) << "zero is in the middle";
    EXPECT_EQ(with_sign->colormap, Colormap::diverging);
    EXPECT_NE(size->colormap, Colormap::diverging);
    EXPECT_EQ(size->other->rgba.bytes, both->other->rgba.bytes) << "colours beside the difference";
    EXPECT_NE(with_sign->scene, reverse->scene) << "what was subtracted from what is said";

    // The same signs against the photo.
    settings.with = CompareWith::photo;
    settings.capture_view = 3;
    settings.swapped = false;
    const auto photo = frame_of(h, settings);
    EXPECT_FALSE(photo->other);
    EXPECT_LT(photo->map_min, 0);
    EXPECT_GT(photo->map_max, 0);
}

// A selection is drawn in orange: no difference of the two models.
TEST_F(Comparing, a_selection_is_in_no_score_and_in_no_error) {
    ASSERT_TRUE(beside(splats));
    ViewSettings error = side_by_side(2);
    error.mode = ViewMode::error;
    const auto before = frame_of(h, error);
    const auto scored = frame_of(h, side_by_side(2));
    ASSERT_TRUE(std::isfinite(scored->psnr_between));
    const CommandTable commands = all_commands();
    ASSERT_TRUE(commands.run(h.state, "select.all", {}));
    ASSERT_TRUE(h.until_done(h.state.last_sent));
    const auto colored = frame_of(h, side_by_side(2));
    ASSERT_NE(colored->rgba.bytes, scored->rgba.bytes) << "the selection is shown";
    EXPECT_TRUE(std::isnan(colored->psnr_between) && std::isnan(colored->ssim_between));
    EXPECT_NE(nearness_of(*colored).find("no score"), std::string::npos);
    const auto after = frame_of(h, error);
    ASSERT_EQ(after->map.values.size(), before->map.values.size());
    EXPECT_TRUE(std::equal(after->map.values.data(),
                           after->map.values.data() + after->map.values.size(),
                           before->map.values.data()));
    EXPECT_EQ(after->map_p95, before->map_p95);
    EXPECT_EQ(after->psnr_between, before->psnr_between);
}

TEST_F(Comparing, maps_of_both_share_one_range) {
    ASSERT_TRUE(beside(splats));
    for (const ViewMode mode : {ViewMode::depth, ViewMode::contributors, ViewMode::pairs}) {
        ViewSettings settings = side_by_side();
        settings.mode = mode;
        const auto frame = frame_of(h, settings);
        ASSERT_TRUE(frame->other);
        EXPECT_EQ(frame->range_lo, frame->other->range_lo);
        EXPECT_EQ(frame->range_hi, frame->other->range_hi);
        EXPECT_EQ(frame->range_lo, std::min(frame->map_min, frame->other->map_min));
        EXPECT_EQ(frame->range_hi, std::max(frame->map_max, frame->other->map_max));
        EXPECT_FALSE(frame->map.values.empty());
        EXPECT_FALSE(frame->other->map.values.empty());
    }
    for (const DrawStyle style : {DrawStyle::points, DrawStyle::ellipsoids}) {
        ViewSettings settings = side_by_side();
        settings.style = style;
        EXPECT_NE(frame_of(h, settings)->rgba.bytes, then->rgba.bytes);
        EXPECT_NE(h.state.frame->other->rgba.bytes, then->rgba.bytes);
    }
}

TEST_F(Comparing, goes_on_while_the_first_scene_trains_and_changes_no_bit_of_it) {
    const auto checkpoint_at_30 = [&](const char* name) {
        run_to(30);
        const std::string path = (h.folder.path() / name).string();
        EXPECT_TRUE(h.until_done(h.session.send(jobs::save_checkpoint(path))));
        const auto bytes = read_text_file(path);
        return bytes ? *bytes : std::string();
    };
    h.session.send(jobs::open(checkpoint, tiny_capture()));
    ASSERT_TRUE(
        h.until([&] { return h.state.training.step == 4 && h.run_state() == RunState::paused; }));
    const std::string alone = checkpoint_at_30("alone.gsc");
    h.session.send(jobs::open(checkpoint, tiny_capture()));
    ASSERT_TRUE(
        h.until([&] { return h.state.training.step == 4 && h.run_state() == RunState::paused; }));
    ASSERT_TRUE(beside(splats));
    h.session.send(jobs::run_to(30));
    int seen = 0;
    ASSERT_TRUE(h.until([&] {
        ViewSettings settings = side_by_side();
        settings.swapped = seen % 2 == 1;
        const auto frame = frame_of(h, settings);
        const ViewFrame& second = settings.swapped ? *frame : *frame->other;
        EXPECT_EQ(second.rgba.bytes, then->rgba.bytes) << "the finished scene stays as it is";
        ++seen;
        return h.run_state() == RunState::paused;
    }));
    EXPECT_GT(seen, 0);
    EXPECT_TRUE(alone == checkpoint_at_30("watched.gsc"));
}

TEST_F(Comparing, what_cannot_be_opened_leaves_everything_as_it_was) {
    ASSERT_TRUE(beside(splats));
    const auto other = h.state.other;
    const std::string junk = (h.folder.path() / "junk.gsc").string();
    std::ofstream(junk) << "GSCKPT01 and then nothing";
    for (const std::string& path : {junk, tiny_capture(), std::string("/nonexistent.ply")}) {
        h.errors.clear();
        EXPECT_FALSE(beside(path)) << path;
        ASSERT_EQ(h.errors.size(), 1u);
        EXPECT_FALSE(h.errors[0].text.empty());
    }
    EXPECT_EQ(h.state.other, other);
    EXPECT_TRUE(frame_of(h, side_by_side())->other);
    EXPECT_EQ(h.run_state(), RunState::paused);
}

TEST_F(Comparing, commands_open_swap_and_end_it) {
    const CommandTable table = all_commands();
    const auto fails = [&](const char* name, const Arguments& arguments) {
        return !table.run(h.state, name, arguments);
    };
    EXPECT_TRUE(fails("scene.swap", {}));
    EXPECT_TRUE(fails("view.with", {"scene"}));
    h.state.view.mode = ViewMode::depth;
    ASSERT_TRUE(table.run(h.state, "scene.compare", {splats}));
    ASSERT_TRUE(h.until([&] { return h.state.other != nullptr; }));
    EXPECT_EQ(h.state.view.with, CompareWith::scene);
    EXPECT_EQ(h.state.view.compare, Compare::split) << "it is shown at once";
    EXPECT_EQ(h.state.view.mode, ViewMode::depth);
    ASSERT_TRUE(table.run(h.state, "view.compare", {"beside"}));
    ASSERT_TRUE(table.run(h.state, "scene.swap", {}));
    EXPECT_TRUE(h.state.view.swapped);
    ASSERT_TRUE(table.run(h.state, "view.with", {"photo"}));
    ASSERT_TRUE(table.run(h.state, "view.with", {"scene"}));
    ASSERT_TRUE(frame_of(h, h.state.view)->other);
    ASSERT_TRUE(table.run(h.state, "scene.end-compare", {}));
    ASSERT_TRUE(h.until([&] { return h.state.other == nullptr; }));
    EXPECT_EQ(h.state.view.compare, Compare::off);
    EXPECT_FALSE(h.state.view.swapped);
    EXPECT_FALSE(frame_of(h, side_by_side())->other) << "asked for, but there is no second scene";
    EXPECT_TRUE(h.errors.empty());
    h.session.send(jobs::end_compare());
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 1; }));
}

TEST(ComparingNothing, needs_an_open_scene_and_closing_ends_it) {
    SessionHarness h(quiet_options());
    h.session.send(jobs::open_beside(tiny_capture()));
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 1; }));
    h.errors.clear();
    ASSERT_TRUE(h.open(tiny_capture()));
    const std::string splats = (h.folder.path() / "zero.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    // Both at once, as the command line does.
    h.session.send(jobs::open(splats));
    h.session.send(jobs::open_beside(splats));
    ASSERT_TRUE(h.until([&] { return h.state.other && h.state.scene->name == "zero.ply"; }));
    const auto frame = frame_of(h, side_by_side());
    ASSERT_TRUE(frame->other);
    EXPECT_EQ(frame->rgba.bytes, frame->other->rgba.bytes);
    EXPECT_GT(frame->psnr_between, 150) << "the same scene twice";
    EXPECT_NEAR(frame->ssim_between, 1, 1e-6);
    h.session.send(jobs::close());
    ASSERT_TRUE(
        h.until([&] { return h.state.other == nullptr && h.run_state() == RunState::empty; }));
    EXPECT_TRUE(h.errors.empty());
}

}  // namespace
}  // namespace gs
