#include "app/lab/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "base/seconds.h"
#include "base/try.h"

namespace gs::lab {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kPatience = 60;  // seconds from asking to end until it is ended
constexpr std::uint64_t kLargestLog = 64 << 20;

std::string words_of(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
    return out;
}

/// In the child: from here to exec only what may be called after fork. Never comes back.
[[noreturn]] void become(char* const* words, int log, int said, pid_t lab) {
    // Killed with the lab: otherwise it would continue writing where the next lab starts.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != lab) ::_exit(127);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execvp(words[0], words);
    const int why = errno;
    (void)!::write(said, &why, sizeof why);
    ::_exit(127);
}

Result<pid_t> start_child(const ChildOptions& options, int log) {
    std::vector<std::string> words = options.words;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int said[2] = {-1, -1};
    if (::pipe2(said, O_CLOEXEC) != 0)
        return fail(ErrorKind::unreadable, words[0], std::strerror(errno));
    const pid_t lab = ::getpid(), pid = ::fork();
    if (pid == 0) become(arguments.data(), log, said[1], lab);
    const int forked = errno;
    ::close(said[1]);
    int why = 0;
    const bool failed = pid < 0 || ::read(said[0], &why, sizeof why) == sizeof why;
    ::close(said[0]);
    if (!failed) return pid;
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    return fail(ErrorKind::usage, words[0],
                fmt::format("cannot run the program: {}", std::strerror(pid < 0 ? forked : why)));
}

ChildOutcome outcome_of(int status, const rusage& used) {
    ChildOutcome out;
    if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
    out.peak_bytes = static_cast<std::uint64_t>(std::max(0L, used.ru_maxrss)) * 1024;
    return out;
}

ChildOutcome wait_for_child(pid_t pid, const ChildOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    double asked_s = -1;
    bool timed_out = false;
    for (;;) {
        int status = 0;
        rusage used{};
        if (const pid_t ended = ::wait4(pid, &status, WNOHANG, &used); ended != 0) {
            ChildOutcome out = outcome_of(status, used);
            out.timed_out = timed_out;
            out.seconds = seconds_since(begin);
            return out;
        }
        const double now_s = seconds_since(begin);
        const bool due = options.limit_s > 0 && now_s > options.limit_s;
        if (asked_s < 0 && (due || (options.stopped && options.stopped()))) {
            asked_s = now_s, timed_out = due;
            ::kill(pid, SIGTERM);
        } else if (asked_s >= 0 && now_s > asked_s + kPatience) {
            ::kill(pid, SIGKILL);
        }
        std::this_thread::sleep_for(kLook);
    }
}

}  // namespace

std::string ChildOutcome::text() const {
    if (signal == SIGKILL) return "killed by signal 9: out of memory, or ended by a user";
    if (signal != 0) return fmt::format("ended by signal {} ({})", signal, ::strsignal(signal));
    return fmt::format("exit code {}", exit_code);
}

Result<ChildOutcome> run_child(const ChildOptions& options) {
    GS_TRY_VOID(write_text_file(options.log, "$ " + words_of(options.words) + "\n"));
    const int log = ::open(options.log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (log < 0) return fail(ErrorKind::unwritable, options.log.string(), std::strerror(errno));
    const auto pid = start_child(options, log);
    ::close(log);
    if (!pid) return tl::unexpected(pid.error());
    return wait_for_child(*pid, options);
}

std::string tail_of(const fs::path& log, std::size_t lines) {
    const std::string text = read_text_file(log, kLargestLog).value_or("");
    std::vector<std::string> last;
    std::size_t end = text.size();
    while (end > 0 && last.size() < lines) {
        const std::size_t before = text.find_last_of("\r\n", end - 1);
        const std::size_t begin = before == text.npos ? 0 : before + 1;
        if (end > begin) last.push_back(text.substr(begin, end - begin));
        end = before == text.npos ? 0 : before;
    }
    std::string out;
    for (auto line = last.rbegin(); line != last.rend(); ++line)
        out += (out.empty() ? "" : "\n") + *line;
    return out;
}

std::string last_json_of(const fs::path& log) {
    // Both outputs go there: error messages may follow it.
    const std::string text = "\n" + tail_of(log, 8);
    const std::size_t begin = text.rfind("\n{");
    if (begin == text.npos) return {};
    return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
}

}  // namespace gs::lab
