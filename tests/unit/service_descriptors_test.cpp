// Descriptors of the recorder and its endpoint in a process that closes and replaces what it did
// not open: its own files stay as they are, also where the thread cannot leave the process's table.
#include "base/record/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "profiler/collect/client.h"
#include "tests/support/required.h"
#include "tests/unit/service_process.h"

namespace gs::service {
namespace {

int new_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(OwnedDescriptor, IsItsNumberAsLongAsItIsOurs) {
    OwnedDescriptor none, one(new_socket());
    EXPECT_EQ(none.get(), -1);
    const int fd = one.get();
    ASSERT_GE(fd, 0);
    EXPECT_EQ(one.get(), fd);
    one.close();
    EXPECT_FALSE(is_open(fd));
    EXPECT_EQ(one.get(), -1);
}

TEST(OwnedDescriptor, IsForgottenOnceTheProgramHasItsNumber) {
    OwnedDescriptor closed(new_socket()), used(new_socket()), unused(new_socket());
    const int first = closed.get(), second = used.get(), third = unused.get();
    const int theirs = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(first);
    ASSERT_EQ(::dup2(theirs, second), second);
    ASSERT_EQ(::dup2(theirs, third), third);
    EXPECT_EQ(closed.get(), -1);
    EXPECT_EQ(used.get(), -1);
    used.close();
    unused.close();
    EXPECT_TRUE(is_open(second));
    EXPECT_TRUE(is_open(third));
    for (const int fd : {theirs, second, third}) ::close(fd);
}

TEST(OwnedDescriptor, IsMovedWhereProgramsRarelyAre) {
    OwnedDescriptor high(new_socket(), true);
    EXPECT_GE(high.get(), 500);
    high.close();
}

TEST(OwnTable, IsTheThreadsAlone) {
    const int theirs = new_socket(), kept = new_socket();
    bool taken = false, keeps = false, has_theirs = true, has_output = true;
    int made = -1;
    std::thread([&] {
        taken = take_own_table(kept);
        keeps = is_open(kept);
        has_theirs = is_open(theirs);
        has_output = ::write(STDERR_FILENO, "lost\n", 5) == 5;
        made = ::dup(kept);
    }).join();
    if (!taken) GTEST_SKIP() << "this system gives threads no table of their own";
    EXPECT_TRUE(keeps);
    EXPECT_FALSE(has_theirs);
    EXPECT_FALSE(has_output);
    EXPECT_GE(made, 0);
    EXPECT_TRUE(is_open(theirs) && is_open(kept) && is_open(STDERR_FILENO));
    ::close(theirs);
    ::close(kept);
}

// ---- the endpoint in a careless process ----

/// From here on no thread gets a table of its own, as in some containers.
void forbid_own_tables() {
    constexpr unsigned kRefused = SECCOMP_RET_ERRNO | EPERM;
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kRefused),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        ::_exit(98);
}

/// Puts an empty file of the process on every number but those of the wire. 'y': they are still
/// empty and open when the endpoint has ended.
void take_all_numbers(const Wire& wire, const std::vector<int>& kept,
                      const std::filesystem::path& path) {
    constexpr int kLast = 1200;
    wire.hear();
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const auto is_mine = [&](int fd) {
        return fd == file || std::find(kept.begin(), kept.end(), fd) != kept.end();
    };
    for (int fd = 3; fd < kLast; ++fd)
        if (!is_mine(fd)) ::dup2(file, fd);
    wire.say('t');
    wire.hear();
    stop_endpoint();
    bool whole = true;
    for (int fd = 3; fd < kLast; ++fd) {
        struct stat status {};
        whole &= is_mine(fd) ||
                 (::fstat(fd, &status) == 0 && status.st_size == 0 && S_ISREG(status.st_mode));
    }
    wire.say(whole ? 'y' : 'n');
}

/// A process with an endpoint that does that.
class CarelessProcess {
  public:
    CarelessProcess(bool shares_table, const std::filesystem::path& path) {
        int down[2], up[2];
        if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            static RecorderHost host;
            if (shares_table) forbid_own_tables();
            start_recording({.armed = false});
            if (!start_endpoint("nvtx", host)) ::_exit(99);
            const Wire wire(down[0], up[1]);
            wire.say('r');
            take_all_numbers(wire, {down[0], up[1]}, path);
            ::_exit(0);
        }
        ::close(down[0]);
        ::close(up[1]);
        in_ = up[0], out_ = down[1];
        EXPECT_EQ(wire().hear(), 'r');
    }
    ~CarelessProcess() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(in_);
        ::close(out_);
    }
    CarelessProcess(const CarelessProcess&) = delete;
    CarelessProcess& operator=(const CarelessProcess&) = delete;
    Wire wire() const { return {in_, out_}; }

  private:
    pid_t pid_ = -1;
    int in_ = -1, out_ = -1;
};

std::uint64_t lost_descriptors(Connection& connection) {
    TraceBatch batch;
    connection.drain(batch);
    return batch.service ? batch.service->lost_descriptors : 0;
}

TEST(CarelessProcess, LosesNothingWhereTheThreadHasItsOwnTable) {
    const RuntimeDirectory directory;
    const CarelessProcess child(false, directory.path() / "its own");
    auto connection = required(Connection::open(find_producers().at(0)));
    EXPECT_EQ(connection.ask(Op::arm)->leases, 1u);
    child.wire().say('t');
    EXPECT_EQ(child.wire().hear(), 't');
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // some ticks
    EXPECT_EQ(connection.ask(Op::status)->leases, 1u);
    EXPECT_TRUE(Connection::open(find_producers().at(0)));
    EXPECT_EQ(lost_descriptors(connection), 0u);
    child.wire().say('e');
    EXPECT_EQ(child.wire().hear(), 'y');
    EXPECT_TRUE(eventually([] { return find_producers().empty(); }));
}

TEST(CarelessProcess, IsLeftAloneWhereTheTableIsShared) {
    const RuntimeDirectory directory;
    const CarelessProcess child(true, directory.path() / "its own");
    auto connection = required(Connection::open(find_producers().at(0)));
    EXPECT_EQ(connection.ask(Op::arm)->leases, 1u);
    child.wire().say('t');
    EXPECT_EQ(child.wire().hear(), 't');
    EXPECT_TRUE(eventually([&] { return !connection.alive(); }));
    EXPECT_TRUE(eventually([&] { return lost_descriptors(connection) > 0; }));
    // The ring can no longer be handed out, but a new socket reports that.
    EXPECT_TRUE(eventually([] {
        const auto producers = find_producers();
        const auto late = producers.empty() ? Result<Connection>(fail(ErrorKind::not_found, "", ""))
                                            : Connection::open(producers[0]);
        return !late &&
               late.error().text().find("closed its ring's descriptor") != std::string::npos;
    }));
    child.wire().say('e');
    EXPECT_EQ(child.wire().hear(), 'y');
}

}  // namespace
}  // namespace gs::service
