// The panels' parts without a window: frusta, photos, layout, formats, fuzzy search, plots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/assets.h"
#include "base/format.h"
#include "panels/scene/photo_rows.h"
#include "panels/viewport/frusta.h"
#include "panels/viewport/overlays.h"
#include "panels/widgets/fuzzy.h"
#include "panels/widgets/plot.h"
#include "panels/widgets/widgets.h"
#include "panels/workspace.h"
#include "tests/panels/fake_snapshot.h"
#include "tests/panels/headless.h"

namespace gs {
namespace {

using test::kNaN;

TEST(Frusta, SegmentsAreCutAtTheNearPlane) {
    const Camera camera = look_at({0, 0, 0}, {0, 0, 1}, {0, -1, 0}, 100, 100, 1);
    EXPECT_FALSE(project_segment(camera, {0, 0, -1}, {1, 0, -2}, 0.1));
    const auto line = project_segment(camera, {0.05, 0, -1}, {0.05, 0, 3}, 0.1);
    ASSERT_TRUE(line);
    EXPECT_NEAR((*line)[0].x, 50 + camera.fx * 0.05 / 0.1, 1e-6);
    EXPECT_FALSE(project_point(camera, {0, 0, 0}, 0.1));
}

TEST(Frusta, CornersProjectToThePicturesCorners) {
    const Camera camera = look_at({1, 2, 3}, {0, 0, 0}, {0, -1, 0}, 640, 480, 0.8);
    const auto corners = frustum_corners(camera, 0.5);
    const auto top_left = project_point(camera, corners[1], 0.01),
               bottom_right = project_point(camera, corners[3], 0.01);
    ASSERT_TRUE(top_left && bottom_right);
    EXPECT_NEAR(top_left->x, 0, 1e-6);
    EXPECT_NEAR(top_left->y, 0, 1e-6);
    EXPECT_NEAR(bottom_right->x, 640, 1e-6);
    EXPECT_NEAR(bottom_right->y, 480, 1e-6);
}

TEST(Frusta, NearestIsPickedAndOwnPlaceIsLeftOut) {
    std::vector<CameraRow> rows(3);
    rows[0].camera = look_at({0, 0, 6}, {0, 0, 9}, {0, -1, 0}, 100, 100, 1);
    rows[1].camera = look_at({0, 0, 3}, {0, 0, 9}, {0, -1, 0}, 100, 100, 1);
    rows[2].camera = look_at({0, 0, 0}, {0, 0, 1}, {0, -1, 0}, 100, 100, 1);
    const auto seen = visible_frusta(rows[2].camera, rows, 0.3);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].row, 0u) << "farthest first";
    EXPECT_EQ(frustum_at(seen, {50, 50}, 2), 1u);
    EXPECT_FALSE(frustum_at(seen, {2, 2}, 2));
}

TEST(Frusta, ColoursFollowWhatIsKnownOfThePhotos) {
    std::vector<CameraRow> rows(3);
    rows[0].psnr = 20, rows[1].psnr = kNaN, rows[2].psnr = 31;
    rows[2].test = true, rows[0].times_sampled = 7;
    const FrustaRange psnr(rows, FrustaColor::psnr), used(rows, FrustaColor::used);
    EXPECT_EQ(psnr.lo, 20);
    EXPECT_EQ(psnr.hi, 31);
    EXPECT_EQ(used.hi, 7);
    EXPECT_TRUE(std::isnan(used.value_of(rows[2]))) << "test photos are never used";
    EXPECT_FALSE(FrustaRange(rows, FrustaColor::split).any());
}

// ---- memory

TEST(MemoryHistory, StaysBoundedAndKeepsItsPeaks) {
    MemoryHistory history;
    for (int i = 0; i < 20'000; ++i)
        history.add({1.0 * i, 10, i == 777 ? 5000u : 100u, i == 19'998 ? 70u : 60u});
    const auto& points = history.points();
    EXPECT_LE(points.size(), MemoryHistory::kMost);
    EXPECT_GT(points.size(), MemoryHistory::kMost / 4);
    EXPECT_EQ(points.back().seconds, 19'999);
    std::uint64_t process = 0, device = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        process = std::max(process, points[i].process);
        device = std::max(device, points[i].device);
        if (i > 0) {
            EXPECT_GT(points[i].seconds, points[i - 1].seconds);
        }
    }
    EXPECT_EQ(process, 5000u);
    EXPECT_EQ(device, 70u);
}

// ---- photos

TEST(Photos, AreSortedWithUnmeasuredOnesLast) {
    std::vector<CameraRow> rows(4);
    const char* names[] = {"b.jpg", "a.jpg", "d.jpg", "c.png"};
    const double values[] = {22, kNaN, 19, 30};
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].name = names[i], rows[i].psnr = values[i], rows[i].test = i == 3;
    const auto order = [&](PhotoKey key, bool down, std::string_view filter = {},
                           bool test_only = false) {
        std::string out;
        for (const CameraRow* row : sorted_rows(rows, filter, test_only, key, down))
            out += row->name[0];
        return out;
    };
    EXPECT_EQ(order(PhotoKey::name, false), "abcd");
    EXPECT_EQ(order(PhotoKey::psnr, false), "dbca");
    EXPECT_EQ(order(PhotoKey::psnr, true), "cbda");
    EXPECT_EQ(order(PhotoKey::psnr, false, "jpg"), "dba");
    EXPECT_EQ(order(PhotoKey::psnr, false, "", true), "c");
}

TEST(Photos, MuchWorseOnesAreOutliersOfTheirSplit) {
    std::vector<CameraRow> rows(12);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].test = i >= 8;  // four of them: too few to tell
        rows[i].psnr = rows[i].test ? (i == 8 ? 5 : 28) : 30 + 0.1 * static_cast<double>(i);
    }
    rows[2].psnr = 29.4;
    rows[5].psnr = 24;
    const PsnrOutliers outlier(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(outlier(rows[i]), i == 5) << i;
    EXPECT_THAT(words_of_outlier(rows[5], outlier), testing::StartsWith("6."));
}

// ---- layout

TEST(Layout, RoundTrip) {
    Workspace a;
    a.reset_layout();
    EXPECT_TRUE(a.move_panel("Plots", Region::right));
    EXPECT_TRUE(a.show_panel("log"));
    EXPECT_TRUE(a.show_panel("Memory", true));
    const std::string text = a.save_layout();
    Workspace b;
    b.load_layout(text);
    EXPECT_EQ(b.save_layout(), text);
    EXPECT_FALSE(b.shown("Memory"));
    EXPECT_TRUE(b.shown("plots"));
    EXPECT_FALSE(a.show_panel("no such panel"));
}

TEST(Layout, TheStoredOnesNameEveryPanel) {
    Workspace workspace;
    for (const char* name : {"studio", "traces"}) {
        ASSERT_TRUE(workspace.show_layout(name)) << name;
        const std::string text(embedded_asset(std::string("layouts/") + name + ".layout"));
        for (const std::string& panel : workspace.panel_names())
            EXPECT_NE(text.find("\npanel " + panel + "="), std::string::npos)
                << name << ' ' << panel;
    }
    const auto unknown = workspace.show_layout("no such layout");
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().text().find("studio"), std::string::npos) << "says which there are";
}

TEST(Theme, HasEveryColour) {
    const Theme& t = theme();
    for (const ImU32 color : {t.text, t.dim, t.faint, t.grid, t.window, t.panel, t.field, t.accent,
                              t.good, t.warning, t.error, t.train_camera, t.test_camera})
        EXPECT_NE(color, 0U);
    for (std::size_t i = 0; i < kStageCount; ++i) EXPECT_NE(t.stages[i], 0U) << kStageNames[i];
    for (const auto& [name, color] : t.interface) EXPECT_FALSE(name.empty());
}

/// Lightness and two axes of hue in which equal distances look equally different (Ottosson's Oklab,
/// 2020), of a colour as eyes without the long (-1) or the middle (1) cones see it (Machado,
/// Oliveira and Fernandes, 2009, severity 1); 0: all cones.
Vec3d seen_colour(ImU32 color, int missing) {
    const auto linear = [&](int shift) {
        const double c = static_cast<double>((color >> shift) & 0xff) / 255;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const Vec3d rgb{linear(IM_COL32_R_SHIFT), linear(IM_COL32_G_SHIFT), linear(IM_COL32_B_SHIFT)};
    const Mat3d eyes = missing < 0   ? Mat3d{{{0.152286, 1.052583, -0.204868},
                                              {0.114503, 0.786281, 0.099216},
                                              {-0.003882, -0.048116, 1.051998}}}
                       : missing > 0 ? Mat3d{{{0.367322, 0.860646, -0.227968},
                                              {0.280085, 0.672501, 0.047413},
                                              {-0.011820, 0.042940, 0.968881}}}
                                     : Mat3d{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    Vec3d c = eyes * rgb;
    c = {std::clamp(c.x, 0.0, 1.0), std::clamp(c.y, 0.0, 1.0), std::clamp(c.z, 0.0, 1.0)};
    const Mat3d cones_from_rgb{{{0.4122214708, 0.5363325363, 0.0514459929},
                                {0.2119034982, 0.6806995451, 0.1073969566},
                                {0.0883024619, 0.2817188376, 0.6299787005}}};
    const Vec3d cones = cones_from_rgb * c;
    const Mat3d lab_from_cones{{{0.2104542553, 0.7936177850, -0.0040720468},
                                {1.9779984951, -2.4285922050, 0.4505937099},
                                {0.0259040371, 0.7827717662, -0.8086757660}}};
    return lab_from_cones * Vec3d{std::cbrt(cones.x), std::cbrt(cones.y), std::cbrt(cones.z)};
}
double least_difference(std::span<const ImU32> colors) {
    double least = 1e9;
    for (const int missing : {-1, 0, 1})
        for (std::size_t i = 0; i < colors.size(); ++i)
            for (std::size_t k = 0; k < i; ++k) {
                const Vec3d by = seen_colour(colors[i], missing) - seen_colour(colors[k], missing);
                least = std::min(least, std::sqrt(dot(by, by)));
            }
    return least;
}

/// Neighbouring colours also differ for eyes without red or green cones: 0.02 is the difference
/// that can just be seen between large areas.
TEST(Theme, StagesStayApartForColourBlindEyes) {
    const Theme& t = theme();
    std::vector<ImU32> stages;
    for (const Stage stage :
         {Stage::cull, Stage::project, Stage::emit, Stage::sort, Stage::ranges, Stage::blend,
          Stage::loss, Stage::blend_backward, Stage::project_backward, Stage::adam, Stage::density,
          Stage::evaluation})
        stages.push_back(t.stages[static_cast<std::size_t>(stage)]);
    EXPECT_GT(least_difference(stages), 0.06);
    EXPECT_GT(least_difference(std::array{t.train_camera, t.test_camera}), 0.15);
    EXPECT_GT(least_difference(std::array{t.good, t.warning, t.error}), 0.08);
    EXPECT_LT(least_difference(std::array{color_rgb(0x8fd3f4), color_rgb(0xb3c7f7)}), 0.02)
        << "two that are alike without green cones";
}

TEST(Theme, AUsersFileChangesWhatItNames) {
    const Asset built_in{"built-in",
                         "text = ffffff\naccent = 0000ff\n[interface]\nText = text\n"
                         "CheckMark = accent\n[stages]\nblend = 010203\n"};
    const Asset own{"own", "accent = ff000080  # half\nno line\nnothing = 123456\ntext = green\n"};
    const Theme t = read_theme(std::array{built_in, own});
    EXPECT_EQ(t.text, color_rgb(0xffffff));
    EXPECT_EQ(t.accent, color_rgb(0xff0000, 0x80));
    EXPECT_EQ(t.stages[static_cast<std::size_t>(Stage::blend)], color_rgb(0x010203));
    EXPECT_THAT(t.interface, testing::ElementsAre(testing::Pair("Text", t.text),
                                                  testing::Pair("CheckMark", t.accent)));
}

TEST(Layout, DamagedTextChangesNothingElse) {
    Workspace workspace;
    workspace.reset_layout();
    const std::string before = workspace.save_layout();
    for (const std::string text :
         {"", "garbage",
          "gausscope layout 1\nsize left=nan\nsize left=\npanel =x\npanel Nothing=left\npanel "
          "Log=nowhere\n\n===\nsize\n"}) {
        workspace.load_layout(text);
        EXPECT_EQ(workspace.save_layout(), before) << text;
    }
    workspace.load_layout("gausscope layout 1\r\nsize left=99\r\npanel Log=right front\r\n");
    EXPECT_NE(workspace.save_layout().find("left=0.90000"), std::string::npos);
    EXPECT_NE(workspace.save_layout().find("panel Log=right front"), std::string::npos);
    for (std::size_t cut = 0; cut < before.size(); ++cut)
        workspace.load_layout(before.substr(0, cut));
}

// ---- words and numbers

TEST(Format, Numbers) {
    EXPECT_EQ(format_count(12400), "12,400");
    EXPECT_EQ(format_count(-1234567), "-1,234,567");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(kNaN), "-");
    EXPECT_EQ(counted(0, "error"), "0 errors");
    EXPECT_EQ(counted(1, "error"), "1 error");
    EXPECT_EQ(counted(12400, "view", "have no pose"), "12,400 views have no pose");
    EXPECT_EQ(counted(1, "view", "have no pose"), "1 view has no pose");
    EXPECT_EQ(counted(1, "photo", "are large"), "1 photo is large");
    EXPECT_EQ(counted(1, "view", "look away"), "1 view looks away");
    EXPECT_EQ(format_bytes(1536), "1.50 KiB");
    EXPECT_EQ(format_bytes(12), "12 B");
    EXPECT_EQ(format_ns(12400), "12.4 us");
    EXPECT_EQ(format_ns(2.5e9), "2.50 s");
    EXPECT_EQ(format_ms(3.214), "3.21 ms");
    EXPECT_EQ(format_duration(192), "3 min 12 s");
    EXPECT_EQ(format_duration(7500), "2 h 05 min");
    EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "-");
    EXPECT_EQ(format_share(0.254), "25.4 %");
    EXPECT_EQ(format_compact(1460), "1,460");
    EXPECT_EQ(format_compact(0.01234), "0.0123");
    EXPECT_EQ(std::stod(argument(0.1)), 0.1);
    EXPECT_EQ(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    EXPECT_EQ(csv_number(kNaN), "");
}

TEST(Format, Words) {
    EXPECT_THAT(split_words("  open  \"/a b/c\" 'd e' f\\ g \"\""),
                testing::ElementsAre("open", "/a b/c", "d e", "f g", ""));
    EXPECT_TRUE(split_words("   ").empty());
    EXPECT_THAT(split_words("\"open end"), testing::ElementsAre("open end"));
}

TEST(Fuzzy, PrefersBeginningsAndRuns) {
    EXPECT_EQ(fuzzy_score("xyz", "Frame everything"), -1);
    EXPECT_EQ(fuzzy_score("", "anything"), 0);
    EXPECT_GT(fuzzy_score("fe", "Frame everything"), fuzzy_score("fe", "Buffer"));
    EXPECT_GT(fuzzy_score("pau", "Pause training"), fuzzy_score("pau", "Copy all units"));
    EXPECT_GE(fuzzy_score("TRAIN pause", "train.pause"), 0);
    EXPECT_TRUE(contains_text("Checkpoint saved", "SAVED"));
    EXPECT_FALSE(contains_text("short", "longer than it"));
}

TEST(Chips, LieNowhereOverOneAnother) {
    test::Headless ui(400, 300);
    ui.frame([] {
        Chips chips(*ImGui::GetForegroundDrawList());
        chips.keep_clear({{0, 250}, {60, 300}});
        for (const char* words : {"A and B: 28.40 dB", "(12, 40)  11,870 pairs", "photo"})
            for (const auto side : {Chips::Side::left, Chips::Side::middle, Chips::Side::right})
                chips.put({200, 270}, side, Chips::Way::up, words, theme().text);
        chips.put({5, 270}, Chips::Side::left, Chips::Way::up, "render", theme().text);
        chips.put({200, 10}, Chips::Side::middle, Chips::Way::down, "", theme().text);
        const auto& all = chips.taken();
        EXPECT_EQ(all.size(), 11u);
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(all[i].touches(all[j])) << i << j;
        const std::vector<std::string> words{"960 x 640", "step 12,400", "11.3 ms", "29.84 dB"};
        EXPECT_EQ(wrapped(words, 1e6F),
                  (std::vector<std::string>{"960 x 640  step 12,400  11.3 ms  29.84 dB"}));
        EXPECT_EQ(wrapped(words, 1), words) << "no word is cut";
    });
}

TEST(Chips, LongMessagesStayInTheWindow) {
    test::Headless ui(800, 600);
    std::string path;
    for (int i = 0; i < 60; ++i) path += "/a_folder_of_photos_" + std::to_string(i);
    const std::string why =
        "photo IMG_0012.jpg cannot be read any more: " + path + ": no such file";
    const auto put = [&](const std::string& words, Chips::Side side, float x) {
        PictureRect rect;
        ui.frame([&] {
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize({800, 600});
            ImGui::Begin("picture", nullptr, ImGuiWindowFlags_NoDecoration);
            ImDrawList& list = *ImGui::GetWindowDrawList();
            list.PushClipRect({200, 0}, {700, 600}, true);
            rect = Chips(list).put({x, 10}, side, Chips::Way::down, words, theme().warning);
            list.PopClipRect();
            ImGui::End();
        });
        return rect;
    };
    const float line = put("a", Chips::Side::left, 205).height();
    for (const auto side : {Chips::Side::left, Chips::Side::middle, Chips::Side::right})
        for (const std::string& words :
             {std::string("/a/short path"), why.substr(0, 120), why, path})
            for (const float x : {205.0F, 450.0F, 695.0F}) {
                const PictureRect rect = put(words, side, x);
                EXPECT_GE(rect.a.x, 200) << words.size();
                EXPECT_LE(rect.b.x, 700) << words.size();
                EXPECT_EQ(rect.height() > line, words.size() > 20);
                EXPECT_LT(rect.height(), 8 * line);
            }
    EXPECT_EQ(put("away", Chips::Side::left, 720).a.x, 720) << "what is out of sight stays there";
    ui.frame([&] { EXPECT_TRUE(fitted_lines(why, 490, 6).ends_with(": no such file")); });
    for (const auto& [words, cut] : {std::pair(why, true), std::pair(why.substr(0, 120), false)}) {
        ui.move_mouse({450, 500});
        (void)put(words, Chips::Side::left, 205);
        (void)tooltip_changed();
        ui.move_mouse({450, 20});
        (void)put(words, Chips::Side::left, 205);
        EXPECT_EQ(tooltip_changed(), cut) << "only what is cut is shown whole";
    }
}

TEST(Overlays, CountsUnderTheMouseAreWrittenInFull) {
    ViewFrame frame{.mode = ViewMode::pairs};
    frame.camera.width = frame.camera.height = 32;
    frame.map_cell = 16;
    frame.unit = "pairs";
    frame.map = ImageF(2, 2, 1);
    frame.map.at(0, 0, 0) = 11870;
    frame.map.at(0, 1, 0) = 12.5F;
    frame.map.at(0, 0, 1) = 23456.75F;
    EXPECT_NE(pixel_text(frame, 1, 1).find("  11,870 pairs"), std::string::npos);
    EXPECT_NE(pixel_text(frame, 17, 1).find("  12.5 pairs"), std::string::npos);
    EXPECT_NE(pixel_text(frame, 1, 17).find("  23.5 k pairs"), std::string::npos);
}

TEST(Overlays, ANormalIsThreeNumbers) {
    ViewFrame frame{.mode = ViewMode::normals};
    frame.camera.width = frame.camera.height = 2;
    frame.normals = ImageF(2, 2, 3);
    frame.normals.values.fill(std::numeric_limits<float>::quiet_NaN());
    frame.normals.at(0, 1, 0) = 0.6F;
    frame.normals.at(1, 1, 0) = -0.8F;
    frame.normals.at(2, 1, 0) = 0;
    EXPECT_NE(pixel_text(frame, 1, 0).find("normal 0.600 -0.800 0.000"), std::string::npos);
    EXPECT_NE(pixel_text(frame, 0, 0).find("no normal"), std::string::npos);
    EXPECT_EQ(pixel_text(frame, 5, 0).find("normal"), std::string::npos);
}

/// Whatever is asked for and cannot be shown, the picture says why.
TEST(Overlays, SayWhyNothingIsShown) {
    Snapshot snapshot;
    ViewFrame frame;
    for (std::size_t mode = 0; mode < kViewModeNames.size(); ++mode) {
        frame.mode = static_cast<ViewMode>(mode);
        frame.map = ImageF();
        EXPECT_EQ(!what_is_not_shown(frame).empty(),
                  frame.mode == ViewMode::error || frame.mode == ViewMode::photo)
            << kViewModeNames[mode] << ": there is no photo";
        frame.note = "photo 0009.jpg cannot be read any more";
        EXPECT_EQ(what_is_not_shown(frame), "") << "the note says why";
        frame.note.clear();
        frame.map = ImageF(1, 1, 1);
        frame.photo = Image8{1, 1, 3, {0, 0, 0}};
        EXPECT_EQ(what_is_not_shown(frame), "") << kViewModeNames[mode];
        frame.map_empty = true;
        EXPECT_EQ(!what_is_not_shown(frame).empty(),
                  frame.mode == ViewMode::depth || frame.mode == ViewMode::median ||
                      frame.mode == ViewMode::normals || frame.mode >= ViewMode::time)
            << kViewModeNames[mode];
        frame.map_empty = false;
        frame.photo = {};
        for (std::size_t style = 0; style < kDrawStyleNames.size(); ++style) {
            snapshot.view.style = static_cast<DrawStyle>(style);
            const bool applies = style_applies(snapshot.view.style, frame.mode);
            EXPECT_EQ(what_is_left_out(snapshot, frame).empty(), applies)
                << kViewModeNames[mode] << ' ' << kDrawStyleNames[style];
        }
        snapshot.view.style = DrawStyle::splats;
    }
    frame.mode = ViewMode::color;
    snapshot.view.level_colors = true;
    EXPECT_NE(what_is_left_out(snapshot, frame), "") << "no levels";
    snapshot.levels = std::make_shared<const LevelsState>();
    EXPECT_EQ(what_is_left_out(snapshot, frame), "");
}

TEST(Plot, Ticks) {
    EXPECT_THAT(plot_ticks(0, 10, 5, false), testing::ElementsAre(0, 2, 4, 6, 8, 10));
    const auto decades = plot_ticks(0.001, 100, 4, true);
    EXPECT_THAT(decades, testing::Contains(testing::DoubleNear(0.1, 1e-12)));
    EXPECT_TRUE(plot_ticks(1, 1, 5, false).empty());
    EXPECT_TRUE(plot_ticks(kNaN, 1, 5, false).empty());
    EXPECT_LE(plot_ticks(1e15, 1e15 + 1, 5, false).size(), 64u);
    EXPECT_EQ(tick_label(0, 5000), "0");
    EXPECT_EQ(tick_label(12000, 2000), "12k");
    EXPECT_EQ(tick_label(12350, 50), "12,350");
    EXPECT_EQ(tick_label(0.05, 0.05), "0.05");
}

TEST(Plot, CurvesAsCsv) {
    const std::vector<CurvePoint> a{{0, 1}, {10, 0.5F}}, b{{10, NAN}};
    const std::vector<PlotLine> lines{{"loss", 0, a}, {"psnr", 0, b}};
    EXPECT_EQ(curves_csv(lines), "step,loss,psnr\n0,1,\n10,0.5,\n");
}

TEST(Plot, ASharedRangeFollowsUntilItIsZoomed) {
    PlotRange range;
    range.begin(0, 500);
    EXPECT_EQ(range.hi, 500);
    range.fit = false;
    range.begin(0, 900);
    EXPECT_EQ(range.hi, 500);
    range.fit = true;
    range.begin(kNaN, kNaN);
    EXPECT_LT(range.lo, range.hi);
}

}  // namespace
}  // namespace gs
