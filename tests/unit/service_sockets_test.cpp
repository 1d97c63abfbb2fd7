// The collector at its limits: a socket that answers nonsense, no files left to open, a process
// that ends, a directory that is not safe.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/service_collecting.h"

namespace gs::service {
namespace {

/// Something that bears a producer's name and answers nonsense.
class Impostor {
  public:
    explicit Impostor(std::filesystem::path path) : path_(std::move(path)) {
        listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.string().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
        EXPECT_EQ(::listen(listener_.get(), 4), 0);
    }
    /// Accepts a client and answers it; the client stays connected.
    void answer() {
        peer_ = Descriptor(::accept(listener_.get(), nullptr, nullptr));
        char asked[512];
        EXPECT_GT(::read(peer_.get(), asked, sizeof asked), 0);
        EXPECT_EQ(::write(peer_.get(), "x", 1), 1);
    }
    /// Its visitor has hung up.
    void wait_until_left() {
        char more = 0;
        EXPECT_EQ(::read(peer_.get(), &more, 1), 0);
    }
    ~Impostor() { std::filesystem::remove(path_); }

  private:
    std::filesystem::path path_;
    Descriptor listener_, peer_;
};

TEST(Collecting, ASocketThatWasRefusedIsTriedAgain) {
    const RuntimeDirectory directory;
    ServedProcess child(
        [](const Wire& wire) {
            { const Span span(Stage::blend); }
            wire.hear();
        },
        true, false);
    auto impostor =
        std::make_unique<Impostor>(directory.path() / (std::to_string(child.pid()) + ".nvtx.sock"));
    std::thread answering([&] { impostor->answer(); });
    auto collector = started(only(child));
    answering.join();
    impostor->wait_until_left();
    impostor.reset();
    child.begin();  // the number and so the path are the same
    TraceStore store;
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        return spans_named(store, "blend") == 1;
    }));
}

TEST(Collecting, AProcessIsReadWhenThereAreFilesToOpenAgain) {
    const RuntimeDirectory directory;
    ServedProcess child(
        [](const Wire& wire) {
            { const Span span(Stage::blend); }
            wire.hear();
        },
        true, false);
    auto collector = started(only(child));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = std::min<rlim_t>(before.rlim_cur, 256);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::vector<Descriptor> taken;
    do taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    while (taken.back());
    taken.pop_back();
    taken.pop_back();  // enough to look into the directory, not to connect
    child.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    TraceStore store;
    collector->drain_into(store);
    EXPECT_TRUE(store.processes().empty());
    taken.clear();
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        return spans_named(store, "blend") == 1;
    }));
    raise_file_limit();
    rlimit after{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
    EXPECT_EQ(after.rlim_cur, before.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Collecting, AStoreIsToldWhenAProcessHasEnded) {
    const RuntimeDirectory directory;
    ServedProcess child([](const Wire& wire) {
        { const Span span(Stage::blend); }
        wire.say('d');
        wire.hear();
    });
    auto collector = started(only(child));
    ASSERT_EQ(child.wire().hear(), 'd');
    TraceStore store;
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        return spans_named(store, "blend") == 1;
    }));
    EXPECT_FALSE(store.processes()[0].ended);
    child.kill(SIGKILL);
    EXPECT_TRUE(eventually([&] {
        collector->drain_into(store);
        return store.processes()[0].ended;
    }));
}

TEST(Collecting, SaysWhyWhenTheDirectoryIsNotSafe) {
    const RuntimeDirectory directory;
    ::chmod(directory.path().c_str(), 0755);
    const auto collector = MultiCollector::start({});
    ASSERT_FALSE(collector);
    EXPECT_NE(collector.error().text().find("chmod 700"), std::string::npos)
        << collector.error().text();
}

}  // namespace
}  // namespace gs::service
