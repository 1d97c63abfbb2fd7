// Films of the studio: commands make the path, the engine draws it between training steps, into
// pictures or a video; what cannot be done is said, and cancelled films leave nothing behind.
#include "app/session/parts/exporter.h"
#include "app/session/parts/film_render.h"
#include "base/beside_program.h"
#include "base/file.h"
#include "renderer/io/images/image_io.h"
#include "studio_harness.h"

namespace gs {
namespace {

struct FilmStudio : ::testing::Test {
    SessionHarness h;
    CommandTable table = all_commands();
    fs::path frames = h.folder.path() / "frames";

    void SetUp() override {
        ASSERT_TRUE(h.open(tiny_capture()));
        ASSERT_TRUE(h.until([&] { return h.state.scene != nullptr && h.state.cameras; }));
        h.state.navigation = first_view(*h.state.scene);
    }
    Result<void> give(const std::string& name, const Arguments& arguments = {}) {
        return table.run(h.state, name, arguments);
    }
    /// The engine keeps the history.
    bool give_and_wait(const std::string& name) {
        return give(name) && h.until_done(h.state.last_sent);
    }
    /// The errors of commands that were refused.
    std::string refused(const std::string& name, const Arguments& arguments = {}) {
        const auto done = give(name, arguments);
        return done ? "" : done.error().text();
    }
    void small_film(const char* fps) {
        ASSERT_TRUE(give("film.preset", {"orbit", "1"}));
        ASSERT_TRUE(give("film.size", {"48", "32"}));
        ASSERT_TRUE(give("film.fps", {fps}));
    }
    bool said(const std::string& words) {
        const auto tells = [&](const EngineEvent& event) {
            return event.text.find(words) != std::string::npos;
        };
        return std::ranges::any_of(h.errors, tells) || std::ranges::any_of(h.notes, tells);
    }
    bool films() {
        return std::ranges::any_of(h.state.activities,
                                   [](const Activity& a) { return a.name == "film"; });
    }
    bool made(const fs::path& path, std::size_t count) {
        return path_exists(path / fmt::format("frame_{:05}.png", count - 1));
    }
};

TEST_F(FilmStudio, PathsAreMadeByCommands) {
    EXPECT_NE(refused("film.play").find("no key"), std::string::npos);
    EXPECT_NE(refused("film.render", {"x"}).find("no key"), std::string::npos);
    ASSERT_TRUE(give("film.key"));
    EXPECT_NE(refused("film.closed").find("two keys"), std::string::npos);
    h.state.navigation.distance *= 2;
    ASSERT_TRUE(give("film.key"));
    ASSERT_TRUE(give("film.key", {"5"}));
    EXPECT_DOUBLE_EQ(h.state.film.film().path.seconds(), 5);
    EXPECT_NE(refused("film.go", {"4"}), "");
    ASSERT_TRUE(give("film.go", {"1"}));
    EXPECT_NEAR(h.state.navigation.eye().x, h.state.film.film().path.keys[0].pose.position.x, 1e-9);
    ASSERT_TRUE(give("film.go", {"previous"}));
    EXPECT_EQ(h.state.film.selected(), 2u);
    ASSERT_TRUE(give("film.move", {"3", "4"}));
    ASSERT_TRUE(give("film.delete"));
    EXPECT_EQ(h.state.film.film().path.keys.size(), 2u);
    ASSERT_TRUE(give("film.at", {"1"}));
    EXPECT_EQ(h.state.view.capture_view, -1);
    ASSERT_TRUE(give_and_wait("film.undo"));
    EXPECT_EQ(h.state.film.film().path.keys.size(), 3u);
    ASSERT_TRUE(give_and_wait("film.redo"));
    EXPECT_EQ(h.state.film.film().path.keys.size(), 2u);
    ASSERT_TRUE(give_and_wait("film.undo"));
    const std::string file = (h.folder.path() / "path.json").string();
    for (const char* format : {"", "nerfstudio"}) {
        ASSERT_TRUE(give("film.save", *format ? Arguments{file, format} : Arguments{file}));
        ASSERT_TRUE(give("film.clear"));
        ASSERT_TRUE(give("film.open", {file}));
        EXPECT_EQ(h.state.film.film().path.keys.size(), 3u);
        EXPECT_NEAR(h.state.film.film().path.seconds(), 4, 1e-9);
    }
    EXPECT_NE(refused("film.save", {file, "blender"}).find("only \"nerfstudio\" may be here"),
              std::string::npos);
    EXPECT_NE(refused("film.open", {tiny_capture()}), "");
}

TEST_F(FilmStudio, PicturesOfTheWholePathAppear) {
    small_film("6");
    ASSERT_TRUE(give("film.render", {frames.string()}));
    ASSERT_TRUE(h.until([&] { return h.state.status.commands_done >= h.state.last_sent; }));
    EXPECT_TRUE(made(frames, 6));
    EXPECT_FALSE(made(frames, 7));
    const auto first = read_image(frames / "frame_00000.png"),
               third = read_image(frames / "frame_00002.png");
    ASSERT_TRUE(first && third);
    EXPECT_EQ(first->width, 48);
    EXPECT_EQ(first->height, 32);
    EXPECT_NE(first->bytes, third->bytes);
    // A second film is not mixed with it.
    ASSERT_TRUE(give("film.render", {frames.string()}));
    ASSERT_TRUE(h.until([&] { return said("already"); }));
}

TEST_F(FilmStudio, OtherEndingsAreNoVideos) {
    small_film("2");
    for (const char* name : {"film.webm", "film.mov"}) {
        h.errors.clear();
        const fs::path file = h.folder.path() / name;
        ASSERT_TRUE(give("film.render", {file.string()}));
        ASSERT_TRUE(h.until([&] { return said(".mkv"); }));
        EXPECT_FALSE(fs::exists(file));
        EXPECT_FALSE(films());
    }
    // A folder that is there may have one.
    const fs::path folder = h.folder.path() / "film.v2";
    fs::create_directories(folder);
    ASSERT_TRUE(give("film.render", {folder.string()}));
    ASSERT_TRUE(h.until([&] { return made(folder, 2); }));
}

TEST_F(FilmStudio, IsMadeWhileTrainingGoesOn) {
    small_film("8");
    h.state.view.viewer_budget = 0.5;
    ASSERT_TRUE(h.until_done(h.session.send(jobs::run_to(400))));
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 2; }));
    ASSERT_TRUE(give("film.render", {frames.string()}));
    ASSERT_TRUE(h.until([&] { return made(frames, 8); }));
    EXPECT_GT(h.state.training.step, 2u);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::pause())));
}

TEST_F(FilmStudio, CancelledOrClosedItEnds) {
    small_film("240");
    ASSERT_TRUE(give("film.seconds", {"600"}));
    ASSERT_TRUE(give("film.render", {frames.string()}));
    ASSERT_TRUE(h.until([&] { return films() && made(frames, 2); }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::cancel("film"))));
    ASSERT_TRUE(h.until([&] { return !films(); }));
    EXPECT_TRUE(said("cancelled"));
    if (!beside_program("libgausscope_video.so", {"../lib"}, "")) return;
    const fs::path file = h.folder.path() / "film.mp4";
    ASSERT_TRUE(give("film.render", {file.string()}));
    ASSERT_TRUE(h.until([&] { return films(); }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    ASSERT_TRUE(h.until([&] { return !films(); }));
    for (const auto& entry : fs::directory_iterator(h.folder.path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with("film.mp4")) << entry.path();
}

TEST_F(FilmStudio, APictureThatIsRefusedSaysWhatIsWholeAndWhatToDo) {
    FilmRequest request{.path = frames.string(), .poses = {{}, {}}, .width = 600'000, .height = 16};
    h.session.send([request](Engine& e) { e.part<FilmRender>().start(request); });
    ASSERT_TRUE(h.until([&] { return said("picture 1 of 2: cannot draw"); }));
    EXPECT_TRUE(said("(no picture was written) (set a smaller size: film.size)"));
    EXPECT_FALSE(films());
}

TEST_F(FilmStudio, ASecondVideoOfATimeLapseDoesNotEndTheFirst) {
    const std::string first = (h.folder.path() / "1.mp4").string(),
                      second = (h.folder.path() / "2.mp4").string();
    h.session.send([first, second](Engine& e) {
        e.part<Exporter>().time_lapse(first, "", 12);
        e.part<Exporter>().time_lapse(second, "", 12);
    });
    ASSERT_TRUE(h.until([&] { return h.errors.size() == 2; }));
    EXPECT_TRUE(said("writing " + first + " is in progress"));
    EXPECT_FALSE(said(second));  // the other error is the first's own: nothing was taken yet
}

TEST_F(FilmStudio, AVideoIsOneFile) {
    if (!beside_program("libgausscope_video.so", {"../lib"}, "")) GTEST_SKIP() << "no libavcodec";
    small_film("10");
    ASSERT_TRUE(give("view.mode", {"depth"}));
    const fs::path file = h.folder.path() / "film.mkv";
    ASSERT_TRUE(give("film.render", {file.string()}));
    ASSERT_TRUE(h.until([&] { return said("filmed"); }));
    EXPECT_GT(fs::file_size(file), 500u);
}

}  // namespace
}  // namespace gs
