// Streamed sets of levels in the studio, which switches by gain and budget: a made-up set of known
// numbers, and the real one where it is there.
#include <cmath>

#include "app/session/parts/film_render.h"
#include "app/session/parts/streamed_levels.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "studio_harness.h"
#include "tests/support/data.h"
#include "tests/support/small_levels.h"

namespace gs {
namespace {

using namespace test;

TEST(Levels, an_environment_belongs_to_every_level) {
    const Set files;
    auto text = required(read_text_file(files.meta));
    fs::create_directories(files.meta.parent_path() / "env");
    GaussianModel sky(7, 0);
    for (std::size_t i = 0; i < sky.count; ++i)
        sky.at(kMeans + 1, i) = -50, sky.at(kOpacityLogits, i) = 3;
    ASSERT_TRUE(write_splats(files.meta.parent_path() / "env/meta.json", sky));
    ASSERT_TRUE(
        write_text_file(files.meta, "{\"environment\":\"env/meta.json\"," + text.substr(1)));
    const LevelSet set = the_set(files);
    LevelStore store;
    ASSERT_TRUE(store.read_all(set, coarsest_levels(set), {}));
    std::vector<LevelRun> runs;
    const GaussianModel model = store.gather(set, coarsest_levels(set), runs);
    EXPECT_EQ(model.count, kRegions * 25 + 7);
    EXPECT_EQ(runs.back().level, kEveryLevel);
    EXPECT_NEAR(model.at(kMeans + 1, model.count - 1), -50, 0.1);
    const auto read = required(read_splats(files.meta, {.lod = 2}));
    EXPECT_EQ(read.model.count, kRegions * 25 + 7);
    EXPECT_EQ(describe_levels(set, coarsest_levels(set), store).environment, 7u);
}

ViewRequest seen_from(const SessionHarness& h, double x, double budget, std::uint64_t serial) {
    ViewRequest request = view_request_of(h.state, 1000, 1000);
    request.camera = camera_at(x);
    request.settings.lod_budget = budget;
    request.settings.lod_pixels = 1e-3;
    request.serial = serial;
    return request;
}

TEST(LevelsInTheStudio, switch_with_the_camera_and_the_budget) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    ASSERT_TRUE(h.until([&] { return h.state.levels && h.state.scene; }));
    EXPECT_EQ(h.state.scene->gaussians, kRegions * 25) << "the coarsest first";
    const auto settled = [&](std::uint64_t request) {
        return h.until([&] {
            return h.state.frame && h.state.frame->request == request && h.state.activities.empty();
        });
    };
    h.session.request_view(seen_from(h, -1, 1e9, 1));
    ASSERT_TRUE(settled(1));
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == kRegions * 400; }));
    h.session.request_view(seen_from(h, -1, 900, 2));
    ASSERT_TRUE(settled(2));
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians <= 900; }));
    EXPECT_GT(h.state.scene->gaussians, 500u);
    const auto finest = h.state.levels->levels[0].regions;
    EXPECT_GT(finest, 0u);
    EXPECT_EQ(h.state.levels->drawn, h.state.scene->gaussians);
    EXPECT_EQ(h.state.levels->levels[1].stored, kRegions * 100);
    const std::uint64_t scene = h.state.status.scene_serial;
    h.session.request_view(seen_from(h, 80, 900, 3));
    ASSERT_TRUE(settled(3));
    EXPECT_EQ(h.state.status.scene_serial, scene) << "the camera stays where it is";
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
    // The doctor examines the model once the levels are chosen, but cannot repair it.
    ASSERT_TRUE(h.until([&] { return h.state.doctor != nullptr; }));
    EXPECT_FALSE(h.state.doctor->can_fix);
    h.session.send(jobs::fix());
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    // Another scene has no levels.
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(h.until([&] { return !h.state.levels; }));
}

/// The set is drawn in the colours of its levels, and untouched: without them it is as before.
TEST(LevelsInTheStudio, colours_show_which_level_a_region_has) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    std::uint64_t serial = 0;
    const auto drawn = [&](int level, bool colors, DrawStyle style) {
        ViewRequest request = seen_from(h, -1, 1e9, ++serial);
        request.settings.lod_level = level;
        request.settings.level_colors = colors;
        request.settings.style = style;
        h.session.request_view(request);
        EXPECT_TRUE(h.until([&] {
            return h.state.frame && h.state.frame->request == serial &&
                   h.state.activities.empty() && h.state.levels &&
                   h.state.levels->levels[static_cast<std::size_t>(level)].regions == kRegions;
        }));
        // The picture of the model that is shown by now.
        request.serial = ++serial;
        h.session.request_view(request);
        EXPECT_TRUE(h.until([&] { return h.state.frame->request == serial; }));
        double rgb[3] = {0, 0, 0};
        for (std::size_t i = 0; i < h.state.frame->rgba.bytes.size(); ++i)
            if (i % 4 < 3) rgb[i % 4] += h.state.frame->rgba.bytes[i];
        return std::array{rgb[0] / rgb[1], rgb[2] / rgb[1]};
    };
    for (const DrawStyle style : {DrawStyle::splats, DrawStyle::points, DrawStyle::rings}) {
        SCOPED_TRACE(kDrawStyleNames[static_cast<std::size_t>(style)]);
        const auto plain = drawn(1, false, style);
        EXPECT_NEAR(plain[0], 1, 0.05) << "gray";
        EXPECT_NEAR(plain[1], 1, 0.05);
        EXPECT_LT(drawn(0, true, style)[0], 0.7) << "level 0 is blue";
        EXPECT_LT(drawn(1, true, style)[1], 0.6) << "level 1 is orange";
        EXPECT_NEAR(drawn(1, false, style)[0], plain[0], 1e-6);
    }
    EXPECT_TRUE(h.errors.empty());
}

TEST(LevelsInTheStudio, a_file_that_is_gone_is_said_once_and_the_next_coarser_level_stays) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    fs::remove_all(files.meta.parent_path() / "0_0");
    const auto look = [&](double x, std::uint64_t serial) {
        h.session.request_view(seen_from(h, x, 1e9, serial));
        return h.until([&] {
            return h.state.frame && h.state.frame->request == serial &&
                   h.state.activities.empty() && h.state.scene->gaussians == kRegions * 100;
        });
    };
    ASSERT_TRUE(look(-1, 1)) << "level 1 instead";
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("0_0"), std::string::npos) << h.errors[0].text;
    for (std::uint64_t turn = 2; turn < 6; ++turn)
        ASSERT_TRUE(look(-1 - static_cast<double>(turn), turn));
    EXPECT_EQ(h.errors.size(), 1u) << "not said again";
}

TEST(LevelsInTheStudio, a_damaged_file_is_as_one_that_is_gone) {
    const Set files;
    const fs::path folder = files.meta.parent_path() / "0_0";
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".webp") fs::resize_file(entry.path(), 40);
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    h.session.request_view(seen_from(h, -1, 1e9, 1));
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == kRegions * 100; }));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("0_0"), std::string::npos) << h.errors[0].text;
}

TEST(LevelsInTheStudio, are_exported_where_all_of_the_finest_is_drawn) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    const fs::path out = h.folder.path() / "out.ply";
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(out.string()))));
    ASSERT_EQ(h.errors.size(), 1u);
    EXPECT_NE(h.errors[0].text.find("not all of"), std::string::npos) << h.errors[0].text;
    EXPECT_FALSE(fs::exists(out));
    h.session.request_view(seen_from(h, -1, 1e9, 1));
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == kRegions * 400; }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(out.string()))));
    const auto read = required(read_splats(out));
    EXPECT_EQ(read.model.count, kRegions * 400);
}

/// Memory limits what is chosen, and what is kept.
TEST(LevelsInTheStudio, keep_to_the_memory) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    ViewRequest request = seen_from(h, -1, 1e9, 1);
    request.settings.lod_memory = 0.1;  // MiB, some 1,100 Gaussians of degree 1
    h.session.request_view(request);
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians > 400; }));
    ASSERT_TRUE(h.until([&] { return h.state.activities.empty(); }));
    EXPECT_LT(h.state.scene->gaussians, 1100u);
    EXPECT_LE(h.state.levels->bytes, 0.1 * (1 << 20));
    // Also of one level everywhere: the finest that fits.
    request.settings.lod_level = 0;
    request.serial = 2;
    h.session.request_view(request);
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == kRegions * 100; }));
    EXPECT_TRUE(h.errors.empty());
}

TEST(LevelsInTheStudio, stay_while_the_camera_hardly_moves) {
    const Set files;
    const LevelSet set = the_set(files);
    const auto chosen_at = [&](double x) {
        return choose_levels(set, camera_at(x), {.budget = 1e9, .pixels = 1.5});
    };
    double x = -1;  // a place from where a step back of half a percent coarsens a region
    while (x > -1000 && chosen_at(x) == chosen_at(1.005 * x)) x *= 1.005;
    ASSERT_GT(x, -1000);
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    std::uint64_t serial = 0;
    const auto drawn_from = [&](double place) {
        ViewRequest request = seen_from(h, place, 1e9, ++serial);
        request.settings.lod_pixels = 1.5;
        h.session.request_view(request);
        EXPECT_TRUE(h.until([&] {
            return h.state.frame && h.state.frame->request == serial && h.state.activities.empty();
        }));
        return h.state.scene->gaussians;
    };
    EXPECT_EQ(drawn_from(x), chosen_at(x).gaussians);
    EXPECT_EQ(drawn_from(1.005 * x), chosen_at(x).gaussians);
    EXPECT_NE(chosen_at(x).gaussians, chosen_at(1.005 * x).gaussians);
    EXPECT_EQ(drawn_from(1.02 * x), chosen_at(1.02 * x).gaussians);
}

/// On its way towards the row, where level 0 is not needed yet.
TEST(LevelsInTheStudio, are_read_ahead_of_a_moving_camera) {
    const Set files;
    const LevelSet set = the_set(files);
    const std::uint64_t finest = GaussianModel(kCounts[0], 1).bytes() * kRegions;
    for (const bool moving : {false, true}) {
        SessionHarness h;
        ASSERT_TRUE(h.open(files.meta.string()));
        std::uint64_t serial = 0;
        bool ahead = false;
        for (int way = 0; way < (moving ? 100 : 2) && !ahead; ++way)
            for (double x = -90; x < -65; x += 2) {
                ViewRequest request = seen_from(h, x, 1e9, ++serial);
                request.settings.lod_pixels = 3;
                request.moving = moving;
                h.session.request_view(request);
                ASSERT_TRUE(h.until([&] {
                    return h.state.frame && h.state.frame->request == serial &&
                           h.state.activities.empty();
                }));
                ASSERT_EQ(h.state.levels->levels[0].regions, 0u) << x;
                ahead |= h.state.levels->bytes > finest;
            }
        EXPECT_EQ(ahead, moving);
    }
}

/// A film's pictures are of their own camera's levels, not of the viewport's, which come back.
TEST(LevelsInTheStudio, a_film_sees_the_levels_of_its_own_camera) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    const auto look = [&](ViewRequest request) {
        h.session.request_view(std::move(request));
        EXPECT_TRUE(h.until([&] {
            return h.state.frame && h.state.frame->request == h.state.request_serial &&
                   h.state.activities.empty();
        }));
    };
    const auto from_the_end = [&] { return seen_from(h, 80, 900, ++h.state.request_serial); };
    look(from_the_end());
    const std::uint64_t shown = h.state.scene->gaussians;
    FilmRequest film;
    film.path = (h.folder.path() / "film").string();
    film.width = film.height = 64;
    film.poses = {pose_of(camera_at(-0.4))};
    film.settings = from_the_end().settings;
    PictureRequest wrong{from_the_end(), "", false};
    wrong.request.camera = camera_of(film.poses[0], 64, 64);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::picture(wrong))));
    ASSERT_TRUE(
        h.until_done(h.session.send([film](Engine& e) { e.part<FilmRender>().start(film); })));
    const auto made = required(read_image(fs::path(film.path) / "frame_00000.png"));
    ASSERT_TRUE(h.until([&] {
        return h.state.activities.empty() && h.state.scene->gaussians == shown;
    })) << "the viewport's levels are back";
    ViewRequest same = wrong.request;
    same.serial = ++h.state.request_serial;
    look(same);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::picture(wrong))));
    ASSERT_EQ(h.pictures.size(), 2u);
    const auto apart = [&](const Image8& other) {
        double sum = 0;
        for (int y = 0; y < 64; ++y)
            for (int x = 0; x < 64; ++x)
                for (int c = 0; c < 3; ++c) sum += std::abs(made.at(x, y)[c] - other.at(x, y)[c]);
        return sum;
    };
    EXPECT_EQ(apart(h.pictures[1]->frame->rgba), 0);
    EXPECT_GT(apart(h.pictures[0]->frame->rgba), 0) << "of the viewport's levels";
    EXPECT_TRUE(h.errors.empty()) << h.errors[0].text;
}

TEST(LevelsInTheStudio, a_film_whose_levels_cannot_be_read_ends) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    fs::remove_all(files.meta.parent_path() / "0_0");
    FilmRequest film;
    film.path = (h.folder.path() / "film").string();
    film.width = film.height = 64;
    film.poses = {pose_of(camera_at(-0.4))};
    film.settings = seen_from(h, -1, 1e9, 1).settings;
    h.session.send([film](Engine& e) { e.part<FilmRender>().start(film); });
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 2; }));
    EXPECT_NE(h.errors[0].text.find("0_0"), std::string::npos) << h.errors[0].text;
    EXPECT_NE(h.errors[1].text.find("the film stopped"), std::string::npos) << h.errors[1].text;
    EXPECT_FALSE(fs::exists(fs::path(film.path) / "frame_00000.png"));
}

TEST(LevelsInTheStudio, the_real_set_shows_its_finest_level_from_near) {
    GS_NEED_DATA("splats/playbot/lod_streaming");
    SessionHarness h;
    ASSERT_TRUE(h.open(test::data_path("splats/playbot/lod_streaming").string()));
    ASSERT_TRUE(h.until([&] { return h.state.scene && h.state.scene->gaussians == 1873; }));
    ViewRequest request = view_request_of(h.state, 800, 600);
    request.serial = 1;
    h.session.request_view(request);
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians == 8406; }));
    request.settings.lod_budget = 4000;
    request.serial = 2;
    h.session.request_view(request);
    ASSERT_TRUE(h.until([&] { return h.state.scene->gaussians < 4000; }));
    EXPECT_GT(h.state.scene->gaussians, 3000u);
}

}  // namespace
}  // namespace gs
