#include "profiler/serve/recording_hook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"

namespace gs::serve {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLook = 20ms, kAtTheEnd = 10'000ms;

/// In a process group of its own, so that everything it starts can be ended with it.
int start_shell(const std::string& command, const fs::path& recording, pid_t& pid) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    std::string words[] = {"sh", "-c", command, "sh", recording.string()};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                         words[3].data(), words[4].data(), nullptr};
    const int error = ::posix_spawn(&pid, "/bin/sh", &files, &attributes, arguments, environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return error;
}

}  // namespace

RecordingHook::RecordingHook(std::string command, std::chrono::milliseconds patience)
    : command_(std::move(command)), patience_(patience) {
    if (command_.find("$1") == std::string::npos) command_ += " \"$1\"";
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RecordingHook::~RecordingHook() = default;

void RecordingHook::run(const fs::path& recording) {
    const bool skipped = !waiting_.try_put(fs::absolute(recording));
    if (skipped && !skipping_)
        log_warning("--on-recording: {} and those after it are skipped: 16 are waiting",
                    recording.string());
    skipping_ = skipped;
}

void RecordingHook::work(const std::stop_token& stop) {
    std::optional<Clock::time_point> end;
    for (;;) {
        if (!end && stop.stop_requested()) end = Clock::now() + kAtTheEnd;
        const auto recording = waiting_.take_within(end ? 0ms : 100ms);
        if (!recording && end) return;
        if (!recording) continue;
        if (end && Clock::now() > *end)
            report(fmt::format("no time was left for {}", recording->string()));
        else
            report(call(*recording, stop));
    }
}

std::string RecordingHook::call(const fs::path& recording, const std::stop_token& stop) const {
    pid_t pid = -1;
    if (const int error = start_shell(command_, recording, pid); error != 0)
        return fmt::format("cannot be started: {}", std::strerror(error));
    auto end = Clock::now() + patience_;
    for (bool stopping = false;;) {
        int status = 0;
        if (::waitpid(pid, &status, WNOHANG) == pid) {
            if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
            const int code = WEXITSTATUS(status);
            return code == 0 ? "" : fmt::format("ended with exit code {}", code);
        }
        if (!stopping && stop.stop_requested()) {
            stopping = true;
            end = std::min(end, Clock::now() + kAtTheEnd);
        }
        if (Clock::now() > end) {
            ::kill(-pid, SIGKILL);
            ::waitpid(pid, &status, 0);
            return "took too long and was ended";
        }
        std::this_thread::sleep_for(kLook);
    }
}

void RecordingHook::report(const std::string& trouble) {
    if (!trouble.empty() && trouble_.empty())
        log_warning("--on-recording: the command {}; further failures are not logged", trouble);
    if (trouble.empty() && !trouble_.empty()) log_info("--on-recording: the command works again");
    trouble_ = trouble;
}

}  // namespace gs::serve
