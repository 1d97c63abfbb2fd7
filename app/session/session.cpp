#include "app/session/session.h"

#include "app/session/engine.h"
#include "base/record/scope.h"

namespace gs {

Session::Session(SessionOptions options, std::function<void()> wake)
    : in_(std::make_shared<SessionInbox>()), out_(std::make_shared<SessionOutbox>()) {
    thread_ = std::thread([this, options = std::move(options), wake = std::move(wake)]() mutable {
        name_this_thread("engine");
        Engine engine(std::move(options), *in_, *out_, std::move(wake));
        engine.run(stop_);
    });
}

Session::~Session() {
    stop_ = true;
    in_->commands.close();
    in_->bell.put({});
    out_->events.close();
    out_->pictures.close();
    thread_.join();
}

std::uint64_t Session::send(EngineJob job) {
    if (!in_->commands.try_put({sent_ + 1, std::move(job)})) return 0;
    in_->bell.put({});
    return ++sent_;
}

void Session::request_view(ViewRequest request) {
    in_->view.put(std::move(request));
    in_->bell.put({});
}

}  // namespace gs
