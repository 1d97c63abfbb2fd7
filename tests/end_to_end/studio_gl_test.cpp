// The whole studio with OpenGL: headless through EGL, and in a window where there is a display.
// Pictures it writes are looked at: they must have the size asked for and show something.
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "app/studio/panel_pictures.h"
#include "app/studio/studio.h"
#include "app/window/window.h"
#include "renderer/io/images/image_io.h"
#include "studio_harness.h"

// The graphics driver leaks some memory and is unloaded before the leak check runs, which then
// cannot distinguish its leaks from ours. The engine's own tests (studio_session_test.cpp) check
// for leaks.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace gs {
namespace {

int run_with_commands(const StudioOptions& options) { return run_studio(options, all_commands()); }

std::size_t distinct_colors(const Image8& image) {
    std::set<std::uint32_t> colors;
    for (std::size_t i = 0; i < image.pixels() && colors.size() < 1000; ++i) {
        const std::uint8_t* p = &image.bytes[i * static_cast<std::size_t>(image.channels)];
        colors.insert(static_cast<std::uint32_t>(p[0] | p[1] << 8 | p[2] << 16));
    }
    return colors.size();
}

StudioOptions studio_options(const fs::path& folder, const std::string& script, bool headless) {
    StudioOptions options{.headless = headless,
                          .script = (folder / "script.txt").string(),
                          .width = 900,
                          .height = 640,
                          .remember = false};
    options.session.settings.steps = 5000;
    options.session.run.evaluate_every = 0;
    options.session.run.save_every = 0;
    options.session.output_dir = (folder / "out").string();
    EXPECT_TRUE(write_text_file(options.script, script));
    return options;
}

void expect_picture(const fs::path& file, int width, int height, std::size_t colors) {
    const auto image = required(read_image(file));
    EXPECT_EQ(image.width, width) << file;
    EXPECT_EQ(image.height, height) << file;
    EXPECT_GT(distinct_colors(image), colors) << file;
}

/// Opens, trains, flies, draws heatmaps and takes every kind of picture.
void drive_through(bool headless) {
    const TemporaryFolder folder;
    const std::string at = folder.path().string() + "/";
    const std::string script =
        "open " + tiny_capture() +
        "\nwait-loaded\nwait-frame\ntrain.start\nwait-step 5\n"
        "view.capture 3\nview.mode isects\nwait-frame\nscreenshot " +
        at +
        "isects.png 160 120\n"
        "view.free\nview.mode color\nview.camera 0 -2 -4 0 0 0\nwait-frame\n"
        "screenshot " +
        at + "plain.png 320 200 plain\nscreenshot " + at +
        "overlays.png 320 200 overlays\n"
        "train.pause\nwait-idle\nview.frame-all\nview.style ellipsoids\nwait-frame\n"
        "screenshot.window " +
        at + "window.png\ntrace.save " + at + "trace.perfetto\nquit\n";
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), script, headless)), 0);
    expect_picture(at + "isects.png", 160, 120, 2);
    expect_picture(at + "plain.png", 320, 200, 100);
    expect_picture(at + "overlays.png", 320, 200, 100);
    expect_picture(at + "window.png", 900, 640, 200);
    EXPECT_TRUE(fs::exists(at + "trace.perfetto"));
    EXPECT_TRUE(fs::exists(at + "out/checkpoint.gsc"));  // unsaved training is kept on quit
}

TEST(Headless, studio_runs_a_script_and_its_pictures_show_something) { drive_through(true); }

TEST(Headless, keys_go_where_they_should) {
    const TemporaryFolder folder;
    const std::string at = folder.path().string() + "/";
    // The palette takes a whole line, typed without a pause. Through an open dialog nothing acts:
    // the scene stays open and whole. A French keyboard's Ctrl+Z, where a US one has W, undoes.
    const std::string script = "open " + tiny_capture() +
                               "\nwait-loaded\nwait-frame\npress Ctrl+P\n"
                               "type \"screenshot " +
                               at +
                               "line.png 64 48\"\npress Enter\n"
                               "press Ctrl+O\npress Ctrl+W\npress Ctrl+A\npress Ctrl+D\n"
                               "press Ctrl+Q\npress Escape\n"
                               "press Ctrl+A\nwait-idle\nexport.selection " +
                               at +
                               "all.ply\nselect.range x 0 1e9\npress Delete\nwait-idle\n"
                               "press Ctrl+Z W\nwait-idle\n"
                               "press Ctrl+A Q\nwait-idle\nexport.selection " +
                               at + "again.ply\nwait-idle\npress Q A\nquit now\n";
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), script, true)), 0);
    expect_picture(at + "line.png", 64, 48, 20);
    ASSERT_TRUE(fs::exists(at + "all.ply"));
    ASSERT_TRUE(fs::exists(at + "again.ply"));
    EXPECT_EQ(fs::file_size(at + "all.ply"), fs::file_size(at + "again.ply"));
}

TEST(Headless, over_the_film_panel_delete_means_its_key_and_never_gaussians) {
    const TemporaryFolder folder;
    const std::string at = folder.path().string() + "/";
    const std::string script = "open " + tiny_capture() +
                               "\nwait-loaded\nwait-frame\nfilm.key\nfilm.key\nexport " + at +
                               "whole.ply\nselect.range x 0 1e9\npress Delete\nwait-idle\n"
                               "film.save " +
                               at + "two.json\nexport " + at +
                               "part.ply\nselect.range y 0 1e9\npanel Film\nwait-frame\n"
                               "click 560 534\npress Delete\npress Delete\nwait-idle\nfilm.save " +
                               at + "one.json\nexport " + at + "still.ply\nwait-idle\nquit now\n";
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), script, true)), 0);
    const auto keys = [&](const char* file) {
        const auto path = read_text_file(at + file, 1 << 20);
        std::size_t count = 0;
        for (std::size_t i = 0; path && (i = path->find("\"time\"", i)) != std::string::npos; ++i)
            ++count;
        return count;
    };
    EXPECT_EQ(keys("two.json"), 2u);
    EXPECT_EQ(keys("one.json"), 1u);
    EXPECT_LT(fs::file_size(at + "part.ply"), fs::file_size(at + "whole.ply"));
    EXPECT_EQ(fs::file_size(at + "still.ply"), fs::file_size(at + "part.ply"));
}

TEST(Headless, overlays_of_many_points_are_in_the_picture) {
    // More vertices than 16-bit indices count, as whole turns of a lidar have.
    const TemporaryFolder folder;
    const std::string at = folder.path().string() + "/";
    const fs::path drive = folder.path() / "sequences" / "00";
    for (const char* part : {"image_2", "velodyne"}) fs::create_directories(drive / part);
    fs::create_directories(folder.path() / "poses");
    ASSERT_TRUE(write_text_file(folder.path() / "poses" / "00.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n"));
    ASSERT_TRUE(write_text_file(drive / "times.txt", "0\n"));
    ASSERT_TRUE(write_text_file(drive / "calib.txt",
                                "P2: 40 0 24 0 0 40 12 0 0 0 1 0\n"
                                "Tr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n"));
    Image8 photo{48, 24, 3, {}};
    photo.bytes.assign(photo.pixels() * 3, 90);
    ASSERT_TRUE(write_png(drive / "image_2" / "000000.png", photo));
    std::vector<float> points;
    for (float row = 60; row > -60; --row)
        for (float column = 0; column < 320; ++column)
            points.insert(points.end(), {12, 0.04F * (column - 160), 0.04F * row, 0.5F});
    std::ofstream(drive / "velodyne" / "000000.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(points.data()),
               static_cast<std::streamsize>(points.size() * sizeof(float)));
    const std::string script = "open " + at +
                               "\nwait-loaded\ndrive.sweep 1\nview.sweep on\nwait-idle\n"
                               "wait-frame\nscreenshot " +
                               at + "sweep.png 640 400 overlays\nquit\n";
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), script, true)), 0);
    expect_picture(at + "sweep.png", 640, 320, 20);
}

TEST(Headless, an_empty_studio_draws_and_quits) {
    const TemporaryFolder folder;
    const std::string window = (folder.path() / "empty.png").string();
    EXPECT_EQ(
        run_with_commands(studio_options(
            folder.path(), "wait-seconds 0.1\nscreenshot.window " + window + "\nquit\n", true)),
        0);
    expect_picture(window, 900, 640, 5);
}

/// The largest difference of two parts of pictures, `width` columns from these on.
int difference_of(const Image8& a, int ax, const Image8& b, int bx, int width) {
    int most = 0;
    for (int y = 0; y < a.height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c)
                most = std::max(most, std::abs(a.at(ax + x, y)[c] - b.at(bx + x, y)[c]));
    return most;
}

TEST(Headless, two_scenes_share_the_picture) {
    const TemporaryFolder folder;
    const std::string at = folder.path().string() + "/";
    const auto options_of = [&](const std::string& script) {
        StudioOptions options = studio_options(folder.path(), script, true);
        options.contents = find_contents(tiny_capture());
        return options;
    };
    ASSERT_EQ(run_with_commands(options_of("wait-loaded\nexport " + at +
                                           "start.ply\ntrain.run-to 60\nwait-step 60\n" +
                                           "export " + at + "trained.ply\n")),
              0);
    StudioOptions options = options_of(
        "wait-loaded\nview.camera 0 -2 -4 0 0 0\nview.overlays off\nview.frusta off\nview.split "
        "0.25\nwait-frame\n"
        "screenshot " +
        at + "split.png 320 200 overlays\nscene.swap\nwait-frame\nscreenshot " + at +
        "swapped.png 320 200 overlays\nscene.swap\nview.compare beside\nscreenshot " + at +
        "beside.png 642 200 overlays\nview.compare toggle\nview.show-photo on\nscreenshot " + at +
        "toggle.png 320 200 overlays\nview.overlays on\nview.mode error\nview.compare "
        "beside\nscreenshot " +
        at + "error.png 642 200 overlays\nscreenshot.window " + at +
        "window.png\nscene.end-compare\nview.mode color\n"
        "screenshot " +
        at + "a.png 320 200\nopen " + at +
        "start.ply\nwait-loaded\nview.camera 0 -2 -4 0 0 0\n"
        "screenshot " +
        at + "b.png 320 200\n");
    options.contents = find_contents(at + "trained.ply");
    options.compare = at + "start.ply";
    ASSERT_EQ(run_with_commands(options), 0);
    const auto picture = [&](const char* name) {
        auto image = read_image(at + name);
        EXPECT_TRUE(image) << name;
        return image ? std::move(*image) : Image8{};
    };
    const Image8 a = picture("a.png"), b = picture("b.png"), split = picture("split.png");
    ASSERT_EQ(split.width, 320);
    EXPECT_GT(difference_of(a, 0, b, 0, 320), 20) << "the two scenes differ";
    // Two pixels beside the divider are the line's.
    EXPECT_LE(difference_of(split, 0, a, 0, 78), 1);
    EXPECT_LE(difference_of(split, 82, b, 82, 238), 1);
    const Image8 swapped = picture("swapped.png");
    EXPECT_LE(difference_of(swapped, 0, b, 0, 78), 1);
    EXPECT_LE(difference_of(swapped, 82, a, 82, 238), 1);
    const Image8 beside = picture("beside.png");
    ASSERT_EQ(beside.width, 642);
    EXPECT_LE(difference_of(beside, 0, a, 0, 320), 1);
    EXPECT_LE(difference_of(beside, 322, b, 0, 320), 1);
    EXPECT_LE(difference_of(picture("toggle.png"), 0, b, 0, 320), 1);
    expect_picture(at + "error.png", 642, 200, 50);
    expect_picture(at + "window.png", 900, 640, 200);
}

TEST(Headless, scripts_that_fail_give_exit_codes) {
    const TemporaryFolder folder;
    EXPECT_EQ(
        run_with_commands(studio_options(folder.path(), "open /nonexistent\nwait-loaded\n", true)),
        1);
    EXPECT_EQ(run_with_commands(
                  studio_options(folder.path(), "screenshot.window /proc/nowhere.png\n", true)),
              1);
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), "no.such.command\n", true)), 2);
    StudioOptions options = studio_options(folder.path(), "", true);
    options.script = "/nonexistent/script";
    EXPECT_EQ(run_with_commands(options), 2);
}

TEST(Headless, a_script_of_comments_ends) {
    const TemporaryFolder folder;
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), "", true)), 0);
    EXPECT_EQ(run_with_commands(studio_options(folder.path(), "# nothing\n\n", true)), 0);
}

TEST(Headless, what_cannot_be_opened_ends_a_studio_without_a_script) {
    const TemporaryFolder folder;
    StudioOptions options = studio_options(folder.path(), "", true);
    options.script.clear();
    const fs::path broken = folder.path() / "broken.ply";
    ASSERT_TRUE(write_text_file(broken, "ply\nformat ascii 1.0\nend"));
    options.contents = find_contents(broken);
    EXPECT_EQ(run_with_commands(options), 2);
    options.contents = {};
    options.traces = {(folder.path() / "broken.pftrace").string()};
    ASSERT_TRUE(write_text_file(options.traces[0], "no trace"));
    EXPECT_EQ(run_with_commands(options), 2);
}

TEST(Headless, a_script_may_come_from_a_pipe) {
    const TemporaryFolder folder;
    StudioOptions options = studio_options(folder.path(), "", true);
    options.script = (folder.path() / "pipe").string();
    ASSERT_EQ(::mkfifo(options.script.c_str(), 0600), 0);
    std::thread writer([&] {
        std::ofstream(options.script) << "wait-seconds 0.01\nopen /nonexistent\nwait-loaded\n";
    });
    EXPECT_EQ(run_with_commands(options), 1) << "the second line was read";
    writer.join();
}

TEST(Headless, pictures_follow_the_scale) {
    const TemporaryFolder folder;
    const std::string window = (folder.path() / "large.png").string();
    StudioOptions options = studio_options(
        folder.path(), "wait-seconds 0.1\nscreenshot.window " + window + "\nquit\n", true);
    options.scale = 2;
    EXPECT_EQ(run_with_commands(options), 0);
    expect_picture(window, 1800, 1280, 5);
}

TEST(Window, studio_runs_the_same_script_on_a_display) {
    if (!std::getenv("DISPLAY"))
        GTEST_SKIP() << "no display; ctest runs this again under xvfb-run where that is installed";
    drive_through(false);
}

TEST(Window, is_no_larger_than_the_screen) {
    if (!std::getenv("DISPLAY")) GTEST_SKIP() << "no display";
    const TemporaryFolder folder;
    const std::string picture = (folder.path() / "window.png").string();
    StudioOptions options = studio_options(
        folder.path(), "wait-seconds 0.1\nscreenshot.window " + picture + "\nquit\n", false);
    options.width = options.height = 5000;
    EXPECT_EQ(run_with_commands(options), 0);
    const auto drawn = required(read_image(picture));
    EXPECT_LT(drawn.width, 5000);
    EXPECT_LT(drawn.height, 5000);
}

TEST(Window, no_display_gives_advice) {
    const char* display = std::getenv("DISPLAY");
    const std::string before = display ? display : "";
    ::unsetenv("DISPLAY");
    const auto window = open_window({});
    if (display) ::setenv("DISPLAY", before.c_str(), 1);
    if (window) GTEST_SKIP() << "there is a display of another kind";
    EXPECT_NE(window.error().text().find("--headless"), std::string::npos);
}

Image8 filled(int width, int height, int channels, std::uint8_t value) {
    Image8 out{width, height, channels, {}};
    out.bytes.assign(out.pixels() * static_cast<std::size_t>(channels), value);
    return out;
}

/// As a panel does: asked for with every frame until it is there, as `wanted` says.
PanelPicture asked_until(PanelTextures& pictures, const std::string& path, int most_side,
                         const std::function<bool(const PanelPicture&)>& wanted) {
    PanelPicture out;
    for (int i = 0; i < 1000; ++i) {
        pictures.begin_frame();
        out = pictures.of_file(path, most_side);
        if (wanted(out)) return out;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return out;
}

TEST(PanelPictures, are_uploaded_once_read_beside_the_ui_and_let_go) {
    auto window = open_window({.headless = true});
    ASSERT_TRUE(window) << window.error().text();
    const TemporaryFolder folder;
    PanelTextures pictures;
    pictures.begin_frame();
    const PanelPicture first = pictures.of("photo", 1, filled(20, 10, 3, 90));
    EXPECT_NE(first.id, 0u);
    EXPECT_EQ(pictures.of("photo", 1, filled(40, 30, 3, 90)).width, 20) << "the same version";
    EXPECT_EQ(pictures.of("photo", 2, filled(40, 30, 3, 90)).width, 40);

    const std::string path = (folder.path() / "photo.png").string();
    const auto there = [](const PanelPicture& p) { return p.id != 0; };
    pictures.begin_frame();
    EXPECT_EQ(pictures.of_file(path, 160).id, 0u);
    EXPECT_TRUE(pictures.reading());
    ASSERT_TRUE(write_png(path, filled(400, 200, 1, 90)));
    EXPECT_EQ(asked_until(pictures, path, 160, there).height, 80) << "shrunk, gray as colours";
    ASSERT_TRUE(write_png(path, filled(100, 200, 3, 90)));
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
    const auto tall = [](const PanelPicture& p) { return p.height == 160; };
    EXPECT_EQ(asked_until(pictures, path, 160, tall).width, 80) << "it changed on disk";

    // Files that are not there are looked at ever less often: 2, 4, 8 s after the last time.
    const std::uint64_t looks_before = pictures.looks();
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(5500)) {
        pictures.begin_frame();
        (void)pictures.of_file((folder.path() / "none.png").string(), 160);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_LE(pictures.looks() - looks_before, 2u) << "at 0 and 4 s, not every 2 s";

    for (std::size_t i = 0; i < 2 * PanelTextures::kMostTextures; ++i) {
        pictures.begin_frame();
        EXPECT_NE(pictures.of("small " + std::to_string(i), 0, filled(2, 2, 3, 1)).id, 0u);
    }
    EXPECT_LE(pictures.held(), PanelTextures::kMostTextures + 1);
    pictures.begin_frame();
    for (std::size_t i = 0; i < 2 * PanelTextures::kMostTextures; ++i)
        pictures.of("many " + std::to_string(i), 0, filled(2, 2, 3, 1));
    pictures.begin_frame();
    EXPECT_GE(pictures.held(), 2 * PanelTextures::kMostTextures) << "all of the last frame stay";
    pictures.release();
}

}  // namespace
}  // namespace gs
