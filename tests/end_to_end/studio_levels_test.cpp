// Streamed sets of levels: which level a region is drawn at, what is gathered for it, and the
// studio that switches by distance and budget. A made-up set of known numbers, and the real one
// where it is there.
#include <cmath>

#include "app/session/levels.h"
#include "app/session/parts/film_render.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/maps/colormap.h"
#include "studio_harness.h"
#include "tests/support/data.h"

namespace gs {
namespace {

namespace jobs = testing::jobs;
using testing::SessionHarness;

constexpr std::size_t kRegions = 8, kLevels = 3;
constexpr std::size_t kCounts[kLevels] = {400, 100, 25};

/// Eight boxes of side 1 in a row, 10 apart; at level l, row i of region r has a red of 100 l + r.
void write_set(const fs::path& folder) {
    std::string files, leaves;
    for (std::size_t level = 0; level < kLevels; ++level) {
        GaussianModel m(kRegions * kCounts[level], level == 0 ? 1 : 0);
        for (std::size_t i = 0; i < m.count; ++i) {
            const auto r = static_cast<float>(i / kCounts[level]);
            m.at(kMeans, i) = 10 * r + 0.5f;
            for (int c = 0; c < 3; ++c) m.at(kLogScales + c, i) = -3;
            m.at(kOpacityLogits, i) = 2;
        }
        const std::string name = std::to_string(level) + "_0/meta.json";
        fs::create_directories(folder / (std::to_string(level) + "_0"));
        EXPECT_TRUE(write_splats(folder / name, m));
        files += (level > 0 ? ",\"" : "\"") + name + "\"";
    }
    for (std::size_t r = 0; r < kRegions; ++r) {
        std::string lods;
        for (std::size_t level = 0; level < kLevels; ++level)
            lods +=
                fmt::format("{}\"{}\":{{\"file\":{},\"offset\":{},\"count\":{}}}",
                            level > 0 ? "," : "", level, level, r * kCounts[level], kCounts[level]);
        leaves +=
            fmt::format("{}{{\"bound\":{{\"min\":[{},0,0],\"max\":[{},1,1]}},\"lods\":{{{}}}}}",
                        r > 0 ? "," : "", 10 * r, 10 * r + 1, lods);
    }
    EXPECT_TRUE(write_text_file(
        folder / "lod-meta.json",
        fmt::format("{{\"lodLevels\":3,\"filenames\":[{}],\"tree\":{{\"children\":[{}]}}}}", files,
                    leaves)));
}

/// A copy of it, for a test to do with as it likes; compressing it takes seconds, and is done once.
struct Set {
    Set() {
        static const testing::TemporaryFolder written;
        static const bool once = (write_set(written.path()), true);
        (void)once;
        fs::copy(written.path(), folder.path() / "set", fs::copy_options::recursive);
        meta = folder.path() / "set" / "lod-meta.json";
    }
    testing::TemporaryFolder folder;
    fs::path meta;
};

Camera camera_at(double x) {
    return look_at({x, 0.5, 0.5}, {x + 10, 0.5, 0.5}, {0, -1, 0}, 1000, 1000, 0.9);
}

LevelSet the_set(const Set& files) {
    auto set = read_level_set(files.meta);
    EXPECT_TRUE(set) << set.error().text();
    return std::move(*set);
}

TEST(Levels, are_chosen_by_distance) {
    const Set files;
    const LevelSet set = the_set(files);
    ASSERT_EQ(set.regions.size(), kRegions);
    EXPECT_EQ(set.gaussians(1), kRegions * 100);
    const LevelChoice near = choose_levels(set, camera_at(-1), {1e9, 3, -1});
    EXPECT_EQ(near.levels.front(), 0) << "the nearest is as fine as can be";
    EXPECT_GT(near.levels.back(), 0) << "the farthest is not";
    EXPECT_TRUE(std::is_sorted(near.levels.begin(), near.levels.end())) << "farther is never finer";
    const LevelChoice other_end = choose_levels(set, camera_at(80), {1e9, 3, -1});
    EXPECT_TRUE(std::is_sorted(other_end.levels.rbegin(), other_end.levels.rend()));
    // Far away everything is coarse; with less than a pixel allowed everything is fine.
    EXPECT_EQ(choose_levels(set, camera_at(-1e6), {1e9, 3, -1}), coarsest_levels(set));
    EXPECT_EQ(choose_levels(set, camera_at(-1), {1e9, 1e-3, -1}).gaussians, set.gaussians(0));
}

TEST(Levels, outside_a_clip_box_the_coarsest_will_do) {
    const Set files;
    const LevelSet set = the_set(files);
    LevelWish wish{1e9, 1e-3, -1};
    const LevelRegion& first = set.regions.front();
    wish.clip = ClipBox{first.lo, first.hi};
    const LevelChoice choice = choose_levels(set, camera_at(-1), wish);
    EXPECT_EQ(choice.levels.front(), 0);
    EXPECT_EQ(choice.levels.back(), coarsest_levels(set).levels.back());
    // With parallel rays, near is as far.
    Camera parallel = camera_at(-1);
    parallel.model = CameraModel::orthographic;
    parallel.fx = parallel.fy = 30;
    const LevelChoice alike = choose_levels(set, parallel, {1e9, 3, -1});
    EXPECT_EQ(alike.levels.front(), alike.levels.back());
}

TEST(Levels, keep_to_the_budget_by_coarsening_what_is_far) {
    const Set files;
    const LevelSet set = the_set(files);
    std::uint64_t before = ~0ull;
    for (const double budget : {1e6, 3000.0, 1500.0, 900.0, 300.0, 200.0}) {
        const LevelChoice choice = choose_levels(set, camera_at(-1), {budget, 1e-3, -1});
        EXPECT_LE(static_cast<double>(choice.gaussians), budget);
        EXPECT_LE(choice.gaussians, before);
        EXPECT_TRUE(std::is_sorted(choice.levels.begin(), choice.levels.end())) << budget;
        EXPECT_FALSE(choice.over_budget);
        before = choice.gaussians;
    }
    // The budget is used: another region at a finer level would have been too much.
    const LevelChoice choice = choose_levels(set, camera_at(-1), {1500, 1e-3, -1});
    EXPECT_GT(choice.gaussians, 1500u - 300u);
    EXPECT_GT(choice.pixels, 1e-3);
    const LevelChoice none = choose_levels(set, camera_at(-1), {50, 1e-3, -1});
    EXPECT_TRUE(none.over_budget);
    EXPECT_EQ(none, coarsest_levels(set));
    EXPECT_EQ(choose_levels(set, camera_at(-1), {1e9, 3, 1}).gaussians, set.gaussians(1))
        << "one level, if so wished";
}

TEST(Levels, are_gathered_from_the_files_that_are_needed) {
    const Set files;
    const LevelSet set = the_set(files);
    LevelChoice mixed = coarsest_levels(set);
    mixed.levels[2] = 0;
    auto gathered = gather_levels(set, mixed, {}, {});
    ASSERT_TRUE(gathered) << gathered.error().text();
    EXPECT_EQ(gathered->files.size(), 2u) << "nothing is read of level 1";
    EXPECT_EQ(gathered->model.count, 7u * 25 + 400);
    ASSERT_EQ(gathered->runs.size(), kRegions);
    EXPECT_EQ(gathered->runs[2].level, 0u);
    EXPECT_EQ(gathered->runs[2].end, 2u * 25 + 400);
    EXPECT_EQ(gathered->runs.back().level, 2u);
    EXPECT_EQ(gathered->runs.back().end, gathered->model.count);
    EXPECT_EQ(gathered->model.sh_degree, 1) << "the highest of its parts";
    for (std::size_t r = 0; r < kRegions; ++r) {
        std::size_t there = 0;
        for (std::size_t i = 0; i < gathered->model.count; ++i)
            there += std::abs(gathered->model.at(kMeans, i) - (10 * static_cast<float>(r) + 0.5f)) <
                             0.05f
                         ? 1
                         : 0;
        EXPECT_EQ(there, r == 2 ? 400u : 25u) << r;
    }
    // A level as a whole is what read_splats() gives.
    for (int level = 0; level < 3; ++level) {
        SplatReadOptions options;
        options.lod = level;
        const auto whole = read_splats(files.meta, options);
        const auto by_choice =
            gather_levels(set, choose_levels(set, camera_at(0), {1e9, 1, level}), {}, {});
        ASSERT_TRUE(whole && by_choice);
        ASSERT_EQ(whole->model.count, by_choice->model.count);
        for (std::size_t i = 0; i < whole->model.count; ++i)
            EXPECT_EQ(whole->model.at(kMeans, i), by_choice->model.at(kMeans, i));
    }
    const auto cancelled = gather_levels(
        set, mixed, {}, [](std::string_view, std::size_t, std::size_t) { return false; });
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
    drop_files(set, coarsest_levels(set), 0, gathered->files);
    EXPECT_EQ(gathered->files.size(), 1u) << "what is shown stays";
}

TEST(Levels, an_environment_belongs_to_every_level) {
    const Set files;
    auto text = read_text_file(files.meta);
    ASSERT_TRUE(text);
    fs::create_directories(files.meta.parent_path() / "env");
    GaussianModel sky(7, 0);
    for (std::size_t i = 0; i < sky.count; ++i)
        sky.at(kMeans + 1, i) = -50, sky.at(kOpacityLogits, i) = 3;
    ASSERT_TRUE(write_splats(files.meta.parent_path() / "env/meta.json", sky));
    ASSERT_TRUE(
        write_text_file(files.meta, "{\"environment\":\"env/meta.json\"," + text->substr(1)));
    const LevelSet set = the_set(files);
    const auto gathered = gather_levels(set, coarsest_levels(set), {}, {});
    ASSERT_TRUE(gathered) << gathered.error().text();
    EXPECT_EQ(gathered->model.count, kRegions * 25 + 7);
    EXPECT_EQ(gathered->runs.back().level, kEveryLevel);
    EXPECT_NEAR(gathered->model.at(kMeans + 1, gathered->model.count - 1), -50, 0.1);
    SplatReadOptions options;
    options.lod = 2;
    const auto read = read_splats(files.meta, options);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->model.count, kRegions * 25 + 7);
    EXPECT_EQ(describe_levels(set, coarsest_levels(set), gathered->files).environment, 7u);
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
    ASSERT_TRUE(h.open(testing::tiny_capture()));
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

TEST(LevelsInTheStudio, a_file_that_is_gone_is_said_and_what_was_shown_stays) {
    const Set files;
    SessionHarness h;
    ASSERT_TRUE(h.open(files.meta.string()));
    fs::remove_all(files.meta.parent_path() / "0_0");
    h.session.request_view(seen_from(h, -1, 1e9, 1));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_EQ(h.state.scene->gaussians, kRegions * 25);
    ASSERT_TRUE(h.until([&] { return h.state.frame && h.state.frame->request == 1; }));
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
    const auto made = read_image(fs::path(film.path) / "frame_00000.png");
    ASSERT_TRUE(made) << made.error().text();
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
                for (int c = 0; c < 3; ++c) sum += std::abs(made->at(x, y)[c] - other.at(x, y)[c]);
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
