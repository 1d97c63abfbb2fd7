#include "app/session/events.h"

#include <utility>

namespace gs {

Events::Events(SessionOutbox& out, std::function<void()> wake)
    : out_(out), wake_(wake ? std::move(wake) : [] {}) {}

void Events::publish() {
    if (!std::exchange(changed_, false)) return;
    out_.view.put(view_);
    wake_();
}

void Events::error(const std::string& text, std::uint64_t of_command) {
    log_error("{}", text);
    out_.events.try_put({of_command != 0 ? of_command : command, true, text, true});
    wake_();
}

void Events::done(const std::string& text, bool notice, std::vector<std::string> lines,
                  std::uint64_t of_command) {
    log_info("{}", text);
    for (const std::string& line : lines) log_info("  {}", line);
    out_.events.try_put(
        {of_command != 0 ? of_command : command, false, text, notice, std::move(lines)});
    wake_();
}

void Events::warning(const std::string& text) {
    log_warning("{}", text);
    out_.events.try_put({command, false, text, true, {}, true});
    wake_();
}

bool Events::ask_studio(StudioJob job) {
    const bool sent = out_.studio.try_put(std::move(job));
    if (!sent) error("the studio is busy: try again in a moment");
    wake_();
    return sent;
}

void Events::focus(const Vec3d& point) {
    out_.focus.put(point);
    wake_();
}

void Events::picked(PickedPoints points) {
    out_.picked.try_put(std::move(points));
    wake_();
}

void Events::found(FoundPoint found) {
    out_.found.try_put(found);
    wake_();
}

void Events::picture(Picture picture) {
    out_.pictures.try_put(std::make_shared<const Picture>(std::move(picture)));
    wake_();
}

}  // namespace gs
