// A child process under the profiling service, for tests of the service: it records, serves its
// ring from a runtime directory of the test's own, and does what the test's body says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "base/record/endpoint.h"
#include "base/record/protocol.h"
#include "base/record/scope.h"
#include "base/record/service_status.h"
#include "tests/support/fork_at_rest.h"

namespace gs::service {

/// A fresh directory that is the service's for as long as this lives.
class RuntimeDirectory {
  public:
    RuntimeDirectory() {
        std::string path = std::filesystem::temp_directory_path() / "gs-service-test-XXXXXX";
        path_ = ::mkdtemp(path.data());
        ::setenv(kDirectoryVariable, path_.c_str(), 1);
        ::unsetenv(kArmVariable);
        ::unsetenv(kCollectorVariable);
    }
    ~RuntimeDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// The recorder as a host of the endpoint: leases switch it on and off.
struct RecorderHost : Host {
    void set_armed(bool armed) noexcept override { set_recording(armed); }
    void set_budget(std::uint64_t ppm) noexcept override {
        set_budget_words(static_cast<std::uint32_t>(ppm), 1'000'000);
    }
    bool release_cupti(char* why) noexcept override {
        std::strcpy(why, "there is no CUPTI in a test");
        return false;
    }
    bool acquire_cupti(char* why) noexcept override { return release_cupti(why); }
    bool tell_graph_nodes(std::uint64_t, char* why) noexcept override { return release_cupti(why); }
    void tick(bool) noexcept override {}
};

/// The child's end of the wire.
class Wire {
  public:
    Wire(int in, int out) : in_(in), out_(out) {}
    void say(char c) const { static_cast<void>(!::write(out_, &c, 1)); }
    /// Waits for the other end; 0 when it has gone.
    char hear() const {
        char c = 0;
        return ::read(in_, &c, 1) == 1 ? c : '\0';
    }
    bool hears_within(std::chrono::milliseconds patience) const {
        pollfd p{in_, POLLIN, 0};
        return ::poll(&p, 1, static_cast<int>(patience.count())) > 0;
    }

  private:
    int in_, out_;
};

/// Runs `body` in a forked child and kills it in the end. The child says 'r' when it is ready by
/// itself; one that is not to come `at_once` waits for begin(). Forked before this process has
/// other threads: what they hold locked (a sanitizer's allocator) stays locked in the child.
class ServedProcess {
  public:
    explicit ServedProcess(const std::function<void(const Wire&)>& body, bool armed = true,
                           bool at_once = true) {
        int down[2], up[2];
        if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(down[1]);
            ::close(up[0]);
            const Wire wire(down[0], up[1]);
            if (!at_once) wire.hear();
            run_child(wire, body, armed);
        }
        ::close(down[0]);
        ::close(up[1]);
        in_ = up[0], out_ = down[1];
        if (at_once) hear_ready();
    }
    void begin() const {
        wire().say('b');
        hear_ready();
    }
    ~ServedProcess() {
        kill();
        ::close(in_);
        ::close(out_);
    }
    ServedProcess(const ServedProcess&) = delete;
    ServedProcess& operator=(const ServedProcess&) = delete;

    Wire wire() const { return {in_, out_}; }
    pid_t pid() const { return pid_; }
    void kill(int signal = SIGKILL) {
        if (pid_ <= 0) return;
        ::kill(pid_, signal);
        wait();
    }
    int wait() {
        int status = 0;
        if (pid_ > 0) ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }

  private:
    void hear_ready() const { EXPECT_EQ(wire().hear(), 'r'); }
    [[noreturn]] static void run_child(const Wire& wire,
                                       const std::function<void(const Wire&)>& body, bool armed) {
        static RecorderHost host;
        char why[192] = "";
        start_recording({.armed = armed});
        if (!start_endpoint("nvtx", host, why)) {
            std::fprintf(stderr, "child: %s\n", why);
            ::_exit(99);
        }
        wire.say('r');
        body(wire);
        stop_endpoint();
        ::_exit(0);
    }

    pid_t pid_ = -1;
    int in_ = -1, out_ = -1;
};

/// Looks again and again for up to ten seconds.
inline bool eventually(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return holds();
}

}  // namespace gs::service
