// The question before a capture is opened by hand: what it finds, what it refuses, and that the
// command line which it shows says the same as what it opens.
#include <CLI/CLI.hpp>

#include "app/cli/train/train.h"
#include "app/studio/options.h"
#include "base/format.h"
#include "renderer/io/captures/capture_io.h"
#include "studio_harness.h"

namespace gs {
namespace {

bool wait_for(Import& import) {
    for (int i = 0; i < 2000; ++i) {
        import.update();
        if (!import.state({})->examining) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

/// The words of a line as a shell takes them.
std::vector<std::string> shell_words(const std::string& line) {
    std::vector<std::string> out{""};
    bool quoted = false, escaped = false;
    for (const char c : line) {
        if (std::exchange(escaped, false))
            out.back() += c;
        else if (c == '\\' && !quoted)
            escaped = true;
        else if (c == '\'')
            quoted = !quoted;
        else if (c == ' ' && !quoted)
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

/// What the program makes of that command line.
Result<StudioOptions> parsed(const std::string& line) {
    cli::TrainArguments arguments;
    cli::CommonArguments common;
    CLI::App app;
    cli::add_train_options(app, arguments);
    cli::add_common(app, common);
    std::vector<std::string> words = shell_words(line);
    EXPECT_EQ(words[0] + " " + words[1], "gausscope train");
    words.erase(words.begin(), words.begin() + 2);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    EXPECT_TRUE(arguments.view);
    auto view = cli::to_view(arguments);
    if (!view) return tl::unexpected(view.error());
    return cli::studio_options(*view, common);
}

void expect_same(const Import& import) {
    SCOPED_TRACE(import.command_line());
    const auto request = required(import.request(true));
    const auto studio = required(parsed(import.command_line()));
    EXPECT_EQ(studio.contents.path, request.contents.path);
    EXPECT_EQ(studio.train, request.train);
    EXPECT_EQ(studio.session.output_dir, request.as->output_dir);
    const CaptureOptions &a = studio.session.capture, &b = request.as->loading;
    EXPECT_EQ(a.downscale, b.downscale);
    EXPECT_EQ(a.max_side, b.max_side);
    EXPECT_EQ(a.test_every, b.test_every);
    EXPECT_EQ(a.test_views, b.test_views);
    EXPECT_EQ(a.masks, b.masks);
    EXPECT_EQ(a.seed, b.seed);
    EXPECT_EQ(std::tie(a.background.x, a.background.y, a.background.z),
              std::tie(b.background.x, b.background.y, b.background.z));
    for (const SettingField& field : setting_fields())
        EXPECT_EQ(field.of(studio.session.settings), field.of(request.as->settings)) << field.name;
}

ImportBase started_with(const std::string& line) {
    const auto studio = parsed(line);
    EXPECT_TRUE(studio);
    return {studio->session.capture, studio->settings, studio->session.run, studio->backend};
}

TEST(Import, finds_what_is_there_and_says_what_it_needs) {
    Import import(find_contents(tiny_capture()), started_with("gausscope train x --view"), {});
    ASSERT_TRUE(wait_for(import));
    const auto state = import.state({});
    EXPECT_TRUE(state->problem.empty()) << state->problem;
    std::string all;
    for (const auto& [what, value] : state->found) all += what + ": " + value + "\n";
    for (const auto& [what, value] : state->forecast) all += what + ": " + value + "\n";
    EXPECT_NE(all.find("9 (7 to train on, 2 to test)"), std::string::npos) << all;
    EXPECT_NE(all.find("up to 80 x 60"), std::string::npos) << all;
    // How many are made differs by one between compilers.
    const auto capture = required(load_capture(tiny_capture(), {}));
    EXPECT_NE(all.find(fmt::format("Sparse points: {}\n", capture.points.size())),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("Photos: 169 KiB, plus"), std::string::npos) << all;
    EXPECT_NE(all.find("unknown: nothing trained"), std::string::npos) << all;
    const auto known = import.state({1000, "a run"});  // 1 s a step and megapixel
    EXPECT_EQ(known->forecast.back().second, "about " + format_duration(30000 * 80 * 60 * 1e-6) +
                                                 ": a guess by pixels alone, from a run");
    ASSERT_TRUE(import.set("downscale", "2"));
    ASSERT_TRUE(wait_for(import));
    EXPECT_NE(import.state({})->found[2].second.find("40 x 30"), std::string::npos);
}

TEST(Import, says_what_is_wrong_and_keeps_what_was_right) {
    Import import(find_contents(tiny_capture()), started_with("gausscope train x --view"), {});
    EXPECT_FALSE(import.set("upscale", "2"));
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, const char*>>{{"downscale", "0"},
                                                                    {"downscale", "much"},
                                                                    {"test-every", "-1"},
                                                                    {"steps", "0"},
                                                                    {"steps", "many"},
                                                                    {"gaussians", "0"},
                                                                    {"strategy", "best"},
                                                                    {"sh-degree", "4"},
                                                                    {"background", "1,2,3"},
                                                                    {"background", "red"}})
        EXPECT_FALSE(import.set(name, value)) << name << " " << value;
    ASSERT_TRUE(import.set("steps", "7000"));
    EXPECT_FALSE(import.set("steps", "none"));
    EXPECT_EQ(import.request(false)->as->settings.steps, 7000);
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_text_file(folder / "point_cloud.ply", "a run was here"));
    ASSERT_TRUE(import.set("output", folder.path().string()));
    EXPECT_NE(import.state({})->wrong.find("there is a run"), std::string::npos);
    EXPECT_FALSE(import.request(true));

    Import nothing(find_contents("/nowhere"), started_with("gausscope train x --view"), {});
    ASSERT_TRUE(wait_for(nothing));
    EXPECT_FALSE(nothing.state({})->problem.empty());
    EXPECT_FALSE(nothing.request(true));
}

TEST(Import, its_command_line_says_what_it_opens) {
    Import import(find_contents(tiny_capture()), started_with("gausscope train x --view"), {});
    expect_same(import);
    const std::pair<const char*, const char*> choices[] = {
        {"downscale", "2"},          {"test-every", "4"},
        {"test-views", "a b,c"},     {"masks", "none"},
        {"background", "white"},     {"steps", "2000"},
        {"background", ".25,0.5,1"}, {"gaussians", "300000"},
        {"strategy", "mcmc"},        {"batch", "2"},
        {"sh-degree", "1"},          {"output", "/tmp/it's a run"},
        {"photo-memory", "16"}};
    for (const auto& [name, value] : choices) {
        ASSERT_TRUE(import.set(name, value)) << name;
        expect_same(import);
    }
    for (const char* name : Import::kNames) ASSERT_TRUE(import.set(name, ""));
    expect_same(import);
}

TEST(Import, keeps_what_the_studio_was_started_with) {
    Import import(find_contents(tiny_capture()),
                  started_with("gausscope train x --steps 5000 --lr-means 0.0002 --max-side 40 "
                               "--antialiased --seed 7 --save-every 100 --keep-best "
                               "--test-every 3 --background 1,1,0 --backend cpu --view"),
                  {});
    expect_same(import);
    EXPECT_EQ(import.request(false)->as->settings.steps, 5000);
    EXPECT_EQ(import.request(false)->as->settings.antialiased, 1);
    const auto studio = parsed(import.command_line());
    EXPECT_EQ(studio->session.run.save_every, 100u);
    EXPECT_TRUE(studio->session.run.keep.best);
    EXPECT_EQ(studio->backend, "cpu");
    ASSERT_TRUE(import.set("steps", "2000"));
    expect_same(import);
}

TEST(Import, opens_a_capture_as_chosen) {
    SessionHarness h;
    const CommandTable table = all_commands();
    h.state.import =
        std::make_unique<Import>(find_contents(tiny_capture()),
                                 started_with("gausscope train x --view"), std::function<void()>());
    const std::string out = (h.folder / "chosen").string();
    for (const Arguments& choice :
         {Arguments{"downscale", "2"}, {"steps", "30"}, {"output", out}, {"test-every", "0"}})
        ASSERT_TRUE(table.run(h.state, "import.set", choice)) << choice[0];
    ASSERT_TRUE(table.run(h.state, "import.accept", {"train"}));
    EXPECT_FALSE(h.state.import);
    ASSERT_TRUE(h.until([&] { return h.run_state() == RunState::finished; }));
    EXPECT_EQ(h.state.training.total_steps, 30u);
    EXPECT_EQ(h.state.scene->test_views, 0u);
    EXPECT_EQ((*h.state.cameras)[0].camera.width, 40);
    EXPECT_EQ(h.state.status.run_folder, out);
    EXPECT_FALSE(table.run(h.state, "import.accept", {})) << "nothing is asked any more";
}

}  // namespace
}  // namespace gs
