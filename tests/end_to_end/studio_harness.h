// For tests of the engine thread: a small capture on disk (the built-in sample, tiny), and a
// session whose results are gathered while waiting for something, with a limit.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "app/commands/commands.h"
#include "app/sample/sample_capture.h"
#include "app/session/engine.h"
#include "app/session/history.h"
#include "app/session/parts/costs.h"
#include "app/session/parts/exporter.h"
#include "app/session/parts/place_finder.h"
#include "app/session/parts/run_settings.h"
#include "app/session/parts/scene_doctor.h"
#include "base/file.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {

using test::TemporaryFolder;

/// The sample capture with 9 small photos, made once per test program.
inline const std::string& tiny_capture() {
    static const TemporaryFolder folder;
    static const std::string path = [] {
        const auto made = write_sample_capture(
            folder.path() / "tiny", {.views = 9, .width = 80, .height = 60, .points = 400});
        EXPECT_TRUE(made) << (made ? "" : made.error().text());
        return (folder.path() / "tiny").string();
    }();
    return path;
}

/// A run of 200 steps that neither evaluates nor saves by itself.
inline SessionOptions quiet_options() {
    SessionOptions options;
    options.settings.steps = 200;
    options.run.evaluate_every = 0;
    options.run.save_every = 0;
    return options;
}

/// What tests ask of the engine, as session.send() takes it.
namespace jobs {
inline EngineJob open(OpenRequest request) {
    return [request = std::move(request)](Engine& e) { e.open(request); };
}
inline EngineJob open(const std::string& path, const std::string& capture = {},
                      bool train = false) {
    return open(OpenRequest{
        .contents = find_contents(path), .capture = find_capture(capture), .train = train});
}
inline EngineJob open_beside(const std::string& path) {
    return open(OpenRequest{.contents = find_contents(path), .beside = true});
}
inline EngineJob close() {
    return [](Engine& e) { e.close(); };
}
inline EngineJob end_compare() {
    return [](Engine& e) { e.end_compare(); };
}
inline EngineJob start() {
    return [](Engine& e) { e.start_training(); };
}
inline EngineJob pause() {
    return [](Engine& e) { e.part<Training>().pause(); };
}
inline EngineJob steps(std::uint64_t count) {
    return [count](Engine& e) { e.part<Training>().step(count); };
}
inline EngineJob run_to(std::uint64_t step) {
    return [step](Engine& e) { e.part<Training>().run_to(step); };
}
inline EngineJob set(const std::string& name, double value) {
    return [name, value](Engine& e) { e.part<RunSettings>().set(name, value); };
}
inline EngineJob save_checkpoint(const std::string& path) {
    return [path](Engine& e) { e.part<Training>().save_checkpoint(path); };
}
inline EngineJob evaluate() {
    return [](Engine& e) { e.part<Training>().evaluate(); };
}
inline EngineJob measure_limits(bool again = false) {
    return [again](Engine& e) { e.part<Costs>().measure_limits(again); };
}
inline EngineJob export_splats(const std::string& path) {
    return [path](Engine& e) { e.part<Exporter>().splats(path); };
}
inline EngineJob cancel(const std::string& name = {}) {
    return [name](Engine& e) { e.cancel(name); };
}
inline EngineJob examine() {
    return [](Engine& e) { e.part<SceneDoctor>().examine(); };
}
inline EngineJob fix(const std::string& name = {}) {
    return [name](Engine& e) { e.part<SceneDoctor>().fix(name); };
}
inline EngineJob undo_fix() {
    return [](Engine& e) { e.part<SceneDoctor>().undo(); };
}
inline EngineJob mark(std::uint64_t row) {
    return [row](Engine& e) { e.part<SceneDoctor>().mark(row); };
}
inline EngineJob picture(const PictureRequest& request) {
    return [request](Engine& e) { e.picture(request); };
}
inline EngineJob focus(const ViewRequest& request, double x, double y) {
    return [request, x, y](Engine& e) {
        if (const auto scene = e.open_scene()) e.part<PlaceFinder>().focus(*scene, request, x, y);
    };
}
}  // namespace jobs

struct SessionHarness {
    explicit SessionHarness(SessionOptions options = {})
        : session(with_folder(std::move(options))), state(session) {
        state.navigation.distance = 4;
    }
    SessionOptions with_folder(SessionOptions options) {
        if (options.output_dir.empty()) options.output_dir = (folder.path() / "out").string();
        return options;
    }
    /// Gathers what the engine publishes until `reached`; false after `seconds`.
    bool until(const std::function<bool()>& reached, double seconds = 60) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (std::chrono::steady_clock::now() < end) {
            gather();
            if (reached()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }
    void gather() {
        state.take_published();
        if (state.training.state == RunState::training) ++seen_training;
        while (auto event = session.out().events.try_take())
            (event->error ? errors : notes).push_back(*event);
        while (auto picture = session.out().pictures.try_take()) pictures.push_back(*picture);
    }
    bool until_done(std::uint64_t serial) {
        return until([&] { return state.status.commands_done >= serial; });
    }
    bool until_state(RunState wanted) {
        return until([&] { return state.training.state == wanted; });
    }
    bool open(const std::string& path, bool train = false) {
        const std::uint64_t serial = session.send(jobs::open(path, "", train));
        const std::uint64_t before = state.status.scene_serial;
        return until([&] {
            return state.status.commands_done >= serial && state.status.scene_serial > before;
        });
    }
    RunState run_state() const { return state.training.state; }

    TemporaryFolder folder;
    Session session;
    StudioState state;
    std::vector<EngineEvent> errors, notes;
    std::vector<std::shared_ptr<const Picture>> pictures;
    int seen_training = 0;
};

}  // namespace gs
