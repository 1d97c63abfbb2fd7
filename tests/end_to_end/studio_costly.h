// A small run that rests, its first photo looked at, and commands given as scripts give them: for
// tests of what is measured and shown of single Gaussians.
#pragma once

#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/studio_harness.h"

namespace gs {

/// A tiny run after two steps, looked at from its first photo.
struct Costly : SessionHarness {
    CommandTable commands = all_commands();

    explicit Costly(const std::string& capture = tiny_capture(), SessionOptions options = {})
        : SessionHarness(std::move(options)) {
        EXPECT_TRUE(open(capture));
        EXPECT_TRUE(until_done(session.send(jobs::steps(2))));
        EXPECT_TRUE(until_state(RunState::paused));
        state.view.capture_view = 0;
        state.width = 80, state.height = 60;
    }
    Result<void> send(const std::string& line) {
        std::istringstream stream(line);
        const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
        return commands.run(state, words[0], Arguments(words.begin() + 1, words.end()));
    }
    /// Carries a command out and waits for the engine.
    Result<void> give(const std::string& line) {
        const auto result = send(line);
        const std::uint64_t serial = state.last_sent;
        EXPECT_TRUE(until_done(serial));
        return result;
    }
    /// The viewport's next picture with the settings as they are.
    std::shared_ptr<const ViewFrame> look() {
        ViewRequest request = view_request_of(state, state.width, state.height);
        request.serial = ++state.request_serial;
        session.request_view(request);
        EXPECT_TRUE(until([&] { return state.frame && state.frame->request == request.serial; }));
        return state.frame;
    }
};

}  // namespace gs
