// Engine: the engine thread's work, one turn after another: commands, finished jobs, one training
// step, one picture for the viewport when the budget allows. It owns the scene, and a list of parts
// (engine_part.h) that own everything else. Results and events leave through Events. Lives on
// the engine thread alone (session.cpp starts it).
#pragma once

#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

#include "app/session/engine_part.h"
#include "app/session/events.h"
#include "app/session/jobs.h"
#include "app/session/loading.h"
#include "app/session/session.h"
#include "base/check.h"

namespace gs {

struct EngineContext;

class Engine {
  public:
    Engine(SessionOptions options, SessionInbox& in, SessionOutbox& out,
           std::function<void()> wake);
    ~Engine();
    /// Returns soon after `stop` becomes true (and the bell was rung).
    void run(const std::atomic<bool>& stop);

    // ---- for commands (app/commands); answers and errors go into the outbox
    void open(const OpenRequest& request);
    void close();
    /// Starts training; splats that are open with their photos become a run first.
    void start_training();
    /// Closes the second scene of a comparison.
    void end_compare();
    /// Cancels background work by Activity::name, or all of it if empty.
    void cancel(const std::string& name);
    /// Renders a picture at exactly the requested size, for SessionOutbox::pictures.
    void picture(const PictureRequest& request);

    /// The part of this type; the caller includes its header.
    template <class Part>
    Part& part() {
        for (const auto& part : parts_)  // parts are final; several are asked for in each turn
            if (const EnginePart& it = *part; typeid(it) == typeid(Part))
                return static_cast<Part&>(*part);
        CHECK(false, "the engine has no such part");
    }
    /// The open scene, for parts that draw; empty, with an error reported, if none is open.
    std::optional<Shown> open_scene();

  private:
    bool turn();
    bool take_commands();
    void adopt(LoadedScene scene, bool train);
    void adopt_beside(LoadedScene scene);
    void close_beside();
    /// The same scene with another model; camera and photos stay.
    void replace_model(LoadedScene scene);
    EngineContext context();
    template <class... P>
    void add();
    void report(SceneChange change);
    void end_scene();
    Shown shown();
    std::optional<Shown> shown_if_open();
    bool draw_when_due();
    void publish_status();
    bool publish_when_due();
    void stop_after_exception(const std::exception& error);

    SessionOptions options_;
    SessionInbox& in_;
    Events events_;

    std::optional<LoadedScene> scene_, beside_;
    std::optional<OpenRequest> next_beside_;  // when what is being loaded is there
    std::uint64_t commands_done_ = 0, views_taken_ = 0;
    std::string backend_;

    struct Parts : std::vector<std::unique_ptr<EnginePart>> {
        ~Parts() {
            while (!empty()) pop_back();
        }
    } parts_;  // later ones refer to earlier ones

    Jobs jobs_;  // last: they end before what they refer to
};

}  // namespace gs
