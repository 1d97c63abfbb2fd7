#include "profiler/serve/recording_hook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"

namespace gs::serve {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLook = 20ms, kAfterKill = 1'000ms;

/// Without the keys to the receiver of metrics, which are not the command's.
std::vector<char*> environment_of_command() {
    std::vector<char*> out;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with("OTEL_EXPORTER_OTLP_HEADERS="))
            out.push_back(*entry);
    out.push_back(nullptr);
    return out;
}

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
    const int error = ::posix_spawn(&pid, "/bin/sh", &files, &attributes, arguments,
                                    environment_of_command().data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return error;
}

/// The status of `pid`'s end; none: it has not ended by `end`.
std::optional<int> status_by(pid_t pid, const std::function<Clock::time_point()>& end) {
    int status = 0;
    for (;;) {
        if (::waitpid(pid, &status, WNOHANG) == pid) return status;
        if (Clock::now() > end()) return std::nullopt;
        std::this_thread::sleep_for(kLook);
    }
}

}  // namespace

RecordingHook::RecordingHook(std::string command, std::chrono::milliseconds patience,
                             std::chrono::milliseconds patience_at_end)
    : command_(std::move(command)), patience_(patience), patience_at_end_(patience_at_end) {
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RecordingHook::~RecordingHook() {
    thread_.request_stop();
    waiting_.close();
}

void RecordingHook::run(const fs::path& recording) {
    const bool skipped = !waiting_.try_put(fs::absolute(recording));
    if (skipped && !skipping_)
        log_warning("--on-recording: {} and those after it are skipped: 16 are waiting",
                    recording.string());
    skipping_ = skipped;
}

void RecordingHook::work(const std::stop_token& stop) {
    for (;;) {
        const auto recording = waiting_.take_within(std::chrono::hours(1));
        if (!recording && stop.stop_requested()) return;
        if (!recording || !path_exists(*recording)) continue;  // removed for space
        if (Clock::now() > end(stop))
            report(fmt::format("no time was left for {}", recording->string()));
        else
            report(call(*recording, stop));
    }
}

/// The same for all that waits when the daemon ends.
Clock::time_point RecordingHook::end(const std::stop_token& stop) {
    if (!end_ && stop.stop_requested()) end_ = Clock::now() + patience_at_end_;
    return end_.value_or(Clock::time_point::max());
}

std::string RecordingHook::call(const fs::path& recording, const std::stop_token& stop) {
    pid_t pid = -1;
    if (const int error = start_shell(command_, recording, pid); error != 0)
        return fmt::format("cannot be started: {}", std::strerror(error));
    const auto own_end = Clock::now() + patience_;
    const auto status = status_by(pid, [&] { return std::min(own_end, end(stop)); });
    if (!status) {
        ::kill(-pid, SIGKILL);
        // One that hangs in the kernel, on a dead file server, ends when it can.
        status_by(pid, [until = Clock::now() + kAfterKill] { return until; });
        return "took too long and was ended";
    }
    if (WIFSIGNALED(*status)) return fmt::format("was ended by signal {}", WTERMSIG(*status));
    const int code = WEXITSTATUS(*status);
    return code == 0 ? "" : fmt::format("ended with exit code {}", code);
}

void RecordingHook::report(const std::string& trouble) {
    if (!trouble.empty() && trouble_.empty())
        log_warning("--on-recording: the command {}; further failures are not logged", trouble);
    if (trouble.empty() && !trouble_.empty()) log_info("--on-recording: the command works again");
    trouble_ = trouble;
}

}  // namespace gs::serve
