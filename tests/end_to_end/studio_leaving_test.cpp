// What becomes of a run: finished and continued, splats that are trained further, and what is asked
// before a scene is left with something that no file has; and of a session whose device fails.
#include <fstream>

#include "app/session/parts/training.h"
#include "app/studio/leaving.h"
#include "renderer/raster/frame_size.h"
#include "studio_harness.h"

namespace gs {
namespace {

using Of = LeaveQuestion::Of;

SessionOptions options_in(const fs::path& folder) {
    SessionOptions options = quiet_options();
    options.run.runs = folder / "runs";
    return options;
}

struct Leaves : ::testing::Test {
    bool trains_to(std::uint64_t step) {
        h.session.send(jobs::run_to(step));
        return h.until(
            [&] { return h.state.training.step >= step && h.run_state() == RunState::paused; });
    }
    bool run(const std::string& command, const Arguments& arguments = {}) {
        return table.run(h.state, command, arguments) && h.until_done(h.state.last_sent);
    }
    /// Three steps, then all Gaussians moved.
    void edit_a_run() {
        ASSERT_TRUE(h.open(tiny_capture()));
        ASSERT_TRUE(trains_to(3));
        ASSERT_TRUE(h.until([&] { return h.state.selection != nullptr; }));
        ASSERT_TRUE(run("select.all"));
        ASSERT_TRUE(run("edit.move", {"1", "0", "0"}));
        ASSERT_TRUE(h.until([&] { return h.state.training.unsaved_edits; }));
    }
    bool asked(Of of) {
        return h.until([&] {
            EXPECT_TRUE(leaving.advance());
            return h.state.asks_to_leave && h.state.asks_to_leave->of == of;
        });
    }
    bool quits() {
        return h.until([&] {
            EXPECT_TRUE(leaving.advance());
            return leaving.quits();
        });
    }
    fs::path checkpoint() const { return fs::path(h.state.status.run_folder) / "checkpoint.gsc"; }

    test::TemporaryFolder runs;
    SessionHarness h{options_in(runs.path())};
    CommandTable table = all_commands();
    Leaving leaving{h.state};
};

TEST_F(Leaves, ARunThatIsSavedIsLeftAtOnce) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(trains_to(3));
    ASSERT_TRUE(h.until([&] { return h.state.training.unsaved; }));
    ASSERT_TRUE(leaving.begin({}, false));
    EXPECT_TRUE(quits());
    EXPECT_FALSE(h.state.asks_to_leave);
    EXPECT_TRUE(fs::is_regular_file(checkpoint()));
    EXPECT_FALSE(h.state.training.unsaved);
}

TEST_F(Leaves, ARunThatCannotBeSavedAsks) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(trains_to(3));
    ASSERT_TRUE(h.until([&] { return h.state.training.unsaved; }));
    const fs::path file = checkpoint();
    fs::create_directories(file / "in the way");
    ASSERT_TRUE(leaving.begin({}, false));
    ASSERT_TRUE(asked(Of::unsaved_run));
    const auto lines = h.state.asks_to_leave->lines;
    ASSERT_EQ(lines.size(), 2u);
    ASSERT_TRUE(lines[1].starts_with("a copy: ")) << lines[1];
    const fs::path copy = lines[1].substr(8);
    EXPECT_TRUE(fs::is_regular_file(copy));
    EXPECT_TRUE(fs::exists(file.parent_path() / "saved_elsewhere.txt"));
    ASSERT_TRUE(leaving.answer(QuitAnswer::stay));
    EXPECT_FALSE(leaving.quits() || h.state.asks_to_leave);
    ASSERT_TRUE(leaving.begin({}, false));
    ASSERT_TRUE(asked(Of::unsaved_run)) << "it still is in no place";
    ASSERT_TRUE(leaving.answer(QuitAnswer::stay));
    ASSERT_TRUE(trains_to(5)) << "training continues";
    ASSERT_TRUE(leaving.begin({}, false));
    ASSERT_TRUE(asked(Of::unsaved_run));

    fs::remove_all(file);
    ASSERT_TRUE(leaving.answer(QuitAnswer::save));
    EXPECT_TRUE(quits());
    EXPECT_TRUE(fs::is_regular_file(file));
    EXPECT_FALSE(fs::exists(file.parent_path() / "saved_elsewhere.txt"));
    fs::remove_all(copy.parent_path());
}

TEST_F(Leaves, EditsOfARunAreAskedAbout) {
    ASSERT_NO_FATAL_FAILURE(edit_a_run());
    ASSERT_TRUE(leaving.begin(jobs::close(), false));
    ASSERT_TRUE(asked(Of::edited_run));
    EXPECT_NE(h.state.asks_to_leave->lines.at(0).find("move"), std::string::npos);
    const fs::path file = checkpoint();
    ASSERT_TRUE(leaving.answer(QuitAnswer::now));
    ASSERT_TRUE(h.until([&] { return h.state.scene == nullptr; }));
    EXPECT_FALSE(fs::exists(file)) << "it was discarded";
    EXPECT_FALSE(leaving.quits());
}

TEST_F(Leaves, AFilmIsAskedAboutBeforeTheEdits) {
    ASSERT_NO_FATAL_FAILURE(edit_a_run());
    h.state.activities = {{"film", "filming a.mp4: 1 of 9 pictures", 0, 0, true, true},
                          {"export", "writing a.ply", 0, 0, true}};  // continues without its scene
    ASSERT_TRUE(leaving.begin(jobs::close(), false));
    EXPECT_EQ(h.state.asks_to_leave->lines,
              std::vector<std::string>{"filming a.mp4: 1 of 9 pictures"});
    ASSERT_TRUE(leaving.answer(QuitAnswer::now));
    EXPECT_EQ(h.state.asks_to_leave->of, Of::edited_run);
    ASSERT_TRUE(leaving.answer(QuitAnswer::stay));
}

TEST_F(Leaves, ASelectionIsNoEdit) {
    ASSERT_NO_FATAL_FAILURE(edit_a_run());
    ASSERT_TRUE(run("select.none"));
    ASSERT_TRUE(leaving.begin(jobs::close(), false));
    ASSERT_TRUE(asked(Of::edited_run));
    EXPECT_NE(h.state.asks_to_leave->lines.at(0).find("move"), std::string::npos);
}

TEST_F(Leaves, QuitNowSavesNothing) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(trains_to(3));
    const fs::path file = checkpoint();
    ASSERT_TRUE(leaving.answer(QuitAnswer::now)) << "nothing was asked";
    EXPECT_TRUE(quits());
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(Leaves, ARunContinuesWhenNothingElseOpens) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(run("train.set", {"steps", "100000"}));
    ASSERT_TRUE(trains_to(3));
    ASSERT_TRUE(run("train.start"));
    ASSERT_TRUE(h.until([&] { return h.state.training.step > 3; }));
    const fs::path file = checkpoint();
    ASSERT_TRUE(leaving.begin(jobs::open((runs.path() / "gone.ply").string()), false));
    ASSERT_TRUE(h.until([&] {
        EXPECT_TRUE(leaving.advance());
        return !h.errors.empty();
    }));
    const std::uint64_t step = h.state.training.step;
    EXPECT_TRUE(h.until([&] { return h.state.training.step > step + 2; }));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::close())));
    EXPECT_TRUE(fs::is_regular_file(file));
}

TEST_F(Leaves, ARunContinuesAfterCancel) {
    ASSERT_NO_FATAL_FAILURE(edit_a_run());
    fs::create_directories(checkpoint() / "in the way");
    ASSERT_TRUE(run("train.set", {"steps", "100000"}));
    ASSERT_TRUE(run("train.start"));
    ASSERT_TRUE(h.until([&] { return h.run_state() == RunState::training; }));
    ASSERT_TRUE(leaving.begin({}, false));
    ASSERT_TRUE(asked(Of::edited_run));
    ASSERT_TRUE(leaving.answer(QuitAnswer::save));
    ASSERT_TRUE(asked(Of::unsaved_run));
    ASSERT_EQ(h.run_state(), RunState::paused);
    ASSERT_TRUE(leaving.answer(QuitAnswer::stay));
    EXPECT_TRUE(h.until([&] { return h.run_state() == RunState::training; }));
    ASSERT_TRUE(leaving.begin({}, false));
    ASSERT_TRUE(asked(Of::edited_run));
    ASSERT_TRUE(leaving.answer(QuitAnswer::save));
    ASSERT_TRUE(asked(Of::unsaved_run));
    ASSERT_TRUE(h.until_done(h.session.send(jobs::pause())));
    ASSERT_TRUE(leaving.answer(QuitAnswer::stay));
    ASSERT_TRUE(h.until_done(h.state.last_sent));
    EXPECT_EQ(h.run_state(), RunState::paused) << "that was asked for meanwhile";
    for (const std::string& line : h.state.training.not_saved)
        if (line.starts_with("a copy: ")) fs::remove_all(fs::path(line.substr(8)).parent_path());
}

TEST_F(Leaves, SavedEditsOfARunAreNot) {
    ASSERT_NO_FATAL_FAILURE(edit_a_run());
    ASSERT_TRUE(h.until_done(h.session.send(jobs::save_checkpoint({}))));
    ASSERT_TRUE(h.until([&] { return !h.state.training.unsaved_edits; }));
    ASSERT_TRUE(leaving.begin({}, false));
    EXPECT_TRUE(quits());
}

TEST_F(Leaves, AFinishedRunContinues) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(trains_to(3));
    ASSERT_TRUE(run("train.stop"));
    ASSERT_TRUE(h.until_state(RunState::finished));
    EXPECT_TRUE(h.state.training.can_start());
    ASSERT_TRUE(run("train.step", {"2"}));
    ASSERT_TRUE(h.until([&] { return h.state.training.step == 5; }));
    ASSERT_TRUE(run("train.set", {"steps", "5"}));
    ASSERT_TRUE(run("train.start"));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_NE(h.errors[0].text.find("raise steps"), std::string::npos) << h.errors[0].text;
}

TEST_F(Leaves, AFinishedRunThatIsOpenedAgainIsEvaluated) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(run("train.set", {"steps", "3"}));
    ASSERT_TRUE(run("train.start"));
    ASSERT_TRUE(h.until_state(RunState::finished));
    ASSERT_TRUE(h.until([&] { return !h.state.training.last_checkpoint.empty(); }));
    ASSERT_TRUE(h.open(h.state.training.last_checkpoint));
    ASSERT_EQ(h.run_state(), RunState::finished);
    ASSERT_TRUE(run("train.evaluate"));
    EXPECT_TRUE(h.until([&] {
        return std::ranges::any_of(h.notes, [](const auto& note) {
            return note.notice && note.text.find("PSNR") != std::string::npos;
        });
    }));
}

TEST_F(Leaves, SplatsWithTheirPhotosAreTrainedFurther) {
    ASSERT_TRUE(h.open(tiny_capture()));
    ASSERT_TRUE(trains_to(20));
    const std::string splats = (runs.path() / "twenty.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    h.session.send(jobs::open(splats, tiny_capture()));
    ASSERT_TRUE(h.until([&] { return h.state.scene && h.state.scene->name == "twenty.ply"; }));
    const std::uint64_t gaussians = h.state.scene->gaussians;
    ASSERT_TRUE(h.until_done(h.session.send(jobs::start())));
    ASSERT_TRUE(h.until([&] { return h.state.training.step >= 5; }));
    EXPECT_TRUE(h.errors.empty());
    EXPECT_EQ(h.state.training.gaussians, gaussians) << "none are added";
    ASSERT_TRUE(h.state.settings);
    for (const SettingRow& row : *h.state.settings)
        if (row.name == "opacity_reset_every") {
            EXPECT_EQ(row.value, 0);
        }
    ASSERT_TRUE(run("train.stop"));
    std::ifstream description(fs::path(h.state.status.run_folder) / "run.json");
    const std::string text{std::istreambuf_iterator<char>(description), {}};
    EXPECT_NE(text.find("started from the Gaussians of"), std::string::npos);
}

class ThrowingRasterizer final : public Rasterizer {
  public:
    std::string name() const override { return "throwing"; }
    std::unique_ptr<ForwardState> make_state() const override { return inner_->make_state(); }
    void forward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                 ForwardState& state, RenderResult& result) override {
        if (camera.width == kTooWide) throw FrameTooLarge("a picture that is too large");
        if (++calls_ > 4) throw std::runtime_error("the device is gone");
        inner_->forward(source, camera, options, state, result);
    }
    void backward(ParameterSource& source, const Camera& camera, const RenderOptions& options,
                  ForwardState& state, const RenderResult& result, const PixelGradients& gradients,
                  GradientSink& sink) override {
        inner_->backward(source, camera, options, state, result, gradients, sink);
    }

    static constexpr int kTooWide = 7000;

  private:
    std::unique_ptr<Rasterizer> inner_ = make_cpu_rasterizer();
    int calls_ = 0;
};

TEST(Session, lives_on_where_a_picture_is_refused) {
    SessionOptions options = quiet_options();
    options.make_rasterizer = [] { return std::make_unique<ThrowingRasterizer>(); };
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture()));
    PictureRequest request{.request = view_request_of(h.state, 160, 120)};
    Camera& camera = request.request.camera;
    camera = camera.scaled_to(ThrowingRasterizer::kTooWide, 40);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::picture(request))));
    ASSERT_TRUE(h.until([&] { return !h.errors.empty(); }));
    EXPECT_NE(h.errors[0].text.find("a picture that is too large"), std::string::npos);
    camera = camera.scaled_to(70, 40);
    ASSERT_TRUE(h.until_done(h.session.send(jobs::picture(request))));
    EXPECT_TRUE(h.until([&] { return !h.pictures.empty(); }));
}

TEST(Session, a_failing_device_stops_training_but_keeps_the_model) {
    SessionOptions options = quiet_options();
    options.make_rasterizer = [] { return std::make_unique<ThrowingRasterizer>(); };
    SessionHarness h(options);
    ASSERT_TRUE(h.open(tiny_capture(), true));
    ASSERT_TRUE(h.until_state(RunState::failed));
    EXPECT_NE(h.state.training.message.find("the device is gone"), std::string::npos);
    const std::string splats = (h.folder.path() / "rescued.ply").string();
    ASSERT_TRUE(h.until_done(h.session.send(jobs::export_splats(splats))));
    EXPECT_TRUE(fs::exists(splats));
}

}  // namespace
}  // namespace gs
