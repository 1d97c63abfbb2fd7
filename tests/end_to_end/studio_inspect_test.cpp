// Asking about a pixel in the studio, without a window: splats alone, a photo of a capture, while
// it trains, and what is said when there is nothing to ask.
#include <algorithm>

#include "panels/state/inspection.h"
#include "renderer/io/splats/splat_io.h"
#include "studio_harness.h"
#include "tests/support/random_scene.h"

namespace gs {
namespace {

struct Inspect : ::testing::Test {
    /// Runs a command as a script would.
    std::string run(const std::string& name, const Arguments& arguments = {}) {
        const std::uint64_t before = h.state.last_sent;
        const auto done = table.run(h.state, name, arguments);
        if (!done) return done.error().text();
        EXPECT_TRUE(h.state.last_sent == before || h.until_done(h.state.last_sent));
        h.gather();
        if (h.errors.empty()) return {};
        const std::string text = h.errors.back().text;
        h.errors.clear();
        return text;
    }
    /// The viewport shows what is open now.
    bool look() {
        ViewRequest request = view_request_of(h.state, h.state.width, h.state.height);
        request.serial = ++h.state.request_serial;
        h.session.request_view(request);
        return h.until([&] { return h.state.frame && h.state.frame->request == request.serial; });
    }
    const PixelAnswer* answer() const {
        return h.state.inspection ? h.state.inspection->pixel.get() : nullptr;
    }

    SessionHarness h;
    CommandTable table = all_commands();
};

TEST_F(Inspect, SplatsAloneAreExplainedWithoutAPhoto) {
    EXPECT_NE(run("inspect.pixel", {"1", "1"}).find("no picture"), std::string::npos);
    EXPECT_NE(run("inspect.tiles").find("nothing to inspect"), std::string::npos);
    EXPECT_NE(run("inspect.pixel").find("inspect.pixel X Y"), std::string::npos);
    EXPECT_NE(run("inspect.mark", {"3"}).find("no pixel is inspected"), std::string::npos);
    const std::string path = (h.folder.path() / "some.ply").string();
    ASSERT_TRUE(write_splats(path, test::random_model({})));
    ASSERT_TRUE(h.open(path));
    h.state.width = 160;
    h.state.height = 120;
    h.state.navigation.target = {0, 0, 0};
    ASSERT_TRUE(look());
    EXPECT_EQ(run("inspect.pixel", {"80", "60"}), "");
    ASSERT_TRUE(answer());
    const PixelReport& report = answer()->report;
    EXPECT_EQ(report.x, 80);
    EXPECT_EQ(answer()->camera.width, 160);
    EXPECT_FALSE(answer()->photo);
    ASSERT_GT(report.contributors, 0);
    // What the viewport shows there.
    const std::uint8_t* shown = h.state.frame->rgba.at(80, 60);
    EXPECT_NEAR(shown[0], 255 * std::clamp(report.color.x, 0.0, 1.0), 1);
    EXPECT_NEAR(shown[1], 255 * std::clamp(report.color.y, 0.0, 1.0), 1);

    const std::string row = std::to_string(report.entries[0].row);
    EXPECT_EQ(run("inspect.mark", {row}), "");
    EXPECT_EQ(h.state.inspected_row(), report.entries[0].row);
    EXPECT_EQ(run("inspect.mark", {"most"}), "");
    for (const PixelEntry& entry : report.entries) {
        if (entry.row == h.state.inspected_row()) {
            EXPECT_GT(entry.weight, 0);
        }
    }
    EXPECT_NE(run("inspect.mark", {"299999"}).find("not in the list"), std::string::npos);
    EXPECT_EQ(run("inspect.tile", {"2", "1"}), "");
    EXPECT_EQ(answer()->report.tile.column, 2);
    EXPECT_EQ(answer()->report.tile.row, 1);
    EXPECT_NE(run("inspect.tile", {"10", "0"}).find("10 x 8"), std::string::npos);
    EXPECT_NE(run("inspect.pixel", {"12"}).find("usage: inspect.pixel [X Y]"), std::string::npos);
    EXPECT_NE(run("inspect.pixel", {"161", "2"}).find("X"), std::string::npos);

    EXPECT_EQ(run("inspect.tiles"), "");
    const TileTable& tiles = *h.state.inspection->tiles;
    EXPECT_EQ(tiles.tiles, 80u);
    EXPECT_EQ(tiles.worst.size(), 80u);
    ASSERT_TRUE(tiles.timed);
    EXPECT_GE(tiles.worst[0].us, tiles.worst[1].us);
    EXPECT_GT(tiles.worst[0].blended, 0u);
    EXPECT_LE(tiles.worst[0].blended, tiles.worst[0].pairs);
    // The same list as the inspector's.
    const TileCost worst = tiles.worst[0];
    EXPECT_EQ(run("inspect.tile", {std::to_string(worst.column), std::to_string(worst.row)}), "");
    EXPECT_NEAR(static_cast<double>(answer()->report.tile.listed), worst.listed, 1);
    // A row belongs to its answer, and a tile to the picture whose tiles are listed.
    EXPECT_EQ(run("inspect.mark", {"most"}), "");
    EXPECT_TRUE(h.state.inspected_row());
    const std::uint64_t list = answer()->report.tile.listed;
    h.state.navigation.distance *= 4;
    ASSERT_TRUE(look());
    EXPECT_EQ(run("inspect.tile", {std::to_string(worst.column), std::to_string(worst.row)}), "");
    EXPECT_NE(answer()->report.tile.listed, list) << "of the picture as it is now";
    EXPECT_FALSE(h.state.inspected_row());
    EXPECT_EQ(
        run("inspect.tile", {std::to_string(worst.column), std::to_string(worst.row), "listed"}),
        "");
    EXPECT_EQ(answer()->report.tile.listed, list);
    EXPECT_TRUE(same_view(answer()->camera, h.state.inspection->tiles->camera));
    EXPECT_NE(run("inspect.tile", {"1", "1", "there"}).find("listed"), std::string::npos);
    h.state.view.mode = ViewMode::backward_time;
    EXPECT_EQ(run("inspect.tiles"), "") << "whatever map is shown";
    h.state.view.mode = ViewMode::color;

    // After an edit, with what is hidden.
    EXPECT_EQ(run("inspect.pixel", {"80", "60"}), "");
    const std::uint64_t first = answer()->report.entries[0].row;
    EXPECT_EQ(run("select.row", {std::to_string(first)}), "");
    EXPECT_EQ(run("edit.hide"), "");
    EXPECT_EQ(run("select.row", {std::to_string(first + 1)}), "");
    EXPECT_EQ(run("edit.delete"), "");
    ASSERT_TRUE(h.until([&] {
        const auto& entries = answer()->report.entries;
        return std::any_of(entries.begin(), entries.end(), [&](const PixelEntry& entry) {
            return entry.row == first && entry.fate == PixelFate::hidden;
        });
    }));
    EXPECT_EQ(run("inspect.clear"), "");
    EXPECT_NE(run("inspect.tile", {"1", "1", "listed"}).find("no tiles are listed"),
              std::string::npos);
    EXPECT_FALSE(h.state.inspection);
    EXPECT_FALSE(h.state.inspected_row());
}

TEST_F(Inspect, APhotosPixelHasItsLossAlsoWhileTraining) {
    ASSERT_TRUE(h.open(tiny_capture()));
    h.state.width = 40;  // smaller than the photos of 80 x 60
    h.state.height = 30;
    h.state.view.capture_view = 2;
    ASSERT_TRUE(look());
    EXPECT_EQ(run("inspect.pixel", {"20.5", "15.5"}), "");
    ASSERT_TRUE(answer());
    EXPECT_EQ(answer()->camera.width, 80) << "the photo's own pixels";
    EXPECT_EQ(answer()->report.x, 41);
    EXPECT_EQ(answer()->step, 0u);
    EXPECT_FALSE(answer()->view.empty());
    ASSERT_TRUE(answer()->photo);
    EXPECT_GT(dot(answer()->photo->v_color, answer()->photo->v_color), 0);
    EXPECT_FALSE(answer()->photo->altered);
    double shares = 0;
    for (const PixelEntry& entry : answer()->report.entries) shares += entry.share;
    EXPECT_NEAR(shares, 1, 1e-6);
    h.state.view.scale_modifier = 0.5;
    EXPECT_EQ(run("inspect.pixel", {"20.5", "15.5"}), "");
    EXPECT_TRUE(answer()->photo->altered) << "training has another picture";
    h.state.view.scale_modifier = 1;
    EXPECT_EQ(run("inspect.pixel", {"20.5", "15.5"}), "");

    ASSERT_TRUE(h.until_done(h.session.send(jobs::run_to(30))));
    EXPECT_EQ(run("inspect.pixel"), "") << "between two steps";
    ASSERT_TRUE(h.until([&] { return h.state.training.step >= 30; }));
    EXPECT_EQ(run("inspect.pixel"), "");
    EXPECT_EQ(answer()->step, 30u);
    EXPECT_EQ(answer()->report.x, 41);
    EXPECT_EQ(run("inspect.tiles"), "");
    EXPECT_EQ(h.state.inspection->tiles->step, 30u);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    h.gather();
    EXPECT_FALSE(h.state.inspection) << "it was of another scene";
}

}  // namespace
}  // namespace gs
