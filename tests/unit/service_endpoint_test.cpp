// The endpoint as its clients see it: whom it serves, what it hands out, leases, and that nothing a
// client does hurts the process it lives in.
#include "base/record/endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <random>

#include "base/record/local_socket.h"
#include "profiler/collect/client.h"
#include "tests/support/required.h"
#include "tests/unit/service_process.h"

namespace gs::service {
namespace {

void until_told(const Wire& wire) { wire.hear(); }
void record_until_told(const Wire& wire) {
    while (!wire.hears_within(std::chrono::milliseconds(1))) const Span span(Stage::blend, 1);
}

Producer only_producer() {
    const auto producers = find_producers();
    EXPECT_EQ(producers.size(), 1u);
    return producers.empty() ? Producer() : producers[0];
}

/// A connection of its own kind, for what a well-behaved client never sends.
struct RawClient {
    int fd = -1;
    explicit RawClient(const Producer& producer) {
        const int directory =
            open_private_directory(producer.socket.parent_path().c_str(), false, nullptr);
        fd = connect_in(directory, producer.socket.parent_path().c_str(),
                        producer.socket.filename().c_str());
        ::close(directory);
    }
    ~RawClient() {
        if (fd >= 0) ::close(fd);
    }
    RawClient(RawClient&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
    RawClient& operator=(RawClient&&) = delete;
};

TEST(Endpoint, HandsOutARingThatOnlyItsOwnerCanWrite) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    const Producer producer = only_producer();
    EXPECT_EQ(producer.pid, static_cast<std::uint32_t>(child.pid()));
    EXPECT_EQ(producer.role, "nvtx");
    RawClient client(producer);
    const Request hello{.op = static_cast<std::uint32_t>(Op::hello)};
    ASSERT_EQ(::send(client.fd, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
    pollfd p{client.fd, POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 10000), 1);
    Reply reply;
    int ring = -1;
    ASSERT_TRUE(receive_reply(client.fd, reply, ring));
    ASSERT_GE(ring, 0);
    EXPECT_EQ(reply.pid, producer.pid);
    struct stat status {};
    ASSERT_EQ(::fstat(ring, &status), 0);
    EXPECT_LE(static_cast<std::uint64_t>(status.st_size), abi::kHardCap);
    const int seals = ::fcntl(ring, F_GET_SEALS);
    EXPECT_TRUE(seals & F_SEAL_SHRINK);
    EXPECT_TRUE(seals & F_SEAL_GROW);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0), MAP_FAILED);
    EXPECT_EQ(::pwrite(ring, "x", 1, 0), -1);
    EXPECT_EQ(::ftruncate(ring, 0), -1);
    ::close(ring);
}

TEST(Endpoint, IsArmedAsLongAsSomebodyHasALease) {
    const RuntimeDirectory directory;
    ServedProcess child(record_until_told, false);
    auto watcher = required(Connection::open(only_producer()));
    const auto recorded = [&] {
        TraceBatch batch;
        watcher.drain(batch);
        return batch.spans.size();
    };
    EXPECT_EQ(recorded(), 0u);
    {
        auto first = Connection::open(only_producer());
        auto second = Connection::open(only_producer());
        ASSERT_TRUE(first && second);
        EXPECT_EQ(first->ask(Op::arm)->leases, 1u);
        EXPECT_EQ(first->ask(Op::arm)->leases, 1u);
        EXPECT_EQ(second->ask(Op::arm)->leases, 2u);
        EXPECT_TRUE(eventually([&] { return recorded() > 0; }));
        EXPECT_EQ(first->ask(Op::disarm)->leases, 1u);
        recorded();
        EXPECT_TRUE(eventually([&] { return recorded() > 0; }));  // the second's still holds
    }
    EXPECT_TRUE(eventually([&] {
        recorded();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return recorded() == 0;
    }));
    EXPECT_EQ(watcher.ask(Op::status)->leases, 0u);
}

TEST(Endpoint, ADeadClientsLeaseEnds) {
    const RuntimeDirectory directory;
    ServedProcess child(record_until_told, false);
    const Producer producer = only_producer();
    auto watcher = Connection::open(producer);
    ASSERT_TRUE(watcher);
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t client = ::fork();
    if (client == 0) {
        auto connection = Connection::open(producer);
        if (connection) static_cast<void>(connection->ask(Op::arm));
        static_cast<void>(!::write(ready[1], "r", 1));
        for (;;) ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(watcher->ask(Op::status)->leases, 1u);
    ::kill(client, SIGKILL);
    ::waitpid(client, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return watcher->ask(Op::status)->leases == 0; }));
    ::close(ready[0]);
    ::close(ready[1]);
}

// A program that outlives `record` records no longer for nobody.
TEST(Endpoint, WhatACollectorWantedRecordedEndsWithIt) {
    const RuntimeDirectory directory;
    auto collector = required(CollectorSocket::open());
    ::setenv(kCollectorVariable, collector.path().c_str(), 1);
    ::setenv(kArmVariable, "1", 1);
    ServedProcess early(record_until_told), late(record_until_told, true, false);
    int socket = -1;
    ASSERT_TRUE(eventually([&] { return (socket = collector.accept()) >= 0; }));
    auto watcher = Connection::open(only_producer());
    ASSERT_TRUE(watcher);
    const auto recorded = [](Connection& by) {
        TraceBatch batch;
        by.drain(batch);
        return batch.spans.size();
    };
    const auto is_silent = [&](Connection& by) {
        recorded(by);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return recorded(by) == 0;
    };
    {
        auto connection = Connection::adopt(socket);
        ASSERT_TRUE(connection);
        EXPECT_EQ(watcher->ask(Op::status)->leases, 1u);
        EXPECT_TRUE(eventually([&] { return recorded(*connection) > 0; }));
    }
    EXPECT_TRUE(eventually([&] { return watcher->ask(Op::status)->leases == 0; }));
    EXPECT_TRUE(eventually([&] { return is_silent(*watcher); }));
    early.kill();
    // One that starts when the collector has gone does not begin.
    { const CollectorSocket gone = std::move(collector); }
    late.begin();
    auto latecomer = Connection::open(only_producer());
    ASSERT_TRUE(latecomer);
    EXPECT_EQ(latecomer->ask(Op::status)->leases, 0u);
    EXPECT_TRUE(eventually([&] { return is_silent(*latecomer); }));
    ::unsetenv(kCollectorVariable);
    ::unsetenv(kArmVariable);
}

TEST(Endpoint, ABudgetGoesWithTheClientThatSetIt) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    auto watcher = Connection::open(only_producer()), first = Connection::open(only_producer());
    ASSERT_TRUE(watcher && first);
    ASSERT_TRUE(first->ask(Op::set_budget, 1000));
    {
        auto second = Connection::open(only_producer());
        ASSERT_TRUE(second);
        EXPECT_EQ(second->ask(Op::set_budget, 5000)->budget_ppm, 5000u);
    }
    EXPECT_TRUE(eventually([&] { return watcher->ask(Op::status)->budget_ppm == 1000; }));
    *first = std::move(*Connection::open(only_producer()));
    EXPECT_TRUE(eventually([&] { return watcher->ask(Op::status)->budget_ppm == 0; }));
}

TEST(Endpoint, SaysWhyNot) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    auto connection = Connection::open(only_producer());
    ASSERT_TRUE(connection);
    const auto refused = required(connection->ask(Op::release_cupti));
    EXPECT_EQ(refused.answer, static_cast<std::uint32_t>(Answer::not_possible));
    EXPECT_STREQ(refused.text, "there is no CUPTI in a test");
    EXPECT_EQ(connection->ask(Op::set_budget, 2'000'000)->answer,
              static_cast<std::uint32_t>(Answer::not_possible));
    EXPECT_EQ(connection->ask(static_cast<Op>(77))->answer,
              static_cast<std::uint32_t>(Answer::not_understood));
    EXPECT_EQ(connection->ask(Op::status)->answer, static_cast<std::uint32_t>(Answer::done));
}

// ---- the directory ----

TEST(RuntimeDirectory, IsMadeForTheUserAlone) {
    const RuntimeDirectory directory;
    const auto path = directory.path() / "new";
    ::setenv(kDirectoryVariable, path.c_str(), 1);
    ASSERT_TRUE(runtime_directory());
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
}

class UnsafeDirectory : public ::testing::TestWithParam<const char*> {};

TEST_P(UnsafeDirectory, IsRefusedOnBothSides) {
    const RuntimeDirectory directory;
    const std::string kind = GetParam();
    const auto path = directory.path() / kind;
    if (kind == "link") {
        std::filesystem::create_directory(directory.path() / "real");
        ::chmod((directory.path() / "real").c_str(), 0700);
        std::filesystem::create_symlink(directory.path() / "real", path);
    } else if (kind == "file") {
        ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
    } else {
        std::filesystem::create_directory(path);
        ::chmod(path.c_str(), kind == "open to the group" ? 0750 : 0707);
    }
    ::setenv(kDirectoryVariable, path.c_str(), 1);
    const auto client_side = runtime_directory();
    ASSERT_FALSE(client_side);
    EXPECT_NE(client_side.error().text().find(path), std::string::npos);
    static RecorderHost host;
    char why[192] = "";
    EXPECT_FALSE(start_endpoint("nvtx", host, why));
    EXPECT_NE(std::string(why).find("cannot be used"), std::string::npos) << why;
    EXPECT_TRUE(find_producers().empty());
}
INSTANTIATE_TEST_SUITE_P(Kinds, UnsafeDirectory,
                         ::testing::Values("link", "file", "open to the group", "open to others"));

TEST(RuntimeDirectory, OfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
    const RuntimeDirectory directory;
    const auto path = directory.path() / "theirs";
    std::filesystem::create_directory(path);
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    ::chmod(directory.path().c_str(), 0755);
    const pid_t other = ::fork();
    if (other == 0) {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
        char why[kWhyBytes] = "";
        ::_exit(open_private_directory(path.c_str(), false, why) < 0 &&
                        std::string(why).find("another user") != std::string::npos
                    ? 0
                    : 1);
    }
    int status = -1;
    ::waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(Endpoint, TurnsAwayOtherUsers) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    const Producer producer = only_producer();
    // Even when the door was opened by mistake.
    ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(producer.socket.c_str(), 0777), 0);
    const pid_t other = ::fork();
    if (other == 0) {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
        const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, producer.socket.c_str());
        if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(3);
        const Request hello{.op = static_cast<std::uint32_t>(Op::hello)};
        ::send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
        Reply reply;
        int ring = -1;
        ::_exit(receive_reply(fd, reply, ring) ? 1 : 0);
    }
    int status = -1;
    ::waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(::chmod(directory.path().c_str(), 0700), 0);
    EXPECT_TRUE(Connection::open(producer));
}

// ---- hostile clients ----

std::size_t open_descriptors(pid_t pid) {
    std::size_t count = 0;
    // The service's thread has a table of its own.
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid)))
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator(thread.path() / "fd"))
            ++count;
    return count;
}

TEST(HostileClients, GarbageOfAllSizesChangesNothing) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    const Producer producer = only_producer();
    const std::size_t before = open_descriptors(child.pid());
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        RawClient client(producer);
        if (client.fd < 0) continue;  // its queue of new connections may be full
        std::vector<unsigned char> message(random() % 600);
        for (auto& byte : message) byte = static_cast<unsigned char>(random());
        if (round % 3 == 0 && message.size() >= sizeof(Request)) {
            // Nearly right: what comes after the magic is not.
            const Request nearly{.version = static_cast<std::uint32_t>(random() % 3),
                                 .op = static_cast<std::uint32_t>(random())};
            std::memcpy(message.data(), &nearly, sizeof nearly);
            message.resize(sizeof nearly);
        }
        ::send(client.fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (round % 5 == 0) {
            // Descriptors nobody asked for.
            Reply carrier;
            send_reply(client.fd, carrier, STDIN_FILENO);
        }
    }
    auto connection = required(Connection::open(producer));
    EXPECT_EQ(connection.ask(Op::status)->leases, 0u);
    EXPECT_TRUE(eventually([&] { return open_descriptors(child.pid()) <= before + 1; }));
}

TEST(HostileClients, ManySilentConnectionsMakeRoom) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    const Producer producer = only_producer();
    std::vector<RawClient> crowd;
    for (int i = 0; i < 200; ++i) crowd.emplace_back(producer);
    EXPECT_TRUE(eventually([&] { return Connection::open(producer).has_value(); }));
    EXPECT_LE(open_descriptors(child.pid()), 60u);
}

TEST(HostileClients, WhoNeverReadsIsLetGo) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told);
    const Producer producer = only_producer();
    RawClient client(producer);
    const Request hello{.op = static_cast<std::uint32_t>(Op::hello)};
    // Unread answers pile up until the socket's buffer is full: then the connection ends.
    bool ended = false;
    for (int i = 0; i < 100000 && !ended; ++i) {
        const ssize_t sent = ::send(client.fd, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT);
        ended = sent < 0 && (errno == EPIPE || errno == ECONNRESET);
        if (sent < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(ended);
    EXPECT_TRUE(Connection::open(producer));
}

// ---- beginnings and ends ----

TEST(Endpoint, ARemovedSocketComesBack) {
    const RuntimeDirectory directory;
    ServedProcess child(until_told, false);
    const Producer producer = only_producer();
    std::filesystem::remove(producer.socket);
    EXPECT_TRUE(eventually([&] { return find_producers().size() == 1; }));
    std::filesystem::remove_all(directory.path());
    EXPECT_TRUE(eventually([&] { return find_producers().size() == 1; }));
    EXPECT_TRUE(Connection::open(producer));
}

TEST(Endpoint, SocketsOfTheDeadAreRemoved) {
    const RuntimeDirectory directory;
    Producer producer;
    {
        ServedProcess child(until_told);
        producer = only_producer();
        child.kill();
    }
    EXPECT_TRUE(std::filesystem::exists(producer.socket));
    EXPECT_TRUE(find_producers().empty());
    EXPECT_FALSE(std::filesystem::exists(producer.socket));
    const auto connection = Connection::open(producer);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().kind, ErrorKind::not_found);
}

TEST(Endpoint, AForkedChildHoldsNothingOfItsParents) {
    const RuntimeDirectory directory;
    // The child's child outlives it, with an endpoint of its own later.
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        if (test::fork_at_rest() == 0) {
            start_recording();
            static RecorderHost host;
            wire.say(start_endpoint("nvtx", host) ? 'y' : 'n');
            while (wire.hear() != 'q') {
            }
            stop_endpoint();
            ::_exit(0);
        }
        for (;;) ::pause();
    });
    auto connection = Connection::open(only_producer());
    ASSERT_TRUE(connection);
    child.wire().say('f');
    EXPECT_EQ(child.wire().hear(), 'y');
    EXPECT_EQ(find_producers().size(), 2u);
    child.kill();
    EXPECT_TRUE(eventually([&] { return !connection->alive(); }));
    EXPECT_EQ(find_producers().size(), 1u);
    child.wire().say('q');
    EXPECT_TRUE(eventually([] { return find_producers().empty(); }));
}

TEST(Endpoint, ExecEndsTheConnection) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        wire.hear();
        ::execl("/bin/sleep", "sleep", "30", nullptr);
    });
    auto connection = Connection::open(only_producer());
    ASSERT_TRUE(connection);
    child.wire().say('x');
    EXPECT_TRUE(eventually([&] { return !connection->alive(); }));
    EXPECT_TRUE(find_producers().empty());
}

TEST(Endpoint, StartsOnceAndStopsAtOnce) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        static RecorderHost host;
        char why[192] = "";
        const bool twice = start_endpoint("nvtx", host, why);
        stop_endpoint();
        stop_endpoint();
        const bool again = start_endpoint("nvtx", host, why);
        wire.say(!twice && again ? 'y' : 'n');
        wire.hear();
    });
    EXPECT_EQ(child.wire().hear(), 'y');
    EXPECT_EQ(find_producers().size(), 1u);
    child.wire().say('q');
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Endpoint, RecordsFromItsFirstMomentForADaemonThatIsThereAndStopsIfNoneComes) {
    const RuntimeDirectory directory;
    char path[560];
    ASSERT_TRUE(watched_path(path, sizeof path));
    const Descriptor lock(::open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
    for (const bool there : {true, false}) {
        ASSERT_EQ(::flock(lock.get(), there ? LOCK_SH : LOCK_UN), 0);
        const auto answer = [](const Wire& wire) {
            while (wire.hear() != '\0') wire.say(is_recording() ? 'y' : 'n');
        };
        const ServedProcess child(answer, false);
        const auto records = [&] { return child.wire().say('?'), child.wire().hear() == 'y'; };
        EXPECT_EQ(records(), there);
        EXPECT_TRUE(eventually([&] { return !records(); }));
    }
}

TEST(Endpoint, ATickThatHangsDoesNotKeepTheProgramFromEnding) {
    const RuntimeDirectory directory;
    struct HangingHost : RecorderHost {
        void tick(bool) noexcept override { ::pause(); }
    };
    const pid_t pid = ::fork();
    if (pid == 0) {
        static HangingHost host;
        start_recording();
        if (!start_endpoint("nvtx", host)) ::_exit(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stop_endpoint();
        ::_exit(0);
    }
    int status = -1;
    EXPECT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gs::service
