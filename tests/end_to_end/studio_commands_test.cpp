// The command table and scripts: consistent, complete, and clear about mistakes.
#include <set>
#include <thread>

#include "app/studio/script.h"
#include "base/format.h"
#include "panels/state/selection_state.h"
#include "studio_harness.h"
#include "tests/support/small_levels.h"

namespace gs {
namespace {

TEST(Commands, have_unique_names_and_keys_and_all_have_help) {
    const CommandTable table = all_commands();
    std::set<std::string> names, keys;
    for (const CommandInfo& info : table.infos()) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        if (!info.key.empty()) {
            EXPECT_TRUE(keys.insert(info.key).second) << info.name << " " << info.key;
        }
        EXPECT_FALSE(info.title.empty()) << info.name;
        EXPECT_GT(info.help.size(), 10u) << info.name;
        EXPECT_EQ(info.help.back(), '.') << info.name;
    }
    for (const char* preset : {"gausscope", "supersplat", "blender"}) {
        const auto map = load_key_map(
            preset, {}, [&](const std::string& name) { return table.find(name) != nullptr; });
        ASSERT_TRUE(map) << preset;
        EXPECT_TRUE(map->problems().empty()) << preset << ": " << map->problems()[0];
        for (const char* letter : {"W", "A", "S", "D", "Q", "E"})
            EXPECT_FALSE(map->find(letter)) << "steers the fly camera";
        EXPECT_FALSE(map->find(""));
    }
}

/// Runs a function of these parameters; the error, or nothing.
template <class Action, class... T>
std::string error_of_row(const Arguments& words, Action action, Parameter<T>... parameters) {
    SessionHarness h;
    const CommandTable table({CommandRow("try", "Try", "", "Try it.", action, parameters...)});
    const auto done = table.run(h.state, "try", words);
    return done ? std::string() : done.error().text();
}

TEST(Commands, take_as_many_arguments_as_their_parameters_say) {
    using namespace args;
    const auto row = [](auto... parameters) {
        const CommandRow one("try", "Try", "", "Try it.", nullptr, parameters...);
        return std::tuple(one.arguments, one.least(), one.most());
    };
    using Row = std::tuple<std::string, std::size_t, std::size_t>;
    EXPECT_EQ(row(), Row("", 0, 0));
    EXPECT_EQ(row(word("PATH")), Row("PATH", 1, 1));
    EXPECT_EQ(row(vector("R G B", 0, 1)), Row("R G B", 3, 3));
    EXPECT_EQ(row(toggle()), Row("[on|off]", 0, 1));
    EXPECT_EQ(row(always(3), either(axis(), "auto")), Row("AXIS|auto", 1, 1));
    EXPECT_EQ(row(either(box(), "off")), Row("off|X0 Y0 Z0 X1 Y1 Z1", 1, 6));
    EXPECT_EQ(row(word("PATH"), optional(both(whole("WIDTH", 1, 9), whole("HEIGHT", 1, 9))),
                  optional(choice("plain|overlays"))),
              Row("PATH [WIDTH HEIGHT] [plain|overlays]", 1, 4));
    EXPECT_EQ(row(word("NAME"), flag("hide")), Row("NAME [hide]", 1, 2));
}

TEST(Commands, refuse_arguments_outside_their_range) {
    using namespace args;
    double scaled = 0;
    static double* given = nullptr;
    given = &scaled;
    const auto error = [](const Arguments& words) {
        return error_of_row(
            words, [](StudioState&, double factor) { *given = factor; },
            number("FACTOR", 1e-3, 1e3));
    };
    EXPECT_EQ(error({"2.5"}), "");
    EXPECT_EQ(scaled, 2.5);
    for (const char* wrong : {"0", "-1", "1e4", "nan", "inf", "", "2x", "two"})
        EXPECT_NE(error({wrong}).find("FACTOR must be"), std::string::npos) << wrong;
    EXPECT_NE(error({"1e4"}).find("between 0.001 and 1000, not 10000"), std::string::npos);
    EXPECT_NE(error({"1e4"}).find("usage: try FACTOR"), std::string::npos);
    EXPECT_NE(error({}).find("takes 1 arguments, not 0"), std::string::npos);
    EXPECT_NE(error({"1", "2"}).find("takes 1 arguments, not 2"), std::string::npos);
    EXPECT_EQ(scaled, 2.5) << "nothing wrong reached the command";
}

TEST(Commands, read_optional_arguments_choices_and_texts) {
    using namespace args;
    static std::string got;
    const auto error = [](const Arguments& words) {
        got.clear();
        return error_of_row(
            words,
            [](StudioState&, const std::string& path,
               const std::optional<std::pair<std::int64_t, std::int64_t>>& size, bool overlays) {
                got = fmt::format("{} {}x{} {}", path, size ? size->first : 0,
                                  size ? size->second : 0, overlays);
            },
            word("PATH"), optional(both(whole("WIDTH", 1, 9), whole("HEIGHT", 1, 9))),
            optional(choice("plain|overlays"), std::size_t{0}));
    };
    EXPECT_EQ(error({"a \"b\" c"}) + got, "a \"b\" c 0x0 false");
    EXPECT_EQ(error({"p", "overlays"}) + got, "p 0x0 true");
    EXPECT_EQ(error({"p", "3", "4"}) + got, "p 3x4 false");
    EXPECT_EQ(error({"p", "3", "4", "overlays"}) + got, "p 3x4 true");
    EXPECT_NE(error({"p", "shiny"}).find("is not one of: plain, overlays"), std::string::npos);
    EXPECT_NE(error({"p", "3", "10"}).find("HEIGHT must be between 1 and 9"), std::string::npos);
    EXPECT_NE(error({"p", "3.5", "4"}).find("whole number"), std::string::npos);
    const auto box_error = [](const Arguments& words) {
        return error_of_row(words, &ViewSettings::clip, either(box(), "off"));
    };
    EXPECT_EQ(box_error({"off"}), "");
    EXPECT_EQ(box_error({"0", "0", "0", "1", "1", "1"}), "");
    EXPECT_NE(box_error({"0", "0", "0"}).find("are 6 numbers"), std::string::npos);
    EXPECT_NE(box_error({"off", "1"}).find("one argument too many"), std::string::npos);
}

TEST(Commands, for_each_choice_are_named_after_it) {
    const CommandTable table = all_commands();
    const auto expect_all = [&](const std::string& command, std::span<const char* const> names,
                                auto value_of) {
        SessionHarness h;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const CommandRow* row = table.find(command + "." + names[i]);
            ASSERT_TRUE(row) << command << "." << names[i];
            ASSERT_TRUE(row->run(h.state, {}));
            EXPECT_EQ(static_cast<std::size_t>(value_of(h.state.view)), i) << row->name;
        }
    };
    expect_all("view.mode", kViewModeNames, [](const ViewSettings& v) { return v.mode; });
    expect_all("view.style", kDrawStyleNames, [](const ViewSettings& v) { return v.style; });
    expect_all("view.navigation", kNavigationNames,
               [](const ViewSettings& v) { return v.navigation; });
}

TEST(Commands, say_what_is_wrong_with_their_arguments) {
    SessionHarness h;
    const CommandTable table = all_commands();
    const auto error_of = [&](const char* name, Arguments arguments) {
        const auto done = table.run(h.state, name, arguments);
        return done ? std::string() : done.error().text();
    };
    EXPECT_NE(error_of("train.strat", {}).find("train.start"), std::string::npos);
    EXPECT_NE(error_of("view.mode", {"deepth"}).find("contributors"), std::string::npos);
    EXPECT_NE(error_of("view.mode", {}).find("usage"), std::string::npos);
    EXPECT_NE(error_of("train.run-to", {"12x"}).find("12x"), std::string::npos);
    EXPECT_NE(error_of("train.set", {"lr_nothing", "1"}).find("lr_nothing"), std::string::npos);
    EXPECT_NE(error_of("view.range", {"manual", "2", "1"}).find("below"), std::string::npos);
    EXPECT_EQ(error_of("view.range", {"manual"}), "") << "with the ends that it has";
    EXPECT_NE(error_of("wait-idle", {}).find("scripts"), std::string::npos);
    EXPECT_NE(error_of("layout.reset", {"now"}).find("layout.reset takes no arguments, not 1"),
              std::string::npos);
    EXPECT_NE(error_of("panel", {}).find("1 to 2 arguments"), std::string::npos);
    EXPECT_NE(error_of("view.next", {}), "");
    EXPECT_EQ(error_of("view.mode", {"depth"}), "");
    EXPECT_EQ(h.state.view.mode, ViewMode::depth);
    EXPECT_EQ(error_of("view.mode.alpha", {}), "");
    EXPECT_EQ(h.state.view.mode, ViewMode::alpha);
    EXPECT_EQ(error_of("view.camera", {"0", "0", "-5", "0", "0", "0"}), "");
    EXPECT_NEAR(h.state.navigation.eye().z, -5, 1e-9);
}

TEST(Commands, of_the_lens) {
    SessionHarness h;
    const CommandTable table = all_commands();
    const auto error_of = [&](const char* name, const Arguments& arguments) {
        const auto done = table.run(h.state, name, arguments);
        return done ? std::string() : done.error().text();
    };
    const auto camera = [&] { return camera_of(h.state.navigation, 640, 480); };
    EXPECT_EQ(error_of("view.camera", {"0", "0", "-5", "0", "0", "0", "40"}), "");
    EXPECT_EQ(error_of("view.orthographic", {}), "");
    EXPECT_TRUE(camera().orthographic());
    EXPECT_EQ(error_of("view.orthographic", {"on"}), "");
    EXPECT_TRUE(camera().orthographic());
    // A copied camera keeps it, and one without the word ends it.
    const std::vector<std::string> words = split_words(camera_text(h.state.navigation));
    EXPECT_EQ(error_of("view.orthographic", {"off"}), "");
    EXPECT_EQ(error_of("view.camera", words), "");
    EXPECT_TRUE(camera().orthographic());
    EXPECT_EQ(error_of("view.camera", {"0", "0", "-5", "0", "0", "0", "40"}), "");
    EXPECT_FALSE(camera().orthographic());
    EXPECT_EQ(error_of("view.fov", {"150"}), "");
    EXPECT_NEAR(h.state.navigation.fov_y, 150 * M_PI / 180, 1e-9);
    EXPECT_NE(error_of("view.fov", {"170"}).find("150"), std::string::npos);
    EXPECT_EQ(error_of("view.near", {"0.75"}), "");
    EXPECT_EQ(h.state.view.near_plane, 0.75);
    EXPECT_NE(error_of("view.near", {"-1"}), "");
    EXPECT_EQ(error_of("view.near", {"auto"}), "");
    EXPECT_EQ(h.state.view.near_plane, 0);
    EXPECT_EQ(error_of("view.up", {"-x"}), "");
    EXPECT_EQ(h.state.navigation.up.x, -1);
    EXPECT_NE(error_of("view.up", {"w"}).find("axis"), std::string::npos);
    EXPECT_EQ(error_of("view.up", {"auto"}), "");
    EXPECT_EQ(h.state.navigation.up.y, -1);
    EXPECT_EQ(error_of("view.grid", {"on"}), "");
    EXPECT_TRUE(h.state.view.grid);
    EXPECT_EQ(error_of("view.fast", {"on"}), "");
    EXPECT_TRUE(h.state.view.fast);
    for (const char* axis : {"x", "y", "z"}) {
        EXPECT_EQ(error_of("view.along", {axis}), "");
        const Vec3d along = camera().forward();
        EXPECT_EQ(error_of((std::string("view.along.minus-") + axis).c_str(), {}), "");
        EXPECT_NEAR(dot(along, camera().forward()), -1, 1e-9);
    }
    EXPECT_EQ(error_of("view.from.top", {}), "");
    EXPECT_NEAR(camera().forward().y, 1, 1e-9) << "down, where -y is up";
    EXPECT_NE(error_of("view.frame-selection", {}).find("nothing is selected"), std::string::npos);
    MarkedGaussian marked{.mean = {1, 2, 3},
                          .axes = {Vec3f{0.1F, 0, 0}, Vec3f{0, 0.4F, 0}, Vec3f{0, 0, 0.2F}}};
    h.state.marked = std::make_shared<MarkedGaussian>(marked);
    EXPECT_EQ(error_of("view.frame-selection", {}), "");
    EXPECT_NEAR(h.state.navigation.target.z, 3, 1e-6);
    EXPECT_NEAR(h.state.navigation.distance * std::sin(h.state.navigation.fov_y / 2), 1.1 * 3 * 0.4,
                1e-6);
}

TEST(Commands, frame_the_camera_that_was_gone_to_last) {
    SessionHarness h;
    const CommandTable table = all_commands();
    CameraRow row{.name = "a.jpg",
                  .camera = look_at({4, -1, 2}, {0, 0, 0}, {0, -1, 0}, 1000, 600, 0.9)};
    h.state.cameras = std::make_shared<const std::vector<CameraRow>>(1, row);
    h.state.scene = std::make_shared<SceneInfo>();
    ASSERT_TRUE(table.run(h.state, "view.capture", {"0"}));
    ASSERT_TRUE(table.run(h.state, "view.frame-selection", {}));
    EXPECT_EQ(h.state.view.capture_view, -1);
    const Camera seen = camera_of(h.state.navigation, 640, 480);
    const Vec3d apex = seen.rotation * row.camera.position() + seen.translation;
    ASSERT_GT(apex.z, 0) << "before the viewer";
    const auto at = seen.pixel_of(apex);
    EXPECT_TRUE(at.x > 100 && at.x < 540 && at.y > 80 && at.y < 400) << at.x << " " << at.y;
    EXPECT_LT(dot(seen.forward(), row.camera.forward()), 0.95) << "not from exactly behind";
    CameraRow other{.camera = look_at({-9, 0, 0}, {0, 0, 0}, {0, -1, 0}, 1000, 600, 0.9)};
    h.state.cameras = std::make_shared<const std::vector<CameraRow>>(std::vector{row, other});
    h.state.hovered_camera = 1;
    ASSERT_TRUE(table.run(h.state, "view.frame-selection", {}));
    EXPECT_NEAR(h.state.navigation.target.x, -9, 0.5) << "the one under the mouse";
}

TEST(Commands, of_the_clip_box) {
    SessionHarness h;
    const CommandTable table = all_commands();
    const auto error_of = [&](const char* name, const Arguments& arguments) {
        const auto done = table.run(h.state, name, arguments);
        return done ? std::string() : done.error().text();
    };
    EXPECT_EQ(error_of("view.clip", {"-1", "-2", "-3", "1", "2", "3.5"}), "");
    ASSERT_TRUE(h.state.view.clip);
    EXPECT_EQ(h.state.view.clip->lo.y, -2);
    EXPECT_EQ(h.state.view.clip->hi.z, 3.5F);
    EXPECT_NE(error_of("view.clip", {"1", "0", "0", "0", "1", "1"}).find("before"),
              std::string::npos);
    EXPECT_NE(error_of("view.clip", {"1", "0", "0"}), "");
    EXPECT_NE(error_of("view.clip", {"on"}), "");
    EXPECT_TRUE(h.state.view.clip) << "what was wrong changed nothing";
    EXPECT_EQ(error_of("view.clip", {"off"}), "");
    EXPECT_FALSE(h.state.view.clip);
    EXPECT_NE(error_of("view.clip.fit", {}).find("nothing is open"), std::string::npos);
    SceneInfo scene{.core = {{-1, -1, -1}, {2, 2, 2}}};
    h.state.scene = std::make_shared<SceneInfo>(scene);
    EXPECT_EQ(error_of("view.clip.fit", {}), "");
    EXPECT_EQ(h.state.view.clip->hi.x, 2);
}

TEST(Script, is_checked_as_a_whole_before_it_starts) {
    const CommandTable table = all_commands();
    const auto lines = required(parse_script(
        "# a comment\n\nopen \"a b/c\"   # trailing\r\nwait-step 5\n", "s.txt", table));
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].number, 3u);
    EXPECT_EQ(lines[0].arguments, Arguments{"a b/c"});
    const auto unknown = parse_script("quit\nopne x\n", "s.txt", table);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().line, 2u);
    const auto missing = parse_script("open\n", "s.txt", table);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("PATH"), std::string::npos);
}

Result<bool> run_script(SessionHarness& h, const std::string& text) {
    const CommandTable table = all_commands();
    auto lines = parse_script(text, "s.txt", table);
    if (!lines) return tl::unexpected<Error>(lines.error());
    ScriptRunner runner(std::move(*lines), "s.txt", table);
    Result<bool> ended = false;
    std::size_t told = 0;
    h.until([&] {
        ++h.state.ui_frames;
        for (; told < h.errors.size(); ++told) runner.take_event(h.errors[told]);
        ended = runner.advance(h.state);
        h.state.ui_actions.clear();
        return !ended || *ended;
    });
    return ended;
}

TEST(Script, trains_and_saves_with_waits) {
    SessionHarness h;
    const std::string out = (h.folder.path() / "model.ply").string();
    const auto ended = required(run_script(
        h, fmt::format("open {}\nwait-loaded\ntrain.run-to 3\nwait-step 3\nexport {}\nwait-idle\n",
                       tiny_capture(), out)));
    EXPECT_TRUE(ended);
    EXPECT_TRUE(fs::exists(out));
    EXPECT_EQ(h.state.training.step, 3u);
}

TEST(Script, wait_idle_waits_for_the_levels_of_a_view_that_the_engine_has_not_seen_yet) {
    const test::Set files;
    SessionHarness h;
    ASSERT_TRUE(run_script(h, "open " + files.meta.string() + "\nwait-loaded\n").value_or(false));
    h.session.send([](Engine&) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
    ViewRequest request = view_request_of(h.state, 1000, 1000);
    request.camera = test::camera_at(-1);
    request.settings.lod_pixels = 1e-3;
    request.serial = ++h.state.request_serial;
    h.session.request_view(request);
    ASSERT_TRUE(run_script(h, "wait-idle\n").value_or(false));
    ASSERT_TRUE(h.state.levels);
    EXPECT_EQ(h.state.levels->drawn, test::kRegions * 400);
}

TEST(Script, stops_at_the_line_that_failed) {
    SessionHarness h;
    const auto bad_export = run_script(
        h, fmt::format("open {}\nwait-loaded\nexport /proc/nowhere/x.ply\nwait-idle\nquit\n",
                       tiny_capture()));
    ASSERT_FALSE(bad_export);
    EXPECT_EQ(bad_export.error().line, 3u);
    const auto no_file = run_script(h, "open /nonexistent/capture\nwait-loaded\nwait-frame\n");
    ASSERT_FALSE(no_file);
    EXPECT_EQ(no_file.error().line, 1u);
    const auto too_far = run_script(h, "wait-step 1000\n");
    ASSERT_FALSE(too_far);
    EXPECT_NE(too_far.error().message.find("will not reach step"), std::string::npos);
    const auto late = run_script(h, "timeout 0.05\nwait-frame\n");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().line, 2u);
}

TEST(Script, waits_for_no_picture_of_a_trace_alone) {
    SessionHarness h;
    const auto nothing = run_script(h, "wait-frame\n");
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("nothing is being loaded"), std::string::npos);
    h.state.work.any_trace = true;
    const auto ended = required(run_script(h, "wait-loaded\nwait-frame\nwait-idle\n"));
    EXPECT_TRUE(ended);
    h.state.work.reading_traces = true;
    const auto reads = run_script(h, "timeout 0.05\nwait-frame\n");
    ASSERT_FALSE(reads);
    EXPECT_NE(reads.error().message.find("not done after"), std::string::npos);
}

TEST(Commands, nothing_takes_the_place_of_edited_splats_without_a_question) {
    SessionHarness h;
    const auto table = all_commands();
    for (const bool unsaved : {false, true}) {
        auto edited = std::make_shared<SelectionState>();
        edited->unsaved = unsaved;
        for (const auto& [name, arguments] : {std::pair{"open", Arguments{"/nonexistent/x.ply"}},
                                              std::pair{"close", Arguments{}}}) {
            h.state.selection = edited;
            const std::uint64_t sent = h.state.last_sent;
            EXPECT_TRUE(table.run(h.state, name, arguments));
            EXPECT_EQ(h.state.last_sent, unsaved ? sent : sent + 1) << name;
            EXPECT_EQ(h.state.ui_actions.size(), unsaved ? 1u : 0u) << name;
            h.state.ui_actions.clear();
        }
    }
}

}  // namespace
}  // namespace gs
