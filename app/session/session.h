// Session: the engine thread and its mailboxes. The thread is the only owner of capture, model,
// trainer and rasterizer; the studio (and tests) send commands and view requests, and take
// immutable results. No call here makes the caller wait.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <variant>

#include "app/session/session_types.h"
#include "base/mailbox.h"

namespace gs {

/// The engine's results. Each mailbox has one reader, the UI thread.
struct SessionOutbox {
    Latest<Published> view;
    Latest<Vec3d> focus;             ///< world point, answers to Engine::focus
    Queue<PickedPoints> picked{64};  ///< answers to PlaceFinder::pick
    Queue<FoundPoint> found{64};     ///< answers to Engine::locate
    Queue<EngineEvent> events{4096};
    Queue<StudioJob> studio{1024};                       ///< undo and redo of the studio's own data
    Queue<std::shared_ptr<const Picture>> pictures{16};  ///< answers to Engine::picture
};

/// The engine's side of the mailboxes. `bell` ends the engine's sleep after a mailbox was filled.
struct SessionInbox {
    Queue<EngineCommand> commands{4096};
    Latest<ViewRequest> view;
    Latest<std::monostate> bell;
};

class Session {
  public:
    /// Starts the engine thread. `wake` is called from it after something was published (to end the
    /// UI's sleep).
    explicit Session(SessionOptions options, std::function<void()> wake = {});
    /// Cancels loading, ends the current step, stops the thread. Nothing is saved: send a
    /// job for that first.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Queues a job and returns its serial number (1, 2, ...), which EngineStatus and
    /// EngineEvent refer to; 0 when the queue is full.
    std::uint64_t send(EngineJob job);
    void request_view(ViewRequest request);
    SessionOutbox& out() { return *out_; }

  private:
    std::shared_ptr<SessionInbox> in_;
    std::shared_ptr<SessionOutbox> out_;
    std::uint64_t sent_ = 0;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace gs
